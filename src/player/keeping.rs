//! Keeping: what was learned about a game as notes for matches to come, and back.
//!
//! Rows of the evaluation are kept by the names of their facts, since facts have other numbers in
//! the next match; a match in other words reads them in its own. What does not fit the game at hand
//! is not taken.
//!
//! Invariant: what was kept comes back the same, up to the third decimal.
//!
//! Never knows: files.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::metagame::{Knowledge, Parameters};
use super::recollection::{Recollection, term, term_text};
use crate::analysis::evaluation::{Evaluation, Row, UNITS, Weights};
use crate::machine::Machine;
use crate::memory::Kind;

/// Evaluations of more facts are not kept: their rows would fill the file.
const MOST_FACTS: usize = 2000;

/// Notes of what was learned, by kind. None of what was not.
pub(super) fn notes(machine: &Arc<dyn Machine>, knowledge: &Knowledge) -> Vec<(Kind, Value)> {
    let mut notes = vec![(Kind::Parameters, knowledge.to_json())];
    if let Some(evaluation) = &knowledge.evaluation
        && evaluation.n_facts() <= MOST_FACTS
    {
        let note = evaluation_note(machine, evaluation, knowledge.games);
        notes.push((Kind::Evaluation, note));
    }
    notes
}

fn evaluation_note(machine: &Arc<dyn Machine>, evaluation: &Evaluation, games: usize) -> Value {
    let weights = evaluation.weights();
    let facts = machine.info().facts().unwrap_or_default();
    let named = facts.iter().zip(&weights.rows);
    let rows: Map<String, Value> = named
        .map(|(fact, row)| (term(fact), numbers(row)))
        .collect();
    json!({
        "roles": roles(machine),
        "games": games,
        "sum": weights.fixed_sum,
        "rows": rows,
        "bias": numbers(&weights.bias),
        "outputs": weights.outputs.iter().map(numbers).collect::<Vec<_>>(),
    })
}

/// What is known from before about the game of this machine; nothing where there is no note that
/// fits.
pub(super) fn recall(machine: &Arc<dyn Machine>, recollection: &Recollection) -> Option<Knowledge> {
    let note = recollection.note(Kind::Evaluation)?;
    // Outputs are in the order of roles.
    if note["roles"] != json!(roles(machine)) {
        return None;
    }
    let kept: HashMap<&str, &Value> = note["rows"]
        .as_object()?
        .iter()
        .filter_map(|(fact, row)| Some((term_text(fact)?, row)))
        .collect();
    let facts = machine.info().facts()?;
    let rows = facts.iter().map(|fact| row(kept.get(fact.as_str())?));
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
    let evaluation = Evaluation::from_weights(machine.info().n_roles(), weights)?;
    let exploration = recollection
        .note(Kind::Parameters)
        .and_then(|note| note["parameters"]["exploration"].as_f64())
        .filter(|exploration| (0.1..=10.0).contains(exploration));
    Some(Knowledge {
        evaluation: Some(Arc::new(evaluation)),
        games: usize::try_from(note["games"].as_u64()?).ok()?,
        parameters: Parameters {
            exploration: exploration.unwrap_or(1.0) as f32,
            ..Parameters::default()
        },
        ..Knowledge::default()
    })
}

fn roles(machine: &Arc<dyn Machine>) -> Vec<String> {
    let roles = machine.info().roles();
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
    use crate::machine::random::Random;

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
    fn what_was_learned_comes_back() {
        let machine = machine();
        let n_facts = machine.info().facts().unwrap().len();
        let evaluation = Evaluation::new(2, n_facts, None, &mut Random::new(4)).unwrap();
        let knowledge = Knowledge {
            evaluation: Some(Arc::new(evaluation)),
            games: 1234,
            parameters: Parameters {
                evaluation_share: 0.5,
                exploration: 1.7,
            },
            ..Knowledge::default()
        };
        let recollection = Recollection {
            is_exact: true,
            notes: notes(&machine, &knowledge),
            matches: Vec::new(),
        };
        let recalled = recall(&machine, &recollection).unwrap();
        assert_eq!(recalled.games, 1234);
        assert!((recalled.parameters.exploration - 1.7).abs() < 1e-3);
        let (mut before, mut after) = ([0.0; 2], [0.0; 2]);
        let state = machine.initial_state();
        knowledge.evaluation.unwrap().values(&state, &mut before);
        recalled.evaluation.unwrap().values(&state, &mut after);
        assert!((before[0] - after[0]).abs() < 0.5, "{before:?} {after:?}");
    }

    #[test]
    fn notes_that_do_not_fit_are_not_taken() {
        let machine = machine();
        let recall_of = |note: Value| {
            let recollection = Recollection {
                is_exact: true,
                notes: vec![(Kind::Evaluation, note)],
                matches: Vec::new(),
            };
            recall(&machine, &recollection)
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
