//! Sokoban: levels as text, a board for search, solvers and optimisers.

pub mod board;
pub mod budget;
pub mod deadlock;
pub mod distances;
pub mod field;
pub mod ida;
pub mod level;
pub mod matching;
pub mod optimiser;
pub mod reach;
pub mod rulesheet;
pub mod solution;
pub mod solver;
pub mod text;

use board::Push;

/// How a search for a solution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All boxes stand on goals after these pushes.
    Solved(Vec<Push>),
    /// Proven: no solution exists.
    Unsolvable,
    /// The budget was spent first.
    Unknown,
}

/// What a solver found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How the search ended.
    pub verdict: Verdict,
    /// Whether no solution has fewer pushes.
    pub push_optimal: bool,
    /// Positions whose pushes were generated, those of inner searches included.
    pub nodes: u64,
    /// The solver's name.
    pub method: &'static str,
}

#[cfg(test)]
mod tests;
