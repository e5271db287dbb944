//! One game: compiled, and studied on the machine that the player would play it with.

use std::time::{Duration, Instant};

use anyhow::anyhow;

use super::findings::Report;
use crate::build::{self, PlayoutPolicy};
use crate::commands::game_source::Game;
use crate::config::Settings;
use crate::ground::Budget;
use crate::player;
use crate::player::study::{StudyBudget, Subject, study};

/// What a game may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For building it.
    pub build: Duration,
    /// For studying it.
    pub study: Duration,
    /// Fixes what is drawn at random.
    pub seed: u64,
}

/// Builds and studies a game; `on_stage` is told what is under way.
///
/// # Errors
/// No machine takes the rules, not even the prover.
pub fn examine(game: &Game, limits: Limits, on_stage: impl Fn(&str)) -> anyhow::Result<Report> {
    let started = Instant::now();
    on_stage("building");
    let limits_of_build = Budget {
        until: Some(started + limits.build),
        ..Budget::generous()
    };
    let (machine, source, built, reason) = match build::compile(&game.rules, limits_of_build) {
        Ok(compiled) => {
            let (source, built) = (compiled.lanes.clone(), compiled.network.clone());
            let (machine, _) = build::fastest(compiled, limits_of_build, PlayoutPolicy::Decisive);
            (machine, Some(source), built, None)
        }
        Err(reason) => {
            let machine = build::prover(&game.rules)
                .map_err(|error| anyhow!(error))?
                .machine;
            (machine, None, None, Some(reason))
        }
    };
    let build_seconds = started.elapsed().as_secs_f64();
    on_stage("studying");
    let budget = StudyBudget {
        seed: limits.seed,
        ..StudyBudget::of(limits.study)
    };
    let settings = Settings::load(None, &[])?;
    let config = player::search_config(&settings.search, limits.seed);
    let subject = Subject {
        machine: &machine,
        source: source.as_ref(),
        built: built.as_deref(),
        search: Some((&config, &settings.metagame)),
    };
    let studied = Instant::now();
    let study = study(subject, budget);
    let mut report = Report::new(&game.sheet.name, study);
    report.reason = reason;
    report.build_seconds = build_seconds;
    report.seconds = studied.elapsed().as_secs_f64();
    Ok(report)
}
