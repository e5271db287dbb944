//! The network's data: nodes, signals, gates and outputs.

use std::ops::Range;

use panza_gdl::{BaseId, GateId, Id, IdVec, MoveId, RoleId};

/// The source of a signal.
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

/// A literal: a node, plain or inverted, coded as `2·node + inverted`. Nodes are numbered false,
/// bases, moves, gates.
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

    /// The signal of a node, not inverted.
    pub fn of_node(node: usize) -> Signal {
        Signal((node as u32) << 1)
    }

    /// The signal of a fact of the state, not inverted.
    pub fn of_base(base: BaseId) -> Signal {
        Signal::of_node(1 + base.index())
    }

    /// The inverse if the condition holds, else the signal itself.
    pub fn inverted_if(self, condition: bool) -> Signal {
        Signal(self.0 ^ u32::from(condition))
    }
}

impl std::ops::Not for Signal {
    type Output = Signal;
    fn not(self) -> Signal {
        Signal(self.0 ^ 1)
    }
}

/// The function of a gate.
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

/// A propositional network.
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
    /// The strongly connected components of several gates, in topological order.
    pub blocks: Vec<Vec<GateId>>,
    /// Whether the base is true in the next state.
    pub next: IdVec<BaseId, Signal>,
    /// Whether the move is legal.
    pub legal: IdVec<MoveId, Signal>,
    /// Whether the game is over.
    pub terminal: Signal,
    /// Role, value and signal of each goal.
    pub goals: Vec<(RoleId, u8, Signal)>,
}

impl Network {
    /// The inputs of a gate, sorted, each once.
    pub fn inputs(&self, gate: GateId) -> &[Signal] {
        let Gate { start, end, .. } = self.gates[gate];
        &self.inputs[start as usize..end as usize]
    }

    /// The number of gate inputs.
    pub fn n_edges(&self) -> usize {
        self.inputs.len()
    }

    /// Per base, the number of gates that read it.
    pub fn base_fan_out(&self) -> Vec<usize> {
        let mut n_users = vec![0; self.facts.len()];
        for &input in &self.inputs {
            if let Node::Base(base) = self.node(input) {
                n_users[base.index()] += 1;
            }
        }
        n_users
    }

    /// Gates and edges together.
    pub fn size(&self) -> usize {
        self.gates.len() + self.n_edges()
    }

    /// The source of a signal.
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

    /// The number of the first gate among the nodes: the constant, facts and moves come before.
    pub fn first_gate(&self) -> usize {
        1 + self.facts.len() + self.moves.len()
    }

    /// The constant, facts, moves and gates.
    pub fn n_nodes(&self) -> usize {
        self.first_gate() + self.gates.len()
    }

    pub(super) fn move_node(&self, mv: MoveId) -> usize {
        1 + self.facts.len() + mv.index()
    }

    /// The index of the gate that a signal comes from.
    pub(super) fn gate_of(&self, signal: Signal) -> Option<usize> {
        signal.node_number().checked_sub(self.first_gate())
    }

    /// The moves of each role, which are consecutive.
    pub fn role_moves(&self) -> IdVec<RoleId, Range<u32>> {
        let mut ranges: IdVec<RoleId, Range<u32>> = self.roles.iter().map(|_| 0..0).collect();
        let mut first = 0;
        for moves in self
            .moves
            .as_slice()
            .chunk_by(|left, right| left.0 == right.0)
        {
            let end = first + moves.len() as u32;
            ranges[moves[0].0] = first..end;
            first = end;
        }
        ranges
    }

    /// For each move whether some next value depends on it. Moves on which none does, such as those
    /// of roles that wait, have no effect.
    pub fn effective_moves(&self) -> IdVec<MoveId, bool> {
        let mut effective: IdVec<MoveId, bool> = self.moves.iter().map(|_| false).collect();
        let mut visited = vec![false; self.n_nodes()];
        let mut stack: Vec<Signal> = self.next.iter().copied().collect();
        while let Some(signal) = stack.pop() {
            if std::mem::replace(&mut visited[signal.node_number()], true) {
                continue;
            }
            match self.node(signal) {
                Node::Gate(gate) => stack.extend(self.inputs(gate)),
                Node::Move(mv) => effective[mv] = true,
                Node::Base(_) | Node::False => {}
            }
        }
        effective
    }

    /// All outputs: next values, legality, terminality and goals.
    pub(super) fn outputs(&self) -> impl Iterator<Item = Signal> {
        let goals = self.goals.iter().map(|(_, _, signal)| signal);
        let outputs = self.next.iter().chain(self.legal.iter());
        outputs.chain([&self.terminal]).chain(goals).copied()
    }

    /// The number of gates and outputs that use each gate.
    pub fn fan_out(&self) -> IdVec<GateId, u32> {
        let mut fan_out: IdVec<GateId, u32> = self.gates.iter().map(|_| 0).collect();
        for signal in self.inputs.iter().copied().chain(self.outputs()) {
            if let Some(gate) = self.gate_of(signal) {
                fan_out[GateId::from_index(gate)] += 1;
            }
        }
        fan_out
    }

    /// All outputs, to be replaced.
    pub(super) fn outputs_mut(&mut self) -> impl Iterator<Item = &mut Signal> {
        let goals = self.goals.iter_mut().map(|(_, _, signal)| signal);
        let outputs = self.next.iter_mut().chain(self.legal.iter_mut());
        outputs.chain([&mut self.terminal]).chain(goals)
    }

    /// Per gate, whether it is in the cone of influence of some signals.
    pub fn cone(&self, signals: impl IntoIterator<Item = Signal>) -> Vec<bool> {
        let mut is_inside = vec![false; self.gates.len()];
        let mut open: Vec<Signal> = signals.into_iter().collect();
        while let Some(signal) = open.pop() {
            if let Some(gate) = self.gate_of(signal)
                && !std::mem::replace(&mut is_inside[gate], true)
            {
                open.extend(self.inputs(GateId::from_index(gate)));
            }
        }
        is_inside
    }

    /// The role's greatest goal that is not ruled out, and its signal.
    pub fn greatest_goal(&self, role: RoleId) -> Option<(u8, Signal)> {
        let goals = self.goals.iter().filter(|(of, ..)| *of == role);
        let goals = goals.map(|&(_, goal, signal)| (goal, signal));
        let possible = goals.filter(|&(_, signal)| signal != Signal::FALSE);
        possible.max_by_key(|&(goal, _)| goal)
    }

    /// The gates in order, each block as one range and every other gate by itself.
    pub(super) fn components(&self) -> impl Iterator<Item = Range<usize>> {
        let blocks = self.blocks.iter().filter_map(|block| {
            let first = block.first()?.index();
            Some(first..first + block.len())
        });
        let mut blocks = blocks.peekable();
        let mut at = 0;
        std::iter::from_fn(move || {
            if at >= self.gates.len() {
                return None;
            }
            let component = blocks.next_if(|block| block.start == at);
            let component = component.unwrap_or(at..at + 1);
            at = component.end;
            Some(component)
        })
    }

    /// Per move whether it is always made or never made by legal joint moves: a move that is never
    /// legal is never made, and a role's only move always is. `None` where it depends.
    pub fn forced_moves(&self) -> IdVec<MoveId, Option<bool>> {
        let mut n_possible: IdVec<RoleId, usize> = self.roles.iter().map(|_| 0).collect();
        for (mv, &legal) in self.legal.enumerate() {
            n_possible[self.moves[mv].0] += usize::from(legal != Signal::FALSE);
        }
        let forced = self.legal.enumerate().map(|(mv, &legal)| match legal {
            Signal::FALSE => Some(false),
            _ => (n_possible[self.moves[mv].0] == 1).then_some(true),
        });
        forced.collect()
    }

    /// The network with other gates. The blocks are left to [`super::normalise::normalised`].
    pub(super) fn with_gates(&self, gates: IdVec<GateId, Gate>, inputs: Vec<Signal>) -> Network {
        Network {
            roles: self.roles.clone(),
            facts: self.facts.clone(),
            moves: self.moves.clone(),
            initial: self.initial.clone(),
            gates,
            inputs,
            blocks: Vec::new(),
            next: self.next.clone(),
            legal: self.legal.clone(),
            terminal: self.terminal,
            goals: self.goals.clone(),
        }
    }
}
