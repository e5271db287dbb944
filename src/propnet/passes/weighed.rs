//! Gates laid open for passes that weigh them by how often their inputs flip.
//!
//! Each gate's inputs stand in a list of their own and each signal knows its users, so that gates
//! can be taken apart and put together in any order; [`Weighed::into_network`] makes a network of
//! it again. Only gates that legal moves and the end of the game depend on are open to change: they
//! are what every step of a playout keeps up to date. Gates in blocks are not.
//!
//! Invariants: inputs are sorted, each once; every open gate is an AND; a signal's list of users
//! holds all its open users, and perhaps gates that are users no more.

use std::sync::Arc;

use super::rewrite;
use super::sample::{Sample, Values, runs};
use crate::ground::Budget;
use crate::ids::{GateId, Id, IdVec};
use crate::propnet::network::Gate;
use crate::propnet::tidy::tidied;
use crate::propnet::{BuildError, GateKind, Network, Signal};

/// A network laid open.
pub(super) struct Weighed<'a> {
    network: &'a Network,
    sample: Arc<Sample>,
    values: Values,
    /// Per node, how often it flips.
    flips: Vec<u32>,
    first_gate: usize,
    /// Per gate; new gates at the end.
    inputs: Vec<Vec<Signal>>,
    users: Vec<Vec<u32>>,
    is_open: Vec<bool>,
    /// Per node a number above those of all it depends on.
    height: Vec<u64>,
}

/// Room between the heights of two gates for new ones.
const STOREY: u64 = 1 << 16;

/// Per node a number above those of all it depends on; within a block all have the same.
fn heights(network: &Network, first_gate: usize) -> Vec<u64> {
    let mut height = vec![0; first_gate + network.gates.len()];
    for gates in runs(network) {
        let inputs = gates
            .clone()
            .flat_map(|gate| network.inputs(GateId::from_index(gate)));
        let top = inputs
            .map(|input| height[input.node_number()])
            .max()
            .unwrap_or(0);
        height[first_gate + gates.start..first_gate + gates.end].fill(top + STOREY);
    }
    height
}

/// The gates that legal moves and the end of the game depend on.
fn kept_up_to_date(network: &Network, first_gate: usize) -> Vec<bool> {
    let mut is_wanted = vec![false; network.gates.len()];
    let outputs = network.legal.iter().chain([&network.terminal]);
    let mut open: Vec<Signal> = outputs.copied().collect();
    while let Some(signal) = open.pop() {
        if let Some(gate) = signal.node_number().checked_sub(first_gate)
            && !std::mem::replace(&mut is_wanted[gate], true)
        {
            open.extend(network.inputs(GateId::from_index(gate)));
        }
    }
    is_wanted
}

/// Lays a network open, lets `change` work on it, and makes a network of it again if `change` says
/// that it changed anything. Random play is sampled if that has not been done; a network that
/// cannot be sampled stays as it is.
pub(super) fn weighed(
    network: &Network,
    budget: Budget,
    change: impl FnOnce(&mut Weighed<'_>) -> bool,
) -> Result<Network, BuildError> {
    let sample = match &network.sample {
        Some(sample) => Some(sample.clone()),
        None => Sample::play(network, budget).map(Arc::new),
    };
    let unchanged = || Network {
        sample: sample.clone(),
        ..network.clone()
    };
    let Some(known) = sample.clone().filter(|sample| sample.n_changes() > 0) else {
        return Ok(unchanged());
    };
    let mut weighed = Weighed::new(network, known);
    if !change(&mut weighed) {
        return Ok(unchanged());
    }
    // Gates that have become equal become one.
    rewrite(&weighed.into_network(), budget, |context, inputs| {
        context.builder.and(inputs)
    })
}

impl<'a> Weighed<'a> {
    fn new(network: &'a Network, sample: Arc<Sample>) -> Self {
        let first_gate = 1 + network.facts.len() + network.moves.len();
        let mut is_open = kept_up_to_date(network, first_gate);
        let values = Values::of(network, &sample, |gate| is_open[gate.index()]);
        let n_nodes = first_gate + network.gates.len();
        let is_kept = |node: usize| node < first_gate || is_open[node - first_gate];
        let flips = (0..n_nodes).map(|node| match is_kept(node) {
            true => sample.flips(values.of_node(node)),
            false => 0,
        });
        let flips: Vec<u32> = flips.collect();
        for gate in network.blocks.iter().flatten() {
            is_open[gate.index()] = false;
        }
        let inputs: Vec<Vec<Signal>> = network
            .gates
            .ids()
            .map(|gate| network.inputs(gate).to_vec())
            .collect();
        let mut users = vec![Vec::new(); 2 * n_nodes];
        for (gate, inputs) in inputs.iter().enumerate().filter(|&(gate, _)| is_open[gate]) {
            for input in inputs {
                users[input.0 as usize].push(gate as u32);
            }
        }
        Weighed {
            network,
            sample,
            values,
            flips,
            first_gate,
            inputs,
            users,
            is_open,
            height: heights(network, first_gate),
        }
    }

    /// How many changes of state the flips were counted over.
    pub(super) fn n_changes(&self) -> i64 {
        i64::from(self.sample.n_changes())
    }

    /// How often a signal flips.
    pub(super) fn flips_of(&self, signal: Signal) -> i64 {
        i64::from(self.flips[signal.node_number()])
    }

    /// How often the conjunction of two signals flips.
    pub(super) fn flips_of_both(&self, left: Signal, right: Signal) -> i64 {
        let of = |signal: Signal| {
            let words = self.values.of_node(signal.node_number());
            (words, signal.is_inverted())
        };
        i64::from(self.sample.flips_of_both(of(left), of(right)))
    }

    /// How often the conjunction of some signals flips.
    pub(super) fn flips_of_all(&self, all: &[Signal]) -> i64 {
        i64::from(self.sample.flips_of_all(&self.values, all))
    }

    /// How often 'not all of these' flips, and how often that and `signal`.
    pub(super) fn flips_of_guard(&self, signal: Signal, all: &[Signal]) -> (i64, i64) {
        let (of_all, of_guard) = self.sample.flips_of_guard(&self.values, signal, all);
        (i64::from(of_all), i64::from(of_guard))
    }

    /// All signals but the constants.
    pub(super) fn signals(&self) -> impl Iterator<Item = Signal> + use<> {
        (2..self.users.len() as u32).map(Signal)
    }

    /// A number above those of all that the signal depends on, unless [`Self::replace`] gave it
    /// more to depend on.
    pub(super) fn height_of(&self, signal: Signal) -> u64 {
        self.height[signal.node_number()]
    }

    /// How many gates there are, open or not.
    pub(super) fn n_gates(&self) -> usize {
        self.inputs.len()
    }

    /// The open gate that a signal comes from.
    pub(super) fn open_gate(&self, signal: Signal) -> Option<usize> {
        let gate = signal.node_number().checked_sub(self.first_gate)?;
        self.is_open[gate].then_some(gate)
    }

    /// The gates open to change.
    pub(super) fn open_gates(&self) -> Vec<usize> {
        let gates = 0..self.inputs.len();
        gates.filter(|&gate| self.is_open[gate]).collect()
    }

    /// A gate's inputs.
    pub(super) fn inputs_of(&self, gate: usize) -> &[Signal] {
        &self.inputs[gate]
    }

    /// At least as many open gates have this input.
    pub(super) fn max_users(&self, signal: Signal) -> usize {
        self.users[signal.0 as usize].len()
    }

    /// The open gates that have this input.
    pub(super) fn users_of(&mut self, signal: Signal) -> &[u32] {
        let inputs = &self.inputs;
        let users = &mut self.users[signal.0 as usize];
        users.retain(|&gate| inputs[gate as usize].binary_search(&signal).is_ok());
        users
    }

    /// The open gates that have both inputs.
    pub(super) fn users_of_both(&mut self, left: Signal, right: Signal) -> Vec<u32> {
        let (fewer, other) = match self.max_users(left) <= self.max_users(right) {
            true => (left, right),
            false => (right, left),
        };
        let gates = self.users_of(fewer).to_vec().into_iter();
        gates
            .filter(|&gate| self.inputs[gate as usize].binary_search(&other).is_ok())
            .collect()
    }

    /// Puts one input in the place of some others, which the gate need not all have.
    pub(super) fn replace(&mut self, gate: usize, gone: &[Signal], input: Signal) {
        let inputs = &mut self.inputs[gate];
        inputs.retain(|input| !gone.contains(input));
        if let Err(place) = inputs.binary_search(&input) {
            inputs.insert(place, input);
            self.users[input.0 as usize].push(gate as u32);
        }
    }

    /// Takes an input away.
    pub(super) fn remove(&mut self, gate: usize, gone: Signal) {
        self.inputs[gate].retain(|&input| input != gone);
    }

    /// The signal of a gate.
    pub(super) fn signal_of(&self, gate: usize) -> Signal {
        Signal::of_node(self.first_gate + gate)
    }

    /// The conjunction of two signals or more, as a new gate.
    pub(super) fn and(&mut self, inputs: &[Signal]) -> Signal {
        let mut inputs = inputs.to_vec();
        inputs.sort_unstable();
        inputs.dedup();
        self.values.push_and(&inputs);
        let gate = self.inputs.len();
        self.flips.push(
            self.sample
                .flips(self.values.of_node(self.first_gate + gate)),
        );
        for input in &inputs {
            self.users[input.0 as usize].push(gate as u32);
        }
        self.users.extend([Vec::new(), Vec::new()]);
        let top = inputs.iter().map(|&input| self.height_of(input)).max();
        self.height.push(top.unwrap_or(0) + 1);
        self.inputs.push(inputs);
        self.is_open.push(true);
        self.signal_of(gate)
    }

    fn into_network(self) -> Network {
        let mut gates: IdVec<GateId, Gate> = IdVec::new();
        let mut inputs: Vec<Signal> = Vec::new();
        for (gate, of_gate) in self.inputs.iter().enumerate() {
            let start = inputs.len() as u32;
            inputs.extend_from_slice(of_gate);
            let old = self.network.gates.get(GateId::from_index(gate));
            gates.push(Gate {
                kind: old.map_or(GateKind::And, |gate| gate.kind),
                start,
                end: inputs.len() as u32,
            });
        }
        tidied(Network {
            gates,
            inputs,
            sample: Some(self.sample),
            unweighed: self
                .network
                .unweighed
                .clone()
                .or_else(|| Some(Arc::new(self.network.clone()))),
            ..self.network.clone()
        })
    }
}
