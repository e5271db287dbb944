//! `cargo lab shorten`: how short the Sokoban optimiser makes solutions over time, as a page.
//!
//! Each level is solved as `panza sokoban solve` does, and its solution is optimised. Times are
//! processor times of all threads, so that other work on the machine changes them little.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use panza_cli::arguments::parse_seconds;
use panza_cli::{Outcome, Output};
use panza_sokoban::optimiser::{Cost, Report};
use panza_sokoban::{Board, Collection, Verdict, optimiser, solver};
use panza_sync::Budget;
use serde_json::json;

use crate::page::{Page, Table, check_place};

/// Seconds at which the page shows the solutions; those above `--seconds` are left out.
const MARKS: [f64; 7] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];
/// How often the processor time is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// Bytes of an optimiser.
const MEMORY: usize = 1 << 31;

#[derive(Args, Debug)]
pub(crate) struct ShortenArguments {
    /// A file of levels.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Numbers of levels, separated by commas.
    #[arg(
        long = "level",
        value_name = "N",
        value_delimiter = ',',
        required = true
    )]
    levels: Vec<usize>,
    /// Seconds of processor time for each solution.
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = parse_seconds, allow_negative_numbers = true)]
    seconds: f64,
    /// Threads of the optimiser.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), value_name = "N")]
    threads: u16,
    /// Write the page to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(arguments: &ShortenArguments, output: Output) -> anyhow::Result<Outcome> {
    check_place(arguments.out.as_deref())?;
    let cannot_read = || format!("cannot read `{}`", arguments.file.display());
    let text = std::fs::read_to_string(&arguments.file).with_context(cannot_read)?;
    let collection = Collection::read(&text).with_context(cannot_read)?;
    let marks: Vec<f64> = (MARKS.into_iter())
        .filter(|&mark| mark <= arguments.seconds)
        .collect();
    let heads = ["level".to_string(), "found".to_string()].into_iter();
    let heads = heads.chain(marks.iter().map(|mark| format!("{mark} s")));
    let mut table = Table::new(heads).with_text_columns(&[]);
    let mut all_solved = true;
    for &number in &arguments.levels {
        let entry = collection.entries().get(number.wrapping_sub(1));
        let level = entry.and_then(|entry| entry.level());
        let level = level.ok_or_else(|| anyhow!("there is no playable level {number}"))?;
        let board = Board::new(level).map_err(|error| anyhow!("level {number}: {error}"))?;
        let Some(curve) = curve(&board, arguments) else {
            all_solved = false;
            continue;
        };
        output.object(&json!({
            "level": number,
            "seconds": curve.iter().map(|&(seconds, _)| seconds).collect::<Vec<_>>(),
            "moves": curve.iter().map(|(_, cost)| cost.moves).collect::<Vec<_>>(),
            "pushes": curve.iter().map(|(_, cost)| cost.pushes).collect::<Vec<_>>(),
        }))?;
        let show = |cost: Cost| format!("{} / {}", cost.moves, cost.pushes);
        let mut cells = vec![number.to_string(), show(curve[0].1)];
        for &mark in &marks {
            let until = curve.iter().rfind(|&&(seconds, _)| seconds <= mark);
            cells.push(until.map_or(String::new(), |&(_, cost)| show(cost)));
        }
        table.push(cells);
    }
    let mut page = Page::new(
        "Solutions made shorter over time",
        "Moves and pushes of solutions of Sokoban levels, after seconds of the optimiser.",
    );
    let about = format!(
        "Processor time of all threads, {} in use. 'Found' is the solution of the solver.",
        arguments.threads
    );
    page.section("Levels", &about, &table);
    page.write(arguments.out.as_deref(), output)?;
    Ok(Outcome::holds_if(all_solved))
}

/// What the solutions cost and when each was found, the first at 0; `None` for a level that is not
/// solved.
fn curve(board: &Board, arguments: &ShortenArguments) -> Option<Vec<(f64, Cost)>> {
    let limits = Budget::lasting(Duration::from_secs(60));
    let solved = solver::solve(board, &solver::Options::default(), &limits, &|_| {});
    let Verdict::Solved(pushes) = solved.verdict else {
        return None;
    };
    let options = optimiser::Options {
        threads: usize::from(arguments.threads),
        ..optimiser::Options::default()
    };
    let started = processor_seconds();
    let stop = Arc::new(AtomicBool::new(false));
    let limits = Budget::generous().with_bytes(MEMORY).stopped_by(&stop);
    let mut curve = vec![(0.0, optimiser::cost(board, &pushes)?)];
    let mut gain = |report: Report<'_>| {
        if let Report::Better(pushes) = report
            && let Some(cost) = optimiser::cost(board, pushes)
        {
            curve.push((processor_seconds() - started, cost));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                std::thread::sleep(LOOK);
                if processor_seconds() - started >= arguments.seconds {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
        optimiser::optimise(board, &pushes, &options, &limits, &mut gain);
        stop.store(true, Ordering::Relaxed);
    });
    Some(curve)
}

/// Seconds of processor time of this process, or of the clock where the system does not tell.
fn processor_seconds() -> f64 {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::try_from(time).unwrap_or_default().as_secs_f64()
    }
    #[cfg(not(unix))]
    {
        static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_secs_f64()
    }
}
