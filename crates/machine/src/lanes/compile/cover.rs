//! Technology mapping: a network covered by functions of three values.
//!
//! Gates with one user are merged into it, so a whole tree of ANDs and ORs becomes one expression,
//! and expressions are cut into operations of three inputs. (LUT covering as for FPGAs: Cong and
//! Ding, FlowMap, 1994; here greedy and tree by tree.)
//!
//! Invariants: a literal is on in a lane exactly when its signal is on in that lane's state under
//! that lane's moves, once the loops of all blocks below it have reached their fixpoints.
//!
//! Never uses: how a move is chosen.

use super::circuit::{Circuit, Function, Literal, Stage};
use panza_gdl::{BaseId, GateId, IdVec, MoveId};
use panza_propnet::{GateKind, Network, Node, Signal};

/// Deeper trees are cut, since they are covered by recursion.
pub(super) const MAX_DEPTH: u16 = 64;

/// The literals of a network's signals.
#[derive(Clone)]
pub(super) struct LutCover<'a> {
    pub(super) network: &'a Network,
    /// Gates with a node of their own.
    pub(super) is_root: IdVec<GateId, bool>,
    needed: IdVec<GateId, bool>,
    pub(super) block_of: IdVec<GateId, u32>,
    pub(super) literals: IdVec<GateId, Option<Literal>>,
    bases: IdVec<BaseId, Literal>,
    moves: IdVec<MoveId, Literal>,
    pub(super) n_slots: u32,
}

/// Not in a block.
pub(super) const NO_BLOCK: u32 = u32::MAX;

/// Marks a whole block where one of its gates is marked. Called for gates from the last to the
/// first; a block's users come after it, so the block is completed at its last gate.
fn complete_block(network: &Network, block: u32, gate: GateId, marked: &mut IdVec<GateId, bool>) {
    let Some(gates) = network.blocks.get(block as usize) else {
        return;
    };
    if gates.last() == Some(&gate) && gates.iter().any(|&gate| marked[gate]) {
        gates.iter().for_each(|&gate| marked[gate] = true);
    }
}

impl<'a> LutCover<'a> {
    /// Prepares to cover what the outputs need. `bases` gives the literal of each base; slots from
    /// `n_slots` on are free.
    pub(super) fn new(
        network: &'a Network,
        bases: IdVec<BaseId, Literal>,
        outputs: &[Signal],
        n_slots: u32,
    ) -> Self {
        let n_gates = network.gates.len();
        let filled = |value| IdVec::from_vec(vec![value; n_gates]);
        let mut block_of: IdVec<GateId, u32> = IdVec::from_vec(vec![NO_BLOCK; n_gates]);
        for (index, gates) in network.blocks.iter().enumerate() {
            gates.iter().for_each(|&gate| block_of[gate] = index as u32);
        }
        let mut n_users: IdVec<GateId, u32> = IdVec::from_vec(vec![0; n_gates]);
        let mut needed: IdVec<GateId, bool> = filled(false);
        for &signal in outputs {
            if let Node::Gate(gate) = network.node(signal) {
                n_users[gate] += 1;
                needed[gate] = true;
            }
        }
        for gate in network.gates.ids().rev() {
            complete_block(network, block_of[gate], gate, &mut needed);
            if !needed[gate] {
                continue;
            }
            for &input in network.inputs(gate) {
                if let Node::Gate(input) = network.node(input) {
                    n_users[input] += 1;
                    needed[input] = true;
                }
            }
        }
        let mut is_root: IdVec<GateId, bool> = filled(false);
        let mut depths: IdVec<GateId, u16> = IdVec::from_vec(vec![0; n_gates]);
        for gate in network.gates.ids().filter(|&gate| needed[gate]) {
            let inner =
                network
                    .inputs(gate)
                    .iter()
                    .filter_map(|&input| match network.node(input) {
                        Node::Gate(input) if !is_root[input] => Some(depths[input]),
                        _ => None,
                    });
            depths[gate] = inner.max().unwrap_or(0) + 1;
            let is_deep = depths[gate] > MAX_DEPTH && block_of[gate] == NO_BLOCK;
            is_root[gate] = n_users[gate] > 1 || is_deep;
        }
        for &signal in outputs {
            if let Node::Gate(gate) = network.node(signal) {
                is_root[gate] = true;
            }
        }
        Self {
            network,
            is_root,
            needed,
            block_of,
            literals: filled(false).iter().map(|_| None).collect(),
            bases,
            moves: network.moves.iter().map(|_| Literal::FALSE).collect(),
            n_slots,
        }
    }

    pub(super) fn n_slots(&self) -> u32 {
        self.n_slots
    }

    pub(super) fn set_base(&mut self, base: BaseId, literal: Literal) {
        self.bases[base] = literal;
    }

    pub(super) fn set_move(&mut self, mv: MoveId, literal: Literal) {
        self.moves[mv] = literal;
    }

    /// Makes the literals of some outputs, and returns the loops that have to run before.
    pub(super) fn make(&mut self, circuit: &mut Circuit, outputs: &[Signal]) -> Vec<Stage> {
        let network = self.network;
        let mut wanted: IdVec<GateId, bool> = IdVec::from_vec(vec![false; network.gates.len()]);
        for &signal in outputs {
            if let Node::Gate(gate) = network.node(signal) {
                wanted[gate] = true;
            }
        }
        for gate in network.gates.ids().rev() {
            let block = self.block_of[gate];
            complete_block(network, block, gate, &mut wanted);
            if !wanted[gate] || self.literals[gate].is_some() && block == NO_BLOCK {
                continue;
            }
            for &input in network.inputs(gate) {
                if let Node::Gate(input) = network.node(input) {
                    wanted[input] = true;
                }
            }
        }
        let mut loops = Vec::new();
        for gate in network.gates.ids() {
            if !wanted[gate] || !self.is_root[gate] || self.literals[gate].is_some() {
                continue;
            }
            debug_assert!(self.needed[gate]);
            match self.block_of[gate] {
                NO_BLOCK => {
                    let function = self.gate(circuit, gate);
                    self.literals[gate] = Some(circuit.value(function));
                }
                block => loops.extend(self.block(circuit, block)),
            }
        }
        loops
    }

    /// The literal of a signal, after it was made.
    pub(super) fn literal(&self, signal: Signal) -> Literal {
        let plain = match self.network.node(signal) {
            Node::False => Literal::FALSE,
            Node::Base(base) => self.bases[base],
            Node::Move(mv) => self.moves[mv],
            Node::Gate(gate) => self.literals[gate].unwrap_or(Literal::FALSE),
        };
        plain.inverted_if(signal.is_inverted())
    }

    /// The function of a signal, with single-user gates merged.
    pub(super) fn function(&mut self, circuit: &mut Circuit, signal: Signal) -> Function {
        match self.network.node(signal) {
            Node::Gate(gate) if self.literals[gate].is_none() => {
                let function = self.gate(circuit, gate);
                function.inverted_if(signal.is_inverted())
            }
            _ => Function::literal(self.literal(signal)),
        }
    }

    pub(super) fn gate(&mut self, circuit: &mut Circuit, gate: GateId) -> Function {
        if self.block_of[gate] != NO_BLOCK {
            return self.gate_of_block(circuit, gate);
        }
        let is_or = self.network.gates[gate].kind == GateKind::Or;
        let network = self.network;
        let functions = network
            .inputs(gate)
            .iter()
            .map(|&input| self.function(circuit, input).inverted_if(is_or))
            .collect();
        circuit.conjunction(functions).inverted_if(is_or)
    }
}
