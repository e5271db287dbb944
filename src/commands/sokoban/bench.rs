//! `panza sokoban bench`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use clap::Args;
use serde_json::json;

use super::levels::{LevelChoice, NumberedLevel};
use super::search::SearchChoice;
use super::solve::show_fault;
use panza_cli::output::{grouped, spinner};
use panza_cli::{Outcome, Output};
use panza_sokoban::ida::Parts;
use panza_sokoban::{Verdict, ida};

/// The seed of the restarts.
const SEED: u64 = 1;

#[derive(Args, Debug)]
pub(super) struct BenchArguments {
    #[command(flatten)]
    levels: LevelChoice,
    #[command(flatten)]
    search: SearchChoice,
    /// Use iterative deepening alone, with one more of its parts in each row of the table.
    #[arg(long, conflicts_with = "methods")]
    ladder: bool,
}

pub(super) fn run(arguments: &BenchArguments, output: Output) -> anyhow::Result<Outcome> {
    let levels = arguments.levels.load()?;
    let stop = Arc::new(AtomicBool::new(false));
    if arguments.ladder {
        return ladder(&levels, &arguments.search, &stop, output);
    }
    output.line("| level | title | solved | moves | pushes | method | nodes | seconds |")?;
    output.line("|---:|---|---|---:|---:|---|---:|---:|")?;
    let (mut solved, mut moves, mut pushes, mut nodes, mut seconds) = (0, 0, 0, 0, 0.0);
    for level in &levels {
        let title = level.entry.title().unwrap_or_default().replace('|', "\\|");
        let playable = match level.playable() {
            Ok(playable) => playable,
            Err(fault) if output.is_json() => {
                show_fault(level, &fault, output)?;
                continue;
            }
            Err(_) => {
                output.line(format_args!(
                    "| {} | {title} | fault | | | | | |",
                    level.number
                ))?;
                continue;
            }
        };
        let progress = spinner("");
        let name = format!("level {}", level.name());
        let found = arguments
            .search
            .solve(&playable.board, &name, &progress, &stop);
        progress.finish_and_clear();
        nodes += found.nodes;
        seconds += found.seconds;
        let metrics = found.solution.as_ref().map(|solution| solution.metrics());
        if let Some(metrics) = metrics {
            solved += 1;
            moves += metrics.moves;
            pushes += metrics.pushes;
        }
        output.object(&found.object(level))?;
        let figure = |figure: Option<usize>| figure.map_or(String::new(), |n| grouped(n as u64));
        output.line(format_args!(
            "| {} | {title} | {} | {} | {} | {} | {} | {:.2} |",
            level.number,
            if metrics.is_some() { "yes" } else { "no" },
            figure(metrics.map(|metrics| metrics.moves)),
            figure(metrics.map(|metrics| metrics.pushes)),
            found.method,
            grouped(found.nodes),
            found.seconds,
        ))?;
    }
    output.line(format_args!(
        "| all | | {solved} of {} | {} | {} | | {} | {seconds:.2} |",
        levels.len(),
        grouped(moves as u64),
        grouped(pushes as u64),
        grouped(nodes),
    ))?;
    Ok(Outcome::holds_if(solved == levels.len()))
}

/// Solves the levels once for each rung of the ladder.
fn ladder(
    levels: &[NumberedLevel],
    search: &SearchChoice,
    stop: &Arc<AtomicBool>,
    output: Output,
) -> anyhow::Result<Outcome> {
    output.line("| with | solved | levels | nodes | seconds |")?;
    output.line("|---|---:|---|---:|---:|")?;
    for (name, parts) in Parts::LADDER {
        let started = Instant::now();
        let (mut solved, mut nodes) = (Vec::new(), 0);
        let progress = spinner("");
        for level in levels {
            let Ok(playable) = level.playable() else {
                continue;
            };
            progress.set_message(format!(
                "{name}: level {}, {} solved",
                level.name(),
                solved.len()
            ));
            let outcome = ida::solve(&playable.board, &parts, SEED, &search.limits(stop));
            nodes += outcome.nodes;
            if matches!(outcome.verdict, Verdict::Solved(_)) {
                solved.push(level.number);
            }
        }
        progress.finish_and_clear();
        let seconds = started.elapsed().as_secs_f64();
        output.object(&json!({
            "with": name,
            "solved": solved.len(),
            "levels": solved,
            "nodes": nodes,
            "seconds": seconds,
        }))?;
        let list = solved
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" ");
        output.line(format_args!(
            "| {name} | {} of {} | {list} | {} | {seconds:.0} |",
            solved.len(),
            levels.len(),
            grouped(nodes),
        ))?;
    }
    Ok(Outcome::holds_if(true))
}
