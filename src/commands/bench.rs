//! `panza bench`: how many uniformly random playouts an engine makes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use super::engine_choice::{self, EngineChoice, EngineKind};
use super::game_source::Game;
use super::outcome::Outcome;
use super::output::{ByRole, Output, grouped, progress_bar};
use super::playouts::{self, Until};

/// Arguments of `panza bench`.
#[derive(Args, Debug)]
pub struct BenchArguments {
    /// Paths to rulesheets, or names of games.
    #[arg(required = true, value_name = "GAME")]
    games: Vec<String>,
    /// What runs the games: counter, lanes, prover or auto (what measures faster).
    #[arg(long, default_value = "auto", value_parser = engine_choice::parse)]
    engine: EngineChoice,
    /// Seconds per game; the playouts under way are played to their end.
    #[arg(long, default_value_t = 5.0, value_parser = super::arguments::parse_seconds)]
    seconds: f64,
    /// Threads, each with its own engine.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
    /// Fixes the random numbers; thread number t draws from the stream of seed + t.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Playouts abreast where the engine is lanes: 256, 512 or 1024.
    #[arg(long, default_value_t = engine_choice::WIDTH, value_parser = engine_choice::parse_width)]
    width: usize,
}

#[derive(Serialize)]
struct Report<'a> {
    game: &'a str,
    engine: EngineKind,
    threads: u16,
    seed: u64,
    init_seconds: f64,
    seconds: f64,
    cpu_seconds: f64,
    playouts: u64,
    cut_off: u64,
    playouts_per_second: f64,
    steps_per_second: f64,
    mean_length: Option<f64>,
    goals: Option<ByRole<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<usize>,
}

/// Runs the command.
///
/// # Errors
/// Unusable arguments, or a game that the engine cannot run.
pub fn run(arguments: &BenchArguments, output: Output) -> anyhow::Result<Outcome> {
    output.line(format_args!(
        "{:<26} {:<10} {:>9} {:>11} {:>14} {:>15} {:>8}  mean goals",
        "game", "engine", "init s", "playouts", "playouts/s", "steps/s", "length"
    ))?;
    for name in &arguments.games {
        bench(name, arguments, output)?;
    }
    output.line("Rates are per second of processor time, added up over the threads.")?;
    Ok(Outcome::Holds)
}

fn bench(name: &str, arguments: &BenchArguments, output: Output) -> anyhow::Result<()> {
    let game = Game::load(name)?;
    let init_started = Instant::now();
    let built = engine_choice::build_for_playouts(&game.rules, arguments.engine, arguments.width)?;
    let init_seconds = init_started.elapsed().as_secs_f64();

    let time = Duration::from_secs_f64(arguments.seconds);
    let n_threads = usize::from(arguments.threads);
    let done = AtomicU64::new(0);
    let bar = progress_bar(time.as_millis() as u64, "ms").with_message(game.sheet.name.clone());
    let started = Instant::now();
    let (figures, seconds) = thread::scope(|scope| {
        let playing = scope.spawn(|| {
            let until = Until::Elapsed(time);
            let figures = playouts::run(&built, n_threads, arguments.seed, until, &done)?;
            anyhow::Ok((figures, started.elapsed().as_secs_f64()))
        });
        while !playing.is_finished() && !bar.is_hidden() {
            bar.set_position((started.elapsed().as_millis() as u64).min(time.as_millis() as u64));
            let count = grouped(done.load(Ordering::Relaxed));
            bar.set_message(format!("{}: {count} playouts", game.sheet.name));
            thread::park_timeout(Duration::from_millis(100));
        }
        playing
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    bar.finish_and_clear();

    let goals = figures.mean_goals();
    let roles = game.role_names();
    let shown_goals = goals.as_ref().map_or("none".to_string(), |goals| {
        let shown = roles
            .iter()
            .zip(goals)
            .map(|(role, goal)| format!("{role} {goal:.2}"));
        shown.collect::<Vec<_>>().join(", ")
    });
    output.line(format_args!(
        "{:<26} {:<10} {init_seconds:>9.4} {:>11} {:>14} {:>15} {:>8}  {shown_goals}",
        game.sheet.name,
        match figures.width {
            Some(width) => format!("{} {width}", built.kind()),
            None => built.kind().to_string(),
        },
        grouped(figures.playouts),
        grouped(figures.playouts_per_second.round() as u64),
        grouped(figures.steps_per_second.round() as u64),
        figures
            .mean_length()
            .map_or("none".to_string(), |mean| format!("{mean:.2}")),
    ))?;
    if figures.cut_off > 0 {
        let count = grouped(figures.cut_off);
        output.line(format_args!(
            "    {count} playouts were cut off after {} joint moves",
            playouts::MAX_STEPS
        ))?;
    }
    output.object(&Report {
        game: &game.sheet.name,
        engine: built.kind(),
        threads: arguments.threads,
        seed: arguments.seed,
        init_seconds,
        seconds,
        cpu_seconds: figures.cpu.as_secs_f64(),
        playouts: figures.playouts,
        cut_off: figures.cut_off,
        playouts_per_second: figures.playouts_per_second,
        steps_per_second: figures.steps_per_second,
        mean_length: figures.mean_length(),
        goals: goals.map(|goals| ByRole::new(&roles, goals)),
        width: figures.width,
    })?;
    Ok(())
}
