//! Replays a recorded trace on an engine and counts where the two differ.
//!
//! Every recorded state is set up as recorded, so that one fault is counted once. Where a trace has
//! no state, the engine's own successor is used.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::output::counted;
use super::trace::{TraceReader, TraceState, canonical};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Machine, Reasoner};

/// Texts listed of a difference, at most.
const MAX_LISTED: usize = 8;

/// One difference between trace and engine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Disagreement {
    /// The trace file.
    pub trace: String,
    line: u64,
    playout: u64,
    step: u64,
    /// What differs: `init`, `state`, `next`, `terminal`, `legal`, `moves`, `goal` or `roles`.
    pub what: &'static str,
    role: Option<String>,
    expected: String,
    found: String,
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

/// The result of a replay.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Replay {
    /// States compared.
    pub states: u64,
    /// Differences.
    pub disagreements: u64,
    /// The first of them.
    pub first: Option<Disagreement>,
    /// Parts in which the traces are known to be wrong; differences in them are counted apart.
    pub excused_parts: Vec<&'static str>,
    /// Differences in those parts.
    pub excused: u64,
}

/// Replays one file and adds its differences to `replay`; calls `on_state` after each state.
pub fn replay_file(
    machine: &Arc<dyn Machine>,
    path: &Path,
    replay: &mut Replay,
    on_state: impl FnMut(),
) -> anyhow::Result<()> {
    replay_trace(machine, TraceReader::open(path)?, replay, on_state)
}

/// As [`replay_file`], of a trace that is read by `reader`.
pub fn replay_trace(
    machine: &Arc<dyn Machine>,
    mut reader: TraceReader,
    replay: &mut Replay,
    mut on_state: impl FnMut(),
) -> anyhow::Result<()> {
    let mut comparison = Comparison::new(machine, reader.shown().to_string(), replay);
    while let Some(state) = reader.next_state()? {
        comparison.line = reader.line();
        comparison.replay.states += 1;
        comparison.compare(&state);
        on_state();
    }
    Ok(())
}

/// Replays the states of one match, in which each move must be legal, and adds the differences to
/// `replay`. `origin` names the match in messages; its states count as lines from 1.
pub fn replay_states(
    machine: &Arc<dyn Machine>,
    origin: &str,
    states: impl IntoIterator<Item = TraceState>,
    replay: &mut Replay,
) {
    let mut comparison = Comparison::new(machine, origin.to_string(), replay);
    comparison.needs_legal_moves = true;
    for state in states {
        comparison.line += 1;
        comparison.replay.states += 1;
        comparison.compare(&state);
    }
}

/// The engine's successor of the previous state, and the line that should have it.
struct Successor {
    playout: u64,
    step: u64,
    state: Vec<u64>,
}

struct Comparison<'a> {
    machine: &'a dyn Machine,
    reasoner: Box<dyn Reasoner>,
    roles: Vec<String>,
    trace: String,
    line: u64,
    replay: &'a mut Replay,
    expected_next: Option<Successor>,
    /// Whether a recorded move that is not legal is a difference, in traces without legal moves.
    needs_legal_moves: bool,
}

impl<'a> Comparison<'a> {
    fn new(machine: &'a Arc<dyn Machine>, trace: String, replay: &'a mut Replay) -> Self {
        Self {
            machine: machine.as_ref(),
            reasoner: Arc::clone(machine).reasoner(),
            roles: machine.info().roles(),
            trace,
            line: 0,
            replay,
            expected_next: None,
            needs_legal_moves: false,
        }
    }

    fn compare(&mut self, recorded: &TraceState) {
        let Some(state) = self.set_up(recorded) else {
            return;
        };
        self.reasoner.set_state(&state);
        let is_terminal = self.reasoner.is_terminal();
        if !recorded.recorder_failed_at("terminal") && is_terminal != recorded.terminal {
            self.disagree(recorded, "terminal", None, recorded.terminal, is_terminal);
        }
        if recorded.legal.is_some() || recorded.moves.is_some() {
            // The prover finds no moves but those that were listed.
            let roles = (0..self.roles.len()).map(RoleId::from_index);
            let legal = roles.map(|role| self.reasoner.legal_moves(role).to_vec());
            let legal: Vec<Vec<MoveId>> = legal.collect();
            if !recorded.recorder_failed_at("legal") {
                self.compare_legal_moves(recorded, &legal);
            }
        }
        if !recorded.recorder_failed_at("goal") {
            self.compare_goals(recorded);
        }
        if !recorded.recorder_failed_at("next") {
            self.follow(recorded);
        }
    }

    /// The state to compare in, after it was compared with the expected one; none when it is
    /// unknown.
    fn set_up(&mut self, recorded: &TraceState) -> Option<Vec<u64>> {
        let expected = self.expected_next.take().filter(|expected| {
            expected.playout == recorded.playout && expected.step == recorded.step
        });
        let (what, own) = match expected {
            Some(expected) => ("next", Some(expected.state)),
            None if recorded.step == 0 => ("init", Some(self.machine.initial_state())),
            None => ("state", None),
        };
        let Some(facts) = &recorded.state else {
            return own;
        };
        let facts = canonical_set(facts);
        if let Some(own) = own {
            let own_facts = self.machine.info().state_facts(&own);
            let own_facts: BTreeSet<String> = own_facts.into_iter().collect();
            if own_facts == facts {
                return Some(own);
            }
            self.disagree_on_sets(recorded, what, None, &facts, &own_facts);
        }
        let facts: Vec<String> = facts.into_iter().collect();
        let state = self.machine.info().state_from_facts(&facts);
        state
            .map_err(|why| self.disagree(recorded, "state", None, "a state of the game", why))
            .ok()
    }

    fn compare_legal_moves(&mut self, recorded: &TraceState, own: &[Vec<MoveId>]) {
        let Some(legal) = &recorded.legal else {
            return;
        };
        let recorded_roles: BTreeSet<String> = legal.keys().cloned().collect();
        let roles = self.roles.clone();
        let own_roles: BTreeSet<String> = roles.iter().cloned().collect();
        if recorded_roles != own_roles {
            self.disagree_on_sets(recorded, "roles", None, &recorded_roles, &own_roles);
        }
        for (role, own) in roles.iter().zip(own) {
            let Some(expected) = legal.get(role) else {
                continue;
            };
            let expected = canonical_set(expected);
            let found = own.iter().map(|&mv| self.machine.info().move_text(mv));
            let found: BTreeSet<String> = found.collect();
            if found != expected {
                self.disagree_on_sets(recorded, "legal", Some(role), &expected, &found);
            } else if own.len() != found.len() {
                let expected = counted(found.len() as u64, "move");
                let found = format!("{}, some of them twice", counted(own.len() as u64, "move"));
                self.disagree(recorded, "legal", Some(role), expected, found);
            }
        }
    }

    fn compare_goals(&mut self, recorded: &TraceState) {
        if recorded.goal.is_none() && recorded.goal_values.is_none() {
            return;
        }
        let shown = |it: Option<i64>| it.map_or("none".to_string(), |goal| goal.to_string());
        let mut goals = vec![None; self.roles.len()];
        self.reasoner.goals(&mut goals);
        for (role, found) in self.roles.clone().iter().zip(goals) {
            let found = found.map(i64::from);
            let expected = recorded_goal(recorded, role);
            // The end of a match has a goal of each role.
            if expected.is_none() && self.needs_legal_moves {
                self.disagree(recorded, "goal", Some(role), "not recorded", shown(found));
            } else if let Some(expected) = expected.filter(|it| *it != found) {
                self.disagree(recorded, "goal", Some(role), shown(expected), shown(found));
            }
        }
        let others = recorded.goal.iter().flatten();
        let others =
            others.filter(|(role, _)| self.needs_legal_moves && !self.roles.contains(role));
        for (role, goal) in others.collect::<Vec<_>>() {
            self.disagree(recorded, "goal", Some(role), goal, "no such role");
        }
    }

    /// Makes the recorded joint move, so that its successor can be compared with the next line.
    fn follow(&mut self, recorded: &TraceState) {
        let Some(moves) = &recorded.moves else {
            return;
        };
        let mut joint_move = Vec::with_capacity(self.roles.len());
        for (index, role) in self.roles.clone().iter().enumerate() {
            let text = moves.get(role).map(|text| canonical(text));
            let found = text.as_ref().and_then(|text| {
                let role = RoleId::from_index(index);
                self.machine.info().find_move(role, text)
            });
            let Some(mv) = found else {
                let expected = text.unwrap_or_else(|| "a move of each role".to_string());
                // A move that is legal in the trace alone is a difference in `legal` already.
                let legal = recorded.legal.as_ref().and_then(|legal| legal.get(role));
                if !legal.is_some_and(|legal| canonical_set(legal).contains(&expected)) {
                    self.disagree(recorded, "moves", Some(role), expected, "no such move");
                }
                return;
            };
            if self.needs_legal_moves {
                let is_legal = self.reasoner.is_legal(RoleId::from_index(index), mv);
                if !is_legal {
                    let expected = text.unwrap_or_default();
                    self.disagree(recorded, "moves", Some(role), expected, "not legal");
                }
            }
            joint_move.push(mv);
        }
        let mut state = Vec::new();
        self.reasoner.next_state(&joint_move, &mut state);
        self.expected_next = Some(Successor {
            playout: recorded.playout,
            step: recorded.step.saturating_add(1),
            state,
        });
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
            let only: Vec<&str> = one.difference(other).map(String::as_str).collect();
            let listed = &only[..only.len().min(MAX_LISTED)];
            let more = match only.len() - listed.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let shown = match listed {
                [] => "all of them in the other".to_string(),
                _ => format!("only here: {}{more}", listed.join(" ")),
            };
            format!("{} in all, {shown}", one.len())
        };
        let (expected, found) = (only(expected, found), only(found, expected));
        self.disagree(recorded, what, role, expected, found);
    }

    fn disagree(
        &mut self,
        recorded: &TraceState,
        what: &'static str,
        role: Option<&str>,
        expected: impl fmt::Display,
        found: impl fmt::Display,
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

fn canonical_set(texts: &[String]) -> BTreeSet<String> {
    texts.iter().map(|text| canonical(text)).collect()
}

/// The recorded goal of a role: unknown, none, or the highest of its values. A role with a value
/// that is no number is left out.
fn recorded_goal(recorded: &TraceState, role: &str) -> Option<Option<i64>> {
    if let Some(&goal) = recorded.goal.as_ref().and_then(|goals| goals.get(role)) {
        return Some(Some(goal));
    }
    let values = recorded.goal_values.as_ref()?.get(role)?;
    let values: Option<Vec<i64>> = values.iter().map(|value| value.parse().ok()).collect();
    values.map(|values| values.into_iter().max())
}

#[cfg(test)]
mod tests {
    use super::super::engine_choice::build_prover;
    use super::*;

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
        let (rules, _) = panza_gdl::load(GAME);
        let machine = build_prover(&rules).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        std::fs::write(&path, trace).unwrap();
        let mut replay = Replay::default();
        replay_file(&machine, &path, &mut replay, || {}).unwrap();
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
        let (rules, _) = panza_gdl::load(GAME);
        let machine = build_prover(&rules).unwrap();
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
        replay_file(&machine, &path, &mut replay, || {}).unwrap();
        assert_eq!((replay.disagreements, replay.excused), (1, 1), "{replay:?}");
        assert_eq!(replay.first.map(|first| first.what), Some("terminal"));
    }

    #[test]
    fn of_several_goal_values_the_highest_counts() {
        let (rules, _) = panza_gdl::load(&format!("{GAME} (<= (goal b 40) (true (count 2)))"));
        let machine = build_prover(&rules).unwrap();
        let state = machine.info().state_from_facts(&["(count 2)".to_string()]);
        let mut reasoner = Arc::clone(&machine).reasoner();
        reasoner.set_state(&state.unwrap());
        let mut goals = [None, None];
        reasoner.goals(&mut goals);
        assert_eq!(goals, [Some(100), Some(40)]);
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
