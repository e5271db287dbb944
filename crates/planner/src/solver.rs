//! What all solvers of the portfolio have in common.

use std::sync::atomic::AtomicBool;

use super::store::Store;
use super::successors::Successor;
use panza_gdl::MoveId;
use panza_sync::Instant;

/// Where a solver stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Status {
    /// There is more to search.
    Open,
    /// All plans were considered: the best one reported is the best of all.
    Exhausted,
    /// It will find nothing more.
    GaveUp,
}

/// A way to find plans.
pub(super) trait Solver: Send {
    fn name(&self) -> &'static str;

    /// Works until then, or until `stop` is set.
    fn work(&mut self, report: &mut Report<'_>, until: Instant, stop: &AtomicBool) -> Status;

    /// States made so far.
    fn n_states(&self) -> u64;
}

/// What solvers know of the best plan so far, and how they report a better one.
pub(super) struct Report<'a> {
    /// The goal of the best plan; `None` before the first.
    pub goal: Option<u8>,
    /// No plan has a higher goal.
    pub bound: u8,
    pub take: &'a mut dyn FnMut(Vec<MoveId>, u8),
}

impl Report<'_> {
    /// Whether a plan with this goal would be better than the best so far.
    fn is_better(&self, goal: u8) -> bool {
        self.goal.is_none_or(|best| goal > best)
    }

    /// Reports a plan, if it is better than the best so far.
    pub fn found(&mut self, moves: &[MoveId], goal: u8) {
        if self.is_better(goal) {
            self.goal = Some(goal);
            (self.take)(moves.to_vec(), goal);
        }
    }

    /// Reports the plan that ends with a final successor, if it is better than the best so far.
    pub fn found_after(&mut self, store: &Store, last: &Successor<'_>, goal: u8) {
        if self.is_better(goal) {
            let mut moves = store.path(last.parent);
            moves.push(last.mv);
            self.found(&moves, goal);
        }
    }

    /// Whether no plan can be better.
    pub fn is_best_possible(&self) -> bool {
        self.goal.is_some_and(|goal| goal >= self.bound)
    }
}
