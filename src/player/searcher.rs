//! What chooses moves: the trait of all searches of a match.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::ids::MoveId;
use crate::planner::Plan;
use crate::telemetry::SearchSample;

/// The best move of a position.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BestMove {
    /// Our move.
    pub mv: MoveId,
    /// Our expected goal, 0 to 100.
    pub value: Option<f64>,
    /// The move's visits; for the move of a plan the states made by the planner.
    pub visits: u64,
    /// Whether further search cannot change the move.
    pub is_proven: bool,
}

/// What a planner has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlanStatus {
    /// The goal that the plan reaches, 0 to 100.
    pub goal: u8,
    /// The moves that are left.
    pub n_moves: usize,
    /// Whether no plan reaches a higher goal.
    pub is_best: bool,
    /// The solver that found it; `memory` for a plan of an earlier match.
    pub solver: &'static str,
    /// States made by all solvers.
    pub n_states: u64,
}

/// Chooses moves for one role, and follows the match.
pub trait Searcher: Send {
    /// What it is, for logs.
    fn name(&self) -> &'static str;

    /// Searches until then, or until `interrupt` is set.
    fn search(&mut self, until: Instant, interrupt: &AtomicBool);

    /// Makes `iterations` iterations, or fewer once the position is proven. Without rollout threads
    /// a seed reproduces the search, unless a planner runs beside it.
    fn search_iterations(&mut self, iterations: u64);

    /// Follows a legal joint move to `state`.
    fn advance(&mut self, joint_move: &[MoveId], state: &[u64]);

    /// Goes to a state that no legal joint move leads to.
    fn set_state(&mut self, state: &[u64]);

    /// The best move; `None` when our role has no legal move.
    fn best_move(&mut self) -> Option<BestMove>;

    /// The plan, if the search has one.
    fn plan(&self) -> Option<PlanStatus> {
        None
    }

    /// The moves of that plan that are left.
    fn plan_moves(&self) -> Vec<MoveId> {
        Vec::new()
    }

    /// Takes a plan of an earlier match, while the search is at the initial state. The plan was
    /// replayed; `is_best` says that no plan reaches a higher goal.
    fn start_with(&mut self, _plan: &Plan, _is_best: bool) {}

    /// Whether a study of the game would change the search.
    fn uses_study(&self) -> bool {
        false
    }

    /// Figures since the search was made. The caller adds step and rates.
    fn sample(&mut self) -> SearchSample;
}
