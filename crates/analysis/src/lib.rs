#![doc = include_str!("../README.md")]
//!
//! Each file derives one property, as plain data. Most are proven from the network; mutex groups,
//! the variables of tuples and boards are found in random games and may be wrong elsewhere.
//!
//! Invariants: results from random games are marked as not proven. The same game, seed and budget
//! in steps or games give the same result.
//!
//! Never uses: search trees. Clocks are read for the deadline of a budget only.

#![cfg_attr(test, allow(clippy::disallowed_methods))]
#![deny(unsafe_code)]

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
pub mod reduction;
pub mod score_ranges;
pub mod signature;
pub mod symmetry;
mod ternary;
pub mod tuples;

#[cfg(test)]
mod testing;

pub use autonomous::Autonomous;
pub use board::BoardPainter;
pub use distances::Distances;
pub use factors::{Factor, Factors};
pub use implications::Implications;
pub use latches::Latches;
pub use placements::Placements;
pub use prospects::{ProspectBuffer, Prospects};
pub use reduction::Reduction;
pub use score_ranges::ScoreRange;
pub use signature::Signature;
pub use symmetry::{Symmetries, Symmetry};
pub use tuples::Tuples;
