//! The network's data: nodes, signals, gates and outputs.

use std::sync::Arc;

use super::passes::Sample;
use crate::ids::{BaseId, GateId, Id, IdVec, MoveId, RoleId};

/// What a signal comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    /// Never on.
    False,
    /// On when the base is true.
    Base(BaseId),
    /// On when the move is made.
    Move(MoveId),
    /// On when the gate is.
    Gate(GateId),
}

/// A node, plain or inverted: `2·node + inverted`, nodes counted as false, bases, moves, gates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Signal(pub(super) u32);

impl Signal {
    /// Never on.
    pub const FALSE: Signal = Signal(0);
    /// Always on.
    pub const TRUE: Signal = Signal(1);

    /// The node's number.
    pub fn node_number(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Whether it is on when the node is off.
    pub fn is_inverted(self) -> bool {
        self.0 & 1 == 1
    }

    /// Whether it never changes.
    pub fn is_constant(self) -> bool {
        self.0 <= 1
    }

    /// The signal of a node, plain.
    pub(crate) fn of_node(node: usize) -> Signal {
        Signal((node as u32) << 1)
    }
}

impl std::ops::Not for Signal {
    type Output = Signal;
    fn not(self) -> Signal {
        Signal(self.0 ^ 1)
    }
}

/// What a gate computes from its inputs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GateKind {
    /// On when all inputs are.
    And,
    /// On when some input is. Only in blocks.
    Or,
}

/// One gate; its inputs are in [`Network::inputs`].
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// And or Or.
    pub kind: GateKind,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// A game as gates.
#[derive(Clone, Debug)]
pub struct Network {
    /// The roles' names.
    pub roles: IdVec<RoleId, String>,
    /// The facts' texts, without `true`.
    pub facts: IdVec<BaseId, String>,
    /// Role and text of each move, sorted by role.
    pub moves: IdVec<MoveId, (RoleId, String)>,
    /// The facts that hold at the start.
    pub initial: Vec<BaseId>,
    /// The gates.
    pub gates: IdVec<GateId, Gate>,
    pub(super) inputs: Vec<Signal>,
    /// Sets of gates that depend on each other, each after all those it depends on.
    pub blocks: Vec<Vec<GateId>>,
    /// Whether the base is true in the next state.
    pub next: IdVec<BaseId, Signal>,
    /// Whether the move is legal.
    pub legal: IdVec<MoveId, Signal>,
    /// Whether the game is over.
    pub terminal: Signal,
    /// Role, value and signal of each goal.
    pub goals: Vec<(RoleId, u8, Signal)>,
    /// What random play visits, once a pass has asked for it. It weighs, and changes no output.
    pub(super) sample: Option<Arc<Sample>>,
    /// The same game before passes weighed it by its sample: what they did for the whole game is
    /// wrong for a part of it.
    pub(super) unweighed: Option<Arc<Network>>,
}

impl Network {
    /// The inputs of a gate, sorted, each once.
    pub fn inputs(&self, gate: GateId) -> &[Signal] {
        let Gate { start, end, .. } = self.gates[gate];
        &self.inputs[start as usize..end as usize]
    }

    /// How many edges there are between gates.
    pub fn n_edges(&self) -> usize {
        self.inputs.len()
    }

    /// What a signal comes from.
    pub fn node(&self, signal: Signal) -> Node {
        let number = signal.node_number();
        let (n_bases, n_moves) = (self.facts.len(), self.moves.len());
        match number {
            0 => Node::False,
            _ if number <= n_bases => Node::Base(BaseId::from_index(number - 1)),
            _ if number <= n_bases + n_moves => {
                Node::Move(MoveId::from_index(number - 1 - n_bases))
            }
            _ => Node::Gate(GateId::from_index(number - 1 - n_bases - n_moves)),
        }
    }
}
