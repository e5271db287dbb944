//! `panza sokoban bench`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;

use super::super::outcome::Outcome;
use super::super::output::{Output, grouped, spinner};
use super::levels::LevelChoice;
use super::search::SearchChoice;
use super::solve::show_fault;

#[derive(Args, Debug)]
pub(super) struct BenchArguments {
    #[command(flatten)]
    levels: LevelChoice,
    #[command(flatten)]
    search: SearchChoice,
}

pub(super) fn run(arguments: &BenchArguments, output: Output) -> anyhow::Result<Outcome> {
    let levels = arguments.levels.load()?;
    super::super::interrupt::exit_on_ctrl_c_after(|| {})?;
    let stop = Arc::new(AtomicBool::new(false));
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
