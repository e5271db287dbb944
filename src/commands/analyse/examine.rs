//! One game: built, and studied on the machine that a match would use.

use std::time::{Duration, Instant};

use super::report::Report;
use crate::build::{self, PlayoutPolicy};
use crate::commands::engine_choice::build_prover;
use crate::commands::game_source::Game;
use crate::config::Settings;
use crate::ground::Budget;
use crate::player;
use crate::player::study::{StudyBudget, Subject, study};

/// Limits for a game.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time to build it.
    pub build: Duration,
    /// Time to study it.
    pub study: Duration,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// Builds and studies a game; calls `on_stage` with each stage and its time limit.
///
/// # Errors
/// No machine takes the rules, not even the prover.
pub fn examine(
    game: &Game,
    limits: Limits,
    on_stage: impl Fn(&str, Duration),
) -> anyhow::Result<Report> {
    let started = Instant::now();
    on_stage("building", limits.build);
    let build_budget = Budget {
        until: Some(started + limits.build),
        ..Budget::generous()
    };
    let (machine, source, network, reason) = match build::compile(&game.rules, build_budget) {
        Ok(compiled) => {
            let (source, network) = (compiled.lanes.clone(), compiled.network.clone());
            let (machine, _) = build::fastest(compiled, build_budget, PlayoutPolicy::Decisive);
            (machine, Some(source), network, None)
        }
        Err(reason) => (build_prover(&game.rules)?, None, None, Some(reason)),
    };
    let build_seconds = started.elapsed().as_secs_f64();
    on_stage("studying", limits.study);
    let budget = StudyBudget {
        seed: limits.seed,
        ..StudyBudget::of(limits.study)
    };
    let settings = Settings::load(None, &[])?;
    let config = player::search_config(&settings.search, limits.seed);
    let subject = Subject {
        machine: &machine,
        source: source.as_ref(),
        built: network.as_deref(),
        search: Some((&config, &settings.metagame)),
    };
    let studied = Instant::now();
    let study = study(subject, budget);
    Ok(Report {
        game: game.sheet.name.clone(),
        reason,
        build_seconds,
        seconds: studied.elapsed().as_secs_f64(),
        study,
    })
}
