//! `panza bench`: the rate of uniformly random playouts of an engine.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use panza_cli::arguments::parse_seconds;
use panza_cli::output::{counted, grouped, show_seconds, spinner};
use panza_cli::playouts::Until;
use panza_cli::{EngineChoice, Game, Outcome, Output, engine_choice, playouts};

#[derive(Args, Debug)]
pub struct BenchArguments {
    /// Paths to rulesheets, or names of games.
    #[arg(required = true, value_name = "GAME")]
    games: Vec<String>,
    /// The engine: counter, lanes, prover or auto (the one that measures faster).
    #[arg(long, default_value = "auto", value_parser = engine_choice::parse)]
    engine: EngineChoice,
    /// Seconds per game; playouts under way are finished.
    #[arg(long, default_value_t = 5.0, value_parser = parse_seconds)]
    seconds: f64,
    /// Threads, each with its own engine.
    #[arg(short = 'j', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
    /// Seed of the random numbers; thread number t takes the stream of seed + t.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Playouts at a time where the engine is lanes: 256, 512 or 1024.
    #[arg(long, default_value_t = engine_choice::WIDTH, value_parser = engine_choice::parse_width)]
    width: usize,
}

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
    let name = &game.sheet.name;
    let progress = spinner(format!("{name}: building"));
    let started = Instant::now();
    let built = engine_choice::build_for_playouts(&game.rules, arguments.engine, arguments.width)?;
    let init_seconds = started.elapsed().as_secs_f64();

    let time = Duration::from_secs_f64(arguments.seconds);
    show_seconds(&progress, format!("{name}: playouts"), Some(time));
    let started = Instant::now();
    let n_threads = usize::from(arguments.threads);
    let figures = playouts::run(&built, n_threads, arguments.seed, Until::Elapsed(time))?;
    let seconds = started.elapsed().as_secs_f64();
    progress.finish_and_clear();

    let roles = game.role_names();
    let goals = figures.mean_goals();
    let goals = goals.map(|goals| roles.iter().zip(goals).collect::<Vec<_>>());
    let shown_goals = goals.as_ref().map_or("none".to_string(), |goals| {
        let shown = goals.iter().map(|(role, goal)| format!("{role} {goal:.2}"));
        shown.collect::<Vec<_>>().join(", ")
    });
    let engine = match figures.width {
        Some(width) => format!("{} {width}", built.kind()),
        None => built.kind().to_string(),
    };
    let length = figures.mean_length();
    output.line(format_args!(
        "{name:<26} {engine:<10} {init_seconds:>9.4} {:>11} {:>14} {:>15} {:>8}  {shown_goals}",
        grouped(figures.playouts),
        grouped(figures.playouts_per_second.round() as u64),
        grouped(figures.steps_per_second.round() as u64),
        length.map_or("none".to_string(), |mean| format!("{mean:.2}")),
    ))?;
    if figures.cut_off > 0 {
        let (count, most) = (counted(figures.cut_off, "playout"), playouts::MAX_STEPS);
        let text = format!("    {count} cut off after {most} joint moves");
        output.line(text)?;
    }
    if figures.steps == 0 {
        output.line("    no move made: the first state is terminal, or a role has none in it")?;
    }
    output.object(&json!({
        "game": name,
        "engine": built.kind(),
        "threads": arguments.threads,
        "seed": arguments.seed,
        "init_seconds": init_seconds,
        "seconds": seconds,
        "cpu_seconds": figures.cpu.as_secs_f64(),
        "playouts": figures.playouts,
        "cut_off": figures.cut_off,
        "playouts_per_second": figures.playouts_per_second,
        "steps_per_second": figures.steps_per_second,
        "mean_length": length,
        "goals": goals.map(|goals| goals.into_iter().collect::<BTreeMap<_, _>>()),
        "width": figures.width,
    }))?;
    Ok(())
}
