//! `panza tournament`: plays the matches of a file, and shows tables of the results.
//!
//! Invariant: tables depend on the file of results alone.

pub mod page;
pub mod plan;
mod play;
mod progress;
pub mod results;
mod seats;
pub mod tally;
mod written;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use tokio::sync::watch;

use super::game_manager::Ending;
use super::players::PlayerSpec;
use panza_cli::arguments::is_standard_input;
use panza_cli::{Outcome, Output, interrupt};
use panza_sync::pinning;
use plan::{Entry, Schedule};
pub use play::{Attempt, LocalVenue, Played, Venue};
use results::{MatchResult, ResultsFile};

/// The arguments of `panza tournament`.
#[derive(Args, Debug)]
pub struct TournamentArguments {
    /// Files with players, games and clocks; with --show also files of results (.jsonl). One may be
    /// -, standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The file of results, for a single FILE. [default: FILE with the ending .results.jsonl]
    #[arg(long, value_name = "PATH")]
    results: Option<PathBuf>,
    /// Show the results without playing.
    #[arg(long)]
    show: bool,
    /// Play at most N matches now.
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "show")]
    limit: Option<usize>,
}

impl TournamentArguments {
    /// The files of tournaments.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

/// Runs the command. It is [`Outcome::DoesNotHold`] when matches could not be played, or have no
/// result.
pub fn run(arguments: &TournamentArguments, output: Output) -> anyhow::Result<Outcome> {
    run_at(arguments, output, None)
}

/// As [`run`], with matches at this venue instead of in this process.
pub fn run_at(
    arguments: &TournamentArguments,
    output: Output,
    venue: Option<&dyn Venue>,
) -> anyhow::Result<Outcome> {
    if arguments.results.is_some() && arguments.files.len() > 1 {
        bail!(
            "--results is for a single FILE, found {}",
            arguments.files.len()
        );
    }
    let is_read = |file: &PathBuf| is_standard_input(file) && !arguments.show;
    if arguments.results.is_none() && arguments.files.iter().any(is_read) {
        bail!("a tournament on standard input needs --results PATH, where results are kept");
    }
    let named = &arguments.results;
    let results_of = |file: &Path| named.clone().unwrap_or_else(|| results::beside(file));
    let mut outcome = Outcome::Holds;
    let mut all = Vec::new();
    if arguments.show {
        for file in &arguments.files {
            let path = results_of(file);
            if !path.is_file() && !is_standard_input(&path) {
                bail!("no results `{}`", path.display());
            }
            all.extend(results::load(&path)?);
        }
    } else {
        let (runtime, cancelled) = interrupt::runtime()?;
        let local = LocalVenue::new(runtime.handle(), &cancelled);
        let venue = venue.unwrap_or(&local);
        let played = play_files(arguments, output, venue, &cancelled, &results_of);
        // A connection that hangs must not keep the program running.
        runtime.shutdown_timeout(Duration::from_secs(1));
        (outcome, all) = played?;
    }
    let tallies = tally::tally(&all);
    output.text(&page::text(&tallies))?;
    output.object(&page::report(&tallies))?;
    let has_no_end = |result: &MatchResult| result.ending != Ending::Terminal;
    if outcome == Outcome::Holds && all.iter().any(has_no_end) {
        outcome = Outcome::DoesNotHold;
    }
    Ok(outcome)
}

/// Plays what is missing in the results of each file, and returns all results.
fn play_files(
    arguments: &TournamentArguments,
    output: Output,
    venue: &dyn Venue,
    cancelled: &watch::Receiver<bool>,
    results_of: &dyn Fn(&Path) -> PathBuf,
) -> anyhow::Result<(Outcome, Vec<MatchResult>)> {
    let plans = arguments.files.iter().map(|file| load_plan(file, output));
    let plans: Vec<Schedule> = plans.collect::<anyhow::Result<_>>()?;
    let mut limit = arguments.limit.unwrap_or(usize::MAX);
    let mut outcome = Outcome::Holds;
    let mut all = Vec::new();
    for (file, plan) in arguments.files.iter().zip(&plans) {
        let (played, results) = play_missing(plan, &results_of(file), limit, venue, cancelled)?;
        limit = limit.saturating_sub(played.finished + played.failed);
        all.extend(results);
        if played.failed + played.left_out > 0 {
            output.complaint(format_args!(
                "{}: matches not played: {}, left out: {}; \
                 the same command tries them again",
                file.display(),
                played.failed,
                played.left_out
            ));
            outcome = Outcome::DoesNotHold;
        }
        if played.is_interrupted {
            output.complaint(format_args!(
                "{}: the same command goes on with the matches that are left",
                file.display()
            ));
            outcome = Outcome::Interrupted;
            break;
        }
    }
    Ok((outcome, all))
}

/// Reads the file of a tournament, and sees that its cores are there.
///
/// # Errors
/// The file cannot be read, or is no tournament that can be played here.
pub fn load_plan(file: &Path, output: Output) -> anyhow::Result<Schedule> {
    let plan = Schedule::load(file)?;
    let shown = file.display();
    let usable = pinning::available_cores();
    if let Some(core) = plan.cores.iter().find(|core| !usable.contains(core)) {
        let usable: Vec<String> = usable.iter().map(|core| core.id.to_string()).collect();
        bail!(
            "{shown}: `cores` names core {}; this process may use {}",
            core.id,
            usable.join(", ")
        );
    }
    if !plan.cores.is_empty() {
        let playing: BTreeSet<usize> = plan.pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
        for player in playing.into_iter().map(|player| &plan.players[player]) {
            // random and legal take no processor time.
            if let Entry::Player { spec, .. } = &player.entry
                && matches!(spec, PlayerSpec::Panza | PlayerSpec::Remote(_))
            {
                output.complaint(format_args!(
                    "{shown}: player `{}` has no process of its own, so `cores` do not confine it",
                    player.name
                ));
            }
        }
    }
    Ok(plan)
}

/// Plays at most `limit` matches that have no result in the file `path` yet, at this venue and
/// until `cancelled` is true, and returns all results of the plan.
///
/// # Errors
/// The file cannot be used, or the tournament cannot go on.
pub fn play_missing(
    plan: &Schedule,
    path: &Path,
    limit: usize,
    venue: &dyn Venue,
    cancelled: &watch::Receiver<bool>,
) -> anyhow::Result<(Played, Vec<MatchResult>)> {
    let (mut file, known) = ResultsFile::open(path)?;
    let done: BTreeSet<_> = known.iter().map(|result| &result.key).collect();
    let mut missing = plan.fixtures();
    missing.retain(|fixture| !done.contains(&plan.key(fixture)));
    missing.truncate(limit);
    let played = play::play(plan, &missing, &known, &mut file, venue, cancelled)?;

    let planned: BTreeSet<_> = plan.fixtures().iter().map(|f| plan.key(f)).collect();
    let mut results = results::load(path)?;
    results.retain(|result| planned.contains(&result.key));
    Ok((played, results))
}
