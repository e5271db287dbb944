//! What a table is opened with: a game, who plays it or what is studied, and how long Panza thinks.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::view::Study;
use panza_hrf::Dialect;

/// The time that Panza thinks about a move, unless somebody says otherwise.
const USUAL_TIME: Duration = Duration::from_secs(1);
/// Limits on what a person may ask of Panza for a move.
pub(crate) const MAX_TIME: Duration = Duration::from_secs(120);
const MAX_ITERATIONS: u64 = 100_000_000;

/// How long Panza thinks about a move. In JSON `seconds` or `iterations`, or neither.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(from = "AskedEffort", into = "AskedEffort")]
pub enum Effort {
    /// For a time.
    Time(Duration),
    /// For a number of iterations; 0 is a random move.
    Iterations(u64),
}

impl Effort {
    /// Within the limits of a table.
    pub(crate) fn bounded(self) -> Self {
        match self {
            Self::Time(time) => Self::Time(time.clamp(Duration::from_millis(10), MAX_TIME)),
            Self::Iterations(count) => Self::Iterations(count.min(MAX_ITERATIONS)),
        }
    }
}

/// How an effort is written.
#[derive(Deserialize, Serialize)]
struct AskedEffort {
    seconds: Option<f64>,
    iterations: Option<u64>,
}

impl From<AskedEffort> for Effort {
    fn from(asked: AskedEffort) -> Self {
        let seconds = asked.seconds;
        let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        match (asked.iterations, time) {
            (Some(iterations), _) => Self::Iterations(iterations),
            (None, time) => Self::Time(time.unwrap_or(USUAL_TIME)),
        }
    }
}

impl From<Effort> for AskedEffort {
    fn from(effort: Effort) -> Self {
        let (seconds, iterations) = match effort {
            Effort::Time(time) => (Some(time.as_secs_f64()), None),
            Effort::Iterations(count) => (None, Some(count)),
        };
        Self {
            seconds,
            iterations,
        }
    }
}

/// A game to be played.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The name of the game.
    pub game: String,
    /// The rulesheet.
    pub source: Arc<str>,
    /// The dialect that it is written in.
    pub dialect: Dialect,
    /// Whether it is played in spite of errors, as far as that is possible.
    pub anyway: bool,
    /// The text of the file that says how to draw it, if there is one.
    pub board: Option<Arc<str>>,
    /// The roles that people play; Panza plays all others.
    pub people: People,
    /// How long Panza thinks.
    pub effort: Effort,
    /// How long Panza studies the game before the first move.
    pub training: Duration,
    /// What is studied; none where the game is played.
    pub study: Option<Study>,
}

/// The roles that people play.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum People {
    /// The role at this index of the rulesheet, that of chance not counted.
    Nth(usize),
    /// Every role but that of chance.
    All,
    /// The roles of these names.
    Named(Vec<String>),
}
