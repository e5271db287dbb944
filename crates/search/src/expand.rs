//! Expansion: growing the graph by what workers found out about new positions.
//!
//! Positions that workers generated become nodes and edges; the writer itself only generates the
//! root. A state in which no role has a choice gets no node: forced joint moves are followed to the
//! next choice, as every playout does.
//!
//! Invariant: the moves of an expanded node are legal moves of its state: all but those that are
//! not worth playing (see `joint_family` and `family`).

use super::edges::Untried;
use super::graph::Graph;
use super::pool::PoolId;
use super::proof::ProofUpdate;
use super::record::{EdgeId, Prior};
use super::request::PositionInfo;
use panza_gdl::{Id, MoveId, NodeId, RoleId};
use panza_machine::Reasoner;
use panza_sync::Random;

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
}

impl Graph {
    /// The child of a node behind the selected edges: an existing node of that state, or a new one,
    /// with its first result. None when memory is exhausted. The node must be in flight.
    pub(super) fn add_child(
        &mut self,
        node: NodeId,
        selected: &[EdgeId],
        position: &PositionInfo,
        result: &[f32],
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
            self.expand(child, position, result, random);
        }
        self.nodes[child].in_flight -= 1;
        if is_linked { child } else { NodeId::NONE }
    }

    /// Expands a leaf in flight, unless another path did.
    pub(super) fn expand_leaf(
        &mut self,
        node: NodeId,
        position: &PositionInfo,
        result: &[f32],
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
            self.expand(node, position, result, random);
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
        self.expand_with(root, &game.legal, &game.legal_ends, Untried::All);
        self.nodes[root].in_flight -= 1;
    }

    /// Expands a node if its legal moves were generated and there is memory.
    fn expand(
        &mut self,
        node: NodeId,
        position: &PositionInfo,
        result: &[f32],
        random: &mut Random,
    ) {
        if position.legal_ends.is_empty() {
            return;
        }
        debug_assert_eq!(position.legal_ends.len(), self.roles);
        if position.has_joint_moves {
            self.expand_joint(node, position, result, random);
            return;
        }
        let (legal, ends) = (&position.legal, &position.legal_ends);
        // Untried moves of unknown value are tried in random order.
        if let Some(mover) = position.mover().filter(|_| position.has_children) {
            let mut untried = std::mem::take(&mut self.untried_moves);
            untried.clear();
            let winning = position.winning_move(self.roles, self.chance.map(usize::from));
            let is_chance = self
                .chance
                .is_some_and(|chance| usize::from(chance) == mover);
            if winning.is_none() {
                untried.extend_from_slice(&position.untried);
            }
            if position.value.is_empty() || is_chance {
                shuffle(&mut untried, random);
            }
            if let Some(()) = self.expand_with(node, legal, ends, Untried::Some(&untried)) {
                self.nodes[node].has_priors = untried
                    .last()
                    .is_some_and(|untried| untried.prior != Prior::NONE);
                self.add_terminal_children(node, mover, position, winning);
            }
            self.untried_moves = untried;
            return;
        }
        let mut shuffled = std::mem::take(&mut self.shuffled);
        shuffled.clear();
        shuffled.extend_from_slice(legal);
        shuffle_per_role(&mut shuffled, ends, random);
        self.expand_with(node, &shuffled, ends, Untried::All);
        self.shuffled = shuffled;
    }

    /// Adds the edges to the terminal children of a new node, only the one of the winning move
    /// where there is one, and proves what they prove.
    fn add_terminal_children(
        &mut self,
        node: NodeId,
        mover: usize,
        position: &PositionInfo,
        winning: Option<MoveId>,
    ) {
        let is_chance = self
            .chance
            .is_some_and(|chance| usize::from(chance) == mover);
        let best = position.best_terminal_goal(mover, self.roles);
        let mut last_terminal = EdgeId::NONE;
        let rows = position.terminal_rows(self.roles);
        for (&mv, goals) in position.terminal_moves.iter().zip(rows) {
            if winning.is_some_and(|winning| winning != mv) {
                continue;
            }
            let Some(edge) = self.push_edge(node, mover, mv) else {
                self.collapse(node);
                return;
            };
            let (block, slot) = (&mut self.edge_blocks[edge.block()], edge.slot());
            let goal = goals[mover];
            block.means[slot] = f32::from(goal);
            block.minimax[slot] = f32::from(goal);
            block.lower[slot] = goal;
            block.upper[slot] = goal;
            // A terminal child worse than another is never played and needs no node.
            if !is_chance && best.is_some_and(|best| goal < best) {
                continue;
            }
            if let Some(child) = self.make_node(&[], Some(goals)) {
                self.nodes[child].in_flight += 1;
                self.set_child(node, &[edge], child);
                self.nodes[child].in_flight -= 1;
                self.edge_blocks[edge.block()].solved |= 1 << slot;
                last_terminal = edge;
            }
        }
        let child = match last_terminal.is_some() {
            true => self.child_of(last_terminal),
            false => return,
        };
        if child.is_some() {
            let mut bounds = std::mem::take(&mut self.child_bounds);
            bounds.clear();
            bounds.extend_from_slice(&self.bounds[child]);
            self.update_proof(node, &[last_terminal], ProofUpdate::TERMINAL, &mut bounds);
            self.child_bounds = bounds;
        }
    }
}

pub(super) fn shuffle<T>(moves: &mut [T], random: &mut Random) {
    for last in (1..moves.len()).rev() {
        moves.swap(last, random.below(last as u32 + 1) as usize);
    }
}

fn shuffle_per_role(moves: &mut [MoveId], ends: &[u32], random: &mut Random) {
    let mut start = 0;
    for &end in ends {
        shuffle(&mut moves[start..end as usize], random);
        start = end as usize;
    }
}
