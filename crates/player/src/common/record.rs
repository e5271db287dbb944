//! The record of a match while it runs: its own log, and the program's messages.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tracing::span::EnteredSpan;
use tracing::{Level, Span};

use crate::messages::StartRequest;
use crate::search::{Effort, PlanStatus};
use panza_analysis::board::Layout;
use panza_config::Settings;
use panza_game::BuildKind;
use panza_gdl::MoveId;
use panza_search::MoveStats;
use panza_sync::Instant;
use panza_telemetry::{
    COMMIT, Count, MatchLog, SearchSample, count, move_cells, rounded, searched,
};

/// A move that is neither proven nor the only one gets a warning in the log with fewer visits.
const FEW_VISITS: u64 = 500;
/// An event names at most this many moves of a plan.
const MAX_PLAN_MOVES: usize = 200;

/// The record of one match; clones write to the same log.
///
/// The last clone to be dropped waits for the disk: that is one of the match's own threads, never
/// the conductor's.
#[derive(Clone, Debug)]
pub struct Record {
    log: Arc<MatchLog>,
    /// What is reported in it belongs to the match.
    span: Span,
}

impl Record {
    /// Opens the record of a match of these roles.
    pub fn new(settings: &Settings, start: &StartRequest, roles: &[String]) -> Self {
        let log = if settings.logs.match_logs {
            MatchLog::create_or_disabled(&settings.logs.folder, &start.match_id)
        } else {
            MatchLog::disabled()
        };
        let record = Self {
            span: log.span(),
            log: Arc::new(log),
        };
        record
            .log
            .event("settings", json!({ "toml": settings.to_toml() }));
        let role = start.role.clone();
        let players = (!start.manager.players.is_empty()).then(|| start.manager.players.clone());
        let game = game_of(&start.match_id);
        record.log.event(
            "start",
            json!({
                "role": role,
                "roles": roles,
                "players": players,
                "host": start.manager.host,
                "game": game,
                "version": env!("CARGO_PKG_VERSION"),
                "commit": COMMIT,
                "start_clock": start.start_clock.as_secs_f64(),
                "play_clock": start.play_clock.as_secs_f64(),
                "rules": &*start.rules.text,
            }),
        );
        record.log.summarise(|summary| {
            summary.game = game;
            summary.role = role;
            summary.roles = roles.to_vec();
            summary.players = players;
            summary.host = start.manager.host.clone();
            summary.start_clock = start.start_clock.as_secs_f64();
            summary.play_clock = start.play_clock.as_secs_f64();
        });
        count(Count::MatchStarted);
        record.announce(&format!(
            "plays {} in {}, start clock {:?}, play clock {:?}",
            start.role, start.match_id, start.start_clock, start.play_clock
        ));
        record
    }

    /// Other players have the roles from here on, and `role` is Panza's.
    pub fn seated(&self, role: &str, players: &[String]) {
        self.note(&format!("the roles are played by {}", players.join(", ")));
        self.log
            .event("players", json!({ "role": role, "players": players }));
        self.log.summarise(|summary| {
            summary.role = role.to_string();
            summary.players = Some(players.to_vec());
        });
    }

    /// The name of the folder, where there is a log.
    pub fn folder(&self) -> Option<String> {
        let name = self.log.folder()?.file_name()?;
        Some(name.to_string_lossy().into_owned())
    }

    /// What this thread reports, and what the threads report that it starts, belongs to the match
    /// until the result is dropped.
    pub fn enter(&self) -> EnteredSpan {
        self.span.clone().entered()
    }

    /// A line of the match log.
    pub fn note(&self, text: &str) {
        let _entered = self.span.enter();
        tracing::debug!("{text}");
        self.log.line(Level::INFO, format_args!("{text}"));
    }

    /// A line of the match log at a level.
    pub fn line(&self, level: Level, text: &str) {
        match level {
            Level::ERROR => self.error(text),
            Level::WARN => self.warning(text),
            _ => self.note(text),
        }
    }

    /// A line of the match log and of the console.
    fn announce(&self, text: &str) {
        let _entered = self.span.enter();
        tracing::info!("{text}");
        self.log.line(Level::INFO, format_args!("{text}"));
    }

    /// Something went wrong, and the match goes on.
    pub fn error(&self, text: &str) {
        let _entered = self.span.enter();
        tracing::error!("{text}");
        self.log.line(Level::ERROR, format_args!("{text}"));
        self.log.event("error", json!({ "text": text }));
        self.count_error();
    }

    /// A message or rule was wrong, and the match goes on.
    pub fn warning(&self, text: &str) {
        let _entered = self.span.enter();
        tracing::warn!("{text}");
        self.log.line(Level::WARN, format_args!("{text}"));
        self.log.event("warning", json!({ "text": text }));
        self.count_error();
    }

    fn count_error(&self) {
        count(Count::Error);
        self.log.summarise(|summary| summary.errors += 1);
    }

    /// A machine was built.
    pub fn built(&self, machine: &str, kind: BuildKind, took: Duration) {
        let seconds = took.as_secs_f64();
        let name = build_name(kind);
        self.announce(&format!("{machine} {name} built in {seconds:.3} s"));
        let is_fallback = kind == BuildKind::Fallback;
        self.log.event(
            "machine",
            json!({ "kind": machine, "is_fallback": is_fallback, "seconds": seconds }),
        );
    }

    /// The numbers of facts and moves of each part of the game.
    pub fn parts(&self, parts: &[(usize, usize)]) {
        self.announce(&format!("the game falls into {} parts", parts.len()));
        let part = |&(bases, moves): &(usize, usize)| json!({ "bases": bases, "moves": moves });
        let parts: Vec<serde_json::Value> = parts.iter().map(part).collect();
        self.log.event("parts", json!({ "parts": parts }));
    }

    /// The numbers of facts and moves of the reduced game.
    pub fn reduced(&self, bases: usize, moves: usize) {
        self.announce(&format!(
            "the game is searched without what changes nothing: {bases} facts, {moves} moves"
        ));
    }

    /// The boards on which a state is drawn; none where the game has no board.
    pub fn board(&self, layouts: &[Layout]) {
        self.log.event("board", json!({ "shapes": layouts }));
    }

    /// The facts that hold in the position of this number.
    pub fn position(&self, position: usize, facts: &[String], is_terminal: bool) {
        self.log.event(
            "state",
            json!({ "step": position, "facts": facts, "terminal": is_terminal }),
        );
    }

    /// The root moves of this position when PLAY was answered.
    pub fn root_moves(&self, position: usize, moves: &[MoveStats<String>]) {
        let moves: Vec<(&str, u64, f64)> = moves.iter().map(move_cells).collect();
        self.log
            .event("root", json!({ "step": position, "moves": moves }));
    }

    /// What the planner has found for this position; `text` gives the text of a move.
    pub fn plan(&self, position: usize, plan: &PlanStatus, text: impl Fn(MoveId) -> String) {
        let (n_moves, n_states) = (plan.moves.len(), plan.n_states);
        let solver = plan.goal.map(|_| plan.solver);
        if let Some(goal) = plan.goal {
            let proven = if plan.is_best { ", proven best" } else { "" };
            self.note(&format!(
                "the {} solver has a plan: goal {goal}{proven}, {n_moves} moves left, {n_states} states made",
                plan.solver
            ));
        }
        let moves = plan.moves.iter().take(MAX_PLAN_MOVES);
        let moves: Vec<String> = moves.map(|&mv| text(mv)).collect();
        self.log.event(
            "plan",
            json!({
                "step": position,
                "goal": plan.goal,
                "bound": plan.bound,
                "proven": plan.is_best,
                "solver": solver,
                "states": n_states,
                "moves": moves,
                "n_moves": n_moves,
            }),
        );
    }

    /// The findings of the preparation.
    pub fn prepared(&self, findings: &serde_json::Value) {
        let mut findings_alone = findings.clone();
        let parameters = findings_alone
            .as_object_mut()
            .and_then(|findings| findings.remove("parameters"));
        if let Some(parameters) = parameters {
            self.note(&format!("search settings: {}", summary(&parameters)));
        }
        self.note(&format!("findings: {}", summary(&findings_alone)));
        self.log.event("study", findings.clone());
    }

    /// START was answered.
    pub fn ready(&self, received: Instant, now: Instant) {
        let took = now.saturating_duration_since(received).as_secs_f64();
        self.announce(&format!("ready after {took:.3} s"));
        self.log.event("ready", json!({ "seconds": took }));
    }

    /// The moves that were played, in role order, from the state of this number on.
    pub fn played(&self, position: usize, moves: &[String]) {
        self.note(&format!("step {position}: played {}", moves.join(" ")));
        self.log
            .event("played", json!({ "step": position, "moves": moves }));
        self.log.summarise(|summary| summary.steps = position + 1);
    }

    /// PLAY was answered `took` after it was received; it was due `due` after that. `is_only` says
    /// that there was no other legal move.
    pub fn answered(
        &self,
        position: usize,
        answer: &MoveStats<String>,
        effort: Effort,
        is_only: bool,
        took: Duration,
        due: Duration,
    ) {
        let seconds = took.as_secs_f64();
        let value = answer.value.map(f64::from);
        let visits = answer.visits as u64;
        let is_proven = answer.is_proven_best;
        let answer = &answer.mv;
        let value_text = value.map_or("unknown".to_string(), |value| format!("{value:.1}"));
        let reason = match (is_proven, is_only) {
            (true, _) => ", proven",
            (false, true) => ", the only move",
            (false, false) => "",
        };
        let short_value = value.map_or(String::new(), |value| format!(", value {value:.0}"));
        let effort = effort_text(effort);
        self.span.in_scope(|| {
            tracing::info!("turn {position}: {answer}{short_value}{effort}{reason}");
        });
        self.note(&format!(
            "step {position}: answers {answer}, value {value_text}, visits {visits}{reason}, after {seconds:.3} s"
        ));
        if visits < FEW_VISITS && !is_proven && !is_only {
            self.log.line(
                Level::WARN,
                format_args!(
                    "step {position}: only {visits} visits; {FEW_VISITS} make a sound choice"
                ),
            );
        }
        let value = value.map(rounded);
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
                "due_seconds": due.as_secs_f64(),
            }),
        );
        self.log.summarise(|summary| summary.value = value);
        count(Count::MoveAnswered);
    }

    /// Figures of the search, `seconds` after the last ones.
    pub fn sample(&self, sample: &SearchSample, seconds: f64) {
        self.log.sample(sample);
        searched(sample, seconds);
    }

    /// The end, with the goals when the game was over.
    pub fn ended(&self, how: &str, goals: &[(String, Option<u8>)]) {
        let goal_texts: Vec<String> = goals
            .iter()
            .map(|(role, goal)| {
                let goal = goal.map_or("undefined".to_string(), |goal| goal.to_string());
                format!(", {role} {goal}")
            })
            .collect();
        self.announce(&format!("{how}{}", goal_texts.concat()));
        let goals: BTreeMap<String, Option<u8>> = goals.iter().cloned().collect();
        self.log.event("end", json!({ "how": how, "goals": goals }));
        // Last: readers take it for the end of the log.
        self.log.summarise(|summary| {
            summary.how = Some(how.to_string());
            summary.goals = (!goals.is_empty()).then_some(goals);
        });
        count(Count::MatchEnded);
    }
}

/// How far a position was searched, behind other figures.
fn effort_text(Effort { depth, nodes }: Effort) -> String {
    let mut text = match depth {
        0 => String::new(),
        _ => format!(", depth {depth}"),
    };
    if nodes > 0 {
        text += &format!(", {} nodes", short_count(nodes));
    }
    text
}

/// A number such as 812, 4.5 k or 12 M.
fn short_count(number: u64) -> String {
    let units = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    let number = number as f64;
    // What would be rounded to the next unit has that.
    let unit = units.into_iter().find(|(size, _)| number >= 0.9995 * size);
    unit.map_or(number.to_string(), |(size, unit)| {
        let decimals = usize::from(number < 9.95 * size);
        format!("{:.decimals$} {unit}", number / size)
    })
}

/// What the result of a build is called in logs.
pub(crate) fn build_name(kind: BuildKind) -> &'static str {
    match kind {
        BuildKind::Main => "machine",
        BuildKind::Fallback => "fallback machine",
    }
}

/// The scalars of an object on one line, numbers with at most three decimals, lists as their
/// lengths.
fn summary(value: &serde_json::Value) -> String {
    let Some(object) = value.as_object() else {
        return short(value);
    };
    let entries = object.iter().filter(|(_, value)| !value.is_null());
    let entries = entries.map(|(key, value)| match value {
        serde_json::Value::Object(_) => format!("{key} ({})", summary(value)),
        serde_json::Value::Array(items) => format!("{key} {}", items.len()),
        _ => format!("{key} {}", short(value)),
    });
    entries.collect::<Vec<_>>().join(", ").replace('_', " ")
}

fn short(value: &serde_json::Value) -> String {
    match value.as_f64() {
        Some(number) => ((number * 1000.0).round() / 1000.0).to_string(),
        None => value.to_string(),
    }
}

/// The name of the game in a match's name, which many game managers put between their own name and
/// a number, as in `local.ticTacToe.1795149631427`.
fn game_of(match_id: &str) -> Option<String> {
    let mut words = match_id.split('.');
    let (_, game, number) = (words.next()?, words.next()?, words.next()?);
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = !game.is_empty() && !is_number(game);
    (is_name && is_number(number)).then(|| game.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_summarised_on_one_line() {
        let findings = json!({
            "games": 41233,
            "correlation": 0.412_345_67,
            "none": null,
            "latches": { "stay_true": 9 },
            "many": [1, 2],
        });
        assert_eq!(
            summary(&findings),
            "correlation 0.412, games 41233, latches (stay true 9), many 2"
        );
    }

    #[test]
    fn counts_are_short() {
        let numbers = [
            0,
            812,
            999,
            1_000,
            4_460,
            45_300,
            999_600,
            1_234_567,
            12_000_000_000,
        ];
        let texts = numbers.map(short_count);
        let expected = [
            "0", "812", "999", "1.0 k", "4.5 k", "45 k", "1.0 M", "1.2 M", "12 G",
        ];
        assert_eq!(texts, expected);
        let effort = |depth, nodes| effort_text(Effort { depth, nodes });
        assert_eq!(effort(12, 1_234_567), ", depth 12, 1.2 M nodes");
        assert_eq!(effort(0, 45_300), ", 45 k nodes");
        assert_eq!(effort(0, 0), "");
    }

    #[test]
    fn the_game_stands_between_the_manager_and_a_number() {
        let game = |id| game_of(id);
        assert_eq!(
            game("local.ticTacToe.1795149631427").as_deref(),
            Some("ticTacToe")
        );
        assert_eq!(game("panza.hex.1795149631427.1").as_deref(), Some("hex"));
        for id in ["", "m", "a.b", "a.b.c", "a..1", "a.1.2", "0d3f5c"] {
            assert_eq!(game(id), None, "{id}");
        }
    }
}
