//! Requests from the writer to a worker, which come back as answers in the same allocation.
//!
//! Never uses: the graph. The path of a request is only carried along.

use super::path::Path;
use super::record::UntriedMove;
use panza_gdl::MoveId;
use panza_machine::PlayoutTotals;

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
    /// Playouts wanted.
    pub(super) samples: u32,
    /// The position.
    pub(super) position: PositionInfo,
    /// The playouts.
    pub(super) tally: PlayoutTotals,
    /// Whether the children prove the value, so that nothing is played out. `position.value` holds
    /// the goals.
    pub(super) is_proven: bool,
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
    /// Whether the children of the mover's moves were generated.
    pub(super) has_children: bool,
    /// Whether several roles choose and their joint moves were generated. Dominated moves are not
    /// among the legal ones then.
    pub(super) has_joint_moves: bool,
    /// The mover's moves to children that are not terminal, in the order of rising static values.
    /// Where several roles choose, the legal moves with their static values, if there are any.
    pub(super) untried: Vec<UntriedMove>,
    /// The mover's moves to terminal children.
    pub(super) terminal_moves: Vec<MoveId>,
    /// Where several roles choose, for each joint move to a terminal child and for each role the
    /// place of its move among its legal ones.
    pub(super) terminal_places: Vec<u16>,
    /// For each terminal child and role the goal.
    pub(super) terminal_goals: Vec<u8>,
    /// The static value for each role, of the mover's best child where the children were generated,
    /// or the mean over the outcomes of chance.
    /// Where the children prove the value, the goals. Empty if nothing is known.
    pub(super) value: Vec<f32>,
}

impl PositionInfo {
    pub(super) fn clear(&mut self) {
        self.state.clear();
        self.forced_moves = 0;
        self.terminal = false;
        self.goals.clear();
        self.clear_legal();
        self.has_children = false;
        self.has_joint_moves = false;
        self.untried.clear();
        self.terminal_moves.clear();
        self.terminal_places.clear();
        self.terminal_goals.clear();
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

    /// Where the moves of a role start in `legal`.
    pub(super) fn start_of(&self, role: usize) -> usize {
        role.checked_sub(1)
            .map_or(0, |before| self.legal_ends[before] as usize)
    }

    pub(super) fn moves_of(&self, role: usize) -> &[MoveId] {
        &self.legal[self.start_of(role)..self.legal_ends[role] as usize]
    }

    /// The mover: the only role with a choice.
    pub(super) fn mover(&self) -> Option<usize> {
        let mut movers = (0..self.legal_ends.len()).filter(|&role| self.moves_of(role).len() > 1);
        let first = movers.next();
        first.filter(|_| movers.next().is_none())
    }

    /// The goals of the terminal children, one row each.
    pub(super) fn terminal_rows(&self, n_roles: usize) -> impl Iterator<Item = &[u8]> {
        self.terminal_goals.chunks(n_roles)
    }

    /// The mover's greatest goal over terminal children.
    pub(super) fn best_terminal_goal(&self, mover: usize, n_roles: usize) -> Option<u8> {
        self.terminal_rows(n_roles).map(|goals| goals[mover]).max()
    }

    /// The first move to a terminal child that no other can surpass: the mover has 100, and the
    /// other of two roles 0. The chance role does not count, and wins nothing.
    pub(super) fn winning_move(&self, n_roles: usize, chance: Option<usize>) -> Option<MoveId> {
        let mover = self.mover().filter(|&mover| chance != Some(mover))?;
        let n_with_aim = n_roles - usize::from(chance.is_some());
        let is_other = |role: usize| role != mover && chance != Some(role);
        let is_win = |goals: &[u8]| {
            let mut others = goals.iter().enumerate().filter(|&(role, _)| is_other(role));
            goals[mover] == 100 && n_with_aim <= 2 && others.all(|(_, &goal)| goal == 0)
        };
        let winning = self.terminal_rows(n_roles).position(is_win)?;
        Some(self.terminal_moves[winning])
    }
}
