//! The summary of a match: one small file, replaced whenever it changes.
//!
//! The events of a match hold the same data, but a list of thousands of matches cannot read them
//! all.
//!
//! Never uses: the game; names, moves and goals are texts and numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A match in a few lines; unknown values are `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// The match's name, as the game manager gave it.
    pub match_id: String,
    /// The name of the game, if known.
    pub game: Option<String>,
    /// Our role.
    pub role: String,
    /// All roles, in order.
    pub roles: Vec<String>,
    /// The players' names, if known.
    pub players: Option<Vec<String>>,
    /// The game manager, if known.
    pub host: Option<String>,
    /// When the match began: a time in UTC such as `2026-03-01T12:00:00.000000Z`.
    pub started: String,
    /// How long it took, in seconds.
    pub seconds: Option<f64>,
    /// Joint moves that were played.
    pub steps: usize,
    /// How it ended, in a word or two.
    pub how: Option<String>,
    /// The goal of each role.
    pub goals: Option<BTreeMap<String, Option<u8>>>,
    /// The value of our last move, 0 to 100.
    pub value: Option<f64>,
    /// Seconds until the first move.
    pub start_clock: f64,
    /// Seconds for each move.
    pub play_clock: f64,
    /// Errors and warnings that were logged.
    pub errors: usize,
    /// Lines that did not reach the log.
    pub lost_lines: usize,
}
