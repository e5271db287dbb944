//! A game in phases: a smaller network for each value of a control.
//!
//! Many games pass a token round, `(control white)`, `(control black)`, and nearly every rule asks
//! who has it. When just one of a few bases is true in a state, the game's network with all of them
//! made constants says everything about that state, and with them go whole rules and the moves of
//! those who wait. (Sancho calls the case of two the X/O split; n-way splits are from Galvanise.)
//!
//! A split is sound whatever its controls: whoever runs it looks at each state and takes the whole
//! game's network where not just one control is true. So controls may be guessed, and are worth
//! having when that seldom happens. For many it never does, which induction over the networks can
//! show ([`Phases::is_proven`]): each phase's network hands on to just one control.
//!
//! Candidates are ranked by what the constants would leave of the network; whoever compiles the
//! networks has the last word.

mod weight;

use std::collections::HashSet;

use super::network::{Network, Node, Signal};
use super::passes::{PassSet, assume, optimise_with};
use crate::ground::Budget;
use crate::ids::{BaseId, Id, MoveId};

/// Larger sets are no turn orders.
pub const MAX_CONTROLS: usize = 8;
/// The phases have to be smaller than this share of the whole network, or there is no point in
/// having them.
const WORTHWHILE: f64 = 0.9;
/// Sets of controls whose networks are built.
const MAX_TRIALS: usize = 3;
/// Gates and edges that may be read to weigh candidates by size, past the first two batches of
/// them.
const WEIGHING: usize = 1 << 19;
/// How many of those that leave the smallest networks are kept.
const MAX_SHORTLISTED: usize = 3;

/// A state that was met in play and the moves that were made there.
#[derive(Clone, Debug)]
pub struct Position {
    /// The state, a bit per base.
    pub state: Vec<u64>,
    /// One move per role.
    pub moves: Vec<MoveId>,
}

/// One network per control base.
#[derive(Clone, Debug)]
pub struct Phases {
    /// A state in which just one of these is true is run on the network of that one.
    pub controls: Vec<BaseId>,
    /// The network for states in which the n-th control, and no other, is true.
    pub networks: Vec<Network>,
    /// Whether just one of the controls is true in every reachable state: shown by induction, not
    /// only seen.
    pub is_proven: bool,
}

/// Looks for controls in the network's form and makes their networks; nothing when there are none
/// that make it much smaller, or the budget ends before the first of them are done.
pub fn phases(network: &Network, budget: Budget) -> Option<Phases> {
    let size = |network: &Network| network.gates.len() + network.n_edges();
    let found = controls_by_form(network);
    let made = found
        .into_iter()
        .take(MAX_TRIALS)
        .map_while(|controls| phases_of(network, &controls, &PassSet::default(), budget));
    let largest = |phases: &Phases| phases.networks.iter().map(size).max().unwrap_or(0);
    made.filter(|phases| (largest(phases) as f64) < WORTHWHILE * size(network) as f64)
        .min_by_key(largest)
}

/// Makes the networks of these controls with the passes of a set; nothing when the budget ends.
pub fn phases_of(
    network: &Network,
    controls: &[BaseId],
    set: &PassSet,
    budget: Budget,
) -> Option<Phases> {
    let mut networks = Vec::with_capacity(controls.len());
    for known in assumptions(controls) {
        let assumed = assume::assume(network, &known, budget).ok()?;
        networks.push(optimise_with(assumed, set, budget));
    }
    Some(Phases {
        is_proven: is_invariant(network, controls, &networks),
        controls: controls.to_vec(),
        networks,
    })
}

/// The candidates whose phases are the smallest, each phase counted as often as it was met in
/// `played`, the smallest first.
///
/// In each position just one of every candidate's bases should be true. The most promising
/// candidates should come first: of many, only the first are weighed.
pub fn shortlist<'a>(
    network: &Network,
    candidates: &'a [Vec<BaseId>],
    played: &[Position],
) -> Vec<&'a Vec<BaseId>> {
    let size = network.gates.len() + network.n_edges();
    let batches = (WEIGHING / size.max(1)).clamp(2, 8);
    let mut usable = candidates
        .iter()
        .filter(|controls| is_usable(controls))
        .peekable();
    let mut weighed: Vec<(usize, &Vec<BaseId>)> = Vec::new();
    for _ in 0..batches {
        let mut batch = Vec::new();
        let mut known = Vec::with_capacity(weight::LANES);
        while let Some(controls) =
            usable.next_if(|controls| known.len() + controls.len() <= weight::LANES)
        {
            known.extend(assumptions(controls));
            batch.push(controls);
        }
        if batch.is_empty() {
            break;
        }
        let mut sizes = weight::remaining(network, &known).into_iter();
        for controls in batch {
            let n_met = |base: &BaseId| played.iter().filter(|met| is_true(met, *base)).count();
            let sum = controls
                .iter()
                .zip(sizes.by_ref())
                .map(|(base, size)| n_met(base) * size);
            weighed.push((sum.sum(), controls));
        }
    }
    weighed.sort_by_key(|&(sum, _)| sum);
    weighed.truncate(MAX_SHORTLISTED);
    weighed.into_iter().map(|(_, controls)| controls).collect()
}

fn is_true(position: &Position, base: BaseId) -> bool {
    let word = position.state.get(base.index() / 64).copied().unwrap_or(0);
    word >> (base.index() % 64) & 1 == 1
}

/// What is known of the controls in each phase.
fn assumptions(controls: &[BaseId]) -> impl Iterator<Item = Vec<(BaseId, bool)>> {
    controls.iter().map(move |&control| {
        let known = controls.iter().map(|&base| (base, base == control));
        known.collect()
    })
}

/// Whether it is a set at all, and not too large.
fn is_usable(controls: &[BaseId]) -> bool {
    let distinct: HashSet<BaseId> = controls.iter().copied().collect();
    distinct.len() == controls.len() && (2..=MAX_CONTROLS).contains(&controls.len())
}

/// Whether just one control is true in every reachable state: it is so at the start, and each
/// phase's network hands on to just one, whatever legal moves are made.
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

/// Sets of bases of which just one is true in every reachable state, as can be read off the gates:
/// the bases hand a token on in a ring, or the next value of one is the inverse of the next value
/// of the other.
pub fn controls_by_form(network: &Network) -> Vec<Vec<BaseId>> {
    let initial: HashSet<BaseId> = network.initial.iter().copied().collect();
    let is_initial = |base: &BaseId| initial.contains(base);
    let mut found: Vec<Vec<BaseId>> = Vec::new();
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
            found.push(ring);
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
            found.push(vec![base, other]);
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
    found.sort_by_cached_key(|controls| {
        std::cmp::Reverse(controls.iter().map(users).sum::<usize>())
    });
    found
}
