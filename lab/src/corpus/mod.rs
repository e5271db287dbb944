//! `cargo lab corpus`: every game of a corpus of published games, built and held against its recorded
//! playouts.
//!
//! Each game has a process of its own ([`children`]), which runs [`examine`] and tells what it
//! finds; the findings become a page of Markdown ([`report`]). What the traces themselves have
//! wrong stands in [`known`].

pub mod children;
pub mod examine;
pub mod folder;
pub mod known;
pub mod report;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;

use examine::BuildBudget;
use folder::Corpus;
use panza::commands::engine::EngineKind;
use panza::commands::output::{Output, progress_bar};
use panza::commands::provenance::processor;
use panza::commands::{Outcome, parse_seconds};
use report::{Conditions, GameReport};

/// What a game may take beyond the time for building: laying the machine out, and replaying on each
/// machine.
const REPLAY_LIMIT: Duration = Duration::from_secs(600);

/// Arguments of `cargo lab corpus`.
#[derive(Args, Debug)]
pub struct CorpusArguments {
    /// The corpus: games.csv, games, traces and perhaps traces-clingo.
    folder: PathBuf,
    /// Write the page to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Seconds that building a game may take.
    #[arg(long, default_value = "60", value_parser = parse_seconds, value_name = "S")]
    seconds: f64,
    /// Memory that building a game may take, in MiB.
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=1 << 20), value_name = "M")]
    memory_mib: u32,
    /// Only this game; may be given several times.
    #[arg(long = "game", value_name = "KEY")]
    games: Vec<String>,
    /// Games examined at the same time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), value_name = "N")]
    jobs: u16,
    /// Examine one game in this process and tell the findings, until standard input ends.
    #[arg(long, hide = true, value_name = "KEY", conflicts_with_all = ["out", "games"])]
    one: Option<String>,
}

/// Runs the command. A disagreement that nothing excuses, or a game without an answer, makes it
/// [`Outcome::DoesNotHold`].
///
/// # Errors
/// No corpus in the folder, a game that it does not have, or a page that cannot be written.
pub fn run(arguments: &CorpusArguments, output: Output) -> anyhow::Result<Outcome> {
    let corpus = Corpus::open(&arguments.folder)?;
    if let Some(key) = &arguments.one {
        children::end_with_parent()?;
        return examine_here(&corpus, key, arguments);
    }
    let keys = wanted(&corpus, &arguments.games)?;
    if let Some(out) = &arguments.out {
        // Better now than after all the work.
        report::check_place(out)?;
    }
    // The source may have moved on when all is done.
    let conditions = Conditions {
        seconds: arguments.seconds,
        memory_mib: arguments.memory_mib,
        jobs: arguments.jobs,
        processor: processor(),
        commit: report::commit(),
    };
    let games = examine_all(arguments, &keys, output)?;
    let page = report::markdown(&games, &conditions);
    match &arguments.out {
        Some(out) => {
            std::fs::write(out, page)
                .with_context(|| format!("cannot write `{}`", out.display()))?;
            output.line(report::summary_line(&games))?;
        }
        None => output.text(&page)?,
    }
    match games.iter().all(GameReport::holds) {
        true => Ok(Outcome::Holds),
        false => Ok(Outcome::DoesNotHold),
    }
}

/// The games asked for, in the order of the corpus; all when none was named.
///
/// # Errors
/// One that the corpus does not have.
pub(super) fn wanted(corpus: &Corpus, named: &[String]) -> anyhow::Result<Vec<String>> {
    if let Some(unknown) = named.iter().find(|name| !corpus.keys().contains(name)) {
        bail!(
            "no game `{unknown}` among the {} of `{}`",
            corpus.keys().len(),
            corpus.folder().join("games.csv").display()
        );
    }
    let is_wanted = |key: &&String| named.is_empty() || named.contains(key);
    Ok(corpus.keys().iter().filter(is_wanted).cloned().collect())
}

/// The child's part.
fn examine_here(
    corpus: &Corpus,
    key: &str,
    arguments: &CorpusArguments,
) -> anyhow::Result<Outcome> {
    let budget = BuildBudget {
        time: Duration::from_secs_f64(arguments.seconds),
        bytes: arguments.memory_mib as usize * (1 << 20),
    };
    let lines = Output::new(true);
    let machines = [EngineKind::Counter, EngineKind::Prover];
    examine::examine(corpus, key, budget, &machines, |finding| {
        Ok(lines.object(&finding)?)
    })?;
    Ok(Outcome::Holds)
}

/// Examines the games, some at the same time, and gives their reports in the order of `keys`.
fn examine_all(
    arguments: &CorpusArguments,
    keys: &[String],
    output: Output,
) -> anyhow::Result<Vec<GameReport>> {
    let program = std::env::current_exe().context("cannot find this program to start it again")?;
    let limit = Duration::from_secs_f64(arguments.seconds) + REPLAY_LIMIT;
    let command_for = |key: &str| {
        let mut command = Command::new(&program);
        command
            .arg("corpus")
            .arg(&arguments.folder)
            .args(["--one", key])
            .args(["--seconds", &arguments.seconds.to_string()])
            .args(["--memory-mib", &arguments.memory_mib.to_string()]);
        command
    };
    let progress = progress_bar(keys.len() as u64, "games");
    let mut games: Vec<Option<GameReport>> = keys.iter().map(|_| None).collect();
    children::run_each(
        keys,
        arguments.jobs,
        limit,
        &progress,
        command_for,
        |index, told| {
            let game = GameReport::new(&keys[index], told);
            output.object(&game)?;
            if arguments.out.is_some()
                && let Some(news) = game.news()
            {
                progress.suspend(|| output.line(news))?;
            }
            games[index] = Some(game);
            Ok(())
        },
    )?;
    progress.finish_and_clear();
    Ok(games.into_iter().flatten().collect())
}
