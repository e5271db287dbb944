//! `panza sokoban solve`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::Args;
use serde_json::json;

use super::levels::{LevelChoice, NumberedLevel, Playable, length};
use super::results::Results;
use super::search::{Found, SearchChoice};
use panza_cli::output::{counted, spinner};
use panza_cli::{Outcome, Output, interrupt};

#[derive(Args, Debug)]
pub(super) struct SolveArguments {
    #[command(flatten)]
    levels: LevelChoice,
    #[command(flatten)]
    search: SearchChoice,
    /// A file that each solution is appended to; levels solved there are skipped.
    #[arg(short = 'o', long, value_name = "FILE.sok")]
    out: Option<PathBuf>,
}

pub(super) fn run(arguments: &SolveArguments, output: Output) -> anyhow::Result<Outcome> {
    let levels = arguments.levels.load()?;
    let out = arguments.out.as_deref();
    let mut results = out
        .map(|path| Results::open(path, &arguments.levels.file))
        .transpose()?;
    let stop = Arc::new(AtomicBool::new(false));
    interrupt::stop(&stop)?;
    let started = Instant::now();
    let (mut solved, mut skipped, mut nodes) = (0, 0, 0);
    for level in &levels {
        if Results::has(results.as_ref(), level) {
            skipped += 1;
            continue;
        }
        let Some(playable) = playable(level, output)? else {
            continue;
        };
        let progress = spinner("");
        let found = arguments.search.solve(
            &playable.board,
            &format!("level {}", level.name()),
            &progress,
            &stop,
        );
        progress.finish_and_clear();
        nodes += found.nodes;
        if let (Some(solution), Some(results)) = (&found.solution, &mut results) {
            results.append(level, solution)?;
        }
        solved += usize::from(found.solution.is_some());
        if found.solution.is_none() && stop.load(Ordering::Relaxed) {
            break;
        }
        show(level, &found, results.is_none(), output)?;
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    let earlier = if skipped > 0 {
        format!(", {skipped} before")
    } else {
        String::new()
    };
    output.line(format_args!(
        "{solved} of {} solved{earlier}; {}, {:.1} s",
        levels.len(),
        counted(nodes, "node"),
        started.elapsed().as_secs_f64(),
    ))?;
    if stop.load(Ordering::Relaxed) {
        return Ok(Outcome::Interrupted);
    }
    Ok(Outcome::holds_if(solved + skipped == levels.len()))
}

/// A level made ready for search. Tells the fault of one that cannot be searched.
pub(super) fn playable<'l>(
    level: &'l NumberedLevel,
    output: Output,
) -> anyhow::Result<Option<Playable<'l>>> {
    match level.playable() {
        Ok(playable) => Ok(Some(playable)),
        Err(fault) => {
            show_fault(level, &fault, output)?;
            Ok(None)
        }
    }
}

/// Tells that a level cannot be searched.
pub(super) fn show_fault(level: &NumberedLevel, fault: &str, output: Output) -> anyhow::Result<()> {
    output.object(&json!({
        "level": level.number,
        "title": level.entry.title(),
        "solved": false,
        "fault": fault,
    }))?;
    output.line(format_args!("{}: {fault}", level.name()))?;
    Ok(())
}

/// Tells what was found for a level, with the moves if `has_moves`.
fn show(
    level: &NumberedLevel,
    found: &Found,
    has_moves: bool,
    output: Output,
) -> anyhow::Result<()> {
    let solution = found.solution.as_ref();
    let metrics = solution.map(|solution| solution.metrics());
    output.object(&found.object(level))?;
    let name = level.name();
    let cost = format!("{}, {:.2} s", counted(found.nodes, "node"), found.seconds);
    match metrics {
        Some(metrics) => output.line(format_args!(
            "{name}: {}{} ({}); {cost}",
            length(&metrics),
            if found.is_proven { ", the fewest" } else { "" },
            found.method,
        ))?,
        None if found.is_proven => output.line(format_args!("{name}: has no solution; {cost}"))?,
        None => output.line(format_args!("{name}: not solved; {cost}"))?,
    }
    if let (Some(solution), true) = (solution, has_moves) {
        output.line(format_args!("    {solution}"))?;
    }
    Ok(())
}
