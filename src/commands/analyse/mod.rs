//! `panza analyse`: what the player finds out about games before it plays them.
//!
//! A game is compiled and studied ([`examine`]), and the [`Report`](findings::Report) is told as
//! JSON, as a text that explains itself ([`show`]), or, for many games, as a row each of a page
//! ([`page`]). For the page each game has a process of its own.

pub mod examine;
pub mod findings;
pub mod page;
pub mod show;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;

use super::corpus::children::{self, Told};
use super::corpus::folder::Corpus;
use super::corpus::{report, wanted};
use super::game_source::{Game, Rulesheet};
use super::output::{Output, progress_bar, spinner};
use super::{Outcome, parse_seconds};
use examine::Limits;
use findings::Report;
use page::{Conditions, Row};

/// What a game may take beyond the time for building and studying it: laying the machine out, and
/// analyses that look at the clock seldom.
const LEEWAY: Duration = Duration::from_secs(30);

/// Arguments of `panza analyse`.
#[derive(Args, Debug)]
pub struct AnalyseArguments {
    /// Paths to rulesheets, or names of games.
    #[arg(required_unless_present = "corpus", value_name = "GAME")]
    games: Vec<String>,
    /// Seconds for studying a game, after it was built.
    #[arg(long, default_value_t = 5.0, value_parser = parse_seconds, value_name = "S")]
    seconds: f64,
    /// Seconds that building a game may take; then it is studied on the prover.
    #[arg(long, default_value_t = 60.0, value_parser = parse_seconds, value_name = "S")]
    build_seconds: f64,
    /// Study the games of a corpus, as `panza corpus` reads it; GAME are keys of it then, all
    /// without any.
    #[arg(long, value_name = "FOLDER", requires = "markdown")]
    corpus: Option<PathBuf>,
    /// Write a page with a row for each game to this file.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Games studied at the same time for the page.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), requires = "markdown", value_name = "N")]
    jobs: u16,
    /// Fixes what is drawn at random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Study one game in this process, faults and all, and tell the findings, until standard input
    /// ends.
    #[arg(long, hide = true, conflicts_with_all = ["markdown", "corpus"])]
    child: bool,
}

/// Runs the command. A game without an answer makes a page [`Outcome::DoesNotHold`].
///
/// # Errors
/// A game or corpus that cannot be read, or a page that cannot be written.
pub fn run(arguments: &AnalyseArguments, output: Output) -> anyhow::Result<Outcome> {
    if let Some(page) = &arguments.markdown {
        return write_page(arguments, page, output);
    }
    let output = match arguments.child {
        true => {
            children::end_with_parent()?;
            Output::new(true)
        }
        false => output,
    };
    for (index, name) in arguments.games.iter().enumerate() {
        let game = match arguments.child {
            true => Game::as_played(Rulesheet::find(name)?)?,
            false => Game::load(name)?,
        };
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

/// Studies each game in a process of its own and writes a row for each.
fn write_page(
    arguments: &AnalyseArguments,
    page: &std::path::Path,
    output: Output,
) -> anyhow::Result<Outcome> {
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
        processor: report::processor(),
        commit: report::commit(),
    };
    let program = std::env::current_exe().context("cannot find this program to start it again")?;
    let limit = Duration::from_secs_f64(arguments.seconds + arguments.build_seconds) + LEEWAY;
    let command_for = |sheet: &str| {
        let mut command = Command::new(&program);
        command
            .args(["analyse", "--child"])
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
