//! A game in phases: a smaller network for each value of a control.
//!
//! Many games pass a token round, `(control white)`, `(control black)`, and nearly every rule asks who has it. When just
//! one of a few bases is true in every reachable state, each of them gives a network of its own in which all of
//! them are constants, and with them whole rules and the moves of those who wait. (Sancho calls the case of two
//! the X/O split; n-way splits are from Galvanise.)
//!
//! That one of them is true in every state is proven by induction over the network, never guessed: the bases hand the token
//! on in a ring, or the next value of one is the inverse of the next value of the other. Both are read off the gates.

use std::collections::HashSet;

use super::network::{Network, Node, Signal};
use super::passes::{assume, optimise};
use crate::ground::Budget;
use crate::ids::{BaseId, Id};

/// Rings longer than this are no turn orders.
const MAX_CONTROLS: usize = 8;
/// A phase has to be smaller than this share of the whole network, or there is no point in having it.
const WORTHWHILE: f64 = 0.9;

/// One network per control base.
#[derive(Clone, Debug)]
pub struct Phases {
    /// In every reachable state just one of these is true.
    pub controls: Vec<BaseId>,
    /// The network for states in which the n-th control is true.
    pub networks: Vec<Network>,
}

/// Looks for controls and makes their networks; nothing when there are none that pay, or the budget ends before the
/// first of them are done.
pub fn phases(network: &Network, budget: Budget) -> Option<Phases> {
    let size = |network: &Network| network.gates.len() + network.n_edges();
    let mut best: Option<Phases> = None;
    for controls in candidates(network) {
        let networks: Option<Vec<Network>> = controls
            .iter()
            .map(|&control| {
                let known: Vec<(BaseId, bool)> = controls
                    .iter()
                    .map(|&base| (base, base == control))
                    .collect();
                let assumed = assume::assume(network, &known, budget).ok()?;
                Some(optimise(assumed, budget))
            })
            .collect();
        let Some(networks) = networks else {
            break;
        };
        let largest = |networks: &[Network]| networks.iter().map(size).max().unwrap_or(0);
        let is_worthwhile = (largest(&networks) as f64) < WORTHWHILE * size(network) as f64;
        let is_better = best
            .as_ref()
            .is_none_or(|best| largest(&networks) < largest(&best.networks));
        if is_worthwhile && is_better {
            best = Some(Phases { controls, networks });
        }
    }
    best
}

/// Sets of bases of which just one is true in every reachable state.
fn candidates(network: &Network) -> Vec<Vec<BaseId>> {
    let initial: HashSet<BaseId> = network.initial.iter().copied().collect();
    let is_initial = |base: &BaseId| initial.contains(base);
    let mut found: Vec<Vec<BaseId>> = Vec::new();
    let mut known: HashSet<Vec<BaseId>> = HashSet::new();
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
            known.insert(ring.clone());
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
        let controls = vec![base, other];
        if right == !left
            && is_initial(&base) != is_initial(&other)
            && known.insert(controls.clone())
        {
            found.push(controls);
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
    let weight = |controls: &Vec<BaseId>| {
        controls
            .iter()
            .map(|base| n_users[base.index()])
            .sum::<usize>()
    };
    found.sort_by_key(|controls| std::cmp::Reverse(weight(controls)));
    found.truncate(3);
    found
}
