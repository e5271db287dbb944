//! A preparation as notes for later matches of the game, and back.
//!
//! Weights of the evaluation are stored by the names of their facts, since facts have other numbers
//! in the next match. Notes that do not fit the game at hand are ignored. Notes of an evaluation
//! with fewer units give one with the same values whose other units are yet to be trained.
//!
//! Invariant: weights and sums of gradients come back equal up to the third decimal.
//!
//! Never uses: files.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::alpha_beta::AlphaBetaPreparation;
use super::choice::AgainstTree;
use super::parameters::Parameters;
use super::preparation::{Preparation, PriorPreparation, Trained};
use panza_analysis::prospects::WORD_BITS;
use panza_analysis::tuples::Variable;
use panza_analysis::{Prospects, Tuples};
use panza_gdl::{BaseId, Id, RoleId};
use panza_learning::evaluation::{LINEAR_UNITS, Row, UNITS, Weights};
use panza_learning::{Evaluation, GradientSums, Known};
use panza_machine::GameInfo;
use panza_memory::{GameHistory, Kind, term, term_text};
use panza_search::alpha_beta::{Turns, Units};
use panza_sync::Random;

/// Facts above which evaluations of preparations are not stored: their rows would fill the file.
const MAX_FACTS: usize = 2000;
/// Units above which a note is no note of values for alpha-beta.
const MAX_UNIT: i32 = 10_000;
/// Training games above which a note is no note of a training.
pub(super) const MAX_GAMES: u64 = 1 << 40;

/// The notes of a preparation, by kind. None of one that has only taken over what long training
/// left.
pub fn notes(info: &dyn GameInfo, preparation: &Preparation) -> Vec<(Kind, Value)> {
    if preparation.generation.is_some() {
        return Vec::new();
    }
    preparation_notes(info, preparation, MAX_FACTS)
}

/// The notes by which [`prior_preparation`] gives back a preparation that trained an evaluation as
/// it is: the note of a training says that nothing is to be trained further.
pub fn whole_preparation_notes(
    info: &dyn GameInfo,
    preparation: &Preparation,
) -> Vec<(Kind, Value)> {
    let generation = preparation.generation.unwrap_or(1);
    let mut notes = preparation_notes(info, preparation, usize::MAX);
    let training = json!({ "progress": { "generation": generation } });
    notes.push((Kind::Training, training));
    notes
}

/// The notes of a preparation, with its evaluation unless it has more than `max_facts` facts.
pub(super) fn preparation_notes(
    info: &dyn GameInfo,
    preparation: &Preparation,
    max_facts: usize,
) -> Vec<(Kind, Value)> {
    let mut notes = vec![(Kind::Parameters, preparation.to_json())];
    if let Some(evaluation) = &preparation.evaluation
        && evaluation.n_facts() <= max_facts
    {
        let note = evaluation_note(
            info,
            evaluation,
            preparation.games,
            preparation.sums.as_ref(),
        );
        notes.push((Kind::Evaluation, note));
    }
    if let Some(alpha_beta) = &preparation.alpha_beta
        && alpha_beta.evaluation.n_facts() <= max_facts
    {
        notes.push((Kind::AlphaBetaEvaluation, alpha_beta_note(info, alpha_beta)));
    }
    notes
}

/// What alpha-beta searches with, as a note.
pub(super) fn alpha_beta_note(info: &dyn GameInfo, alpha_beta: &AlphaBetaPreparation) -> Value {
    let sums = alpha_beta.sums.as_ref();
    let mut note = evaluation_note(info, &alpha_beta.evaluation, alpha_beta.games, sums);
    note["units"] = json!([alpha_beta.units.change, alpha_beta.units.turn]);
    let facts = info.facts().unwrap_or_default();
    let told = alpha_beta.turns.fact().and_then(|(fact, role)| {
        let role = info.role_name(RoleId::from_index(role));
        Some(json!({ "fact": term(facts.get(fact)?), "role": term(role) }))
    });
    note["turns"] = told.into();
    note
}

/// What alpha-beta searches with, in a note. `None` where it does not fit the game.
pub(super) fn read_alpha_beta(
    info: &dyn GameInfo,
    note: &Value,
    find_prospects: impl FnOnce() -> Option<Prospects>,
) -> Option<AlphaBetaPreparation> {
    let known = read_evaluation(info, note, find_prospects)?;
    let unit = |index: usize| i32::try_from(note["units"][index].as_i64()?).ok();
    let units = Units {
        change: unit(0).filter(|change| (1..=MAX_UNIT).contains(change))?,
        turn: unit(1).filter(|turn| turn.abs() <= MAX_UNIT)?,
    };
    let fact = term_text(note["turns"]["fact"].as_str().unwrap_or_default());
    let fact = fact.and_then(|text| info.facts()?.iter().position(|fact| fact == text));
    let role = roles(info)
        .iter()
        .position(|role| note["turns"]["role"] == **role);
    Some(AlphaBetaPreparation {
        evaluation: Arc::new(known.evaluation),
        units,
        turns: Turns::told_by(fact.zip(role)),
        sums: known.sums,
        games: known.games,
    })
}

/// An evaluation as a note, with the number of its training games.
pub fn evaluation_note(
    info: &dyn GameInfo,
    evaluation: &Evaluation,
    games: usize,
    sums: Option<&GradientSums>,
) -> Value {
    let weights = evaluation.weights();
    let facts = info.facts().unwrap_or_default();
    let rows: Map<String, Value> = facts
        .iter()
        .zip(&weights.rows)
        .map(|(fact, row)| (term(fact), numbers(&row.0)))
        .collect();
    let mut note = json!({
        "roles": roles(info),
        "games": games,
        "sum": weights.fixed_sum,
        "rows": rows,
        "bias": numbers(&weights.bias.0),
        "outputs": weights.outputs.iter().map(|row| numbers(&row.0)).collect::<Vec<_>>(),
    });
    let of_roles = |of_row: &dyn Fn(usize) -> Value| -> Map<String, Value> {
        let roles = info.roles();
        let roles = roles.iter().enumerate().filter_map(|(role, name)| {
            let first = evaluation.first_prospect(role)?;
            let rows: Vec<Value> = (first..first + WORD_BITS).map(of_row).collect();
            Some((term(name), rows.into()))
        });
        roles.collect()
    };
    if evaluation.prospects().is_some() {
        note["prospects"] = of_roles(&|row| numbers(&weights.rows[row].0)).into();
    }
    if let Some(sums) = sums {
        let of_rows = facts.iter().zip(&sums.rows);
        let of_rows: Map<String, Value> = of_rows
            .map(|(fact, &sum)| (term(fact), rounded(sum).into()))
            .collect();
        note["gradients"] = json!({
            "rows": of_rows,
            "bias": rounded(sums.bias),
            "outputs": numbers(&sums.outputs),
            "tables": numbers(&sums.tables),
        });
        if evaluation.prospects().is_some() && sums.rows.len() == weights.rows.len() {
            let of_rows = of_roles(&|row| rounded(sums.rows[row]).into());
            note["gradients"]["prospects"] = of_rows.into();
        }
    }
    if let Some(tuples) = evaluation.tuples() {
        let facts_of = |variable: &Variable| -> Vec<String> {
            let facts = variable.iter().map(|fact| term(&facts[fact.index()]));
            facts.collect()
        };
        note["tuples"] = json!({
            "variables": tuples.variables.iter().map(facts_of).collect::<Vec<_>>(),
            "members": tuples.members,
            "weights": numbers(&weights.tables),
        });
    }
    note
}

/// The preparation in the notes of earlier matches. `None` where no note fits. `find_prospects`
/// finds the prospects of the game at hand, which are needed where the notes have weights of some.
pub fn prior_preparation(
    info: &dyn GameInfo,
    history: &GameHistory,
    find_prospects: impl Fn() -> Option<Prospects>,
) -> Option<PriorPreparation> {
    let note = history.note(Kind::Evaluation)?;
    let known = read_evaluation(info, note, &find_prospects)?;
    let alpha_beta = history.note(Kind::AlphaBetaEvaluation);
    let alpha_beta = alpha_beta.and_then(|note| read_alpha_beta(info, note, &find_prospects));
    let parameters = history
        .note(Kind::Parameters)
        .map(|note| &note["parameters"]);
    let progress = history.note(Kind::Training).map(|note| &note["progress"]);
    let generation_in = |progress: &Value| {
        let generation = u32::try_from(progress["generation"].as_u64()?).ok()?;
        (generation > 0).then_some(generation)
    };
    let against_tree = history.note(Kind::Parameters);
    let against_tree = against_tree.and_then(AgainstTree::from_note);
    let prefers_alpha_beta = parameters.and_then(|note| note["alpha_beta"].as_bool());
    let parameters = parameters.and_then(Parameters::from_note);
    let trained = progress.zip(parameters).and_then(|(progress, parameters)| {
        // Where the tree has no generation, that of alpha-beta counts, if it plays.
        let of_alpha_beta = || {
            let plays = parameters.alpha_beta && alpha_beta.is_some();
            generation_in(&progress["alpha_beta"]).filter(|_| plays)
        };
        Some(Trained {
            generation: generation_in(progress).or_else(of_alpha_beta)?,
            parameters,
        })
    });
    Some(PriorPreparation {
        known,
        alpha_beta,
        prefers_alpha_beta: prefers_alpha_beta.unwrap_or(false),
        against_tree,
        trained,
    })
}

/// The evaluation in a note. `None` where it does not fit the game.
pub fn read_evaluation(
    info: &dyn GameInfo,
    note: &Value,
    find_prospects: impl FnOnce() -> Option<Prospects>,
) -> Option<Known> {
    let order = OutputOrder::new(&note["roles"], &roles(info))?;
    let stored: HashMap<&str, &Value> = note["rows"]
        .as_object()?
        .iter()
        .filter_map(|(fact, row)| Some((term_text(fact)?, row)))
        .collect();
    let facts = info.facts()?;
    let fixed_sum = note["sum"].as_f64().map(|sum| sum as f32);
    let n_units = note["bias"].as_array()?.len();
    // Units that are not in the note have random weights, but none to the outputs.
    let sum = fixed_sum.map(|sum| sum as u32);
    let fresh = Evaluation::new(info.n_roles(), facts.len(), sum, None, &mut Random::new(1))?;
    let fresh = fresh.weights();
    let rows = facts.iter().zip(&fresh.rows);
    let rows = rows.map(|(fact, fresh)| row(stored.get(fact.as_str())?, n_units, fresh));
    let mut rows = rows.collect::<Option<Vec<Row>>>()?;
    let prospects = match &note["prospects"] {
        Value::Null => None,
        of_roles => {
            rows.resize(facts.len().div_ceil(64).max(1) * 64, Row::ZERO);
            for role in info.roles() {
                let of_role = of_roles[term(&role)].as_array()?;
                let of_role = of_role.iter().map(|it| row(it, n_units, &Row::ZERO));
                rows.extend(of_role.collect::<Option<Vec<Row>>>()?);
            }
            Some(Arc::new(find_prospects()?))
        }
    };
    let outputs = note["outputs"].as_array()?.iter();
    let mut outputs = outputs
        .map(|output| row(output, n_units, &Row::ZERO))
        .collect::<Option<Vec<Row>>>()?;
    let mut tables = match &note["tuples"]["weights"] {
        Value::Null => Vec::new(),
        weights => read_numbers(weights)?,
    };
    order.apply(&mut outputs)?;
    order.apply_to_tables(&mut tables, outputs.len());
    if fixed_sum.is_some() && order.is_reversed() {
        // The single output is that of the first role.
        let numbers = outputs.iter_mut().flat_map(|row| &mut row.0);
        numbers
            .chain(&mut tables)
            .for_each(|number| *number = -*number);
    }
    let weights = Weights {
        fixed_sum,
        rows,
        bias: row(&note["bias"], n_units, &fresh.bias)?,
        outputs,
        tables,
    };
    let tuples = match &note["tuples"] {
        Value::Null => None,
        note => Some(Arc::new(read_tuples(note, facts)?)),
    };
    let evaluation = Evaluation::from_weights(info.n_roles(), tuples, prospects, weights)?;
    let sums = (n_units == UNITS)
        .then(|| gradient_sums(&note["gradients"], info, facts, &order))
        .flatten();
    Some(Known {
        evaluation,
        games: usize::try_from(note["games"].as_u64()?)
            .ok()
            .filter(|&games| games as u64 <= MAX_GAMES)?,
        sums,
    })
}

fn roles(info: &dyn GameInfo) -> Vec<String> {
    let roles = info.roles();
    roles.iter().map(|role| term(role)).collect()
}

/// Where the outputs of a note belong: they are in the order of the roles of another rulesheet.
struct OutputOrder {
    /// For each role at hand its place in the note.
    places: Vec<usize>,
}

impl OutputOrder {
    /// `None` unless the roles are the same.
    fn new(stored: &Value, roles: &[String]) -> Option<Self> {
        let stored = stored.as_array()?;
        let place = |role: &String| stored.iter().position(|it| it.as_str() == Some(role));
        let places: Vec<usize> = roles.iter().map(place).collect::<Option<_>>()?;
        (stored.len() == roles.len()).then_some(Self { places })
    }

    /// Whether the two roles are exchanged.
    fn is_reversed(&self) -> bool {
        self.places == [1, 0]
    }

    /// Puts what belongs to outputs in order. A single output stays. `None` for another number.
    fn apply<T: Copy>(&self, of_outputs: &mut [T]) -> Option<()> {
        if of_outputs.len() == 1 {
            return Some(());
        }
        if of_outputs.len() != self.places.len() {
            return None;
        }
        let before = of_outputs.to_vec();
        for (to, &place) in of_outputs.iter_mut().zip(&self.places) {
            *to = before[place];
        }
        Some(())
    }

    /// The same for tables, which have a number per output for each weight.
    fn apply_to_tables(&self, tables: &mut [f32], n_outputs: usize) {
        for of_weight in tables.chunks_exact_mut(n_outputs.max(1)) {
            // They have as many numbers as there are outputs.
            let _ = self.apply(of_weight);
        }
    }
}

fn gradient_sums(
    note: &Value,
    info: &dyn GameInfo,
    facts: &[String],
    order: &OutputOrder,
) -> Option<GradientSums> {
    let number = |value: &Value| value.as_f64().map(|number| number as f32);
    let of_facts = note["rows"].as_object()?;
    let rows = facts.iter().map(|fact| number(of_facts.get(&term(fact))?));
    let mut rows = rows.collect::<Option<Vec<f32>>>()?;
    if let Some(of_roles) = note["prospects"].as_object() {
        rows.resize(facts.len().div_ceil(64).max(1) * 64, 0.0);
        for role in info.roles() {
            rows.extend(read_numbers(of_roles.get(&term(&role))?)?);
        }
    }
    let mut outputs = read_numbers(&note["outputs"])?;
    let mut tables = read_numbers(&note["tables"])?;
    order.apply(&mut outputs)?;
    order.apply_to_tables(&mut tables, outputs.len());
    Some(GradientSums {
        rows,
        bias: number(&note["bias"])?,
        outputs,
        tables,
    })
}

fn read_tuples(note: &Value, facts: &[String]) -> Option<Tuples> {
    let index_of: HashMap<&str, usize> = (0..)
        .zip(facts)
        .map(|(index, fact)| (fact.as_str(), index))
        .collect();
    let fact = |name: &Value| {
        let index = index_of.get(term_text(name.as_str()?)?)?;
        Some(BaseId::from_index(*index))
    };
    let variable = |names: &Value| names.as_array()?.iter().map(fact).collect();
    let index = |number: &Value| usize::try_from(number.as_u64()?).ok();
    let members = |indices: &Value| indices.as_array()?.iter().map(index).collect();
    let variables = note["variables"].as_array()?.iter().map(variable);
    let members = note["members"].as_array()?.iter().map(members);
    Tuples::new(
        variables.collect::<Option<_>>()?,
        members.collect::<Option<_>>()?,
        facts.len(),
    )
}

fn read_numbers(note: &Value) -> Option<Vec<f32>> {
    let numbers = note.as_array()?.iter();
    numbers
        .map(|number| number.as_f64().map(|number| number as f32))
        .collect()
}

fn rounded(number: f32) -> f64 {
    (f64::from(number) * 1000.0).round() / 1000.0
}

fn numbers(numbers: &[f32]) -> Value {
    let numbers = numbers.iter().map(|&number| rounded(number));
    numbers.collect::<Vec<f64>>().into()
}

/// A row of `n_units` stored numbers; further units are those of `rest`.
fn row(value: &Value, n_units: usize, rest: &Row) -> Option<Row> {
    let numbers = value
        .as_array()
        .filter(|numbers| numbers.len() == n_units)?;
    if !(LINEAR_UNITS..=UNITS).contains(&n_units) {
        return None;
    }
    let mut row = *rest;
    for (place, number) in row.0.iter_mut().zip(numbers) {
        *place = number.as_f64()? as f32;
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    use panza_learning::Trainer;

    use crate::Parameters;
    use panza_machine::Machine;
    use panza_sync::Random;

    const RACE: &str = "(role a) (role b) (init (at a 1)) (init (at b 1)) (succ 1 2) (succ 2 3)
        (<= (legal ?r go) (role ?r)) (<= (legal ?r stay) (role ?r))
        (<= (next (at ?r ?y)) (does ?r go) (true (at ?r ?x)) (succ ?x ?y))
        (<= (next (at ?r ?x)) (does ?r stay) (true (at ?r ?x)))
        (<= terminal (true (at ?r 3))) (<= (goal ?r 100) (true (at ?r 3))) (<= (goal ?r 0) (role ?r) (not (true (at ?r 3))))";

    fn machine() -> Arc<dyn Machine> {
        let (rules, _) = panza_gdl::load(RACE);
        let limits = panza_sync::Budget::generous();
        Arc::new(panza_game::compile(&rules, &limits).unwrap().machine)
    }

    #[test]
    fn a_preparation_is_restored_from_its_notes() {
        let machine = machine();
        let n_facts = machine.info().facts().unwrap().len();
        let variables = vec![vec![BaseId(0), BaseId(1)], vec![BaseId(2)]];
        let tuples = Tuples::new(variables, vec![vec![0, 1]], n_facts).map(Arc::new);
        let evaluation = Evaluation::new(2, n_facts, None, tuples, &mut Random::new(4)).unwrap();
        let mut trainer = Trainer::new(evaluation, None);
        for _ in 0..100 {
            trainer.train(&machine.initial_state(), &[0.9, 0.2], 0.1);
        }
        let evaluation = trainer.evaluation.clone();
        assert!(
            evaluation
                .weights()
                .tables
                .iter()
                .any(|&weight| weight > 0.1)
        );
        let alpha_beta = AlphaBetaPreparation {
            evaluation: Arc::new(evaluation.clone()),
            units: Units {
                change: 57,
                turn: -9,
            },
            turns: Turns::told_by(Some((1, 1))),
            sums: None,
            games: 77,
        };
        let preparation = Preparation {
            alpha_beta: Some(alpha_beta),
            contest: Some(AgainstTree {
                games: 14.5,
                points: 3.25,
            }),
            evaluation: Some(Arc::new(evaluation)),
            games: 1234,
            sums: Some(GradientSums {
                rows: (0..n_facts).map(|fact| fact as f32).collect(),
                bias: 2.5,
                outputs: vec![1.0, 0.25],
                tables: vec![0.5; 12],
            }),
            parameters: Parameters {
                evaluation_share: 0.5,
                ..Parameters::default()
            },
            ..Preparation::default()
        };
        let history = GameHistory {
            is_exact: true,
            notes: notes(machine.info(), &preparation),
            matches: Vec::new(),
        };
        let prior = prior_preparation(machine.info(), &history, || None).unwrap();
        assert_eq!(prior.known.games, 1234);
        assert_eq!(prior.against_tree, preparation.contest);
        assert_eq!(prior.known.sums, preparation.sums);
        let (alpha_beta, kept) = (preparation.alpha_beta.unwrap(), prior.alpha_beta.unwrap());
        assert_eq!(
            (kept.units, kept.turns),
            (alpha_beta.units, alpha_beta.turns)
        );
        assert_eq!((kept.games, kept.sums), (77, None));
        let (mut before, mut after) = ([0.0; 2], [0.0; 2]);
        let state = machine.initial_state();
        let evaluation = preparation.evaluation.unwrap();
        evaluation.values(&state, &mut before);
        assert_eq!(prior.known.evaluation.tuples(), evaluation.tuples());
        prior.known.evaluation.values(&state, &mut after);
        assert!((before[0] - after[0]).abs() < 0.5, "{before:?} {after:?}");
    }

    #[test]
    fn weights_of_prospects_are_restored() {
        let (rules, _) = panza_gdl::load(RACE);
        let limits = panza_sync::Budget::generous();
        let built = panza_game::compile(&rules, &limits).unwrap();
        let network = built.network.unwrap();
        let machine: Arc<dyn Machine> = Arc::new(built.machine);
        let find = || {
            let mut budget = limits.clone();
            Prospects::find(&network, &mut budget)
        };
        let n_facts = machine.info().facts().unwrap().len();
        let fresh = Evaluation::new(2, n_facts, None, None, &mut Random::new(4)).unwrap();
        let evaluation = fresh.with_prospects(Arc::new(find().unwrap())).unwrap();
        let mut weights = evaluation.weights().clone();
        for (row, number) in weights.rows.iter_mut().zip(1..) {
            row.0[0] += number as f32 / 100.0;
        }
        let known = evaluation.prospects().cloned().map(Arc::new);
        let evaluation = Evaluation::from_weights(2, None, known, weights).unwrap();
        let sums = GradientSums {
            rows: vec![2.5; evaluation.weights().rows.len()],
            bias: 2.5,
            outputs: vec![1.0, 0.25],
            tables: Vec::new(),
        };
        let preparation = Preparation {
            evaluation: Some(Arc::new(evaluation)),
            games: 10,
            sums: Some(sums),
            ..Preparation::default()
        };
        let history = GameHistory {
            is_exact: true,
            notes: notes(machine.info(), &preparation),
            matches: Vec::new(),
        };
        let prior = prior_preparation(machine.info(), &history, find).unwrap();
        let [mut before, mut after] = [[0.0; 2]; 2];
        let state = machine.initial_state();
        preparation.evaluation.unwrap().values(&state, &mut before);
        prior.known.evaluation.values(&state, &mut after);
        assert!((before[0] - after[0]).abs() < 0.5, "{before:?} {after:?}");
        assert_eq!(
            prior.known.sums.unwrap().rows[n_facts.div_ceil(64) * 64],
            2.5
        );
        // Without prospects at hand the weights say nothing.
        assert!(prior_preparation(machine.info(), &history, || None).is_none());
    }

    #[test]
    fn an_evaluation_of_fewer_units_keeps_its_values() {
        let machine = machine();
        let facts = machine.info().facts().unwrap();
        let few = |index: usize| (0..16).map(move |unit| ((unit + index) % 5) as f64 / 10.0);
        let rows: Map<String, Value> = facts
            .iter()
            .enumerate()
            .map(|(index, fact)| (term(fact), few(index).collect::<Vec<_>>().into()))
            .collect();
        let note = json!({
            "roles": ["gdl:a", "gdl:b"],
            "games": 7,
            "sum": null,
            "rows": rows,
            "bias": few(0).collect::<Vec<_>>(),
            "outputs": [few(1).collect::<Vec<_>>(), few(2).collect::<Vec<_>>()],
        });
        let history = GameHistory {
            is_exact: true,
            notes: vec![(Kind::Evaluation, note)],
            matches: Vec::new(),
        };
        let prior = prior_preparation(machine.info(), &history, || None)
            .unwrap()
            .known;
        assert!(prior.games == 7 && prior.sums.is_none());
        let mut values = [0.0; 2];
        let state = machine.initial_state();
        prior.evaluation.values(&state, &mut values);
        let true_facts: Vec<usize> = (0..facts.len())
            .filter(|fact| state[fact / 64] >> (fact % 64) & 1 == 1)
            .collect();
        for (role, value) in values.into_iter().enumerate() {
            let logit: f64 = (0..16)
                .map(|unit| {
                    let number = |index: usize| few(index).nth(unit).unwrap();
                    let sum: f64 = true_facts.iter().map(|&fact| number(fact)).sum();
                    (sum + number(0)) * number(role + 1)
                })
                .sum();
            let expected = 100.0 / (1.0 + (-logit).exp());
            assert!(
                (f64::from(value) - expected).abs() < 0.01,
                "{value} {expected}"
            );
        }
    }

    #[test]
    fn weights_that_no_training_gives_are_ignored() {
        let machine = machine();
        let facts = machine.info().facts().unwrap();
        let recalled = |weight: f64, sum: Option<f64>| {
            let rows: Map<String, Value> = facts
                .iter()
                .map(|fact| (term(fact), json!(vec![weight; 16])))
                .collect();
            let n_outputs = if sum.is_some() { 1 } else { 2 };
            let note = json!({
                "roles": ["gdl:a", "gdl:b"],
                "games": 7,
                "sum": sum,
                "rows": rows,
                "bias": vec![-weight; 16],
                "outputs": vec![vec![weight; 16]; n_outputs],
            });
            let history = GameHistory {
                is_exact: true,
                notes: vec![(Kind::Evaluation, note)],
                matches: Vec::new(),
            };
            prior_preparation(machine.info(), &history, || None)
        };
        for (weight, sum, is_kept) in [
            (100.0, None, true),
            // The sum of two rows is infinite, and less the bias it is no number.
            (3e38, None, false),
            (1.0, Some(100.0), true),
            (1.0, Some(-5.0), false),
            (1.0, Some(1e9), false),
        ] {
            assert_eq!(recalled(weight, sum).is_some(), is_kept, "{weight} {sum:?}");
        }
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
            prior_preparation(machine.info(), &history, || None)
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
