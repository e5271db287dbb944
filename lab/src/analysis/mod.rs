//! `cargo lab analysis`: analyses many games and writes a page with a row for each.
//!
//! Each game has a process of its own, which runs what `panza analyse` runs.

pub mod page;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use panza::commands::analyse::examine::{self, Limits};
use panza::commands::analyse::findings::Report;
use panza::commands::game_source::{Game, Rulesheet};
use panza::commands::output::{Output, progress_bar};
use panza::commands::provenance::processor;
use panza::commands::{Outcome, parse_seconds};

use crate::corpus::children::{self, Told};
use crate::corpus::folder::Corpus;
use crate::corpus::{report, wanted};
use page::{Conditions, Row};

/// Time for a game beyond its limits: for compilation and for analyses that check the clock seldom.
const LEEWAY: Duration = Duration::from_secs(30);

/// Arguments of `cargo lab analysis`.
#[derive(Args, Debug)]
pub struct AnalysisArguments {
    /// Paths to rulesheets, or names of games.
    #[arg(required_unless_present = "corpus", value_name = "GAME")]
    games: Vec<String>,
    /// Seconds for the analysis of a game, after it was built.
    #[arg(long, default_value_t = 5.0, value_parser = parse_seconds, value_name = "S")]
    seconds: f64,
    /// Seconds for building a game; after that it is analysed on the prover.
    #[arg(long, default_value_t = 60.0, value_parser = parse_seconds, value_name = "S")]
    build_seconds: f64,
    /// Analyse the games of a corpus; GAME are its keys then, all without any.
    #[arg(long, value_name = "FOLDER")]
    corpus: Option<PathBuf>,
    /// Write the page to this file.
    #[arg(long, value_name = "FILE", required_unless_present = "child")]
    out: Option<PathBuf>,
    /// Games analysed at the same time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), value_name = "N")]
    jobs: u16,
    /// Seed of random choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Analyse one game in this process and print the report, until standard input ends.
    #[arg(long, hide = true, conflicts_with_all = ["out", "corpus"])]
    child: bool,
}

/// Runs the command. A game that failed makes it [`Outcome::DoesNotHold`].
///
/// # Errors
/// A game or corpus that cannot be read, or a page that cannot be written.
pub fn run(arguments: &AnalysisArguments, output: Output) -> anyhow::Result<Outcome> {
    let Some(page) = &arguments.out else {
        children::end_with_parent()?;
        let limits = Limits {
            build: Duration::from_secs_f64(arguments.build_seconds),
            study: Duration::from_secs_f64(arguments.seconds),
            seed: arguments.seed,
        };
        for name in &arguments.games {
            let game = Game::as_played(Rulesheet::find(name)?)?;
            Output::new(true).object(&examine::examine(&game, limits, |_| {})?)?;
        }
        return Ok(Outcome::Holds);
    };
    report::check_place(page)?;
    let corpus = arguments.corpus.as_deref().map(Corpus::open).transpose()?;
    let (names, sheets) = match &corpus {
        Some(corpus) => {
            let keys = wanted(corpus, &arguments.games)?;
            let sheet = |key: &String| corpus.rulesheet(key).to_string_lossy().into_owned();
            let sheets: Vec<String> = keys.iter().map(sheet).collect();
            (keys, sheets)
        }
        None => {
            let mut names = Vec::new();
            for game in &arguments.games {
                names.push(Rulesheet::find(game)?.name);
            }
            (names, arguments.games.clone())
        }
    };
    // The source may have moved on when all is done.
    let conditions = Conditions {
        seconds: arguments.seconds,
        build_seconds: arguments.build_seconds,
        jobs: arguments.jobs,
        seed: arguments.seed,
        is_corpus: corpus.is_some(),
        processor: processor(),
        commit: report::commit(),
    };
    let program = std::env::current_exe().context("cannot find this program to start it again")?;
    let limit = Duration::from_secs_f64(arguments.seconds + arguments.build_seconds) + LEEWAY;
    let command_for = |sheet: &str| {
        let mut command = Command::new(&program);
        command
            .args(["analysis", "--child"])
            .args(["--seconds", &arguments.seconds.to_string()])
            .args(["--build-seconds", &arguments.build_seconds.to_string()])
            .args(["--seed", &arguments.seed.to_string()])
            .args(["--", sheet]);
        command
    };
    let progress = progress_bar(sheets.len() as u64, "games");
    let mut rows: Vec<Option<Row>> = sheets.iter().map(|_| None).collect();
    children::run_each(
        &sheets,
        arguments.jobs,
        limit,
        &progress,
        command_for,
        |index, told: Told<Report>| {
            let row = Row::new(&names[index], told);
            output.object(&row)?;
            if let Some(failure) = &row.failure {
                progress.suspend(|| output.line(format_args!("{}: {failure}", row.game)))?;
            }
            rows[index] = Some(row);
            Ok(())
        },
    )?;
    progress.finish_and_clear();
    let rows: Vec<Row> = rows.into_iter().flatten().collect();
    if rows.len() < names.len() {
        bail!("some games were not studied");
    }
    std::fs::write(page, page::markdown(&rows, &conditions))
        .with_context(|| format!("cannot write `{}`", page.display()))?;
    output.line(page::summary_line(&rows))?;
    match rows.iter().all(|row| row.failure.is_none()) {
        true => Ok(Outcome::Holds),
        false => Ok(Outcome::DoesNotHold),
    }
}
