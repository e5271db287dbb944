//! Passes: each takes a network and gives a smaller one with the same outputs.
//!
//! `rewrite` gives a pass the AND gates in topological order, with their inputs in the new
//! network; the pass says what replaces each gate. Equal gates are merged, blocks are copied gate
//! by gate, and dead gates are dropped. [`Pass`] names the passes and [`PassSet`] says which to
//! apply.
//!
//! The passes are applied in rounds to a fixpoint. They read the gates alone, so equal networks
//! give equal networks.
//!
//! Tried and left out: dropping bases outside the cone of influence of legal moves, terminality and
//! goals. Sixty-three of the published games have some, and in thirteen they take a tenth of the
//! edges or more, but states could no longer be compared with the rules. Absorption (`a ∧ (a ∨ b)`
//! becomes `a`) took 2 % of the gates of three games in 17, and some playouts became slower. Passes
//! that weighed a change by how often signals flip in random playouts were taken out again: without
//! them the counter engine plays 12 games at 0.93 to 1.06 of the rate, six faster and six slower.

pub(super) mod assume;
mod factors;
mod flatten;
mod one_move;
mod products;
mod set;
#[cfg(test)]
mod tests;

use super::builder::{Builder, NetworkError};
use super::copy::{Target, copy_gates};
use super::network::{Network, Signal};
use super::normalise::normalised;
use panza_gdl::{GateId, Id, IdVec};
use panza_sync::Budget;
use set::Schedule;
pub use set::{Pass, PassSet};

/// The most rounds of structural passes.
const MAX_ROUNDS: usize = 4;

/// Applies all passes, or as many as the budget allows.
///
/// The result computes the same outputs as `network` in every state, for joint moves with exactly
/// one move per role. A budget that ends early costs gates, not correctness.
pub fn optimise(network: Network, budget: &Budget) -> Network {
    optimise_with(network, &PassSet::all(), budget)
}

/// As [`optimise`], with the passes of a set.
pub fn optimise_with(mut network: Network, passes: &PassSet, budget: &Budget) -> Network {
    for round in 0..MAX_ROUNDS {
        let before = network.size();
        let of_round = |pass: &Pass| round == 0 || pass.schedule() == Schedule::EachRound;
        for pass in passes.iter().filter(of_round) {
            match pass.apply(&network, budget) {
                Ok(smaller) => network = smaller,
                Err(_) => return network,
            }
        }
        let after = network.size();
        // A round that saves less than 2 % is the last.
        if after + after / 50 >= before {
            break;
        }
    }
    network
}

pub(super) struct Context<'a> {
    pub network: &'a Network,
    pub builder: Builder<'a>,
    /// Per new gate whether its fan-out is one.
    is_single: IdVec<GateId, bool>,
    first_gate: usize,
}

impl<'a> Target<'a> for Context<'a> {
    fn builder(&mut self) -> &mut Builder<'a> {
        &mut self.builder
    }
}

impl Context<'_> {
    /// The inputs of the AND gate that a signal comes from, if the gate's fan-out is one.
    pub fn single_and(&self, signal: Signal) -> Option<&[Signal]> {
        let gate = GateId::from_index(signal.node_number().checked_sub(self.first_gate)?);
        if !self.is_single.get(gate).copied().unwrap_or(false) {
            return None;
        }
        self.builder.and_inputs(signal)
    }

    /// Notes whether the fan-out of a new gate is one. A new gate that replaces several old ones
    /// has more.
    fn note_fan_out(&mut self, signal: Signal, is_single: bool) {
        let Some(gate) = signal.node_number().checked_sub(self.first_gate) else {
            return;
        };
        if gate < self.is_single.len() {
            self.is_single[GateId::from_index(gate)] = false;
            return;
        }
        while self.is_single.len() < self.builder.n_gates() {
            self.is_single.push(false);
        }
        self.is_single[GateId::from_index(gate)] = is_single;
    }
}

/// Rebuilds a network. `replace` gives what replaces each AND gate outside blocks, given its inputs
/// in the new network.
pub(super) fn rewrite(
    network: &Network,
    budget: &Budget,
    replace: impl FnMut(&mut Context<'_>, &mut Vec<Signal>) -> Signal,
) -> Result<Network, NetworkError> {
    rewrite_with(network, budget, &|signal| signal, replace)
}

/// As [`rewrite`], with `substitute` giving what replaces the signal of a base or move.
pub(super) fn rewrite_with(
    network: &Network,
    budget: &Budget,
    substitute: &dyn Fn(Signal) -> Signal,
    mut replace: impl FnMut(&mut Context<'_>, &mut Vec<Signal>) -> Signal,
) -> Result<Network, NetworkError> {
    let n_leaves = network.facts.len() + network.moves.len();
    let mut context = Context {
        network,
        builder: Builder::new(n_leaves, budget),
        is_single: IdVec::new(),
        first_gate: 1 + n_leaves,
    };
    let fan_out = network.fan_out();
    let leaf = |signal: Signal| Some(substitute(signal));
    let copies = copy_gates(network, &mut context, &leaf, |context, gate, inputs, _| {
        let signal = replace(context, inputs);
        context.note_fan_out(signal, fan_out[gate] == 1);
        Some(signal)
    })?;
    let (gates, inputs) = context.builder.into_gates()?;
    let mut rebuilt = network.with_gates(gates, inputs);
    for signal in rebuilt.outputs_mut() {
        *signal = copies.of(*signal).unwrap_or(Signal::FALSE);
    }
    normalised(rebuilt, budget)
}
