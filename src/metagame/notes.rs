//! A study as notes for later matches of the game, and back.
//!
//! Weights of the evaluation are stored by the names of their facts, since facts have other numbers
//! in the next match. Notes that do not fit the game at hand are ignored.
//!
//! Invariant: weights come back equal up to the third decimal.
//!
//! Never knows: files.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::history::{GameHistory, term, term_text};
use super::study::{PriorStudy, Study};
use crate::analysis::evaluation::{Evaluation, Row, UNITS, Weights};
use crate::machine::GameInfo;
use crate::memory::Kind;

/// Facts above which evaluations are not stored: their rows would fill the file.
const MAX_FACTS: usize = 2000;

/// The notes of a study, by kind.
pub fn notes(info: &dyn GameInfo, study: &Study) -> Vec<(Kind, Value)> {
    let mut notes = vec![(Kind::Parameters, study.to_json())];
    if let Some(evaluation) = &study.evaluation
        && evaluation.n_facts() <= MAX_FACTS
    {
        let note = evaluation_note(info, evaluation, study.games);
        notes.push((Kind::Evaluation, note));
    }
    notes
}

fn evaluation_note(info: &dyn GameInfo, evaluation: &Evaluation, games: usize) -> Value {
    let weights = evaluation.weights();
    let named = info.facts().unwrap_or_default().iter().zip(&weights.rows);
    let rows: Map<String, Value> = named
        .map(|(fact, row)| (term(fact), numbers(row)))
        .collect();
    json!({
        "roles": roles(info),
        "games": games,
        "sum": weights.fixed_sum,
        "rows": rows,
        "bias": numbers(&weights.bias),
        "outputs": weights.outputs.iter().map(numbers).collect::<Vec<_>>(),
    })
}

/// The study in the notes of earlier matches. `None` where no note fits.
pub fn prior_study(info: &dyn GameInfo, history: &GameHistory) -> Option<PriorStudy> {
    let note = history.note(Kind::Evaluation)?;
    // Outputs are in the order of roles.
    if note["roles"] != json!(roles(info)) {
        return None;
    }
    let stored: HashMap<&str, &Value> = note["rows"]
        .as_object()?
        .iter()
        .filter_map(|(fact, row)| Some((term_text(fact)?, row)))
        .collect();
    let rows = info.facts()?.iter();
    let rows = rows.map(|fact| row(stored.get(fact.as_str())?));
    let weights = Weights {
        fixed_sum: note["sum"].as_f64().map(|sum| sum as f32),
        rows: rows.collect::<Option<_>>()?,
        bias: row(&note["bias"])?,
        outputs: note["outputs"]
            .as_array()?
            .iter()
            .map(row)
            .collect::<Option<_>>()?,
    };
    let evaluation = Evaluation::from_weights(info.n_roles(), weights)?;
    let exploration = history
        .note(Kind::Parameters)
        .and_then(|note| note["parameters"]["exploration"].as_f64())
        .filter(|exploration| (0.1..=10.0).contains(exploration));
    Some(PriorStudy {
        evaluation,
        games: usize::try_from(note["games"].as_u64()?).ok()?,
        exploration: exploration.unwrap_or(1.0) as f32,
    })
}

fn roles(info: &dyn GameInfo) -> Vec<String> {
    let roles = info.roles();
    roles.iter().map(|role| term(role)).collect()
}

fn numbers(row: &Row) -> Value {
    let short = |number: &f32| (f64::from(*number) * 1000.0).round() / 1000.0;
    row.0.iter().map(short).collect::<Vec<f64>>().into()
}

fn row(value: &Value) -> Option<Row> {
    let numbers = value.as_array().filter(|numbers| numbers.len() == UNITS)?;
    let mut row = Row::ZERO;
    for (place, number) in row.0.iter_mut().zip(numbers) {
        *place = number.as_f64()? as f32;
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gdl;
    use std::sync::Arc;

    use crate::machine::Machine;
    use crate::machine::random::Random;
    use crate::metagame::Parameters;

    const RACE: &str = "(role a) (role b) (init (at a 1)) (init (at b 1)) (succ 1 2) (succ 2 3)
        (<= (legal ?r go) (role ?r)) (<= (legal ?r stay) (role ?r))
        (<= (next (at ?r ?y)) (does ?r go) (true (at ?r ?x)) (succ ?x ?y))
        (<= (next (at ?r ?x)) (does ?r stay) (true (at ?r ?x)))
        (<= terminal (true (at ?r 3))) (<= (goal ?r 100) (true (at ?r 3))) (<= (goal ?r 0) (role ?r) (not (true (at ?r 3))))";

    fn machine() -> Arc<dyn Machine> {
        let (rules, _) = gdl::load(RACE);
        let limits = crate::ground::Budget::generous();
        Arc::new(crate::build::compile(&rules, limits).unwrap().machine)
    }

    #[test]
    fn a_study_is_restored_from_its_notes() {
        let machine = machine();
        let n_facts = machine.info().facts().unwrap().len();
        let evaluation = Evaluation::new(2, n_facts, None, &mut Random::new(4)).unwrap();
        let study = Study {
            evaluation: Some(Arc::new(evaluation)),
            games: 1234,
            parameters: Parameters {
                evaluation_share: 0.5,
                exploration: 1.7,
            },
            ..Study::default()
        };
        let history = GameHistory {
            is_exact: true,
            notes: notes(machine.info(), &study),
            matches: Vec::new(),
        };
        let prior = prior_study(machine.info(), &history).unwrap();
        assert_eq!(prior.games, 1234);
        assert!((prior.exploration - 1.7).abs() < 1e-3);
        let (mut before, mut after) = ([0.0; 2], [0.0; 2]);
        let state = machine.initial_state();
        study.evaluation.unwrap().values(&state, &mut before);
        prior.evaluation.values(&state, &mut after);
        assert!((before[0] - after[0]).abs() < 0.5, "{before:?} {after:?}");
    }

    #[test]
    fn notes_that_do_not_fit_are_ignored() {
        let machine = machine();
        let recall_of = |note: Value| {
            let history = GameHistory {
                is_exact: true,
                notes: vec![(Kind::Evaluation, note)],
                matches: Vec::new(),
            };
            prior_study(machine.info(), &history)
        };
        for note in [
            json!(null),
            json!({ "roles": ["gdl:a", "gdl:b"] }),
            json!({ "roles": ["gdl:b", "gdl:a"], "rows": {}, "games": 1, "bias": [], "outputs": [] }),
            json!({ "roles": ["gdl:a", "gdl:b"], "rows": { "gdl:(at a 1)": [1, 2] }, "games": 1 }),
        ] {
            assert!(recall_of(note.clone()).is_none(), "{note}");
        }
    }
}
