//! From ground program to network.
//!
//! Each atom becomes the OR of its rules, each rule the AND of its body. Gates are made through one table keyed by
//! kind and sorted inputs, with constants, repeats and contradictions folded on the way, so equal logic is shared as
//! it arises. Atoms that depend on each other get an OR gate each beforehand, filled in when all are known.

use std::hash::BuildHasher;
use std::time::Instant;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use thiserror::Error;

use super::network::{Gate, GateKind, Network, Signal};
use crate::ground::{AtomKind, Budget, GroundProgram, components};
use crate::ids::{AtomId, GateId, Id, IdVec};

/// Why there is no network.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BuildError {
    /// A ground atom depends on its own negation.
    #[error("`{atom}` depends on its own negation")]
    NotStratified {
        /// One such atom.
        atom: String,
    },
    /// The time was up.
    #[error("the network was not finished in time: {gates} gates so far")]
    OutOfTime {
        /// Gates so far.
        gates: usize,
    },
    /// The tables grew too large.
    #[error("the network passed its limit of {max_bytes} bytes: {gates} gates so far")]
    OutOfMemory {
        /// The limit.
        max_bytes: usize,
        /// Gates so far.
        gates: usize,
    },
}

/// Builds the network of a ground program.
///
/// # Errors
/// When the rules are not stratified, or the budget ends it; see [`BuildError`].
pub fn build(program: &GroundProgram, budget: Budget) -> Result<Network, BuildError> {
    let components = components(program).map_err(|atom| BuildError::NotStratified {
        atom: program.show(atom),
    })?;
    let by_head = program.rules_by_head();
    let mut builder = Builder::new(program.bases.len() + program.moves.len());
    let mut signal_of: IdVec<AtomId, Signal> =
        program.atoms.iter().map(|_| Signal::FALSE).collect();
    let mut body: Vec<Signal> = Vec::new();
    let mut alternatives: Vec<Signal> = Vec::new();
    for (count, component) in components.iter().enumerate() {
        if count.is_multiple_of(1 << 10) {
            builder.check(budget)?;
        }
        if component.is_cyclic {
            for &atom in &component.atoms {
                signal_of[atom] = builder.reserve();
            }
        }
        for &atom in &component.atoms {
            match program.atoms[atom].kind {
                AtomKind::Base(base) => {
                    signal_of[atom] = Signal::of_node(1 + base.index());
                    continue;
                }
                AtomKind::Does(mv) => {
                    signal_of[atom] = Signal::of_node(1 + program.bases.len() + mv.index());
                    continue;
                }
                AtomKind::Derived => {}
            }
            alternatives.clear();
            for &rule in by_head.rules_of(atom) {
                body.clear();
                body.extend(program.body(rule as usize).iter().map(|literal| {
                    let signal = signal_of[literal.atom()];
                    if literal.is_negative() {
                        !signal
                    } else {
                        signal
                    }
                }));
                let rule = builder.and(&mut body);
                if rule == Signal::TRUE {
                    alternatives.clear();
                    alternatives.push(rule);
                    break;
                }
                alternatives.push(rule);
            }
            if component.is_cyclic {
                builder.fill(signal_of[atom], &mut alternatives);
            } else {
                signal_of[atom] = builder.or(&mut alternatives);
            }
        }
    }
    builder.check(budget)?;
    let of = |atom: Option<AtomId>| atom.map_or(Signal::FALSE, |atom| signal_of[atom]);
    let network = Network {
        roles: program
            .roles
            .iter()
            .map(|&role| program.show_term(role))
            .collect(),
        facts: program
            .bases
            .iter()
            .map(|&fact| program.show_term(fact))
            .collect(),
        moves: program
            .moves
            .iter()
            .map(|mv| (mv.role, program.show_term(mv.term)))
            .collect(),
        initial: program.initial.clone(),
        next: program.next.iter().map(|&next| of(next)).collect(),
        legal: program.moves.iter().map(|mv| signal_of[mv.legal]).collect(),
        terminal: of(program.terminal),
        goals: program
            .goals
            .iter()
            .map(|&(role, value, atom)| (role, value, signal_of[atom]))
            .collect(),
        gates: builder.gates,
        inputs: builder.inputs,
        blocks: Vec::new(),
    };
    Ok(tidied(network))
}

struct Builder {
    /// Nodes that are no gates: false, bases, moves.
    first_gate: usize,
    gates: IdVec<GateId, Gate>,
    inputs: Vec<Signal>,
    by_content: HashTable<GateId>,
}

fn hash_of(inputs: &[Signal]) -> u64 {
    FxBuildHasher.hash_one(inputs)
}

impl Builder {
    fn new(n_inputs: usize) -> Self {
        Self {
            first_gate: 1 + n_inputs,
            gates: IdVec::new(),
            inputs: Vec::new(),
            by_content: HashTable::new(),
        }
    }

    fn check(&self, budget: Budget) -> Result<(), BuildError> {
        let gates = self.gates.len();
        if budget.until.is_some_and(|until| Instant::now() >= until) {
            return Err(BuildError::OutOfTime { gates });
        }
        if gates * 24 + self.inputs.len() * 4 > budget.max_bytes
            || self.inputs.len() > (u32::MAX / 4) as usize
        {
            return Err(BuildError::OutOfMemory {
                max_bytes: budget.max_bytes,
                gates,
            });
        }
        Ok(())
    }

    /// A gate whose inputs come later.
    fn reserve(&mut self) -> Signal {
        let gate = self.gates.push(Gate {
            kind: GateKind::Or,
            start: 0,
            end: 0,
        });
        Signal::of_node(self.first_gate + gate.index())
    }

    /// The inputs of a reserved gate.
    fn fill(&mut self, signal: Signal, inputs: &mut Vec<Signal>) {
        inputs.retain(|&input| input != Signal::FALSE && input != signal);
        inputs.sort_unstable();
        inputs.dedup();
        let start = self.inputs.len() as u32;
        self.inputs.extend_from_slice(inputs);
        let gate = GateId::from_index(signal.node_number() - self.first_gate);
        self.gates[gate] = Gate {
            kind: GateKind::Or,
            start,
            end: self.inputs.len() as u32,
        };
    }

    /// The conjunction of some signals, whose order and repeats do not matter.
    fn and(&mut self, inputs: &mut Vec<Signal>) -> Signal {
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

    /// The disjunction of some signals.
    fn or(&mut self, inputs: &mut Vec<Signal>) -> Signal {
        inputs.iter_mut().for_each(|input| *input = !*input);
        !self.and(inputs)
    }
}

/// The same network with gates that matter to some output only, inputs before users, and its blocks found.
///
/// Gates inside a component that hold a constant or single input keep it: a component's gates are not simplified.
fn tidied(mut network: Network) -> Network {
    let first_gate = 1 + network.facts.len() + network.moves.len();
    let gate_of = |signal: Signal| signal.node_number().checked_sub(first_gate);
    let n_gates = network.gates.len();
    let mut is_wanted = vec![false; n_gates];
    let mut open: Vec<usize> = Vec::new();
    let outputs = network
        .next
        .iter()
        .chain(network.legal.iter())
        .chain([&network.terminal]);
    for signal in outputs.chain(network.goals.iter().map(|(_, _, signal)| signal)) {
        open.extend(gate_of(*signal));
    }
    while let Some(gate) = open.pop() {
        if !std::mem::replace(&mut is_wanted[gate], true) {
            open.extend(
                network
                    .inputs(GateId::from_index(gate))
                    .iter()
                    .filter_map(|&input| gate_of(input)),
            );
        }
    }
    let groups = crate::ground::strongly_connected(n_gates, |gate| {
        let inputs = if is_wanted[gate] {
            network.inputs(GateId::from_index(gate))
        } else {
            &[]
        };
        inputs.iter().filter_map(|&input| gate_of(input))
    });
    let mut new_number = vec![0u32; n_gates];
    let mut order: Vec<usize> = Vec::new();
    let mut blocks = Vec::new();
    for group in groups {
        let is_block = group.len() > 1;
        let mut block = Vec::new();
        for &gate in group.iter().filter(|&&gate| is_wanted[gate as usize]) {
            new_number[gate as usize] = order.len() as u32;
            block.push(GateId::from_index(order.len()));
            order.push(gate as usize);
        }
        if is_block && !block.is_empty() {
            blocks.push(block);
        }
    }
    let moved = |signal: Signal| match gate_of(signal) {
        Some(gate) => {
            let plain = Signal::of_node(first_gate + new_number[gate] as usize);
            if signal.is_inverted() { !plain } else { plain }
        }
        None => signal,
    };
    let mut gates = IdVec::new();
    let mut inputs = Vec::new();
    for gate in order {
        let gate = GateId::from_index(gate);
        let start = inputs.len() as u32;
        inputs.extend(network.inputs(gate).iter().map(|&input| moved(input)));
        inputs[start as usize..].sort_unstable();
        gates.push(Gate {
            kind: network.gates[gate].kind,
            start,
            end: inputs.len() as u32,
        });
    }
    network
        .next
        .iter_mut()
        .for_each(|signal| *signal = moved(*signal));
    network
        .legal
        .iter_mut()
        .for_each(|signal| *signal = moved(*signal));
    network.terminal = moved(network.terminal);
    network
        .goals
        .iter_mut()
        .for_each(|(_, _, signal)| *signal = moved(*signal));
    Network {
        gates,
        inputs,
        blocks,
        ..network
    }
}
