//! `panza analyse`: what the player finds out about games before it plays them.
//!
//! A game is compiled and studied ([`examine`]), and the [`Report`](findings::Report) is shown as
//! JSON or as a text ([`show`]).

pub mod examine;
pub mod findings;
pub mod show;

use std::time::Duration;

use clap::Args;

use super::arguments::parse_seconds;
use super::game_source::Game;
use super::outcome::Outcome;
use super::output::{Output, spinner};
use examine::Limits;

/// Arguments of `panza analyse`.
#[derive(Args, Debug)]
pub struct AnalyseArguments {
    /// Paths to rulesheets, or names of games.
    #[arg(required = true, value_name = "GAME")]
    games: Vec<String>,
    /// Seconds for studying a game, after it was built.
    #[arg(long, default_value_t = 5.0, value_parser = parse_seconds, value_name = "S")]
    seconds: f64,
    /// Seconds that building a game may take; then it is studied on the prover.
    #[arg(long, default_value_t = 60.0, value_parser = parse_seconds, value_name = "S")]
    build_seconds: f64,
    /// Fixes what is drawn at random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs the command.
///
/// # Errors
/// A game that cannot be read, or that no machine takes.
pub fn run(arguments: &AnalyseArguments, output: Output) -> anyhow::Result<Outcome> {
    for (index, name) in arguments.games.iter().enumerate() {
        let game = Game::load(name)?;
        let progress = spinner(format!("{}: building", game.sheet.name));
        let limits = Limits {
            build: Duration::from_secs_f64(arguments.build_seconds),
            study: Duration::from_secs_f64(arguments.seconds),
            seed: arguments.seed,
        };
        let found = examine::examine(&game, limits, |stage| {
            progress.set_message(format!("{}: {stage}", game.sheet.name));
        });
        progress.finish_and_clear();
        let report = found?;
        output.object(&report)?;
        if !output.is_json() {
            let blank = if index > 0 { "\n" } else { "" };
            output.line(format_args!("{blank}{}", show::text(&report)))?;
        }
    }
    Ok(Outcome::Holds)
}
