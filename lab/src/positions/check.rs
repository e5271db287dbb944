//! `cargo lab positions check`: searches positions with proven good moves.
//!
//! The search stops every few milliseconds and gives its best move. It has settled at the time from
//! which the best move stays good.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use panza_arena::arguments::SearchChoice;
use panza_arena::engine_choice::build_to_search;
use panza_arena::outcome::Outcome;
use panza_arena::output::{Output, grouped};
use panza_machine::machine::Machine;
use panza_search::search::{Limit, Search, SearchConfig, StopReason};
use serde::Serialize;

use super::file::PositionSetup;
use super::{NumberedPosition, examine_all};
use crate::page::or_dash;

/// Time between two looks at the best move.
const SLICE: Duration = Duration::from_millis(5);
/// Looks at the best move of a search that is limited by iterations.
const N_SLICES: u64 = 200;
/// The time limit of each position where neither seconds nor iterations are given.
const DEFAULT_TIME: Duration = Duration::from_secs(2);

#[derive(Args, Debug)]
pub(super) struct CheckArguments {
    /// Files of positions, or folders of such files.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    search: SearchChoice,
}

/// How long a position is searched.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Effort {
    /// For a time.
    Time(Duration),
    /// For a number of iterations.
    Iterations(u64),
}

/// The result of searching a position.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SearchFinding {
    /// The best move in the end.
    #[serde(rename = "move")]
    pub mv: Option<String>,
    /// Whether that is a good one.
    pub is_good: bool,
    /// Seconds until the search settled; nothing when the best move is not good.
    pub settled_seconds: Option<f64>,
    /// Iterations until then.
    pub settled_iterations: Option<u64>,
    /// The goal that was proven for the role.
    pub proven: Option<u8>,
    /// All iterations.
    pub iterations: u64,
    /// The whole time.
    pub seconds: f64,
}

#[derive(Serialize)]
struct CheckReport<'a> {
    game: &'a str,
    position: usize,
    role: &'a str,
    goal: u8,
    good: &'a [String],
    legal: usize,
    #[serde(flatten)]
    finding: &'a SearchFinding,
}

/// Runs the command. A position without a good move found makes it [`Outcome::DoesNotHold`].
pub(super) fn run(arguments: &CheckArguments, output: Output) -> anyhow::Result<Outcome> {
    let effort = match arguments.search.iterations {
        Some(iterations) => Effort::Iterations(iterations),
        None => Effort::Time(arguments.search.time(DEFAULT_TIME).unwrap_or(DEFAULT_TIME)),
    };
    let config = arguments.search.search_config()?;
    let heads = [
        "position",
        "role",
        "move",
        "good",
        "settled s",
        "iterations",
        "goal",
        "proven",
    ];
    output.line(line(heads.map(str::to_string)))?;
    let mut slowest = 0.0f64;
    let build = |rules: &_| build_to_search(rules, arguments.search.threads);
    let (good, count) = examine_all(&arguments.paths, build, |position| {
        let finding = examine(position.machine, &position.setup, &config, effort);
        slowest = finding.settled_seconds.unwrap_or(0.0).max(slowest);
        output.object(&CheckReport {
            game: position.game,
            position: position.number,
            role: &position.position.role,
            goal: position.position.goal,
            good: &position.position.good,
            legal: position.setup.legal.len(),
            finding: &finding,
        })?;
        output.line(line(cells(position, &finding)))?;
        Ok(finding.is_good)
    })?;
    output.line(format_args!(
        "\na good move found in {good} of {count} positions, settled within {slowest:.2} s"
    ))?;
    Ok(Outcome::holds_if(good == count))
}

/// Searches a position until the effort is spent or the position is proven.
pub fn examine(
    machine: &Arc<dyn Machine>,
    setup: &PositionSetup,
    config: &SearchConfig,
    effort: Effort,
) -> SearchFinding {
    let mut search = Search::new(Arc::clone(machine), setup.role, config.clone());
    search.set_state(&setup.state);
    let started = Instant::now();
    let mut settled: Option<(f64, u64)> = None;
    loop {
        let elapsed = started.elapsed();
        let limit = match effort {
            Effort::Time(time) => Limit {
                until: Some(started + (elapsed + SLICE).min(time)),
                ..Limit::default()
            },
            Effort::Iterations(all) => Limit {
                iterations: Some((all / N_SLICES).max(1).min(all - search.root().iterations)),
                ..Limit::default()
            },
        };
        let stopped = search.run(limit);
        let mv = search.best_move();
        let root = search.root();
        let seconds = started.elapsed().as_secs_f64();
        let is_good = mv.is_some_and(|mv| setup.good.contains(&mv));
        settled = is_good.then(|| settled.unwrap_or((seconds, root.iterations)));
        let is_spent = match effort {
            Effort::Time(time) => started.elapsed() >= time,
            Effort::Iterations(all) => root.iterations >= all,
        };
        if stopped == StopReason::Proven || is_spent {
            return SearchFinding {
                mv: mv.map(|mv| machine.info().move_text(mv)),
                is_good,
                settled_seconds: settled.map(|(seconds, _)| seconds),
                settled_iterations: settled.map(|(_, iterations)| iterations),
                proven: root.proven,
                iterations: root.iterations,
                seconds,
            };
        }
    }
}

fn line(cells: [String; 8]) -> String {
    let [position, role, mv, good, settled, iterations, goal, proven] = cells;
    format!(
        "{position:<26} {role:<14} {mv:<30} {good:>7} {settled:>9} {iterations:>11} {goal:>4} {proven:>6}"
    )
}

fn cells(position: &NumberedPosition<'_>, finding: &SearchFinding) -> [String; 8] {
    let mark = if finding.is_good { "yes" } else { "no" };
    let (good, legal) = (position.setup.good.len(), position.setup.legal.len());
    let settled = finding.settled_seconds;
    [
        position.name.clone(),
        position.position.role.clone(),
        or_dash(finding.mv.as_ref()),
        format!("{mark} {good}/{legal}"),
        or_dash(settled.map(|seconds| format!("{seconds:.3}"))),
        or_dash(finding.settled_iterations.map(grouped)),
        position.position.goal.to_string(),
        or_dash(finding.proven),
    ]
}
