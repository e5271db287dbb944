//! `panza analyse`: the structure of games, statistics of random games, and the learned evaluation,
//! as the metagame of a match obtains them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;

use panza_cli::analyse::examine;
use panza_cli::analyse::examine::Limits;
use panza_cli::arguments::parse_seconds;
use panza_cli::output::{show_seconds, spinner};
use panza_cli::{Game, Outcome, Output, interrupt};

#[derive(Args, Debug)]
pub(super) struct AnalyseArguments {
    /// Paths to rulesheets, or names of games.
    #[arg(required = true, value_name = "GAME")]
    games: Vec<String>,
    /// Seconds to analyse a game, after it was built.
    #[arg(long, default_value_t = 5.0, value_parser = parse_seconds, allow_negative_numbers = true, value_name = "S")]
    seconds: f64,
    /// Seconds to build a game; after that it is analysed on the prover.
    #[arg(long, default_value_t = 60.0, value_parser = parse_seconds, allow_negative_numbers = true, value_name = "S")]
    build_seconds: f64,
    /// Seed of the random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(super) fn run(arguments: &AnalyseArguments, output: Output) -> anyhow::Result<Outcome> {
    let limits = Limits {
        build: Duration::from_secs_f64(arguments.build_seconds),
        study: Duration::from_secs_f64(arguments.seconds),
        seed: arguments.seed,
    };
    let stop = Arc::default();
    for (index, name) in arguments.games.iter().enumerate() {
        let game = Game::load(name)?;
        let progress = spinner("");
        let report = examine::examine(&game, limits, &stop, |stage, limit| {
            if stage == examine::STUDYING {
                // It fails only where no signals can be had, and then it has before.
                let _ = interrupt::stop(&stop);
            }
            show_seconds(
                &progress,
                format!("{}: {stage}", game.sheet.name),
                Some(limit),
            );
        });
        progress.finish_and_clear();
        let report = report?;
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
