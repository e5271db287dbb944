//! Analysis of games: properties proven from the network, statistics of random games, and the
//! evaluation with its training.
//!
//! Each file derives one property of a game from its rules, network or machine, as plain data.
//!
//! Invariants: results from random games are marked as not proven. The same game, seed and budget
//! in steps or games give the same result.
//!
//! Never uses: search trees. Clocks are read for the deadline of a budget only.

pub mod autonomous;
pub mod board;
mod csr;
pub mod factors;
pub mod implications;
pub mod latches;
pub mod mutex_groups;
pub mod placements;
pub mod score_ranges;
pub mod signature;
pub mod step_budget;
pub mod symmetry;
pub mod tuples;

#[cfg(test)]
mod testing;
