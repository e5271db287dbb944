//! Iterative deepening with the parts of Rolling Stone, each a switch.
//!
//! IDA* over moves of boxes with the matching bound, a transposition table, move ordering, deadlock
//! tables, tunnel and goal macros, goal cuts, pattern search, relevance cuts, overestimation and
//! restarts with random order. Exact pushes of pairs of boxes raise the bound of push-optimal
//! searches further. `inadmissible` has the parts after which a solution may be longer than needed;
//! the rest reads without them. The source of the ladder is A. Junghanns, 'Pushing the Limits: New
//! Developments in Single-Agent Search' (PhD thesis, Alberta 1999), and A. Junghanns and J.
//! Schaeffer, 'Sokoban: Enhancing general single-agent search methods using domain knowledge'
//! (Artificial Intelligence 129, 2001).
//!
//! Nodes are counted as there: each position that is entered, before any test, and each position of
//! an inner search.
//!
//! Invariants: every solution was replayed on the board. 'Unsolvable' is said only when a search
//! ended with nothing left above its bound and no part on that leaves out moves; as with every
//! transposition table, this rests on keys (52 bits or more) not colliding.

mod areas;
mod inadmissible;
mod moves;
mod pairs;
mod pattern_search;
mod patterns;
mod relaxed;
mod search;
mod state;
mod table;

use super::board::{Board, is_solution};
use super::distances::Distances;
use super::{Outcome, Verdict};
use panza_sync::Budget;

/// The parts of the search that are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// A transposition table, without which cycles end only at the bound.
    pub table: bool,
    /// The box that moved last first, then pushes towards the goal of the matching.
    pub ordering: bool,
    /// Tables of dead areas, five squares by five.
    pub deadlock_tables: bool,
    /// A box in a tunnel goes on to its end. No solution is lost.
    pub tunnel_macros: bool,
    /// A box at an entrance of a goal room goes on to its goal.
    pub goal_macros: bool,
    /// If a box can go to its goal without a detour, nothing else is tried.
    pub goal_cuts: bool,
    /// Searches for boxes that hinder each other; PI-corrals.
    pub pattern_search: bool,
    /// Few switches between distant areas.
    pub relevance_cuts: bool,
    /// Larger steps of the bound, and extra pushes counted more than once.
    pub overestimation: bool,
    /// Turns with larger bounds and random order.
    pub restarts: bool,
    /// Exact pushes of two boxes, which raise the matching bound. No part of Rolling Stone.
    pub pairs: bool,
}

impl Parts {
    /// IDA* with the matching bound alone.
    pub const NONE: Self = Self {
        table: false,
        ordering: false,
        deadlock_tables: false,
        tunnel_macros: false,
        goal_macros: false,
        goal_cuts: false,
        pattern_search: false,
        relevance_cuts: false,
        overestimation: false,
        restarts: false,
        pairs: false,
    };

    /// All parts of Rolling Stone.
    pub const ALL: Self = Self::LADDER[10].1;

    /// The parts that keep the first solution push-optimal.
    pub const ADMISSIBLE: Self = Self {
        goal_macros: false,
        goal_cuts: false,
        relevance_cuts: false,
        overestimation: false,
        restarts: false,
        pairs: true,
        ..Self::ALL
    };

    /// Each rung adds one part to the one before.
    pub const LADDER: [(&str, Self); 11] = {
        let table = Self {
            table: true,
            ..Self::NONE
        };
        let ordering = Self {
            ordering: true,
            ..table
        };
        let deadlock_tables = Self {
            deadlock_tables: true,
            ..ordering
        };
        let tunnel_macros = Self {
            tunnel_macros: true,
            ..deadlock_tables
        };
        let goal_macros = Self {
            goal_macros: true,
            ..tunnel_macros
        };
        let goal_cuts = Self {
            goal_cuts: true,
            ..goal_macros
        };
        let pattern_search = Self {
            pattern_search: true,
            ..goal_cuts
        };
        let relevance_cuts = Self {
            relevance_cuts: true,
            ..pattern_search
        };
        let overestimation = Self {
            overestimation: true,
            ..relevance_cuts
        };
        let restarts = Self {
            restarts: true,
            ..overestimation
        };
        [
            ("matching bound", Self::NONE),
            ("transposition table", table),
            ("move ordering", ordering),
            ("deadlock tables", deadlock_tables),
            ("tunnel macros", tunnel_macros),
            ("goal macros", goal_macros),
            ("goal cuts", goal_cuts),
            ("pattern search", pattern_search),
            ("relevance cuts", relevance_cuts),
            ("overestimation", overestimation),
            ("restarts", restarts),
        ]
    };

    /// Whether the first solution has the least pushes.
    fn is_exact(&self) -> bool {
        !(self.goal_macros || self.goal_cuts || self.relevance_cuts || self.overestimation)
    }
}

/// Searches for a solution.
pub fn solve(board: &Board, parts: &Parts, seed: u64, limits: &Budget) -> Outcome {
    let distances = Distances::new(board);
    let mut search = search::DeepeningSearch::new(board, &distances, *parts, seed, limits);
    let (found, exhausted) = search.run();
    let nodes = search.nodes();
    let mut push_optimal = false;
    let verdict = match found {
        Some(pushes) if is_solution(board, &pushes) => {
            push_optimal = parts.is_exact();
            Verdict::Solved(pushes)
        }
        None if exhausted => Verdict::Unsolvable,
        _ => Verdict::Unknown,
    };
    Outcome {
        verdict,
        push_optimal,
        nodes,
        method: "IDA*",
    }
}

#[cfg(test)]
mod tests;
