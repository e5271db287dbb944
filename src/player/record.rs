//! What is noted about a match while it runs.

use std::time::Duration;

use super::engine::Statistics;
use super::worker::Advice;

/// The notes of one match.
#[derive(Clone, Debug)]
pub(super) struct Record {
    match_id: String,
}

impl Record {
    /// Opens the notes.
    pub fn new(match_id: &str, role: &str, start_clock: Duration, play_clock: Duration) -> Self {
        tracing::info!(match_id, role, ?start_clock, ?play_clock, "match starts");
        Self {
            match_id: match_id.to_string(),
        }
    }

    /// Something went wrong, and the match goes on.
    pub fn error(&self, text: &str) {
        tracing::error!(match_id = self.match_id, "{text}");
    }

    /// Something worth a line.
    pub fn note(&self, text: &str) {
        tracing::info!(match_id = self.match_id, "{text}");
    }

    /// The moves that were played.
    pub fn played(&self, position: usize, moves: &[String]) {
        tracing::info!(match_id = self.match_id, position, moves = moves.join(" "), "moves played");
    }

    /// A move was answered.
    pub fn answered(&self, position: usize, answer: &str, advice: Option<&Advice>, took: Duration) {
        let (value, visits) = advice.map_or((None, 0), |advice| (advice.value, advice.visits));
        tracing::info!(match_id = self.match_id, position, answer, ?value, visits, ?took, "move answered");
    }

    /// How the search fares, about once a second.
    pub fn sample(&self, position: usize, statistics: &Statistics) {
        tracing::debug!(match_id = self.match_id, position, ?statistics, "search");
    }

    /// The end, with the goals when the game was over.
    pub fn ended(&self, how: &str, goals: &[(String, Option<u8>)]) {
        tracing::info!(match_id = self.match_id, how, ?goals, "match ends");
    }
}
