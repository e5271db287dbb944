//! A network as a circuit: gates covered by functions of three values.
//!
//! Gates that one user alone needs are taken into that user, so a whole tree of ANDs and ORs
//! becomes one expression, and expressions are cut into operations of three inputs, two more leaves
//! with each. (Technology mapping, as compilers for programmable hardware do it: Cong and Ding,
//! FlowMap, 1994; greedily here, tree by tree.)
//!
//! Invariants: a literal is on in a lane exactly when its signal is on in that lane's state under
//! that lane's moves, once the loops of all blocks it hangs on have come to rest.
//!
//! Never knows: how a move is chosen.

use super::super::program::Place;
use super::circuit::{Circuit, Function, Literal};
use crate::ids::{BaseId, GateId, IdVec, MoveId};
use crate::propnet::{GateKind, Network, Node, Signal};

/// Trees deeper than this are cut, since they are gone through by recursion.
const MAX_DEPTH: u16 = 64;

/// A loop that is run until nothing changes: gates that depend on each other, from all of them off.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    /// Per gate what it is after one more round, and where that goes.
    pub(super) outputs: Vec<(Literal, Place)>,
    /// The first slot of what the gates were before the round.
    pub(super) old: u32,
    /// The first slot of what they are after it.
    pub(super) new: u32,
    /// How many gates there are.
    pub(super) n_gates: u32,
}

/// What gates became, signal by signal.
#[derive(Clone)]
pub(super) struct Cover<'a> {
    network: &'a Network,
    /// Gates with a value of their own.
    is_root: IdVec<GateId, bool>,
    needed: IdVec<GateId, bool>,
    block_of: IdVec<GateId, u32>,
    literals: IdVec<GateId, Option<Literal>>,
    bases: IdVec<BaseId, Literal>,
    moves: IdVec<MoveId, Literal>,
    /// The first free slot.
    n_slots: u32,
}

/// Not in a block.
const NO_BLOCK: u32 = u32::MAX;

/// Marks a whole block where one of its gates is marked: they need each other. To be asked of all
/// gates from the last to the first, with the block that each is in; all users outside of a block
/// come after it, so its last gate asks for all.
fn complete_block(network: &Network, block: u32, gate: GateId, marked: &mut IdVec<GateId, bool>) {
    let Some(gates) = network.blocks.get(block as usize) else {
        return;
    };
    if gates.last() == Some(&gate) && gates.iter().any(|&gate| marked[gate]) {
        gates.iter().for_each(|&gate| marked[gate] = true);
    }
}

impl<'a> Cover<'a> {
    /// Looks at what outputs need; `bases` says what each base is. Slots from `n_slots` on are
    /// free.
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
            is_root[gate] =
                n_users[gate] > 1 || depths[gate] > MAX_DEPTH || block_of[gate] != NO_BLOCK;
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

    /// The first slot that neither this nor anything before it names.
    pub(super) fn n_slots(&self) -> u32 {
        self.n_slots
    }

    /// Says what stands for a base being true, before anything that hangs on it is made.
    pub(super) fn set_base(&mut self, base: BaseId, literal: Literal) {
        self.bases[base] = literal;
    }

    /// Says what stands for a move being made.
    pub(super) fn set_move(&mut self, mv: MoveId, literal: Literal) {
        self.moves[mv] = literal;
    }

    /// Makes all that some outputs need, and returns the loops that have to be run first.
    pub(super) fn make(&mut self, circuit: &mut Circuit, outputs: &[Signal]) -> Vec<Loop> {
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
                block => loops.push(self.block(circuit, block)),
            }
        }
        loops
    }

    /// What a signal is, after it was made.
    pub(super) fn literal(&self, signal: Signal) -> Literal {
        let plain = match self.network.node(signal) {
            Node::False => Literal::FALSE,
            Node::Base(base) => self.bases[base],
            Node::Move(mv) => self.moves[mv],
            Node::Gate(gate) => self.literals[gate].unwrap_or(Literal::FALSE),
        };
        plain.inverted_if(signal.is_inverted())
    }

    /// The function that a signal is, with gates that it alone needs taken in.
    fn function(&mut self, circuit: &mut Circuit, signal: Signal) -> Function {
        match self.network.node(signal) {
            Node::Gate(gate) if self.literals[gate].is_none() => {
                let function = self.gate(circuit, gate);
                function.inverted_if(signal.is_inverted())
            }
            _ => Function::literal(self.literal(signal)),
        }
    }

    /// The function that a gate is.
    fn gate(&mut self, circuit: &mut Circuit, gate: GateId) -> Function {
        let is_or = self.network.gates[gate].kind == GateKind::Or;
        let network = self.network;
        let functions = network
            .inputs(gate)
            .iter()
            .map(|&input| self.function(circuit, input).inverted_if(is_or))
            .collect();
        circuit.conjunction(functions).inverted_if(is_or)
    }

    /// One round of a block's gates. Each gate sees what those before it have become in this round
    /// already, so that news goes far in one.
    fn block(&mut self, circuit: &mut Circuit, block: u32) -> Loop {
        let gates = &self.network.blocks[block as usize];
        let n_gates = gates.len() as u32;
        let (old, new) = (self.n_slots, self.n_slots + n_gates);
        self.n_slots += 2 * n_gates;
        for (index, &gate) in gates.iter().enumerate() {
            self.literals[gate] = Some(circuit.place(Place::Slot(old + index as u32)));
        }
        let mut outputs = Vec::with_capacity(gates.len());
        for (index, &gate) in gates.iter().enumerate() {
            let function = self.gate(circuit, gate);
            let literal = circuit.value(function);
            outputs.push((literal, Place::Slot(new + index as u32)));
            self.literals[gate] = Some(literal);
        }
        // At rest both are the same; others find them in the slots.
        for (index, &gate) in gates.iter().enumerate() {
            self.literals[gate] = Some(circuit.place(Place::Slot(old + index as u32)));
        }
        Loop {
            outputs,
            old,
            new,
            n_gates,
        }
    }
}
