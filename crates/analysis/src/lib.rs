//! What is found in the rules and the network of a game: facts that last, ranges of goals,
//! symmetries, independent parts, boards.
//!
//! Each file derives one property, as plain data. Most are proven from the network; mutex groups,
//! the variables of tuples and boards are found in random games and may be wrong elsewhere.
//!
//! Invariants: results from random games are marked as not proven. The same game, seed and budget
//! in steps or games give the same result.
//!
//! Never uses: search trees. Clocks are read for the deadline of a budget only.

#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod autonomous;
pub mod board;
mod csr;
pub mod distances;
pub mod factors;
pub mod implications;
pub mod latches;
pub mod mutex_groups;
pub mod placements;
pub mod prospects;
pub mod score_ranges;
pub mod signature;
pub mod symmetry;
pub mod tuples;

#[cfg(test)]
mod testing;
