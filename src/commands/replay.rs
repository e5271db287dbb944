//! Replays a recorded trace on an engine and counts where the two differ.
//!
//! Every recorded state is taken as it stands, so that one fault is counted where it arises and not
//! again at each state after it; only where a trace leaves the state out is the playout followed
//! with the engine's own successor. Compared are the initial state, each successor, whether the
//! game is over, each role's legal moves and the goals that were recorded.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use serde::Serialize;

use super::engine::{Engine, EngineError};
use super::trace::{TraceReader, TraceState, canonical};
use crate::ids::{Id, RoleId};

/// Texts listed of a difference, at most.
const MAX_LISTED: usize = 8;

/// One difference between trace and engine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Disagreement {
    /// The trace file.
    pub trace: String,
    /// Its line, from 1.
    pub line: u64,
    /// Number of the playout.
    pub playout: u64,
    /// Number of the state in it.
    pub step: u64,
    /// What differs: `init`, `state`, `next`, `terminal`, `legal`, `moves`, `goal`, `roles` or
    /// `engine`.
    pub what: &'static str,
    /// The role, where it is about one.
    pub role: Option<String>,
    /// What the trace has.
    pub expected: String,
    /// What the engine has.
    pub found: String,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = self.role.as_ref().map(|role| format!(" of {role}"));
        write!(
            out,
            "{}:{}: playout {}, step {}: {}{} differs\n  trace:  {}\n  engine: {}",
            self.trace,
            self.line,
            self.playout,
            self.step,
            self.what,
            role.unwrap_or_default(),
            self.expected,
            self.found
        )
    }
}

/// What a replay found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Replay {
    /// States compared.
    pub states: u64,
    /// Differences.
    pub disagreements: u64,
    /// The first of them.
    pub first: Option<Disagreement>,
    /// What traces are known to have wrong: differences in these parts are counted apart.
    pub excused_parts: Vec<&'static str>,
    /// Differences in those parts.
    pub excused: u64,
}

/// Replays one file and adds what it finds to `replay`; `on_state` is called after each state.
///
/// # Errors
/// The file cannot be read. What the engine fails at is a disagreement and no error.
pub fn replay_file<E: Engine>(
    engine: &mut E,
    path: &Path,
    replay: &mut Replay,
    mut on_state: impl FnMut(),
) -> anyhow::Result<()> {
    let mut reader = TraceReader::open(path)?;
    let mut comparison = Comparison {
        engine,
        trace: path.display().to_string(),
        line: 0,
        replay,
        expected_next: None,
    };
    while let Some(state) = reader.next_state()? {
        comparison.line = reader.line();
        comparison.replay.states += 1;
        if let Err(error) = comparison.compare(&state) {
            comparison.expected_next = None;
            comparison.disagree(&state, "engine", None, "an answer", &error.to_string());
        }
        on_state();
    }
    Ok(())
}

/// The engine's successor of the state before, and which line it should be found on.
struct Successor<S> {
    playout: u64,
    step: u64,
    state: S,
}

struct Comparison<'a, E: Engine> {
    engine: &'a mut E,
    trace: String,
    line: u64,
    replay: &'a mut Replay,
    expected_next: Option<Successor<E::State>>,
}

impl<E: Engine> Comparison<'_, E> {
    fn compare(&mut self, recorded: &TraceState) -> Result<(), EngineError> {
        let Some(state) = self.stand(recorded)? else {
            return Ok(());
        };
        if !recorded.recorder_failed_at("terminal") {
            let is_terminal = self.engine.is_terminal(&state)?;
            if is_terminal != recorded.terminal {
                let expected = recorded.terminal.to_string();
                self.disagree(
                    recorded,
                    "terminal",
                    None,
                    &expected,
                    &is_terminal.to_string(),
                );
            }
        }
        if !recorded.recorder_failed_at("legal") {
            self.compare_legal_moves(recorded, &state)?;
        }
        if !recorded.recorder_failed_at("goal") {
            self.compare_goals(recorded, &state)?;
        }
        if !recorded.recorder_failed_at("next") {
            self.follow(recorded, &state)?;
        }
        Ok(())
    }

    /// The state to compare at, compared with what was expected of it; nothing when it cannot be
    /// known.
    fn stand(&mut self, recorded: &TraceState) -> Result<Option<E::State>, EngineError> {
        let expected = self.expected_next.take().filter(|expected| {
            expected.playout == recorded.playout && expected.step == recorded.step
        });
        let (what, own) = match expected {
            Some(expected) => ("next", Some(expected.state)),
            None if recorded.step == 0 => ("init", Some(self.engine.initial_state()?)),
            None => ("state", None),
        };
        let Some(facts) = &recorded.state else {
            return Ok(own);
        };
        let facts: BTreeSet<String> = facts.iter().map(|fact| canonical(fact)).collect();
        if let Some(own) = own {
            let own_facts: BTreeSet<String> = self.engine.facts(&own).into_iter().collect();
            if own_facts == facts {
                return Ok(Some(own));
            }
            self.disagree_on_sets(recorded, what, None, &facts, &own_facts);
        }
        let facts: Vec<String> = facts.into_iter().collect();
        match self.engine.state_from_facts(&facts) {
            Ok(state) => Ok(Some(state)),
            Err(message) => {
                self.disagree(recorded, "state", None, "a state of the game", &message);
                Ok(None)
            }
        }
    }

    fn compare_legal_moves(
        &mut self,
        recorded: &TraceState,
        state: &E::State,
    ) -> Result<(), EngineError> {
        let Some(legal) = &recorded.legal else {
            return Ok(());
        };
        let roles = self.engine.roles().to_vec();
        let recorded_roles: BTreeSet<String> = legal.keys().cloned().collect();
        let own_roles: BTreeSet<String> = roles.iter().cloned().collect();
        if recorded_roles != own_roles {
            self.disagree_on_sets(recorded, "roles", None, &recorded_roles, &own_roles);
        }
        let mut moves = Vec::new();
        for (index, role) in roles.iter().enumerate() {
            let Some(expected) = legal.get(role) else {
                continue;
            };
            let expected: BTreeSet<String> = expected.iter().map(|mv| canonical(mv)).collect();
            let id = RoleId::from_index(index);
            self.engine.legal_moves(state, id, &mut moves)?;
            let found: Vec<String> = moves.iter().map(|&mv| self.engine.move_text(mv)).collect();
            let listed = found.len();
            let found: BTreeSet<String> = found.into_iter().collect();
            if found != expected {
                self.disagree_on_sets(recorded, "legal", Some(role), &expected, &found);
            } else if listed != found.len() {
                let expected = format!("{} moves", found.len());
                let found = format!("{listed} moves, some of them twice");
                self.disagree(recorded, "legal", Some(role), &expected, &found);
            }
        }
        Ok(())
    }

    fn compare_goals(
        &mut self,
        recorded: &TraceState,
        state: &E::State,
    ) -> Result<(), EngineError> {
        if recorded.goal.is_none() && recorded.goal_values.is_none() {
            return Ok(());
        }
        let goals = self.engine.goals(state)?;
        let roles = self.engine.roles().to_vec();
        for (role, found) in roles.iter().zip(goals) {
            if let Some(expected) = recorded_goal(recorded, role)
                && expected != found.map(i64::from)
            {
                let shown =
                    |goal: Option<i64>| goal.map_or("none".to_string(), |goal| goal.to_string());
                let found = shown(found.map(i64::from));
                self.disagree(recorded, "goal", Some(role), &shown(expected), &found);
            }
        }
        Ok(())
    }

    /// Makes the recorded joint move, so that the next line can be compared with where it leads.
    fn follow(&mut self, recorded: &TraceState, state: &E::State) -> Result<(), EngineError> {
        let Some(moves) = &recorded.moves else {
            return Ok(());
        };
        let roles = self.engine.roles().to_vec();
        let mut joint_move = Vec::with_capacity(roles.len());
        for (index, role) in roles.iter().enumerate() {
            let text = moves.get(role).map(|text| canonical(text));
            let id = RoleId::from_index(index);
            let mv = text
                .as_ref()
                .and_then(|text| self.engine.find_move(id, text));
            match mv {
                Some(mv) => joint_move.push(mv),
                None => {
                    let expected = text.unwrap_or_else(|| "a move of each role".to_string());
                    self.disagree(recorded, "moves", Some(role), &expected, "no such move");
                    return Ok(());
                }
            }
        }
        self.expected_next = Some(Successor {
            playout: recorded.playout,
            step: recorded.step.saturating_add(1),
            state: self.engine.next_state(state, &joint_move)?,
        });
        Ok(())
    }

    fn disagree_on_sets(
        &mut self,
        recorded: &TraceState,
        what: &'static str,
        role: Option<&str>,
        expected: &BTreeSet<String>,
        found: &BTreeSet<String>,
    ) {
        let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
            let missing: Vec<&String> = one.difference(other).collect();
            let listed: Vec<&str> = missing
                .iter()
                .take(MAX_LISTED)
                .map(|s| s.as_str())
                .collect();
            let more = missing.len() - listed.len();
            let tail = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            match listed.is_empty() {
                true => format!("{} in all, nothing that the other lacks", one.len()),
                false => format!(
                    "{} in all, alone here: {}{tail}",
                    one.len(),
                    listed.join(" ")
                ),
            }
        };
        let (expected, found) = (only(expected, found), only(found, expected));
        self.disagree(recorded, what, role, &expected, &found);
    }

    fn disagree(
        &mut self,
        recorded: &TraceState,
        what: &'static str,
        role: Option<&str>,
        expected: &str,
        found: &str,
    ) {
        if self.replay.excused_parts.contains(&what) {
            self.replay.excused += 1;
            return;
        }
        self.replay.disagreements += 1;
        self.replay.first.get_or_insert_with(|| Disagreement {
            trace: self.trace.clone(),
            line: self.line,
            playout: recorded.playout,
            step: recorded.step,
            what,
            role: role.map(str::to_string),
            expected: expected.to_string(),
            found: found.to_string(),
        });
    }
}

/// What the trace says of a role's goal: nothing, that there is none, or the goal. Of several
/// values the highest counts; a role with a value that is no number is left out.
fn recorded_goal(recorded: &TraceState, role: &str) -> Option<Option<i64>> {
    let single = recorded.goal.as_ref().and_then(|goals| goals.get(role));
    if let Some(&goal) = single {
        return Some(Some(goal));
    }
    let values = recorded.goal_values.as_ref()?.get(role)?;
    let values: Option<Vec<i64>> = values.iter().map(|value| value.parse().ok()).collect();
    values.map(|values| values.into_iter().max())
}

#[cfg(test)]
mod tests {
    use super::super::engine::ProverEngine;
    use super::*;
    use crate::gdl;

    const GAME: &str = "(role a) (role b) (init (count 0))
        (succ 0 1) (succ 1 2)
        (<= (legal ?r (add ?n)) (role ?r) (succ ?n ?m))
        (<= (next (count ?m)) (true (count ?n)) (succ ?n ?m))
        (<= terminal (true (count 2)))
        (<= (goal a 100) (true (count 2))) (<= (goal b 0) (true (count 2)))";

    const TRACE: &str = r#"{"playout":0,"step":0,"state":["(count 0)"],"terminal":false,"legal":{"a":["(add 0)","(add 1)"],"b":["(add 0)","(add 1)"]},"moves":{"a":"(add 0)","b":"(add 1)"},"goal_values":{"a":[],"b":[]}}
{"playout":0,"step":1,"terminal":false,"legal":{"a":["(add 0)","(add 1)"],"b":["(add 0)","(add 1)"]},"moves":{"a":"(add 0)","b":"(add 1)"}}
{"playout":0,"step":2,"state":["(count 2)"],"terminal":true,"goal":{"a":100,"b":0}}
"#;

    fn replay(trace: &str) -> Replay {
        let (rules, _) = gdl::load(GAME);
        let mut engine = ProverEngine::new(&rules).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        std::fs::write(&path, trace).unwrap();
        let mut replay = Replay::default();
        replay_file(&mut engine, &path, &mut replay, || {}).unwrap();
        replay
    }

    #[test]
    fn a_true_trace_is_followed_through_states_that_are_left_out() {
        let replay = replay(TRACE);
        assert_eq!((replay.states, replay.disagreements), (3, 0), "{replay:?}");
    }

    #[test]
    fn each_kind_of_difference_is_found_once_and_named() {
        for (from, to, what, role) in [
            ("[\"(count 0)\"]", "[\"(count 1)\"]", "init", None),
            ("[\"(count 2)\"]", "[\"(count 1)\"]", "next", None),
            ("\"terminal\":true", "\"terminal\":false", "terminal", None),
            ("{\"a\":100", "{\"a\":99", "goal", Some("a")),
            ("\"b\":[]", "\"b\":[\"7\"]", "goal", Some("b")),
            ("\"b\":0}", "\"b\":1}", "goal", Some("b")),
            ("\"a\":[\"(add 0)\",", "\"a\":[", "legal", Some("a")),
            ("\"b\":\"(add 1)\"", "\"c\":\"(add 1)\"", "moves", Some("b")),
        ] {
            let changed = TRACE.replacen(from, to, 1);
            assert_ne!(changed, TRACE, "{from}");
            let first = replay(&changed)
                .first
                .unwrap_or_else(|| panic!("{what}: nothing found"));
            assert_eq!((first.what, first.role.as_deref()), (what, role), "{first}");
        }
    }

    #[test]
    fn what_is_known_to_be_wrong_is_counted_apart() {
        let (rules, _) = gdl::load(GAME);
        let mut engine = ProverEngine::new(&rules).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let wrong = TRACE.replacen("{\"a\":100", "{\"a\":99", 1);
        std::fs::write(
            &path,
            wrong.replacen("\"terminal\":true", "\"terminal\":false", 1),
        )
        .unwrap();
        let mut replay = Replay {
            excused_parts: vec!["goal"],
            ..Replay::default()
        };
        replay_file(&mut engine, &path, &mut replay, || {}).unwrap();
        assert_eq!((replay.disagreements, replay.excused), (1, 1), "{replay:?}");
        assert_eq!(replay.first.map(|first| first.what), Some("terminal"));
    }

    #[test]
    fn of_several_goal_values_the_highest_counts() {
        let (rules, _) = gdl::load(&format!("{GAME} (<= (goal b 40) (true (count 2)))"));
        let mut engine = ProverEngine::new(&rules).unwrap();
        let state = engine.state_from_facts(&["(count 2)".to_string()]).unwrap();
        assert_eq!(engine.goals(&state).unwrap(), [Some(100), Some(40)]);
        let line = |values: &str| {
            let text = format!(
                r#"{{"playout":0,"step":2,"terminal":true,"goal_values":{{"b":{values}}}}}"#
            );
            recorded_goal(&serde_json::from_str(&text).unwrap(), "b")
        };
        assert_eq!(line(r#"["0","40"]"#), Some(Some(40)));
        assert_eq!(line("[]"), Some(None));
        assert_eq!(line(r#"["many"]"#), None);
    }
}
