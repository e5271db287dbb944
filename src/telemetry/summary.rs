//! What a list of matches tells of each: one small file, written anew whenever it changes.
//!
//! The events of a match say all of this too, but a list of thousands must not read through all of
//! them.
//!
//! Never knows: what a game is like; names, moves and goals are texts and numbers to it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A match in a few lines. What is not known, or not known yet, is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// The match's name, as the game manager gave it.
    pub match_id: String,
    /// What the game is called, where the match's name or the rules tell.
    pub game: Option<String>,
    /// Our role.
    pub role: String,
    /// All roles, in order.
    pub roles: Vec<String>,
    /// Who plays them, where the game manager told.
    pub players: Option<Vec<String>>,
    /// The game manager, where it told.
    pub host: Option<String>,
    /// When the match began: a time in UTC such as `2026-03-01T12:00:00.000000Z`.
    pub started: String,
    /// How long it took, in seconds.
    pub seconds: Option<f64>,
    /// Joint moves that were played.
    pub steps: usize,
    /// How it ended, in a word or two.
    pub how: Option<String>,
    /// What each role got in the end.
    pub goals: Option<BTreeMap<String, Option<u8>>>,
    /// What we expected to get when we were asked last, 0 to 100.
    pub value: Option<f64>,
    /// Seconds until the first move, and for each move.
    pub start_clock: f64,
    /// Seconds for each move.
    pub play_clock: f64,
    /// Errors and warnings that were logged.
    pub errors: usize,
    /// Lines that did not reach the log.
    pub lost_lines: usize,
}
