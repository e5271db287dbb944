//! The prover against the reference traces: legal moves, terminal, next states and goals, state by
//! state.
//!
//! A fast slice by default, all games with `PANZA_CORPUS_ALL=1` (in release mode: a minute or two).
//! With `PANZA_CORPUS_GAME=key` one game. Without the corpus there is nothing to replay, and the
//! test says so.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use panza_cli::Rulesheet;
use panza_cli::trace::{TraceReader, TraceState};
use panza_lab::corpus::known;
use panza_testing::corpus::Corpus;

use panza_gdl::{Id, RoleId, TermId};
use panza_prover::{Prover, State};

/// The games replayed by default, with the number of states of each.
const SLICE: [(&str, usize); 30] = [
    ("ticTacToe", 120),
    ("connectFour", 60),
    ("breakthrough", 30),
    ("eightPuzzle", 60),
    ("hanoi", 60),
    ("reversi", 5),
    ("lightsOn", 60),
    ("knightsTour", 60),
    ("connectFourSimultaneous", 60),
    ("nineBoardTicTacToe", 60),
    ("futoshiki4", 60),
    ("hidato19", 40),
    ("queens06ug", 40),
    ("old_nineBoardTicTacToePie_v0", 60),
    ("switches", 40),
    ("old_wargame02_v0", 20),
    ("test_case_1a", 40),
    ("test_case_2a", 40),
    ("test_case_2c", 40),
    ("test_case_3a", 40),
    ("test_case_3b", 40),
    ("test_case_3d", 40),
    ("test_case_3e", 40),
    ("test_case_3f", 40),
    ("test_case_4a", 40),
    ("test_case_5a", 40),
    ("test_case_5d", 40),
    ("test_case_5e", 40),
    ("snake2p", 20),
    ("crissrace", 20),
];

/// The results of a game's replay.
#[derive(Default)]
struct Outcome {
    states: usize,
    terminals: usize,
    compile: Duration,
    replay: Duration,
    disagreements: Vec<String>,
}

/// A game's traces of all recorders, playouts one after the other.
fn states(corpus: &Corpus, key: &str) -> impl Iterator<Item = TraceState> + use<> {
    corpus.traces(key).into_iter().flat_map(|path| {
        let mut reader = TraceReader::open(&path).expect("the trace can be read");
        std::iter::from_fn(move || reader.next_state().expect("the trace can be read"))
    })
}

struct Replay<'a> {
    key: &'a str,
    prover: Prover,
    roles: Vec<(RoleId, String)>,
    outcome: Outcome,
}

impl Replay<'_> {
    fn note(&mut self, at: &TraceState, what: &str, expected: String, found: String) {
        if expected != found && !known::parts(self.key).contains(&what) {
            self.outcome.disagreements.push(format!(
                "{} playout {} step {}: {what}\n  expected {expected}\n  found    {found}",
                self.key, at.playout, at.step
            ));
        }
    }

    /// A text of the trace as the prover writes it: it takes `(foo)` and `foo` for one.
    fn canonical(&mut self, text: &str) -> String {
        match self.prover.read_term(text) {
            Some(term) => self.prover.show(term),
            None => text.to_string(),
        }
    }

    fn texts(&self, terms: &[TermId]) -> Vec<String> {
        let mut texts: Vec<String> = terms.iter().map(|&term| self.prover.show(term)).collect();
        texts.sort();
        texts
    }

    fn goals(&mut self, at: &TraceState, state: &State) {
        if at.goal.is_none() && at.goal_values.is_none() {
            return;
        }
        for (role, name) in self.roles.clone() {
            let expected = match at.goal_values.as_ref().and_then(|values| values.get(&name)) {
                Some(values) => values.clone(),
                None => match at.goal.as_ref().and_then(|goals| goals.get(&name)) {
                    Some(goal) => vec![goal.to_string()],
                    None => continue,
                },
            };
            let values = self.prover.goal_values(state, role);
            let values = values.map(|values| self.texts(&values));
            self.note(
                at,
                "goal",
                format!("{:?}", Ok::<_, ()>(expected)),
                format!("{values:?}"),
            );
        }
    }

    /// Checks one line against its state; gives the state after its joint move.
    fn check(&mut self, at: &TraceState, state: &State) -> Option<State> {
        self.outcome.states += 1;
        self.outcome.terminals += usize::from(at.terminal);
        let terminal = self.prover.is_terminal(state);
        self.note(
            at,
            "terminal",
            format!("Ok({})", at.terminal),
            format!("{terminal:?}"),
        );
        self.goals(at, state);
        if let Some(legal) = &at.legal {
            for (role, name) in self.roles.clone() {
                let moves = self.prover.legal_moves(state, role);
                let texts = moves.map(|moves| {
                    let texts: Vec<String> = moves.iter().map(|&mv| self.prover.show(mv)).collect();
                    assert!(texts.is_sorted(), "{}: moves in text order", self.key);
                    texts
                });
                let expected = Ok::<_, ()>(legal.get(&name).cloned().unwrap_or_default());
                self.note(at, "legal", format!("{expected:?}"), format!("{texts:?}"));
            }
        }
        let moves: &BTreeMap<String, String> = at.moves.as_ref()?;
        let joint_move: Option<Vec<TermId>> = self
            .roles
            .iter()
            .map(|(_, name)| self.prover.read_term(moves.get(name)?))
            .collect();
        let Some(joint_move) = joint_move else {
            self.note(at, "moves", "one per role".into(), format!("{moves:?}"));
            return None;
        };
        match self.prover.next_state(state, &joint_move) {
            Ok(next) => Some(next),
            Err(error) => {
                self.note(at, "next", "a state".into(), error.to_string());
                None
            }
        }
    }
}

fn replay(corpus: &Corpus, key: &str, max_states: usize) -> Outcome {
    let path = corpus.rulesheet(key);
    let sheet = Rulesheet::find(&path.to_string_lossy()).expect("the rulesheet can be read");
    let (rules, _) = panza_gdl::load(&sheet.text);
    let start = Instant::now();
    let mut prover = match Prover::new(&rules) {
        Ok(prover) => prover,
        Err(error) => {
            let disagreements = vec![format!("{key}: no prover: {error}")];
            return Outcome {
                disagreements,
                ..Outcome::default()
            };
        }
    };
    let compile = start.elapsed();
    let role_terms = prover.roles().to_vec();
    let roles = role_terms
        .iter()
        .enumerate()
        .map(|(index, &role)| (RoleId::from_index(index), prover.show(role)))
        .collect();
    let initial = prover.initial_state();
    let empty = prover.state_from_facts(&[]);
    let mut replay = Replay {
        key,
        prover,
        roles,
        outcome: Outcome {
            compile,
            ..Outcome::default()
        },
    };
    let mut followed: Option<State> = None;
    let start = Instant::now();
    for line in states(corpus, key).take(max_states) {
        if line.step == 0 {
            followed = Some(initial.clone());
        }
        if let Some(facts) = &line.state {
            let reached = followed.as_ref().unwrap_or(&empty);
            let texts = replay.texts(replay.prover.facts(reached));
            let what = if line.step == 0 { "init" } else { "next" };
            let mut expected: Vec<String> =
                facts.iter().map(|fact| replay.canonical(fact)).collect();
            expected.sort();
            replay.note(&line, what, format!("{expected:?}"), format!("{texts:?}"));
            let terms: Option<Vec<TermId>> = facts
                .iter()
                .map(|fact| replay.prover.read_term(fact))
                .collect();
            followed = terms.map(|terms| replay.prover.state_from_facts(&terms));
        }
        // Without a state this line cannot be checked; the fault that lost it is on
        // record.
        if let Some(state) = followed.take() {
            followed = replay.check(&line, &state);
        }
        if replay.outcome.disagreements.len() >= 5 {
            break;
        }
    }
    replay.outcome.replay = start.elapsed();
    replay.outcome
}

#[test]
#[ignore = "needs the published games, see CONTRIBUTING.md"]
fn traces_are_reproduced() {
    let corpus = panza_testing::corpus::corpus();
    let wanted: Vec<(String, usize)> = if let Ok(key) = std::env::var("PANZA_CORPUS_GAME") {
        vec![(key, usize::MAX)]
    } else if std::env::var_os("PANZA_CORPUS_ALL").is_some() {
        let keys = corpus.keys().iter().cloned();
        keys.map(|key| (key, usize::MAX)).collect()
    } else {
        SLICE
            .iter()
            .map(|&(key, max_states)| (key.to_string(), max_states))
            .collect()
    };
    let mut disagreements = Vec::new();
    let (mut states, mut terminals) = (0, 0);
    for (key, max_states) in &wanted {
        let outcome = replay(&corpus, key, *max_states);
        println!(
            "{key}: {} states, {} terminal, compiled in {:.1} ms, replayed in {:.1} ms, {} disagreements",
            outcome.states,
            outcome.terminals,
            outcome.compile.as_secs_f64() * 1e3,
            outcome.replay.as_secs_f64() * 1e3,
            outcome.disagreements.len()
        );
        assert!(
            outcome.states > 0 || !outcome.disagreements.is_empty(),
            "{key}: no state was replayed"
        );
        states += outcome.states;
        terminals += outcome.terminals;
        disagreements.extend(outcome.disagreements);
    }
    println!(
        "{} games, {states} states, {terminals} terminal",
        wanted.len()
    );
    assert!(
        disagreements.is_empty(),
        "{} disagreements:\n{}",
        disagreements.len(),
        disagreements.join("\n")
    );
}
