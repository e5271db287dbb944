//! Expansion: growing the graph by what workers found out about new positions.
//!
//! Positions that workers generated become nodes and edges; the writer itself only generates the
//! root. A state in which no role has a choice gets no node: forced joint moves are followed to the
//! next choice, as every playout does.
//!
//! Invariant: the moves of an expanded node are the legal moves of its state.

use super::edges::InitialEdges;
use super::graph::Graph;
use super::pool::PoolId;
use super::proof::ProofUpdate;
use super::record::{EdgeId, SIMULTANEOUS};
use super::request::PositionInfo;
use crate::analysis::symmetry::Symmetries;
use crate::ids::{Id, MoveId, NodeId, RoleId};
use crate::machine::Reasoner;
use crate::machine::random::Random;

/// Forced joint moves followed at once; a longer forced line is continued at the next visit.
pub(super) const MAX_FORCED_MOVES: u16 = 256;

/// The writer's reasoner and random numbers, with buffers.
pub(super) struct WriterGame {
    pub(super) reasoner: Box<dyn Reasoner>,
    pub(super) random: Random,
    /// The last state computed.
    pub(super) state: Vec<u64>,
    /// The last goals read, one per role.
    pub(super) goals: Vec<u8>,
    defined_goals: Vec<Option<u8>>,
    /// The last legal moves read, in role order, and the end of each role's moves.
    pub(super) legal: Vec<MoveId>,
    pub(super) legal_ends: Vec<u32>,
}

/// Where a forced line ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ForcedLineEnd {
    /// A role has a choice; the legal moves are read.
    Choice,
    /// The game is over; the goals are read.
    Terminal,
    /// At [`MAX_FORCED_MOVES`].
    Unfinished,
}

impl WriterGame {
    pub(super) fn new(reasoner: Box<dyn Reasoner>, random: Random, roles: usize) -> Self {
        Self {
            reasoner,
            random,
            state: Vec::new(),
            goals: vec![0; roles],
            defined_goals: vec![None; roles],
            legal: Vec::new(),
            legal_ends: Vec::new(),
        }
    }

    fn read_goals(&mut self) {
        self.reasoner.goals(&mut self.defined_goals);
        for (goal, defined) in self.goals.iter_mut().zip(&self.defined_goals) {
            *goal = defined.unwrap_or(0).min(100);
        }
    }

    /// Reads the legal moves. `false` where a role has none, which ends the game.
    fn read_legal(&mut self) -> bool {
        self.legal.clear();
        self.legal_ends.clear();
        for role in 0..self.goals.len() {
            let moves = self.reasoner.legal_moves(RoleId::from_index(role));
            if moves.is_empty() {
                return false;
            }
            self.legal.extend_from_slice(moves);
            self.legal_ends.push(self.legal.len() as u32);
        }
        true
    }

    /// Follows forced moves from a state to `self.state`, and returns their number.
    pub(super) fn follow_forced_moves(&mut self, state: &[u64]) -> (ForcedLineEnd, u16) {
        self.state.clear();
        self.state.extend_from_slice(state);
        let mut length = 0;
        loop {
            self.reasoner.set_state(&self.state);
            if self.reasoner.is_terminal() || !self.read_legal() {
                self.read_goals();
                return (ForcedLineEnd::Terminal, length);
            }
            if self.legal.len() > self.goals.len() {
                return (ForcedLineEnd::Choice, length);
            }
            if length == MAX_FORCED_MOVES {
                return (ForcedLineEnd::Unfinished, length);
            }
            self.reasoner.next_state(&self.legal, &mut self.state);
            length += 1;
        }
    }

    /// Keeps one legal move of each class of equivalent ones, where the role alone has a choice in
    /// `self.state`. A mixed strategy needs the whole class.
    pub(super) fn keep_one_move_per_class(&mut self, role: usize, symmetries: &Symmetries) {
        let ends = &self.legal_ends;
        let start = |role: usize| role.checked_sub(1).map_or(0, |before| ends[before]) as usize;
        let n_moves = |role: usize| ends[role] as usize - start(role);
        let others = (0..ends.len()).filter(|&other| other != role);
        if n_moves(role) < 2 || others.map(n_moves).any(|count| count > 1) {
            return;
        }
        let range = start(role)..ends[role] as usize;
        let classes = symmetries.equivalent_moves(&self.state, &self.legal[range.clone()]);
        let mut kept = range.start;
        for (index, &class) in classes.iter().enumerate() {
            if class == index {
                self.legal[kept] = self.legal[range.start + index];
                kept += 1;
            }
        }
        self.legal.drain(kept..range.end);
        let removed = (range.end - kept) as u32;
        for end in &mut self.legal_ends[role..] {
            *end -= removed;
        }
    }
}

impl Graph {
    /// The child of a node behind the selected edges: an existing node of that state, or a new one.
    /// None when memory is exhausted. The node must be in flight.
    pub(super) fn add_child(
        &mut self,
        node: NodeId,
        selected: &[EdgeId],
        position: &PositionInfo,
        random: &mut Random,
    ) -> NodeId {
        let existing = self.child(node, selected);
        if existing.is_some() {
            // Another path in flight added it.
            return existing;
        }
        let transposition = if position.terminal {
            None
        } else {
            self.find(&position.state)
        };
        let child = match transposition {
            Some(known) => known,
            None => {
                let goals = position.terminal.then_some(position.goals.as_slice());
                let Some(new) = self.make_node(&position.state, goals) else {
                    return NodeId::NONE;
                };
                self.nodes[new].forced_moves = position.forced_moves;
                new
            }
        };
        // Protects the child from eviction until it is linked.
        self.nodes[child].in_flight += 1;
        let is_linked = self.set_child(node, selected, child).is_some();
        if is_linked && !position.terminal && !self.nodes[child].is_expanded() {
            self.expand(child, position, random);
        }
        self.nodes[child].in_flight -= 1;
        if is_linked { child } else { NodeId::NONE }
    }

    /// Expands a leaf in flight, unless another path did.
    pub(super) fn expand_leaf(
        &mut self,
        node: NodeId,
        position: &PositionInfo,
        random: &mut Random,
    ) {
        let record = &mut self.nodes[node];
        if record.is_expanded() || record.terminal {
            return;
        }
        record.forced_moves = record.forced_moves.saturating_add(position.forced_moves);
        if position.terminal {
            self.make_terminal(node, &position.goals);
        } else if position.forced_moves == 0 || self.store_state(node, &position.state).is_some() {
            self.expand(node, position, random);
        }
    }

    /// Expands the root with the legal moves that the writer has read.
    pub(super) fn expand_root(&mut self, game: &mut WriterGame) {
        let root = self.root;
        let record = &mut self.nodes[root];
        if record.is_expanded() || record.terminal {
            return;
        }
        record.in_flight += 1;
        shuffle_per_role(&mut game.legal, &game.legal_ends, &mut game.random);
        self.expand_with(root, &game.legal, &game.legal_ends, InitialEdges::None);
        self.nodes[root].in_flight -= 1;
    }

    /// Expands a node if its legal moves were generated and there is memory.
    fn expand(&mut self, node: NodeId, position: &PositionInfo, random: &mut Random) {
        if position.legal_ends.is_empty() {
            return;
        }
        debug_assert_eq!(position.legal_ends.len(), self.roles);
        if !position.children.is_empty() {
            let initial = position
                .winning_child(self.roles)
                .map_or(InitialEdges::All, InitialEdges::Only);
            if let Some(()) = self.expand_with(node, &position.legal, &position.legal_ends, initial)
            {
                self.initialise_edges(node, position, initial);
            }
            return;
        }
        // Untried moves are tried in random order.
        let mut legal = std::mem::take(&mut self.shuffled);
        legal.clear();
        legal.extend_from_slice(&position.legal);
        shuffle_per_role(&mut legal, &position.legal_ends, random);
        self.expand_with(node, &legal, &position.legal_ends, InitialEdges::None);
        self.shuffled = legal;
    }

    /// Initialises the edges of a new node with one mover by their priors, and proves those to
    /// terminal children.
    fn initialise_edges(&mut self, node: NodeId, position: &PositionInfo, initial: InitialEdges) {
        let mover = self.nodes[node].mover;
        if mover == SIMULTANEOUS {
            return;
        }
        let mover = mover as usize;
        let mut index = match initial {
            InitialEdges::Only(index) => index,
            _ => 0,
        };
        let mut last_terminal = EdgeId::NONE;
        let mut goals = std::mem::take(&mut self.goals);
        let best = position.best_terminal_goal(mover, self.roles);
        let mut at = self.nodes[node].first_block;
        while at.is_some() {
            let (len, link) = (self.edge_blocks[at].len as usize, self.edge_blocks[at].link);
            for slot in 0..len {
                let child = position.children[index];
                let totals = &position.child_totals[index * self.roles..][..self.roles];
                let evaluation = position.child_values.get(index * self.roles + mover);
                index += 1;
                let block = &mut self.edge_blocks[at];
                if !child.terminal {
                    if child.playouts > 0 {
                        block.visits[slot] = 1;
                        block.means[slot] = totals[mover] as f32 / child.playouts as f32;
                        if let Some(evaluation) = evaluation {
                            block.means[slot] +=
                                (evaluation - block.means[slot]) * self.evaluation_share;
                        }
                    } else if let Some(&evaluation) = evaluation {
                        block.visits[slot] = 1;
                        block.means[slot] = evaluation;
                    }
                    continue;
                }
                let goal = totals[mover] as u8;
                block.visits[slot] = 1;
                block.means[slot] = f32::from(goal);
                block.lower[slot] = goal;
                block.upper[slot] = goal;
                // A terminal child worse than another is never played and needs no node.
                if best.is_some_and(|best| totals[mover] < best) {
                    continue;
                }
                goals.clear();
                goals.extend(totals.iter().map(|&goal| goal as u8));
                let edge = EdgeId::new(at, slot);
                if let Some(child) = self.make_node(&[], Some(&goals)) {
                    self.nodes[child].in_flight += 1;
                    self.set_child(node, &[edge], child);
                    self.nodes[child].in_flight -= 1;
                    self.edge_blocks[at].solved |= 1 << slot;
                    last_terminal = edge;
                }
            }
            at = link;
        }
        self.goals = goals;
        if !last_terminal.is_some() {
            return;
        }
        let child = self.child_of(last_terminal);
        if child.is_some() {
            let mut bounds = std::mem::take(&mut self.child_bounds);
            bounds.clear();
            bounds.extend_from_slice(&self.bounds[child]);
            self.update_proof(node, &[last_terminal], ProofUpdate::TERMINAL, &mut bounds);
            self.child_bounds = bounds;
        }
    }
}

fn shuffle_per_role(moves: &mut [MoveId], ends: &[u32], random: &mut Random) {
    let mut start = 0;
    for &end in ends {
        let of_role = &mut moves[start..end as usize];
        for last in (1..of_role.len()).rev() {
            of_role.swap(last, random.below(last as u32 + 1) as usize);
        }
        start = end as usize;
    }
}
