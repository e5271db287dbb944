//! What chooses moves: the trait of all searches of a match.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::preparations::PreparationOf;
use panza_gdl::MoveId;
use panza_planner::Plan;
use panza_search::{MoveStats, RootEstimates, WhyTree};
use panza_sync::Instant;
use panza_telemetry::SearchSample;

/// What a planner has found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanStatus {
    /// The goal that the plan reaches, 0 to 100; `None` without a plan.
    pub goal: Option<u8>,
    /// No plan reaches a higher goal than this.
    pub bound: u8,
    /// The moves that are left.
    pub moves: Vec<MoveId>,
    /// Whether the plan was proven best.
    pub is_best: bool,
    /// The solver that found the plan; `memory` for a plan of an earlier match, empty without one.
    pub solver: &'static str,
    /// States made by all solvers.
    pub n_states: u64,
}

impl PlanStatus {
    /// Whether the findings are the `earlier` ones, some moves later; states do not count.
    pub fn continues(&self, earlier: &Self) -> bool {
        let key = |plan: &Self| (plan.goal, plan.bound, plan.is_best, plan.solver);
        key(self) == key(earlier) && earlier.moves.ends_with(&self.moves)
    }
}

/// How far a position was searched.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Effort {
    /// The depth that was searched in full; 0 where the search has none.
    pub depth: u32,
    /// Nodes; 0 where they are not counted.
    pub nodes: u64,
}

/// Chooses moves for one role, and follows the match.
pub trait MatchSearcher: Send {
    /// What it is, for logs.
    fn name(&self) -> &'static str;

    /// Why it is the tree search, where alpha-beta is allowed.
    fn why_tree(&self) -> Option<WhyTree> {
        None
    }

    /// The processor time of threads that search in place of the caller's.
    fn processor_time(&self) -> Duration {
        Duration::ZERO
    }

    /// How far the position was searched.
    fn effort(&self) -> Effort {
        Effort::default()
    }

    /// Searches until then, or until `interrupt` is set.
    fn search(&mut self, until: Instant, interrupt: &Arc<AtomicBool>);

    /// Uses the time until then, in which our role does not choose, or until `interrupt` is set. It
    /// may take longer where that is not set.
    fn ponder(&mut self, until: Instant, interrupt: &Arc<AtomicBool>) {
        self.search(until, interrupt);
    }

    /// Makes `iterations` iterations, or fewer once the position is proven or `interrupt` is set.
    /// Without rollout threads a seed reproduces the search, unless a planner runs beside it.
    fn search_iterations(&mut self, iterations: u64, interrupt: &Arc<AtomicBool>);

    /// Follows a legal joint move to `state`.
    fn advance(&mut self, joint_move: &[MoveId], state: &[u64]);

    /// Goes to a state that no legal joint move leads to.
    fn set_state(&mut self, state: &[u64]);

    /// The best move; `None` when our role has no legal move. The visits of the move of a plan are
    /// the states made by the planner.
    fn best_move(&mut self) -> Option<MoveStats>;

    /// The principal variation from the position, at most `most` joint moves; empty where the
    /// search has none.
    fn line(&mut self, _most: usize) -> Vec<Vec<MoveId>> {
        Vec::new()
    }

    /// What the choice of a move weighs; `None` where it is made otherwise.
    fn estimates(&mut self) -> Option<RootEstimates> {
        None
    }

    /// What the planner has found; `None` where the search has no planner.
    fn plan(&self) -> Option<PlanStatus> {
        None
    }

    /// Takes a plan of an earlier match, while the search is at the initial state. The plan was
    /// replayed; `is_best` says that no plan reaches a higher goal.
    fn start_with(&mut self, _plan: &Plan, _is_best: bool) {}

    /// What must be prepared so that the search changes.
    fn preparation_of(&self) -> PreparationOf {
        PreparationOf::Nothing
    }

    /// Figures since the search was made. The caller adds step and rates.
    fn sample(&mut self) -> SearchSample;
}
