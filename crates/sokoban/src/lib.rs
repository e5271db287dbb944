#![doc = include_str!("../README.md")]
//!
//! A level is read from text, made a board of numbered squares, and searched with bits for what the
//! player reaches. Solvers look for any solution, or for the fewest pushes; the optimiser makes a
//! solution shorter.
//!
//! Modules, in reading order: `level`, `text`, `solution` and `rulesheet`, what people read and
//! write; `board`, `reach`, `walk`, `field` and `distances`, what searches are made of; `deadlock`
//! and `matching`, what they leave out and estimate; `solver`, feature space search in both
//! directions; `ida`, iterative deepening; `optimiser`.
//!
//! # Solvers
//!
//! `sokoban` is a solver of its own beside the players. A level becomes a `Board` of numbered
//! squares; the player's reach is a row of words, filled by additions. The solver
//! (`sokoban::solver`) is a feature space search: positions are sorted into cells by how far a
//! packing plan is filled, by the number of areas, by boxes without a place in the rest of the
//! plan, and by boxes that block others. Cells take turns, and advisors make some macro moves
//! cheap. Plans are tried until a matching gives every box a place. The same search runs forwards,
//! by pushes, and backwards, by pulls; five searches take turns on all threads, and further ones
//! with other plans begin over time. Freeze deadlocks, searches of corrals and PI-corrals leave
//! positions and pushes out. `sokoban::ida` is iterative deepening with the parts of Rolling Stone
//! as switches; with its admissible parts, and a bound raised by the exact pushes of pairs of
//! boxes, it proves the fewest pushes. `sokoban::optimiser` makes solutions shorter, by other
//! orders of their pushes, by searches from both ends near the solution, and by mirrored parts;
//! what is equally short is compared by lines, changes and sessions. Every level can also
//! be written as a rulesheet and then is a game like any other.
//!
//! # What holds
//!
//! Invariants: a solution counts only after its replay on the board; a level is called unsolvable
//! only if a complete search found no solution.
//!
//! Never uses: rules as data, files, the command line.

#![cfg_attr(test, allow(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

pub mod board;
pub mod deadlock;
pub mod distances;
pub mod field;
pub mod ida;
pub mod level;
pub mod matching;
pub mod optimiser;
pub mod reach;
pub mod rulesheet;
pub mod walk;
pub mod solution;
pub mod solver;
pub mod text;

pub use board::{Board, Push};
pub use level::Level;
pub use solution::{Metrics, Solution};
pub use text::{Collection, Entry};

/// How a search for a solution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All boxes stand on goals after these pushes.
    Solved(Vec<Push>),
    /// Proven: no solution exists.
    Unsolvable,
    /// The limits were spent first.
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
