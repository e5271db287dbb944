//! A network open to edits, for passes that weight them by how often signals flip.
//!
//! Inputs are lists per gate and users lists per signal, so that gates can be rewired in any order;
//! [`WeightedNetwork::into_network`] makes a network of them again. Only gates in the cone of
//! influence of legal moves and terminality are editable: every step of a playout keeps them up to
//! date. Gates in blocks are not editable.
//!
//! Invariants: inputs are sorted, each once; every editable gate is an AND; a signal's list of
//! users holds all its editable users, and perhaps former users.

use std::sync::Arc;

use super::rewrite;
use super::sample::Values;
use crate::network::Gate;
use crate::normalise::normalised;
use crate::playout_sample::PlayoutSample;
use crate::{GateKind, Network, NetworkError, Signal};
use panza_gdl::{GateId, Id, IdVec};
use panza_sync::Budget;

/// The cost of a flip of a new gate, in updates.
pub(super) const GATE_COST: i64 = 2;

/// A network with editable gates.
pub(super) struct WeightedNetwork<'a> {
    network: &'a Network,
    sample: Arc<PlayoutSample>,
    values: Values,
    /// Per node the number of flips in the sample.
    flips: Vec<u32>,
    first_gate: usize,
    /// Per gate; new gates at the end.
    inputs: Vec<Vec<Signal>>,
    users: Vec<Vec<u32>>,
    is_editable: Vec<bool>,
    /// Per node a number above those of all nodes that it depends on.
    height: Vec<u64>,
    steps: Budget,
}

/// The difference of height between a gate and its highest input, which leaves room for new gates.
const LEVEL: u64 = 1 << 16;

/// Per node a number above those of all nodes that it depends on; equal within a block.
fn heights(network: &Network, first_gate: usize) -> Vec<u64> {
    let mut height = vec![0; network.n_nodes()];
    for gates in network.components() {
        let inputs = gates
            .clone()
            .flat_map(|gate| network.inputs(GateId::from_index(gate)));
        let top = inputs
            .map(|input| height[input.node_number()])
            .max()
            .unwrap_or(0);
        height[first_gate + gates.start..first_gate + gates.end].fill(top + LEVEL);
    }
    height
}

/// Opens a network to edits and normalises it if `edit` returns that it changed anything. Samples
/// random play unless that was done before; a network that cannot be sampled stays as it is.
pub(super) fn weighted(
    network: &Network,
    budget: &Budget,
    edit: impl FnOnce(&mut WeightedNetwork<'_>) -> bool,
) -> Result<Network, NetworkError> {
    let sample = match &network.sample {
        Some(sample) => Some(sample.clone()),
        None => PlayoutSample::play(network, budget).map(Arc::new),
    };
    let unchanged = || Network {
        sample: sample.clone(),
        ..network.clone()
    };
    let Some(known) = sample.clone().filter(|sample| sample.n_changes() > 0) else {
        return Ok(unchanged());
    };
    let mut editable = WeightedNetwork::new(network, known, budget);
    let is_changed = edit(&mut editable);
    if editable.is_over_after(0) {
        let gates = network.gates.len();
        return Err(NetworkError::OutOfTime { gates });
    }
    if !is_changed {
        return Ok(unchanged());
    }
    // Merges gates that have become equal.
    rewrite(
        &editable.into_network(budget)?,
        budget,
        |context, inputs| context.builder.and(inputs),
    )
}

impl<'a> WeightedNetwork<'a> {
    fn new(network: &'a Network, sample: Arc<PlayoutSample>, budget: &'a Budget) -> Self {
        let first_gate = network.first_gate();
        let outputs = network.legal.iter().chain([&network.terminal]);
        let mut is_editable = network.cone(outputs.copied());
        let values = Values::of(network, &sample, |gate| is_editable[gate.index()]);
        let n_nodes = network.n_nodes();
        let is_kept = |node: usize| node < first_gate || is_editable[node - first_gate];
        let flips = (0..n_nodes).map(|node| match is_kept(node) {
            true => sample.flips(values.of_node(node)),
            false => 0,
        });
        let flips: Vec<u32> = flips.collect();
        for gate in network.blocks.iter().flatten() {
            is_editable[gate.index()] = false;
        }
        let inputs: Vec<Vec<Signal>> = network
            .gates
            .ids()
            .map(|gate| network.inputs(gate).to_vec())
            .collect();
        let mut users = vec![Vec::new(); 2 * n_nodes];
        let editable = inputs
            .iter()
            .enumerate()
            .filter(|&(gate, _)| is_editable[gate]);
        for (gate, inputs) in editable {
            for input in inputs {
                users[input.0 as usize].push(gate as u32);
            }
        }
        WeightedNetwork {
            network,
            sample,
            values,
            flips,
            first_gate,
            inputs,
            users,
            is_editable,
            height: heights(network, first_gate),
            steps: budget.clone(),
        }
    }

    /// Counts steps of an edit; whether it has to end. An edit that ends early is dropped.
    pub(super) fn is_over_after(&mut self, steps: usize) -> bool {
        self.steps.spend(steps).is_none()
    }

    pub(super) fn n_changes(&self) -> i64 {
        i64::from(self.sample.n_changes())
    }

    pub(super) fn flips_of(&self, signal: Signal) -> i64 {
        i64::from(self.flips[signal.node_number()])
    }

    pub(super) fn flips_of_both(&self, left: Signal, right: Signal) -> i64 {
        let of = |signal: Signal| {
            let words = self.values.of_node(signal.node_number());
            (words, signal.is_inverted())
        };
        i64::from(self.sample.flips_of_both(of(left), of(right)))
    }

    pub(super) fn flips_of_all(&self, all: &[Signal]) -> i64 {
        i64::from(self.sample.flips_of_all(&self.values, all))
    }

    /// How often 'not all of these' flips, and how often that and `signal`.
    pub(super) fn flips_of_guard(&self, signal: Signal, all: &[Signal]) -> (i64, i64) {
        let (of_all, of_guard) = self.sample.flips_of_guard(&self.values, signal, all);
        (i64::from(of_all), i64::from(of_guard))
    }

    pub(super) fn signals(&self) -> impl Iterator<Item = Signal> + use<> {
        (2..self.users.len() as u32).map(Signal)
    }

    /// A number above those of all that the signal depends on, unless [`Self::replace`] added
    /// inputs above it.
    pub(super) fn height_of(&self, signal: Signal) -> u64 {
        self.height[signal.node_number()]
    }

    pub(super) fn n_gates(&self) -> usize {
        self.inputs.len()
    }

    pub(super) fn editable_gate(&self, signal: Signal) -> Option<usize> {
        let gate = signal.node_number().checked_sub(self.first_gate)?;
        self.is_editable[gate].then_some(gate)
    }

    pub(super) fn editable_gates(&self) -> Vec<usize> {
        let gates = 0..self.inputs.len();
        gates.filter(|&gate| self.is_editable[gate]).collect()
    }

    pub(super) fn inputs_of(&self, gate: usize) -> &[Signal] {
        &self.inputs[gate]
    }

    /// An upper bound of the number of editable gates with this input.
    pub(super) fn max_users(&self, signal: Signal) -> usize {
        self.users[signal.0 as usize].len()
    }

    /// The editable gates with this input.
    pub(super) fn users_of(&mut self, signal: Signal) -> &[u32] {
        let inputs = &self.inputs;
        let users = &mut self.users[signal.0 as usize];
        users.retain(|&gate| inputs[gate as usize].binary_search(&signal).is_ok());
        users
    }

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

    /// Replaces inputs of a gate, not all of which it must have, by one.
    pub(super) fn replace(&mut self, gate: usize, gone: &[Signal], input: Signal) {
        let inputs = &mut self.inputs[gate];
        inputs.retain(|input| !gone.contains(input));
        if let Err(place) = inputs.binary_search(&input) {
            inputs.insert(place, input);
            self.users[input.0 as usize].push(gate as u32);
        }
    }

    pub(super) fn remove(&mut self, gate: usize, gone: Signal) {
        self.inputs[gate].retain(|&input| input != gone);
    }

    pub(super) fn signal_of(&self, gate: usize) -> Signal {
        Signal::of_node(self.first_gate + gate)
    }

    /// A new gate, the conjunction of two signals or more.
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
        self.is_editable.push(true);
        self.signal_of(gate)
    }

    fn into_network(self, budget: &Budget) -> Result<Network, NetworkError> {
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
        let mut network = self.network.with_gates(gates, inputs);
        network.sample = Some(self.sample);
        let network_before = || Arc::new(self.network.clone());
        network.unweighted.get_or_insert_with(network_before);
        normalised(network, budget)
    }
}
