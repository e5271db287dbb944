//! Fits the plans to the game: samples states, plans again, and tries goal-directed evaluation of
//! the relations with the most work.
//!
//! Cost is counted in work units, not in time, so that the same rules always give the same plans.

use super::dependency::{RelationId, Stage};
use super::engine::{Bounds, Engine, Question};
use super::error::ProverError;
use super::state::State;
use panza_gdl::{Signature, TermId};

/// Steps of the sample playout.
const STEPS: usize = 48;
/// Work after which the sample playout ends.
const PLAYOUT_WORK: u64 = 500_000;
/// Work of the steps on which plans are compared; one step at least.
const MEASURED_WORK: u64 = 100_000;
/// Work after which trials end.
const TRIAL_WORK: u64 = 3_000_000;
/// A relation is tried on demand when it takes at least 1/`LEAST_SHARE` of the work.
const LEAST_SHARE: u64 = 8;
/// Work per state below which nothing is tried.
const WORTH_WHILE: u64 = 500;
/// Facts per relation and sample.
const SAMPLE_FACTS: usize = 10_000;

pub struct Step {
    state: State,
    moves: Vec<(TermId, TermId)>,
}

struct Work {
    n_steps: usize,
    total: u64,
    by_relation: Vec<(Signature, u64)>,
}

/// Fits the engine's plans to the game. The engine stays usable after an error.
pub fn tune(engine: &mut Engine, roles: &[TermId], initial: &State) -> Result<(), ProverError> {
    // A game beyond the soft limits would be sampled for too long.
    if engine.choice.limits != Bounds::Soft {
        return Ok(());
    }
    engine.is_tuning = true;
    let outcome = fit(engine, roles, initial);
    engine.is_tuning = false;
    outcome
}

fn fit(engine: &mut Engine, roles: &[TermId], initial: &State) -> Result<(), ProverError> {
    let mut steps = playout(engine, roles, initial)?;
    if steps.is_empty() {
        return Ok(());
    }
    // Doubling distances: the opening in detail, the rest of the game too.
    let n_steps = steps.len();
    let mut number = 0usize;
    steps.retain(|_| {
        number += 1;
        number.is_power_of_two() || number == n_steps
    });
    sample(engine, &steps)?;
    engine.rebuild();
    let mut work = measure(engine, &steps, MEASURED_WORK)?;
    steps.truncate(work.n_steps);
    let mut trial_work = 0;
    let mut tried: Vec<Vec<Signature>> = Vec::new();
    while work.total / steps.len() as u64 >= WORTH_WHILE && trial_work < TRIAL_WORK {
        let Some(candidates) = next_trial(engine, &work, &tried) else {
            break;
        };
        let before = engine.work_done();
        let choice = engine.choice.clone();
        engine.choice.on_demand.extend(&candidates);
        // The first plans of a trial know no samples, and may be slower than those that are judged.
        engine.set_bounds(Bounds::Trial(4 * work.total));
        engine.rebuild();
        let new_work = sample(engine, &steps).and_then(|()| {
            engine.rebuild();
            measure(engine, &steps, u64::MAX)
        });
        trial_work += engine.work_done() - before;
        match new_work {
            Ok(new_work)
                if new_work.total < work.total - work.total / 8
                    && !engine.gained_inner_negation() =>
            {
                engine.set_bounds(choice.limits);
                work = new_work;
            }
            _ => {
                engine.choice = choice;
                engine.rebuild();
            }
        }
        tried.push(candidates);
    }
    Ok(())
}

/// The relations to try on demand next: all that take a large share of the work or cause it, then
/// each of them alone.
fn next_trial(engine: &Engine, work: &Work, tried: &[Vec<Signature>]) -> Option<Vec<Signature>> {
    let share = work.total / LEAST_SHARE;
    let mut large: Vec<Signature> = Vec::new();
    for (signature, _) in work.by_relation.iter().filter(|(_, own)| *own >= share) {
        // What is on demand already has much to do because of what calls it.
        if engine.may_be_on_demand(*signature) {
            large.push(*signature);
        } else {
            large.extend(engine.callers(&[*signature]));
        }
    }
    large.sort_unstable();
    large.dedup();
    let alone = large.iter().map(|&signature| vec![signature]);
    std::iter::once(large.clone())
        .chain(alone)
        .find(|trial| !trial.is_empty() && !tried.contains(trial))
}

fn playout(
    engine: &mut Engine,
    roles: &[TermId],
    initial: &State,
) -> Result<Vec<Step>, ProverError> {
    let mut steps = Vec::new();
    let mut state = initial.clone();
    let mut random = 1u64;
    let before = engine.work_done();
    while steps.len() < STEPS && engine.work_done() - before < PLAYOUT_WORK {
        if engine.is_terminal(&state)? {
            break;
        }
        let mut moves = Vec::with_capacity(roles.len());
        for &role in roles {
            let legal = engine.of_role(Question::Legal, &state, role)?;
            // A plain linear congruential sequence will do: the moves only need to vary.
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let choice = (random >> 33) as usize % legal.len().max(1);
            let Some(mv) = legal.get(choice) else {
                return Ok(steps);
            };
            moves.push((role, *mv));
        }
        let mut facts = engine.next_facts(&state, &moves)?;
        steps.push(Step { state, moves });
        state = State::of(&mut facts);
    }
    Ok(steps)
}

/// Records the facts of the sampled steps, for relations without samples.
fn sample(engine: &mut Engine, steps: &[Step]) -> Result<(), ProverError> {
    let dependencies = &engine.dependencies;
    let is_unknown = |&relation: &RelationId| {
        let component = dependencies.component_of[relation];
        dependencies.components[component].stage != Stage::Static
            && !engine.estimates.is_known(dependencies.relations[relation])
    };
    let unknown: Vec<_> = dependencies.relations.ids().filter(is_unknown).collect();
    for (position, step) in steps.iter().enumerate() {
        if position + 1 == steps.len() {
            engine.answer(Question::Goal, &step.state, None)?;
        }
        ask_all(engine, step)?;
        for &relation in &unknown {
            if !engine.is_evaluated(relation) {
                continue;
            }
            let signature = engine.dependencies.relations[relation];
            let relation = &engine.store.relations[relation];
            let facts = relation.holding().iter().take(SAMPLE_FACTS);
            let arguments = facts.flat_map(|&fact| relation.arguments(fact).iter().copied());
            let arguments = arguments.collect();
            engine.estimates.add(signature, arguments);
        }
    }
    Ok(())
}

fn ask_all(engine: &mut Engine, step: &Step) -> Result<(), ProverError> {
    engine.answer(Question::Terminal, &step.state, None)?;
    engine.answer(Question::Legal, &step.state, None)?;
    engine.answer(Question::Next, &step.state, Some(&step.moves))
}

/// The work that the steps take, up to the one with which it exceeds `most`.
fn measure(engine: &mut Engine, steps: &[Step], most: u64) -> Result<Work, ProverError> {
    engine.clear_work();
    let before = engine.work_done();
    let mut n_steps = 0;
    for step in steps {
        ask_all(engine, step)?;
        n_steps += 1;
        if engine.work_done() - before > most {
            break;
        }
    }
    let by_relation = engine.work_by_relation();
    Ok(Work {
        n_steps,
        total: by_relation.iter().map(|(_, work)| *work).sum(),
        by_relation,
    })
}
