//! The best solution of all, by a search over every configuration.

use super::super::board::{Board, Direction, Push};
use super::plan::Cost;
use super::query::{Admitted, Query, Target};
use super::search::{Found, Spare, search};
use super::{Measure, Options, Run};
use panza_sync::Budget;

/// What an exhaustive search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Best {
    /// Proven: no solution is cheaper.
    Proven(Vec<Push>),
    /// Proven: no solution costs at most the bound.
    Nothing,
    /// The limits were spent first.
    Unknown,
}

/// Searches for the cheapest of all solutions that cost at most `bound`.
pub fn cheapest(
    board: &Board,
    measure: Measure,
    bound: Cost,
    threads: usize,
    limits: &Budget,
) -> Best {
    match over_all(board, measure, bound, threads, limits) {
        Found::PushPlan(pushes) => Best::Proven(pushes),
        Found::Nothing => Best::Nothing,
        Found::Spent => Best::Unknown,
    }
}

/// Replaces the plan by the best of all; whether that is proven.
pub(super) fn improve(run: &mut Run) -> bool {
    let bound = run.plan.cost();
    let Options {
        measure, threads, ..
    } = *run.options;
    match over_all(run.board, measure, bound, threads, &run.limits) {
        Found::PushPlan(pushes) => {
            run.offer(pushes);
            true
        }
        Found::Nothing => true,
        Found::Spent => false,
    }
}

fn over_all(
    board: &Board,
    measure: Measure,
    bound: Cost,
    threads: usize,
    limits: &Budget,
) -> Found {
    let query = Query {
        board,
        measure,
        boxes: board.start().boxes.clone(),
        player: board.start().player,
        target: Target::Solved,
        bound,
        directions: Direction::ALL,
    };
    let spare = Spare::new(threads.saturating_sub(1));
    search(&query, &Admitted::Fixed(Vec::new()), limits, &spare)
}
