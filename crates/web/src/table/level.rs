//! Levels: how strong Panza plays at a table, the weakest first.
//!
//! A level is a number of iterations a move, so that it is the same on every machine; the last is
//! all that a table has. `cargo lab levels` measures them against each other (`docs/levels.md`).

use std::time::Duration;

use crate::host::Effort;

/// Kinds of games whose levels are measured apart, as a sentence names them.
pub const CLASSES: [&str; 3] = [
    "two players in turns",
    "two players at once",
    "three players",
];

/// How strong Panza plays.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Level {
    /// For a move. No iterations is a random move.
    pub effort: Effort,
    /// Training before the first move.
    pub training: Duration,
    /// Elo above the first level, for each of [`CLASSES`].
    pub elo: [i32; CLASSES.len()],
}

impl Level {
    const fn iterations(count: u64, elo: [i32; CLASSES.len()]) -> Self {
        Self {
            effort: Effort::Iterations(count),
            training: Duration::ZERO,
            elo,
        }
    }
}

/// The levels from 1 on.
pub const LEVELS: [Level; 7] = [
    Level::iterations(0, [0, 0, 0]),
    Level::iterations(3, [430, 610, 340]),
    Level::iterations(20, [960, 710, 870]),
    Level::iterations(150, [1490, 870, 960]),
    Level::iterations(1_500, [1860, 1020, 1080]),
    Level::iterations(15_000, [2230, 1150, 1080]),
    Level {
        effort: Effort::Time(Duration::from_secs(5)),
        training: Duration::from_secs(20),
        elo: [2380, 1430, 1230],
    },
];
