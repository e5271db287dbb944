//! What a search does for its callers, and what it reports.
//!
//! A caller gets a [`Searcher`] from [`start`](super::start) and never knows which search it is.
//! What a search counts as a step, and its figures, are in the report.
//!
//! Invariants: a report is about the state and the role that were set last; its lines are legal.
//!
//! Never uses: the graph, the table, the clock, so that a further search needs no change of a
//! caller.

use std::time::Duration;

use super::config::{IterationTimes, RootEstimates, SearchStatistics, StopReason};
use super::{Method, MoveStats, Outcome, RoleOutlook};
use panza_gdl::{MoveId, RoleId};
use panza_sync::Budget;

/// A search of a game for a role, which goes on from call to call.
pub trait Searcher: Send {
    /// Which one it is.
    fn method(&self) -> Method;

    /// Searches within a budget. Its steps are those of the method: iterations of the tree, or
    /// nodes of each thread of alpha-beta.
    fn run(&mut self, budget: &Budget) -> StopReason;

    /// Searches so little that a move and a value are there at once, if that takes anything.
    fn glance(&mut self) {}

    /// Uses a budget in which another role chooses.
    fn ponder(&mut self, budget: &Budget) -> StopReason {
        self.run(budget)
    }

    /// Follows a legal joint move to `state`.
    fn advance(&mut self, joint_move: &[MoveId], state: &[u64]);

    /// Goes to a state of the game.
    fn set_state(&mut self, state: &[u64]);

    /// Reports, moves and proofs are for this role from now on. What was found stays.
    fn set_role(&mut self, role: RoleId);

    /// The move to play with what is known of it; `None` where the role has no legal move.
    fn choose(&mut self) -> Option<MoveStats>;

    /// What is known of the state, with lines as long as wanted.
    fn report(&mut self, lines: LineLimits) -> SearchReport;

    /// All counters since the search was made, and levels. Iterations are steps.
    fn statistics(&self) -> SearchStatistics;

    /// What the choice of a move weighs; `None` where it is made otherwise.
    fn estimates(&mut self) -> Option<RootEstimates> {
        None
    }

    /// Waits until nothing is in flight, so that a report is reproducible.
    fn settle(&mut self) {}

    /// Proves first, if it proves beside searching, whether a role can force a goal.
    fn ask_first(&mut self, _role: RoleId, _goal: u8) {}

    /// Whether it is known if a role can force a goal.
    fn knows(&self, _role: RoleId, _goal: u8) -> bool {
        false
    }

    /// The processor time of threads that search in place of the caller's.
    fn processor_time(&self) -> Duration {
        Duration::ZERO
    }
}

/// The lines of a report, at most, and the joint moves of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineLimits {
    /// Lines.
    pub lines: usize,
    /// Joint moves of a line.
    pub moves: usize,
}

impl LineLimits {
    /// No lines.
    pub const NONE: Self = Self { lines: 0, moves: 0 };
}

/// What a search knows of a state, for a role.
#[derive(Clone, PartialEq, Debug)]
pub struct SearchReport {
    /// Which search it is.
    pub method: Method,
    /// Steps in this state.
    pub steps: u64,
    /// Playouts in this state.
    pub playouts: u64,
    /// Nodes of the tree, or those that alpha-beta has entered in this state.
    pub nodes: u64,
    /// Bytes of the tree or the table.
    pub bytes: usize,
    /// The longest descent in the tree, or the last depth that alpha-beta has searched in full.
    pub depth: u32,
    /// The longest line that was searched, in joint moves.
    pub selective_depth: u32,
    /// The move to play.
    pub best: Option<MoveId>,
    /// The value for the role, 0 to 100; `None` before there is one.
    pub value: Option<f32>,
    /// The role's goal with best play by all roles, once proven.
    pub proven: Option<u8>,
    /// What each role may expect.
    pub roles: Vec<RoleOutlook>,
    /// The role's moves, the most searched first. Alpha-beta has none where the role does not
    /// choose.
    pub moves: Vec<MoveStats>,
    /// What chance may draw, where it alone chooses.
    pub outcomes: Vec<Outcome>,
    /// What is expected from here on: lines that begin with the best moves, the best first.
    pub lines: Vec<Line>,
    /// The sum of the goals of both roles, where it is known to be fixed.
    pub sum: Option<u16>,
    /// The time of the stages of an iteration of the tree.
    pub times: IterationTimes,
    /// How the nodes of alpha-beta were searched, as shares with names.
    pub shares: Vec<(&'static str, f64)>,
}

/// A line of joint moves.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// Its first move of the role that chooses.
    pub first: MoveStats,
    /// Its joint moves.
    pub joint_moves: Vec<Vec<MoveId>>,
}
