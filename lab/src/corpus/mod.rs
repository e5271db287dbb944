//! `cargo lab corpus`: builds every game of a corpus of published games and compares it with its
//! recorded playouts.
//!
//! Each game has a process of its own, which runs [`examine`]; the findings become a page
//! (`report`).

pub mod examine;
pub mod known;
mod report;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use panza_cli::arguments::parse_seconds;
use panza_cli::{Outcome, Output};
use panza_sync::Budget;
use panza_testing::corpus::Corpus;

use crate::children;
use crate::page::check_place;
use report::GameReport;

/// Time for a game beyond its build: for compilation and for replaying on each engine.
const REPLAY_LIMIT: Duration = Duration::from_secs(600);

#[derive(Args, Debug)]
pub(crate) struct CorpusArguments {
    /// The corpus: games.csv, games, traces and perhaps traces-clingo.
    folder: PathBuf,
    /// Write the page to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Seconds to build a game.
    #[arg(long, default_value = "60", value_parser = parse_seconds, value_name = "S")]
    seconds: f64,
    /// Memory to build a game, in MiB.
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=1 << 20), value_name = "M")]
    memory_mib: u32,
    /// Only this game; may be repeated.
    #[arg(long = "game", value_name = "KEY")]
    games: Vec<String>,
    /// Games examined at the same time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), value_name = "N")]
    jobs: u16,
    /// Examine one game in this process and print the findings.
    #[arg(long, hide = true, value_name = "KEY", conflicts_with_all = ["out", "games"])]
    child: Option<String>,
}

/// Runs the command. A disagreement outside the known defects, or a game that failed, makes it
/// [`Outcome::DoesNotHold`].
pub(crate) fn run(arguments: &CorpusArguments, output: Output) -> anyhow::Result<Outcome> {
    let corpus = Corpus::open(&arguments.folder)?;
    if let Some(key) = &arguments.child {
        let budget = Budget::within(
            Duration::from_secs_f64(arguments.seconds),
            arguments.memory_mib as usize * (1 << 20),
        );
        let lines = Output::new(true);
        examine::examine(&corpus, key, &budget, true, |finding| {
            Ok(lines.object(&finding)?)
        })?;
        return Ok(Outcome::Holds);
    }
    let keys = corpus.select(&arguments.games)?;
    check_place(arguments.out.as_deref())?;
    let page = report::new_page();
    let mut games: Vec<Option<GameReport>> = keys.iter().map(|_| None).collect();
    children::run_each(
        &keys,
        arguments.jobs,
        Duration::from_secs_f64(arguments.seconds) + REPLAY_LIMIT,
        |key| {
            [
                "corpus",
                &arguments.folder.to_string_lossy(),
                "--child",
                key,
                "--seconds",
                &arguments.seconds.to_string(),
                "--memory-mib",
                &arguments.memory_mib.to_string(),
            ]
            .map(str::to_string)
            .to_vec()
        },
        |index, findings| {
            let game = GameReport::new(&keys[index], findings);
            output.object(&game)?;
            if arguments.out.is_some() {
                game.faults()
                    .iter()
                    .try_for_each(|fault| output.line(fault))?;
            }
            games[index] = Some(game);
            Ok(())
        },
    )?;
    let games: Vec<GameReport> = games.into_iter().flatten().collect();
    report::fill(page, &games).write(arguments.out.as_deref(), output)?;
    Ok(Outcome::holds_if(games.iter().all(GameReport::holds)))
}
