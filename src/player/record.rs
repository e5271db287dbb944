//! What is noted about a match while it runs: in its own log, and in the program's messages.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tracing::Level;

use super::StartRequest;
use super::link::Advice;
use crate::config::Settings;
use crate::telemetry::{MatchLog, SearchSample};

/// The notes of one match; clones write to the same place.
///
/// The last clone to be dropped waits for the disk: that is the match thread's.
#[derive(Clone, Debug)]
pub(super) struct Record {
    match_id: Arc<str>,
    log: Arc<MatchLog>,
}

impl Record {
    /// Opens the notes.
    pub fn new(settings: &Settings, start: &StartRequest) -> Self {
        let log = if settings.logs.match_logs {
            MatchLog::create_or_disabled(&settings.logs.folder, &start.match_id)
        } else {
            MatchLog::disabled()
        };
        let record = Self {
            match_id: start.match_id.as_str().into(),
            log: Arc::new(log),
        };
        record
            .log
            .event("settings", json!({ "toml": settings.to_toml() }));
        let rules: Vec<String> = start.rules.iter().map(ToString::to_string).collect();
        record.log.event(
            "start",
            json!({
                "role": start.role.to_string(),
                "start_clock": start.start_clock.as_secs_f64(),
                "play_clock": start.play_clock.as_secs_f64(),
                "rules": rules.join("\n"),
            }),
        );
        record.note(&format!(
            "plays {} in {}, start clock {:?}, play clock {:?}",
            start.role, start.match_id, start.start_clock, start.play_clock
        ));
        record
    }

    /// Something worth a line.
    pub fn note(&self, text: &str) {
        tracing::info!(match_id = &*self.match_id, "{text}");
        self.log.line(Level::INFO, format_args!("{text}"));
    }

    /// Something went wrong, and the match goes on.
    pub fn error(&self, text: &str) {
        tracing::error!(match_id = &*self.match_id, "{text}");
        self.log.line(Level::ERROR, format_args!("{text}"));
        self.log.event("error", json!({ "text": text }));
    }

    /// Something is wrong with what we were told, and we live with it.
    pub fn warning(&self, text: &str) {
        tracing::warn!(match_id = &*self.match_id, "{text}");
        self.log.line(Level::WARN, format_args!("{text}"));
        self.log.event("warning", json!({ "text": text }));
    }

    /// A machine is there.
    pub fn built(&self, kind: &str, is_fallback: bool, took: Duration) {
        let what = if is_fallback {
            "machine of last resort"
        } else {
            "machine"
        };
        let seconds = took.as_secs_f64();
        self.note(&format!("{kind} {what} built in {seconds:.3} s"));
        self.log.event(
            "machine",
            json!({ "kind": kind, "is_fallback": is_fallback, "seconds": seconds }),
        );
    }

    /// What was learned about the game.
    pub fn studied(&self, findings: &serde_json::Value) {
        self.note(&format!("studied the game: {findings}"));
        self.log.event("study", findings.clone());
    }

    /// START was answered.
    pub fn ready(&self, received: Instant, now: Instant) {
        let took = now.saturating_duration_since(received).as_secs_f64();
        self.note(&format!("ready after {took:.3} s"));
        self.log.event("ready", json!({ "seconds": took }));
    }

    /// The moves that were played, in role order, from the state of this number on.
    pub fn played(&self, position: usize, moves: &[String]) {
        self.note(&format!("step {position}: played {}", moves.join(" ")));
        self.log
            .event("played", json!({ "step": position, "moves": moves }));
    }

    /// PLAY was answered, this long after it was received.
    pub fn answered(&self, position: usize, answer: &str, advice: Option<&Advice>, took: Duration) {
        let seconds = took.as_secs_f64();
        let value = advice.and_then(|advice| advice.value);
        let visits = advice.map_or(0, |advice| advice.visits);
        let is_proven = advice.is_some_and(|advice| advice.is_proven);
        let is_only = advice.is_some_and(|advice| advice.is_only);
        let shown_value = value.map_or("unknown".to_string(), |value| format!("{value:.1}"));
        let reason = match (is_proven, is_only) {
            (true, _) => ", proven",
            (false, true) => ", the only move",
            (false, false) => "",
        };
        self.note(&format!(
            "step {position}: answers {answer}, value {shown_value}, visits {visits}{reason}, after {seconds:.3} s"
        ));
        self.log.event(
            "move",
            json!({
                "step": position,
                "move": answer,
                "value": value,
                "visits": visits,
                "proven": is_proven,
                "only": is_only,
                "seconds": seconds,
            }),
        );
    }

    /// How the search fares, about once a second.
    pub fn sample(&self, sample: &SearchSample) {
        self.log.sample(sample);
    }

    /// The end, with the goals when the game was over.
    pub fn ended(&self, how: &str, goals: &[(String, Option<u8>)]) {
        let shown: Vec<String> = goals
            .iter()
            .map(|(role, goal)| {
                let goal = goal.map_or("undefined".to_string(), |goal| goal.to_string());
                format!(", {role} {goal}")
            })
            .collect();
        self.note(&format!("{how}{}", shown.concat()));
        let goals: serde_json::Map<String, serde_json::Value> = goals
            .iter()
            .map(|(role, goal)| (role.clone(), json!(goal)))
            .collect();
        self.log.event("end", json!({ "how": how, "goals": goals }));
    }
}
