//! Requests from the writer to a worker, which come back as answers in the same allocation.
//!
//! Never knows: the graph. The path of a request is only carried along.

use super::path::Path;
use crate::ids::MoveId;
use crate::machine::PlayoutTotals;

/// What a request asks for. All of them ask for playouts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum RequestKind {
    /// Also the position, its legal moves, and its children where they are few.
    Expand,
    /// Also the position, but not its legal moves: there may be thousands, and no second visit.
    AddLeaf,
    /// Playouts only, from a position that is in the graph or being expanded.
    #[default]
    Rollout,
}

/// A request as it travels through the rings, in one allocation that is reused.
pub(super) type BoxedRequest = Box<RolloutRequest>;

/// A request and its answer.
#[derive(Debug, Default)]
pub(super) struct RolloutRequest {
    /// The writer's epoch; answers of earlier epochs are dropped.
    pub(super) epoch: u32,
    pub(super) path: Path,
    pub(super) kind: RequestKind,
    /// Whether the position is a new child of the last node of the path.
    pub(super) is_new_child: bool,
    /// Where to start.
    pub(super) state: Vec<u64>,
    /// The joint move from there to the position; empty where `state` is the position.
    pub(super) joint_move: Vec<MoveId>,
    /// Playouts wanted; the children get equal numbers, so that the total may be less.
    pub(super) samples: u32,
    /// The position.
    pub(super) position: PositionInfo,
    /// The playouts, or without any the proven goals.
    pub(super) tally: PlayoutTotals,
    /// Whether the children prove the value, so that nothing is played out.
    pub(super) is_proven: bool,
    /// The worker's slot of the request, and its tickets that have not ended.
    pub(super) slot: u32,
    pub(super) open_tickets: u32,
}

/// A position as a worker generates it.
#[derive(Debug, Default)]
pub(super) struct PositionInfo {
    pub(super) state: Vec<u64>,
    /// Forced joint moves from the requested position to this state.
    pub(super) forced_moves: u16,
    pub(super) terminal: bool,
    /// Goals of a terminal position, one per role; an undefined one counts as 0.
    pub(super) goals: Vec<u8>,
    /// Legal moves of all roles in role order. Empty unless requested, and at a forced line that
    /// was not followed to its end.
    pub(super) legal: Vec<MoveId>,
    /// The end of each role's moves.
    pub(super) legal_ends: Vec<u32>,
    /// The child after each move of the mover, in the order of `legal`. Empty unless generated.
    pub(super) children: Vec<ChildInfo>,
    /// For each child and role the sum of the playouts' goals, or the goal of a terminal child.
    pub(super) child_totals: Vec<u32>,
    /// For each child and role the evaluation. Empty without one.
    pub(super) child_values: Vec<f32>,
    /// The evaluation for each role. Empty without one, or where the value is proven.
    pub(super) value: Vec<f32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ChildInfo {
    pub(super) playouts: u32,
    pub(super) terminal: bool,
}

impl PositionInfo {
    pub(super) fn clear(&mut self) {
        self.state.clear();
        self.forced_moves = 0;
        self.terminal = false;
        self.goals.clear();
        self.clear_legal();
        self.children.clear();
        self.child_totals.clear();
        self.child_values.clear();
        self.value.clear();
    }

    pub(super) fn clear_legal(&mut self) {
        self.legal.clear();
        self.legal_ends.clear();
    }

    /// Makes the position terminal; an undefined goal counts as 0.
    pub(super) fn set_terminal(&mut self, goals: &[Option<u8>]) {
        self.terminal = true;
        self.clear_legal();
        self.goals.clear();
        self.goals
            .extend(goals.iter().map(|goal| goal.unwrap_or(0).min(100)));
    }

    pub(super) fn moves_of(&self, role: usize) -> &[MoveId] {
        let start = role
            .checked_sub(1)
            .map_or(0, |before| self.legal_ends[before]);
        &self.legal[start as usize..self.legal_ends[role] as usize]
    }

    /// The mover: the only role with a choice.
    pub(super) fn mover(&self) -> Option<usize> {
        let mut movers = (0..self.legal_ends.len()).filter(|&role| self.moves_of(role).len() > 1);
        let first = movers.next();
        first.filter(|_| movers.next().is_none())
    }

    /// The mover's greatest goal over terminal children.
    pub(super) fn best_terminal_goal(&self, mover: usize, n_roles: usize) -> Option<u32> {
        let children = self.children.iter().enumerate();
        children
            .filter(|(_, child)| child.terminal)
            .map(|(index, _)| self.child_totals[index * n_roles + mover])
            .max()
    }

    /// The first terminal child that no other can surpass: the mover has 100, and the other of two
    /// roles 0.
    pub(super) fn winning_child(&self, n_roles: usize) -> Option<usize> {
        let mover = self.mover()?;
        let is_win = |index: usize| {
            let goals = &self.child_totals[index * n_roles..][..n_roles];
            let mut others = goals.iter().enumerate().filter(|&(role, _)| role != mover);
            goals[mover] == 100 && n_roles <= 2 && others.all(|(_, &goal)| goal == 0)
        };
        (0..self.children.len()).find(|&index| self.children[index].terminal && is_win(index))
    }
}
