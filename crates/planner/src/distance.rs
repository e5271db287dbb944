//! A distance to the goal: how many facts still have to change, counted over the gates.
//!
//! A fact of the wrong value counts 1. For a gate that must be on, all inputs of an AND are added
//! up, and of an OR the least one counts. Facts that depend on no move count nothing. (Goal
//! counting, as in planning, on formulas; the additive heuristic without actions: Bonet and
//! Geffner 2001.)
//!
//! Invariant: a state in which the goal holds, counters aside, has distance 0.

use super::task::Task;
use panza_gdl::Id;
use panza_propnet::{GateKind, Node, Signal};

/// The greatest distance.
const MAX: u32 = 1 << 20;

/// A gate in the cone of the target.
struct ConeGate {
    is_and: bool,
    /// The inputs: twice the place of a node in `values`, and whether it is inverted.
    inputs: std::ops::Range<u32>,
}

/// Computes distances; one thread's.
pub(super) struct GoalDistance {
    /// The facts in the cone; `None` for counters.
    facts: Vec<Option<usize>>,
    gates: Vec<ConeGate>,
    inputs: Vec<u32>,
    target: u32,
    /// Per node of the cone the distance to on and to off: facts first, then gates.
    values: Vec<[u32; 2]>,
}

impl GoalDistance {
    /// The distance to the best goal; `None` where the network is not known, or the goal depends on
    /// no fact that moves change, or on recursion.
    pub fn new(task: &Task) -> Option<Self> {
        let (network, target) = (task.game.network.as_deref()?, task.best_goal?);
        let cone = network.cone([target]);
        if network
            .blocks
            .iter()
            .flatten()
            .any(|gate| cone[gate.index()])
        {
            return None;
        }
        let mut place = vec![u32::MAX; network.n_nodes()];
        let mut facts = Vec::new();
        let mut values = vec![[MAX, 0]];
        // Nodes that are constant, and moves, which goals cannot read, are off.
        let mut is_dependent = false;
        let gate_ids = network.gates.ids().filter(|gate| cone[gate.index()]);
        let gate_ids: Vec<_> = gate_ids.collect();
        let read = gate_ids.iter().flat_map(|&gate| network.inputs(gate));
        for &input in read.chain([&target]) {
            let node = input.node_number();
            if let Node::Base(base) = network.node(input)
                && place[node] == u32::MAX
            {
                let index = base.index();
                let is_counted = task.game.mask[index / 64] >> (index % 64) & 1 == 1;
                is_dependent |= is_counted;
                place[node] = values.len() as u32;
                facts.push(is_counted.then_some(index));
                values.push([0, 0]);
            }
        }
        for &gate in &gate_ids {
            place[network.first_gate() + gate.index()] = values.len() as u32;
            values.push([MAX, MAX]);
        }
        let item = |signal: Signal| {
            let place = place[signal.node_number()];
            let place = if place == u32::MAX { 0 } else { place };
            place * 2 + u32::from(signal.is_inverted())
        };
        let mut inputs = Vec::new();
        let mut gates = Vec::new();
        for &gate in &gate_ids {
            let start = inputs.len() as u32;
            inputs.extend(network.inputs(gate).iter().map(|&input| item(input)));
            gates.push(ConeGate {
                is_and: network.gates[gate].kind == GateKind::And,
                inputs: start..inputs.len() as u32,
            });
        }
        is_dependent.then(|| Self {
            target: item(target),
            facts,
            gates,
            inputs,
            values,
        })
    }

    /// The distance of a state, at most 2²⁰.
    pub fn of(&mut self, state: &[u64]) -> u32 {
        for (fact, value) in self.facts.iter().zip(&mut self.values[1..]) {
            if let Some(index) = *fact {
                let is_on = (state[index / 64] >> (index % 64) & 1) as u32;
                *value = [1 - is_on, is_on];
            }
        }
        let first = 1 + self.facts.len();
        for (index, gate) in self.gates.iter().enumerate() {
            let side = usize::from(gate.is_and);
            let inputs = &self.inputs[gate.inputs.start as usize..gate.inputs.end as usize];
            // All inputs must have one value for `all`, one of them the other value for `one`.
            let (mut all, mut one) = (0u32, MAX);
            for &input in inputs {
                let distances = self.values[(input >> 1) as usize];
                let inverted = (input & 1) as usize;
                all += distances[side ^ 1 ^ inverted];
                all = all.min(MAX);
                one = one.min(distances[side ^ inverted]);
            }
            self.values[first + index] = match gate.is_and {
                true => [all, one],
                false => [one, all],
            };
        }
        self.values[(self.target >> 1) as usize][(self.target & 1) as usize]
    }
}
