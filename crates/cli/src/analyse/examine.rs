//! One game: built, and studied on the machine that a match would use.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::report::Report;
use crate::game_source::Game;
use panza_config::Settings;
use panza_game::{BuildError, BuiltGame};
use panza_metagame::{SampleSize, StudyBudget, study};

use panza_sync::Budget;

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

/// The name of the stage in which a game is studied.
pub const STUDYING: &str = "studying";

/// Builds and studies a game; calls `on_stage` with each stage and its time limit. The study ends
/// early where `stop` is set.
pub fn examine(
    game: &Game,
    limits: Limits,
    stop: &Arc<AtomicBool>,
    on_stage: impl Fn(&str, Duration),
) -> anyhow::Result<Report> {
    let started = Instant::now();
    on_stage("building", limits.build);
    let (built, reason) = build_as_in_match(game, limits.build)?;
    let build_seconds = started.elapsed().as_secs_f64();
    on_stage(STUDYING, limits.study);
    let settings = Settings::load(None, &[])?;
    let config = panza_player::search_config(&settings.search, limits.seed);
    let studied = Instant::now();
    let budget = StudyBudget {
        threads: config.rollout_threads.max(1),
        sampling: Some(SampleSize::default()),
        ..StudyBudget::from_now(&settings.metagame, limits.study, stop)
    };
    let study = study(&built, None, &config, &budget);
    Ok(Report {
        name: game.sheet.name.clone(),
        reason: reason.map(|why| why.to_string()),
        build_seconds,
        seconds: studied.elapsed().as_secs_f64(),
        game: built,
        study,
    })
}

/// The game on the machine that a match would use. Where no network can be built, that is the
/// prover, and the reason is returned too.
pub fn build_as_in_match(
    game: &Game,
    time: Duration,
) -> anyhow::Result<(BuiltGame, Option<BuildError>)> {
    let budget = Budget::lasting(time);
    Ok(match panza_game::build(&game.rules, &budget) {
        Ok(built) => (built, None),
        Err(reason) => {
            let built = panza_game::prover(&game.rules)?;
            (built, Some(reason))
        }
    })
}
