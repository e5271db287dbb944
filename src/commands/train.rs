//! `panza train`: trains an evaluation of a game by self-play, for as long as one likes, and keeps
//! it for matches.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};
use clap::Args;
use serde_json::{Value, json};

use panza_cli::arguments::parse_seconds;
use panza_cli::engine_choice::build_as_in_match;
use panza_cli::output::{counted, grouped, show_seconds, spinner, write_whole};
use panza_cli::{Outcome, Output, SettingsChoice, interrupt};
use panza_memory::GameMemory;
use panza_metagame::{Member, Members, Progress, RoundPlan, RoundReport, Training, curve};
use panza_player::search_config;

/// The time limit for building the game.
const BUILD_TIME: Duration = Duration::from_secs(600);
/// A run ends rather than begin a round that is shorter.
const MIN_ROUND: Duration = Duration::from_secs(2);
/// The longest round where other processes play: a job of many that dies then loses this at
/// most.
const MAX_SHARED_ROUND: Duration = Duration::from_secs(40);
/// Hours of training at most.
const MOST_HOURS: f64 = 10_000.0;

/// The arguments of `panza train`.
#[derive(Args, Debug)]
pub struct TrainArguments {
    /// Path to a rulesheet, or the name of a game.
    game: String,
    /// Hours of training in this run. [default: until Ctrl-C]
    #[arg(long, value_name = "H", value_parser = parse_hours)]
    hours: Option<f64>,
    /// End after N games of self-play in total, those of earlier runs included.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    games: Option<u64>,
    /// End when the best generation is at least E Elo points above the search without an
    /// evaluation.
    #[arg(long, value_name = "E")]
    until_elo: Option<f64>,
    /// Seconds of a round: self-play, then games against the best generation. Training is kept
    /// after each.
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = parse_seconds)]
    round: f64,
    /// Threads that play. [default: all processors]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Draw the learning curve into this file, as SVG, after each round.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Seed of the random numbers.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Settings; memory.path says where training is kept.
    #[command(flatten)]
    settings: SettingsChoice,
}

fn parse_hours(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(hours) if hours > 0.0 && hours <= MOST_HOURS => Ok(hours),
        _ => Err(format!("expected hours above 0 and at most {MOST_HOURS}")),
    }
}

pub(super) fn run(arguments: &TrainArguments, output: Output) -> anyhow::Result<Outcome> {
    run_with(arguments, output, None)
}

/// As `panza train`, where other processes play instead of threads.
///
/// # Errors
/// Arguments, settings or the game cannot be used.
pub fn run_with(
    arguments: &TrainArguments,
    output: Output,
    members: Option<&dyn Members>,
) -> anyhow::Result<Outcome> {
    let settings = arguments.settings.load([])?;
    ensure!(
        settings.memory.enabled,
        "training is kept in the memory, which the settings switch off; use --set memory.enabled=true"
    );
    let game = arguments.settings.game(&arguments.game)?;
    let name = &game.sheet.name;
    let progress = spinner(format!("{name}: compiling"));
    let (built, reason) = build_as_in_match(&game.rules, BUILD_TIME)?;
    if let Some(reason) = reason {
        return Err(anyhow!("{name} cannot be trained: {reason}"));
    }
    let (path, most) = (&settings.memory.path, settings.memory.max_games);
    let (mut memory, history) = GameMemory::open(path, most, &game.rules)?;
    let config = search_config(&settings.search, arguments.seed);
    let mut training = Training::new(&built, config, history.as_ref())
        .map_err(|reason| anyhow!("{name} cannot be trained: {reason}"))?;
    progress.finish_and_clear();
    announce(
        arguments,
        name,
        (&memory, path),
        training.progress(),
        output,
    )?;
    let stop = Arc::default();
    let processors = available_parallelism().map_or(1, usize::from);
    let longest = members.map_or(Duration::MAX, |_| MAX_SHARED_ROUND);
    let plan = RoundPlan {
        time: Duration::from_secs_f64(arguments.round).min(longest),
        threads: arguments.threads.map_or(processors, usize::from),
        seed: arguments.seed,
        cancelled: &stop,
        members,
    };
    let limit = arguments
        .hours
        .map(|hours| Duration::from_secs_f64(3600.0 * hours));
    let begin = Instant::now();
    interrupt::stop(&stop)?;
    let progress = spinner("");
    while !is_over(arguments, training.progress(), limit, begin) {
        let left = limit.map(|limit| limit.saturating_sub(begin.elapsed()));
        let time = left.map_or(plan.time, |left| left.min(plan.time));
        show_seconds(
            &progress,
            round_message(name, training.progress(), left),
            Some(time),
        );
        let report = training
            .round(&RoundPlan { time, ..plan })
            .map_err(|reason| anyhow!("{name} cannot be trained: {reason}"))?;
        if let Some(notes) = training.notes() {
            memory.write(&notes)?;
        }
        let now = training.progress();
        if let Some(path) = &arguments.svg {
            write_whole(path, &curve(name, now))?;
        }
        output.object(&object(now, &report, left))?;
        progress.suspend(|| output.line(line(now, &report)))?;
        if stop.load(Ordering::Relaxed) {
            progress.finish_and_clear();
            return Ok(Outcome::Interrupted);
        }
    }
    progress.finish_and_clear();
    let now = training.progress();
    output.line(format_args!(
        "{name}: {}; kept in {}",
        describe(now),
        path.display()
    ))?;
    Ok(Outcome::Holds)
}

/// Says what a run begins with, and where it keeps what it learns.
fn announce(
    arguments: &TrainArguments,
    name: &str,
    (memory, path): (&GameMemory, &Path),
    before: &Progress,
    output: Output,
) -> io::Result<()> {
    output.object(&json!({
        "game": name,
        "signature": memory.signature(),
        "memory": path,
        "resumed": before.games > 0,
        "generation": before.generation,
        "games": before.games,
        "seconds": before.seconds,
    }))?;
    if before.games > 0 {
        output.line(format_args!("{name}: going on with {}", describe(before)))?;
    }
    let path = shown_absolute(path);
    output.line(format_args!(
        "{name}: kept in {path} after each {:.0} s, where matches find it",
        arguments.round
    ))?;
    if let Some(svg) = &arguments.svg {
        let svg = shown_absolute(svg);
        output.line(format_args!(
            "{name}: the learning curve is drawn into {svg}"
        ))?;
    }
    Ok(())
}

/// A process that plays for a training: calls `work` with what obeys orders, until it returns.
///
/// # Errors
/// Arguments, settings or the game cannot be used, or `work` failed.
pub fn join(
    arguments: &TrainArguments,
    work: impl FnOnce(&mut Member<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let settings = arguments.settings.load([])?;
    let game = arguments.settings.game(&arguments.game)?;
    let (built, _) = build_as_in_match(&game.rules, BUILD_TIME)?;
    let config = search_config(&settings.search, arguments.seed);
    let cancelled = Arc::default();
    let mut member = Member::new(&built, config, &cancelled)
        .map_err(|reason| anyhow!("{} cannot be trained: {reason}", game.sheet.name))?;
    work(&mut member)
}

fn is_over(
    arguments: &TrainArguments,
    progress: &Progress,
    limit: Option<Duration>,
    begin: Instant,
) -> bool {
    limit.is_some_and(|limit| begin.elapsed() + MIN_ROUND > limit && progress.games > 0)
        || arguments
            .games
            .is_some_and(|games| progress.games as u64 >= games)
        || arguments
            .until_elo
            .is_some_and(|elo| progress.generation > 0 && progress.elo >= elo)
}

/// A round for scripts.
fn object(progress: &Progress, report: &RoundReport, left: Option<Duration>) -> Value {
    json!({
        "seconds": progress.seconds,
        "seconds_left": left.map(|left| left.as_secs_f64()),
        "games": progress.games,
        "games_per_second": report.games as f64 / report.play_seconds.max(1e-9),
        "samples": progress.samples,
        "generation": progress.generation,
        "elo": progress.elo,
        "correlation": report.correlation,
        "pending": report.pending.map(|(pairs, score)| json!({ "pairs": pairs, "score": score })),
        "test": report.test,
        "alpha_beta": progress.alpha_beta.as_ref().map(|it| it.to_json()),
    })
}

/// What is shown while a round runs.
fn round_message(name: &str, progress: &Progress, left: Option<Duration>) -> String {
    let left = left.map_or(String::new(), |left| {
        format!(", {:.2} h left", left.as_secs_f64() / 3600.0)
    });
    let games = counted(progress.games as u64, "game");
    let generation = progress.generation;
    format!("{name}: generation {generation}, {games}{left}; this round")
}

/// A path that can be followed from any folder.
fn shown_absolute(path: &Path) -> String {
    let absolute = std::path::absolute(path);
    absolute.as_deref().unwrap_or(path).display().to_string()
}

/// A round for people.
fn line(progress: &Progress, report: &RoundReport) -> String {
    let rate = report.games as f64 / report.play_seconds.max(1e-9);
    let correlation = report.correlation.map_or("-".into(), |r| format!("{r:.3}"));
    let mut line = format!(
        "{:7.0} s  {:>11} games  {rate:6.0} games/s  r {correlation:<5}  generation {} ({:+.0} Elo)",
        progress.seconds,
        grouped(progress.games as u64),
        progress.generation,
        progress.elo,
    );
    match (&report.test, report.pending) {
        (Some(test), _) => {
            let verdict = if test.is_stronger {
                "stronger"
            } else {
                "not stronger"
            };
            line += &format!(
                "  {verdict}: {:.1} % of {} pairs",
                100.0 * test.score,
                test.pairs
            );
        }
        (None, Some((pairs, score))) => {
            line += &format!("  testing: {:.1} % of {pairs} pairs", 100.0 * score);
        }
        (None, None) => {}
    }
    if let Some(by_games) = &progress.alpha_beta {
        line += &format!("\n{:9}  {by_games}", "");
    }
    line
}

fn describe(progress: &Progress) -> String {
    format!(
        "generation {}, {:+.0} Elo against the search without an evaluation, {} games in {:.2} h",
        progress.generation,
        progress.elo,
        grouped(progress.games as u64),
        progress.seconds / 3600.0
    )
}
