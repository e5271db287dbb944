//! Levels: how strong Panza plays at a table, the weakest first.
//!
//! A level is a number of iterations a move, so that it is the same on every machine; the last is
//! all that a table has. `cargo lab levels` measures them against each other.

use std::time::Duration;

use super::Effort;

/// How strong Panza plays.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Level {
    /// For a move. No iterations is a random move.
    pub effort: Effort,
    /// Training before the first move.
    pub training: Duration,
}

impl Level {
    const fn iterations(count: u64) -> Self {
        Self {
            effort: Effort::Iterations(count),
            training: Duration::ZERO,
        }
    }
}

/// The levels from 1 on.
pub const LEVELS: [Level; 7] = [
    Level::iterations(0),
    Level::iterations(3),
    Level::iterations(20),
    Level::iterations(150),
    Level::iterations(1_500),
    Level::iterations(15_000),
    Level {
        effort: Effort::Time(Duration::from_secs(5)),
        training: Duration::from_secs(20),
    },
];
