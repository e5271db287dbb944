//! Passes: each takes a network and gives a smaller one that computes the same outputs.
//!
//! A pass sees the gates one after the other, inputs first, and says what stands in each one's
//! place; [`rewrite`] does the rest: shared logic stays shared, blocks of recursion are carried
//! over gate by gate, and what no output needs any more is dropped. [`Pass`] names the passes and
//! [`PassSet`] says which to apply.
//!
//! Two kinds: those that read the gates alone come in rounds until they find nothing more; those
//! that weigh what they do by how often signals flip in a [`Sample`] of random play come last. What
//! the latter did for the whole game is wrong for a phase of it, so [`assume`] starts from the
//! network before them.
//!
//! Tried and left out: dropping bases that no legal move, end or goal depends on. Sixty-three of
//! the published games have some, and in thirteen they take a tenth of the edges or more, but
//! states could no longer be compared with the rules.

pub mod absorb;
pub mod assume;
pub mod factors;
pub mod flatten;
pub mod guards;
pub mod one_move;
pub mod products;
mod sample;
mod set;
pub mod shared;
pub mod spread;
mod weighed;

use super::build::BuildError;
use super::builder::Builder;
use super::network::{GateKind, Network, Node, Signal};
use super::tidy::tidied;
use crate::ground::Budget;
use crate::ids::{GateId, Id, IdVec};
pub use sample::Sample;
use set::Turn;
pub use set::{Pass, PassSet, UnknownPass};

/// Gates between two looks at the budget.
const CHECK_EVERY: usize = 1 << 12;
/// Rounds of all passes, should they keep finding something.
const MAX_ROUNDS: usize = 4;

/// Applies the passes that pay until they find nothing more, or the budget ends.
///
/// The result computes the same outputs as `network` in every state for joint moves that make
/// exactly one move per role. A budget that ends early costs gates, not correctness.
pub fn optimise(network: Network, budget: Budget) -> Network {
    optimise_with(network, &PassSet::default(), budget)
}

/// As [`optimise`], with the passes of a set.
pub fn optimise_with(mut network: Network, passes: &PassSet, budget: Budget) -> Network {
    for round in 0..MAX_ROUNDS {
        let before = network.gates.len() + network.n_edges();
        let of_round = |pass: &Pass| match pass.turn() {
            Turn::First => round == 0,
            Turn::EachRound => true,
            Turn::Last => false,
        };
        for pass in passes.iter().filter(of_round) {
            match pass.apply(&network, budget) {
                Ok(smaller) => network = smaller,
                Err(_) => return network,
            }
        }
        let after = network.gates.len() + network.n_edges();
        // The next round has to be worth its time.
        if after + after / 50 >= before {
            break;
        }
    }
    for pass in passes.iter().filter(|pass| pass.turn() == Turn::Last) {
        match pass.apply(&network, budget) {
            Ok(better) => network = better,
            Err(_) => return network,
        }
    }
    network
}

/// What a pass sees of the network in the making.
pub(super) struct Context<'a> {
    /// The network as it was.
    pub network: &'a Network,
    /// The network in the making.
    pub builder: Builder,
    /// Per new gate: whether one user alone needs it.
    is_single: IdVec<GateId, bool>,
    first_gate: usize,
}

impl Context<'_> {
    /// The inputs of the AND gate that a signal comes from, if one user alone needs that gate.
    pub fn single_and(&self, signal: Signal) -> Option<&[Signal]> {
        let gate = GateId::from_index(signal.node_number().checked_sub(self.first_gate)?);
        if !self.is_single.get(gate).copied().unwrap_or(false) {
            return None;
        }
        self.builder.and_inputs(signal)
    }
}

/// Rebuilds a network, asking `replace` for each AND gate outside blocks, given its inputs in the
/// new network.
pub(super) fn rewrite(
    network: &Network,
    budget: Budget,
    replace: impl FnMut(&mut Context<'_>, &mut Vec<Signal>) -> Signal,
) -> Result<Network, BuildError> {
    rewrite_with(network, budget, &|signal| signal, replace)
}

/// As [`rewrite`], with `substitute` saying what stands for the signal of a base or move.
pub(super) fn rewrite_with(
    network: &Network,
    budget: Budget,
    substitute: &dyn Fn(Signal) -> Signal,
    mut replace: impl FnMut(&mut Context<'_>, &mut Vec<Signal>) -> Signal,
) -> Result<Network, BuildError> {
    let n_inputs = network.facts.len() + network.moves.len();
    let mut context = Context {
        network,
        builder: Builder::new(n_inputs),
        is_single: IdVec::new(),
        first_gate: 1 + n_inputs,
    };
    let n_users = users(network);
    let mut in_block = vec![false; network.gates.len()];
    network
        .blocks
        .iter()
        .flatten()
        .for_each(|gate| in_block[gate.index()] = true);
    let mut moved: IdVec<GateId, Signal> = network.gates.iter().map(|_| Signal::FALSE).collect();
    let new_signal = |signal: Signal, moved: &IdVec<GateId, Signal>| match network.node(signal) {
        Node::Gate(gate) if signal.is_inverted() => !moved[gate],
        Node::Gate(gate) => moved[gate],
        _ => substitute(signal),
    };
    let mut blocks = network.blocks.iter();
    let mut inputs: Vec<Signal> = Vec::new();
    for gate in network.gates.ids() {
        if gate.index().is_multiple_of(CHECK_EVERY) {
            context.builder.check(budget)?;
        }
        if in_block[gate.index()] {
            // A block's gates are consecutive, so its first gate stands for all.
            let is_first = gate.index() == 0 || moved[gate] == Signal::FALSE;
            if is_first && let Some(block) = blocks.next() {
                for &member in block {
                    moved[member] = context.builder.reserve(network.gates[member].kind);
                }
                for &member in block {
                    inputs.clear();
                    inputs.extend(
                        network
                            .inputs(member)
                            .iter()
                            .map(|&input| new_signal(input, &moved)),
                    );
                    context.builder.fill(moved[member], &mut inputs);
                }
            }
        } else {
            inputs.clear();
            inputs.extend(
                network
                    .inputs(gate)
                    .iter()
                    .map(|&input| new_signal(input, &moved)),
            );
            moved[gate] = match network.gates[gate].kind {
                GateKind::And => replace(&mut context, &mut inputs),
                GateKind::Or => context.builder.or(&mut inputs),
            };
        }
        note_single(&mut context, moved[gate], n_users[gate] == 1);
    }
    let of = |signal: Signal| new_signal(signal, &moved);
    let rebuilt = Network {
        next: network.next.iter().map(|&signal| of(signal)).collect(),
        legal: network.legal.iter().map(|&signal| of(signal)).collect(),
        terminal: of(network.terminal),
        goals: network
            .goals
            .iter()
            .map(|&(role, value, signal)| (role, value, of(signal)))
            .collect(),
        gates: IdVec::new(),
        inputs: Vec::new(),
        blocks: Vec::new(),
        roles: network.roles.clone(),
        facts: network.facts.clone(),
        moves: network.moves.clone(),
        initial: network.initial.clone(),
        sample: network.sample.clone(),
        unweighed: network.unweighed.clone(),
    };
    let (gates, inputs) = context.builder.into_gates();
    Ok(tidied(Network {
        gates,
        inputs,
        ..rebuilt
    }))
}

/// Notes whether a gate of the new network has one user; a gate that stands for several old ones
/// has several.
fn note_single(context: &mut Context<'_>, signal: Signal, is_single: bool) {
    let n_gates = context.builder.n_gates();
    let Some(gate) = signal.node_number().checked_sub(context.first_gate) else {
        return;
    };
    if gate < context.is_single.len() {
        context.is_single[GateId::from_index(gate)] = false;
        return;
    }
    while context.is_single.len() < n_gates {
        context.is_single.push(false);
    }
    context.is_single[GateId::from_index(gate)] = is_single;
}

/// How many gates and outputs use each gate.
fn users(network: &Network) -> IdVec<GateId, u32> {
    let mut n_users: IdVec<GateId, u32> = network.gates.iter().map(|_| 0).collect();
    let mut note = |signal: Signal| {
        if let Node::Gate(gate) = network.node(signal) {
            n_users[gate] += 1;
        }
    };
    for gate in network.gates.ids() {
        network.inputs(gate).iter().for_each(|&input| note(input));
    }
    let outputs = network
        .next
        .iter()
        .chain(network.legal.iter())
        .chain([&network.terminal]);
    outputs
        .chain(network.goals.iter().map(|(_, _, signal)| signal))
        .for_each(|&signal| note(signal));
    n_users
}
