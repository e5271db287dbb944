//! Analysis: what a game shows to those who look at its network and play it at random.
//!
//! Each file answers one question about a game from its rules, network or machine and hands back
//! plain data.
//!
//! Invariants: what is found by playing is a guess and says so; the same game, seed and budget give
//! the same answer.
//!
//! Never knows: trees, wall clocks (it is handed budgets).

pub mod autonomous;
pub mod board;
mod csr;
pub mod evaluation;
pub mod factors;
pub mod heuristics;
pub mod implications;
pub mod latches;
pub mod learning;
pub mod mutex_groups;
pub mod sample;
pub mod score_ranges;
pub mod signature;
pub mod step_budget;
pub mod symmetry;

#[cfg(test)]
mod testing;
