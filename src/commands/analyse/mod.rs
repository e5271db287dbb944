//! `panza analyse`: the structure of games, statistics of random games, and the learned evaluation,
//! as the metagame of a match obtains them.

mod report;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use panza_cli::arguments::parse_seconds;
use panza_cli::engine_choice::build_as_in_match;
use panza_cli::output::countdown;
use panza_cli::{Game, Outcome, Output, interrupt};
use panza_config::Settings;
use panza_metagame::{PreparationBudget, SampleSize, prepare};

use report::Report;

#[derive(Args, Debug)]
pub(super) struct AnalyseArguments {
    /// Paths to rulesheets, or names of games.
    #[arg(required = true, value_name = "GAME")]
    games: Vec<String>,
    /// Seconds to analyse a game, after it was built.
    #[arg(long, default_value_t = 5.0, value_parser = parse_seconds, value_name = "S")]
    seconds: f64,
    /// Seconds to build a game; after that it is analysed on the prover.
    #[arg(long, default_value_t = 60.0, value_parser = parse_seconds, value_name = "S")]
    build_seconds: f64,
    /// Seed of the random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(super) fn run(arguments: &AnalyseArguments, output: Output) -> anyhow::Result<Outcome> {
    let stop = Arc::default();
    for (index, name) in arguments.games.iter().enumerate() {
        let report = examine(&Game::load(name)?, arguments, &stop)?;
        output.object(&report.json())?;
        let blank = if index > 0 { "\n" } else { "" };
        output.line(format_args!("{blank}{}", report.text()))?;
        if stop.load(Ordering::Relaxed) {
            return Ok(Outcome::Interrupted);
        }
        interrupt::listen()?;
    }
    Ok(Outcome::Holds)
}

/// Builds and studies a game on the machine that a match would use. Once the study has begun, a
/// signal sets `stop`, which ends it early.
fn examine(
    game: &Game,
    arguments: &AnalyseArguments,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Report> {
    let [build_time, study_time] =
        [arguments.build_seconds, arguments.seconds].map(Duration::from_secs_f64);
    let name = &game.sheet.name;
    let progress = countdown(format!("{name}: building"), Some(build_time));
    let started = Instant::now();
    let built = build_as_in_match(&game.rules, build_time);
    let build_seconds = started.elapsed().as_secs_f64();
    progress.finish_and_clear();
    let (built, reason) = built?;

    // It fails only where no signals can be had, and then it has before.
    let _ = interrupt::stop(stop);
    let progress = countdown(format!("{name}: studying"), Some(study_time));
    let settings = Settings::load(None, &[])?;
    let config = panza_player::search_config(&settings.search, arguments.seed);
    let studied = Instant::now();
    let budget = PreparationBudget {
        threads: config.rollout_threads.max(1),
        sampling: Some(SampleSize::default()),
        ..PreparationBudget::from_now(&settings.metagame, study_time, stop)
    };
    let study = prepare(&built, None, &config, &budget);
    progress.finish_and_clear();
    Ok(Report {
        name: name.clone(),
        reason: reason.map(|why| why.to_string()),
        build_seconds,
        seconds: studied.elapsed().as_secs_f64(),
        game: built,
        study,
    })
}
