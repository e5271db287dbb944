//! `cargo lab positions check`: lets the search choose in positions of which it is known what is good.
//!
//! The search stops every few milliseconds and is asked what it would play. The time to settle is
//! the earliest moment from which every answer was a good move.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use serde::Serialize;

use super::file::{PositionFile, Standing, files};
use panza::commands::Outcome;
use panza::commands::arguments::SearchChoice;
use panza::commands::engine_choice::build_to_search;
use panza::commands::game_source::Game;
use panza::commands::output::{Output, grouped, progress_bar};
use panza::machine::Machine;
use panza::search::{Limit, Search, SearchConfig, Stopped};

/// Time between two questions to the search.
const SLICE: Duration = Duration::from_millis(5);
/// Questions to a search that is limited by iterations.
const QUESTIONS: u64 = 200;

/// Arguments of `cargo lab positions check`.
#[derive(Args, Debug)]
pub struct CheckArguments {
    /// Files of positions, or folders of such files.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    search: SearchChoice,
}

/// The time limit of each position where neither seconds nor iterations are given.
const DEFAULT_TIME: Duration = Duration::from_secs(2);

/// How long a position is searched.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Effort {
    /// So long.
    Time(Duration),
    /// So many iterations.
    Iterations(u64),
}

/// What the search made of a position.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// The move it would play in the end.
    pub mv: Option<String>,
    /// Whether that is a good one.
    pub is_good: bool,
    /// When it settled on good moves.
    pub settled: Option<Settled>,
    /// The goal that it proved for the role.
    pub proven: Option<u8>,
    /// Iterations in all.
    pub iterations: u64,
    /// Seconds in all.
    pub seconds: f64,
}

/// A moment of a search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settled {
    /// Seconds before it.
    pub seconds: f64,
    /// Iterations before it.
    pub iterations: u64,
}

#[derive(Serialize)]
struct Report<'a> {
    game: &'a str,
    position: usize,
    role: &'a str,
    goal: u8,
    good: &'a [String],
    legal: usize,
    #[serde(rename = "move")]
    mv: Option<&'a str>,
    is_good: bool,
    settled_seconds: Option<f64>,
    settled_iterations: Option<u64>,
    proven: Option<u8>,
    iterations: u64,
    seconds: f64,
}

/// Runs the command. A position without a good move found makes it [`Outcome::DoesNotHold`].
///
/// # Errors
/// A file that cannot be read, a game that cannot be built, or a position that its rules do not
/// allow.
pub fn run(arguments: &CheckArguments, output: Output) -> anyhow::Result<Outcome> {
    let effort = match arguments.search.iterations {
        Some(iterations) => Effort::Iterations(iterations),
        None => Effort::Time(arguments.search.time(DEFAULT_TIME).unwrap_or(DEFAULT_TIME)),
    };
    let config = arguments.search.search_config()?;
    let read = read_all(&arguments.paths)?;
    let count = read
        .iter()
        .map(|(_, file)| file.positions.len())
        .sum::<usize>();
    let bar = progress_bar(count as u64, "positions");
    output.line(header())?;
    let (mut good, mut slowest) = (0, 0.0f64);
    for (path, file) in &read {
        let shown = path.display();
        let game = Game::load(&file.game).with_context(|| format!("{shown}"))?;
        let machine = build_to_search(&game.rules, arguments.search.threads);
        let machine = machine.with_context(|| format!("{shown}: {}", game.sheet.name))?;
        bar.set_message(game.sheet.name.clone());
        for (index, position) in file.positions.iter().enumerate() {
            let standing = position
                .stand(&machine)
                .with_context(|| format!("{shown}: position {}", index + 1))?;
            let finding = examine(&machine, &standing, &config, effort);
            good += usize::from(finding.is_good);
            slowest = finding
                .settled
                .map_or(slowest, |at| at.seconds.max(slowest));
            let report = Report {
                game: &game.sheet.name,
                position: index + 1,
                role: &position.role,
                goal: position.goal,
                good: &position.good,
                legal: standing.legal.len(),
                mv: finding.mv.as_deref(),
                is_good: finding.is_good,
                settled_seconds: finding.settled.map(|at| at.seconds),
                settled_iterations: finding.settled.map(|at| at.iterations),
                proven: finding.proven,
                iterations: finding.iterations,
                seconds: finding.seconds,
            };
            bar.suspend(|| {
                output.object(&report)?;
                output.line(row(&report))
            })?;
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    output.line(format_args!(
        "\na good move found in {good} of {count} positions, settled within {slowest:.2} s"
    ))?;
    Ok(match good == count {
        true => Outcome::Holds,
        false => Outcome::DoesNotHold,
    })
}

/// All files of positions under these paths.
///
/// # Errors
/// One that cannot be read.
pub fn read_all(paths: &[PathBuf]) -> anyhow::Result<Vec<(PathBuf, PositionFile)>> {
    let mut read = Vec::new();
    for path in paths {
        for path in files(path)? {
            let file = PositionFile::read(&path)?;
            read.push((path, file));
        }
    }
    Ok(read)
}

/// Searches a position and looks on.
pub fn examine(
    machine: &Arc<dyn Machine>,
    standing: &Standing,
    config: &SearchConfig,
    effort: Effort,
) -> Finding {
    let mut search = Search::new(Arc::clone(machine), standing.role, config.clone());
    search.set_state(&standing.state);
    let started = Instant::now();
    let mut settled: Option<Settled> = None;
    loop {
        let elapsed = started.elapsed();
        let limit = match effort {
            Effort::Time(time) => Limit {
                until: Some(started + (elapsed + SLICE).min(time)),
                ..Limit::default()
            },
            Effort::Iterations(all) => Limit {
                iterations: Some((all / QUESTIONS).max(1).min(all - search.root().iterations)),
                ..Limit::default()
            },
        };
        let stopped = search.run(limit);
        let mv = search.best_move();
        let root = search.root();
        let seconds = started.elapsed().as_secs_f64();
        let is_good = mv.is_some_and(|mv| standing.good.contains(&mv));
        if !is_good {
            settled = None;
        } else if settled.is_none() {
            settled = Some(Settled {
                seconds,
                iterations: root.iterations,
            });
        }
        let is_used_up = match effort {
            Effort::Time(time) => started.elapsed() >= time,
            Effort::Iterations(all) => root.iterations >= all,
        };
        if stopped == Stopped::Proven || is_used_up {
            return Finding {
                mv: mv.map(|mv| machine.info().move_text(mv)),
                is_good,
                settled,
                proven: root.proven,
                iterations: root.iterations,
                seconds,
            };
        }
    }
}

fn header() -> String {
    format!(
        "{:<26} {:<14} {:<30} {:>5} {:>9} {:>11} {:>4} {:>6} {:>9}",
        "position", "role", "move", "good", "settled s", "iterations", "goal", "proven", "good/all"
    )
}

fn row(report: &Report<'_>) -> String {
    let settled = report
        .settled_seconds
        .map_or("-".to_string(), |seconds| format!("{seconds:.3}"));
    let iterations = report.settled_iterations.map_or("-".to_string(), grouped);
    let proven = report
        .proven
        .map_or("-".to_string(), |goal| goal.to_string());
    format!(
        "{:<26} {:<14} {:<30} {:>5} {settled:>9} {iterations:>11} {:>4} {proven:>6} {:>9}",
        format!("{} {}", report.game, report.position),
        report.role,
        report.mv.unwrap_or("no legal move"),
        if report.is_good { "yes" } else { "no" },
        report.goal,
        format!("{}/{}", report.good.len(), report.legal),
    )
}
