//! Making gates: a hash table of AND gates by their inputs merges common subexpressions; constants,
//! repeated inputs and contradictions are folded on the way.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use thiserror::Error;

use super::network::{Gate, GateKind, Signal};
use panza_gdl::{GateId, Id, IdVec};
use panza_sync::Budget;

/// Why there is no network.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum NetworkError {
    /// A ground atom depends on its own negation.
    #[error("`{atom}` depends on its own negation")]
    NotStratified {
        /// One such atom.
        atom: String,
    },
    /// The deadline passed.
    #[error("the network was not finished in time: {gates} gates so far")]
    OutOfTime {
        /// Gates so far.
        gates: usize,
    },
    /// The memory limit was reached.
    #[error("the network passed its limit of {max_bytes} bytes: {gates} gates so far")]
    OutOfMemory {
        /// The limit.
        max_bytes: usize,
        /// Gates so far.
        gates: usize,
    },
}

/// Bytes that a gate and an input take, with the copies that passes and layouts make of them.
const BYTES_PER_GATE: usize = 64;
const BYTES_PER_INPUT: usize = 16;
/// Inputs of new gates between two checks of the budget.
const CHECK_EVERY: usize = 1 << 14;

pub(super) struct Builder<'a> {
    /// Nodes that are no gates: false, bases, moves.
    first_gate: usize,
    gates: IdVec<GateId, Gate>,
    inputs: Vec<Signal>,
    by_content: HashTable<GateId>,
    budget: &'a Budget,
    /// Inputs of new gates since the last check.
    n_unchecked: usize,
    /// Why the budget is spent. No gates are made then.
    fault: Option<NetworkError>,
}

fn hash_of(inputs: &[Signal]) -> u64 {
    FxBuildHasher.hash_one(inputs)
}

impl<'a> Builder<'a> {
    /// No gates yet; `n_inputs` is the number of bases and moves together.
    pub(super) fn new(n_inputs: usize, budget: &'a Budget) -> Self {
        Self {
            first_gate: 1 + n_inputs,
            gates: IdVec::new(),
            inputs: Vec::new(),
            by_content: HashTable::new(),
            budget,
            n_unchecked: 0,
            fault: None,
        }
    }

    /// Reads the clock.
    ///
    /// # Errors
    /// The budget is spent, now or at an earlier check.
    pub(super) fn check(&mut self) -> Result<(), NetworkError> {
        self.n_unchecked = 0;
        if self.fault.is_none() {
            self.fault = self.fault();
        }
        self.fault.clone().map_or(Ok(()), Err)
    }

    fn fault(&self) -> Option<NetworkError> {
        let gates = self.gates.len();
        let max_bytes = self.budget.max_bytes;
        if self.budget.is_over() {
            return Some(NetworkError::OutOfTime { gates });
        }
        let bytes = gates * BYTES_PER_GATE + self.inputs.len() * BYTES_PER_INPUT;
        let is_large = bytes > max_bytes || self.inputs.len() > (u32::MAX / 4) as usize;
        is_large.then_some(NetworkError::OutOfMemory { max_bytes, gates })
    }

    /// Counts steps of work beside the making of gates; whether the budget is spent. For loops that
    /// may run long without a new gate.
    pub(super) fn is_over_after(&mut self, steps: usize) -> bool {
        self.n_unchecked += steps;
        if self.n_unchecked >= CHECK_EVERY {
            // The fault is kept.
            let _ = self.check();
        }
        self.fault.is_some()
    }

    /// A gate whose inputs are set later, by [`Self::fill`].
    pub(super) fn reserve(&mut self, kind: GateKind) -> Signal {
        let gate = self.gates.push(Gate {
            kind,
            start: 0,
            end: 0,
        });
        Signal::of_node(self.first_gate + gate.index())
    }

    /// Sets the inputs of a reserved gate. If they make it constant, it becomes a gate of no
    /// inputs.
    pub(super) fn fill(&mut self, signal: Signal, inputs: &mut Vec<Signal>) {
        let gate = GateId::from_index(signal.node_number() - self.first_gate);
        let mut kind = self.gates[gate].kind;
        let (neutral, decisive, opposite) = match kind {
            GateKind::And => (Signal::TRUE, Signal::FALSE, GateKind::Or),
            GateKind::Or => (Signal::FALSE, Signal::TRUE, GateKind::And),
        };
        if inputs.contains(&decisive) {
            inputs.clear();
            kind = opposite;
        }
        inputs.retain(|&input| input != neutral);
        inputs.sort_unstable();
        inputs.dedup();
        let start = self.inputs.len() as u32;
        self.inputs.extend_from_slice(inputs);
        self.gates[gate] = Gate {
            kind,
            start,
            end: self.inputs.len() as u32,
        };
    }

    /// The inputs of the AND gate that a signal comes from, if it comes from one.
    pub(super) fn and_inputs(&self, signal: Signal) -> Option<&[Signal]> {
        let gate = self.gates.get(GateId::from_index(
            signal.node_number().checked_sub(self.first_gate)?,
        ))?;
        let Gate { kind, start, end } = *gate;
        (kind == GateKind::And && start < end).then(|| &self.inputs[start as usize..end as usize])
    }

    pub(super) fn n_gates(&self) -> usize {
        self.gates.len()
    }

    /// The gates and their inputs.
    ///
    /// # Errors
    /// The budget was spent, so gates are missing.
    pub(super) fn into_gates(self) -> Result<(IdVec<GateId, Gate>, Vec<Signal>), NetworkError> {
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok((self.gates, self.inputs)),
        }
    }

    /// The conjunction of some signals, in any order and with any repeats; any signal once the
    /// budget is spent.
    pub(super) fn and(&mut self, inputs: &mut Vec<Signal>) -> Signal {
        if self.is_over_after(1 + inputs.len()) {
            return Signal::FALSE;
        }
        inputs.sort_unstable();
        inputs.dedup();
        if inputs.first() == Some(&Signal::FALSE) {
            return Signal::FALSE;
        }
        if inputs.first() == Some(&Signal::TRUE) {
            inputs.remove(0);
        }
        // A signal and its inverse stand side by side after sorting.
        if inputs.windows(2).any(|pair| pair[0] == !pair[1]) {
            return Signal::FALSE;
        }
        match inputs[..] {
            [] => return Signal::TRUE,
            [only] => return only,
            _ => {}
        }
        let hash = hash_of(inputs);
        let (gates, stored) = (&self.gates, &self.inputs);
        let content = |gate: GateId| {
            let Gate { start, end, .. } = gates[gate];
            &stored[start as usize..end as usize]
        };
        if let Some(&gate) = self
            .by_content
            .find(hash, |&gate| content(gate) == &inputs[..])
        {
            return Signal::of_node(self.first_gate + gate.index());
        }
        let start = self.inputs.len() as u32;
        self.inputs.extend_from_slice(inputs);
        let gate = self.gates.push(Gate {
            kind: GateKind::And,
            start,
            end: self.inputs.len() as u32,
        });
        let (gates, stored) = (&self.gates, &self.inputs);
        self.by_content.insert_unique(hash, gate, |&gate| {
            let Gate { start, end, .. } = gates[gate];
            hash_of(&stored[start as usize..end as usize])
        });
        Signal::of_node(self.first_gate + gate.index())
    }

    pub(super) fn or(&mut self, inputs: &mut Vec<Signal>) -> Signal {
        inputs.iter_mut().for_each(|input| *input = !*input);
        !self.and(inputs)
    }
}
