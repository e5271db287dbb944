//! A game in phases: a smaller network for each value of a control.
//!
//! Many games pass a token round, `(control white)`, `(control black)`, and nearly every rule asks who has it. When just
//! one of a few bases is true in a state, the game's network with all of them made constants says everything about that
//! state, and with them go whole rules and the moves of those who wait. (Sancho calls the case of two the X/O split;
//! n-way splits are from Galvanise.)
//!
//! A split is sound whatever its controls: whoever runs it looks at each state and takes the whole game's network where
//! not just one control is true. So controls may be guessed, and are worth having when that seldom happens. For many it never
//! does, which induction over the networks can show ([`Phases::is_proven`]): each phase's network hands on to just one control.
//!
//! Candidates are weighed by [`weight::remaining`], which counts what constants would leave of the network without
//! making a new one; the phases of only the most promising are built.

mod weight;

use std::collections::HashSet;

use super::network::{Network, Node, Signal};
use super::passes::{assume, optimise};
use crate::ground::Budget;
use crate::ids::{BaseId, Id};

/// Larger sets are no turn orders.
pub const MAX_CONTROLS: usize = 8;
/// The phases have to be smaller than this share of the whole network, or there is no point in having them.
const WORTHWHILE: f64 = 0.9;
/// Sets of controls whose networks are built, should those before them disappoint.
const MAX_TRIALS: usize = 3;
/// Gates and edges that may be read to weigh candidates, past the first two batches of them.
const WEIGHING: usize = 1 << 19;

/// Bases of which just one is thought to be true in nearly every state.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// The bases, at least two.
    pub controls: Vec<BaseId>,
    /// Which share of states belongs to each of them.
    pub shares: Vec<f64>,
}

impl Candidate {
    /// Controls that all have the same share of states.
    pub fn even(controls: Vec<BaseId>) -> Self {
        let shares = vec![1.0 / controls.len() as f64; controls.len()];
        Self { controls, shares }
    }
}

/// One network per control base.
#[derive(Clone, Debug)]
pub struct Phases {
    /// A state in which just one of these is true is run on the network of that one.
    pub controls: Vec<BaseId>,
    /// The network for states in which the n-th control, and no other, is true.
    pub networks: Vec<Network>,
    /// Whether just one of the controls is true in every reachable state: shown by induction, not only seen.
    pub is_proven: bool,
}

/// Looks for controls in the network's form and makes their networks; nothing when there are none that pay, or the budget
/// ends before the first of them are done.
pub fn phases(network: &Network, budget: Budget) -> Option<Phases> {
    phases_for(network, &controls_by_form(network), budget)
}

/// The networks of the candidate that leaves the smallest ones, each network weighted with its share of states; nothing
/// when none pays, or the budget ends before the first of them are done.
///
/// The most promising should come first: of many, only the first are weighed.
pub fn phases_for(network: &Network, candidates: &[Candidate], budget: Budget) -> Option<Phases> {
    let size = |network: &Network| network.gates.len() + network.n_edges();
    let limit = WORTHWHILE * size(network) as f64;
    let batches = (WEIGHING / size(network).max(1)).clamp(2, 8);
    let mut usable = candidates
        .iter()
        .filter(|candidate| is_usable(candidate))
        .peekable();
    let mut weighed: Vec<(f64, &Candidate)> = Vec::new();
    for _ in 0..batches {
        let mut batch = Vec::new();
        let mut known = Vec::with_capacity(weight::LANES);
        while let Some(candidate) =
            usable.next_if(|candidate| known.len() + candidate.controls.len() <= weight::LANES)
        {
            known.extend(assumptions(&candidate.controls));
            batch.push(candidate);
        }
        if batch.is_empty() {
            break;
        }
        let mut sizes = weight::remaining(network, &known).into_iter();
        for candidate in batch {
            let estimate = mean(candidate, sizes.by_ref());
            if estimate < limit {
                weighed.push((estimate, candidate));
            }
        }
    }
    weighed.sort_by(|left, right| left.0.total_cmp(&right.0));
    for (_, candidate) in weighed.into_iter().take(MAX_TRIALS) {
        let mut networks = Vec::with_capacity(candidate.controls.len());
        for known in assumptions(&candidate.controls) {
            let assumed = assume::assume(network, &known, budget).ok()?;
            networks.push(optimise(assumed, budget));
        }
        let mean = mean(candidate, networks.iter().map(size));
        if mean < limit {
            return Some(Phases {
                is_proven: is_invariant(network, &candidate.controls, &networks),
                controls: candidate.controls.clone(),
                networks,
            });
        }
    }
    None
}

/// What is known of the controls in each phase.
fn assumptions(controls: &[BaseId]) -> impl Iterator<Item = Vec<(BaseId, bool)>> {
    controls.iter().map(move |&control| {
        let known = controls.iter().map(|&base| (base, base == control));
        known.collect()
    })
}

/// The mean size of a candidate's phases, by their shares.
fn mean(candidate: &Candidate, sizes: impl Iterator<Item = usize>) -> f64 {
    let shares = candidate.shares.iter();
    shares
        .zip(sizes)
        .map(|(share, size)| size as f64 * share)
        .sum()
}

/// Whether it is a set at all, not too large, with a share for each.
fn is_usable(candidate: &Candidate) -> bool {
    let mut controls = candidate.controls.clone();
    controls.sort_unstable();
    controls.dedup();
    controls.len() == candidate.controls.len()
        && candidate.shares.len() == controls.len()
        && (2..=MAX_CONTROLS).contains(&controls.len())
}

/// Whether just one control is true in every reachable state: it is so at the start, and each phase's network hands on
/// to just one, whatever legal moves are made.
fn is_invariant(network: &Network, controls: &[BaseId], phases: &[Network]) -> bool {
    let initial = &network.initial;
    let n_initial = controls
        .iter()
        .filter(|base| initial.contains(base))
        .count();
    n_initial == 1
        && phases.iter().all(|phase| {
            let mut open = Vec::new();
            let mut n_true = 0;
            for &control in controls {
                match phase.next[control] {
                    Signal::FALSE => {}
                    Signal::TRUE => n_true += 1,
                    signal => open.push(signal),
                }
            }
            match open[..] {
                [] => n_true == 1,
                [left, right] => n_true == 0 && left == !right,
                _ => false,
            }
        })
}

/// Sets of bases of which just one is true in every reachable state, as can be read off the gates: the bases hand a
/// token on in a ring, or the next value of one is the inverse of the next value of the other.
pub fn controls_by_form(network: &Network) -> Vec<Candidate> {
    let initial: HashSet<BaseId> = network.initial.iter().copied().collect();
    let is_initial = |base: &BaseId| initial.contains(base);
    let mut found: Vec<Candidate> = Vec::new();
    for base in network.facts.ids() {
        // Rings: each base's next value is the value of the one before it.
        let mut ring = vec![base];
        while let Node::Base(before) = network.node(network.next[ring[ring.len() - 1]])
            && !network.next[ring[ring.len() - 1]].is_inverted()
            && !ring.contains(&before)
            && ring.len() < MAX_CONTROLS
        {
            ring.push(before);
        }
        let closes = network.node(network.next[ring[ring.len() - 1]]) == Node::Base(base)
            && !network.next[ring[ring.len() - 1]].is_inverted();
        let is_first = ring.iter().all(|other| other.index() >= base.index());
        if closes
            && is_first
            && ring.len() > 1
            && ring.iter().filter(|base| is_initial(base)).count() == 1
        {
            found.push(Candidate::even(ring));
        }
    }
    // Pairs: the next value of one is the inverse of the next value of the other.
    let mut by_next: Vec<(Signal, BaseId)> = network
        .next
        .enumerate()
        .filter(|(_, next)| !next.is_constant())
        .map(|(base, &next)| (next, base))
        .collect();
    by_next.sort_unstable();
    for pair in by_next.windows(2) {
        let [(left, base), (right, other)] = *pair else {
            continue;
        };
        if right == !left && is_initial(&base) != is_initial(&other) {
            found.push(Candidate::even(vec![base, other]));
        }
    }
    // A token that few gates ask for is no turn order.
    let mut n_users = vec![0usize; network.facts.len()];
    for gate in network.gates.ids() {
        for &input in network.inputs(gate) {
            if let Node::Base(base) = network.node(input) {
                n_users[base.index()] += 1;
            }
        }
    }
    let users = |base: &BaseId| n_users[base.index()];
    found.sort_by_cached_key(|candidate| {
        std::cmp::Reverse(candidate.controls.iter().map(users).sum::<usize>())
    });
    found
}
