//! `cargo lab oracle check`: whether and when the search finds a good move of each position.
//!
//! The search stops every few milliseconds and gives its best move. It has settled at the time from
//! which the best move stays good.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use panza_cli::engine_choice::build_to_search;
use panza_cli::output::{grouped, progress_bar};
use panza_cli::{Outcome, Output, SearchChoice};
use panza_machine::Machine;
use panza_search::{LineLimits, SearchConfig, start};
use serde::Serialize;

use super::file::OracleSetup;
use super::open_all;
use super::score::{SearchBudget, run_sliced};
use super::states::texts;
use crate::page::or_dash;

/// Looks at the best move of a search that is limited by iterations.
const LOOKS: u64 = 200;
/// The time limit of each position where neither seconds nor iterations are given.
const DEFAULT_TIME: Duration = Duration::from_secs(2);

#[derive(Args, Debug)]
pub(super) struct CheckArguments {
    /// Names of oracles, or paths to their files or folders.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    search: SearchChoice,
}

/// The result of searching a position.
#[derive(Clone, PartialEq, Default, Debug, Serialize)]
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
    oracle: &'a str,
    line: usize,
    role: &'a str,
    goal: f64,
    good: &'a [String],
    legal: usize,
    #[serde(flatten)]
    finding: &'a SearchFinding,
}

/// Runs the command. A position without a good move found makes it [`Outcome::DoesNotHold`].
pub(super) fn run(arguments: &CheckArguments, output: Output) -> anyhow::Result<Outcome> {
    let choice = &arguments.search;
    let budget = match (choice.iterations, choice.time(DEFAULT_TIME)) {
        (Some(iterations), _) => SearchBudget::Iterations(iterations),
        (None, time) => SearchBudget::WallTime(time.unwrap_or(DEFAULT_TIME)),
    };
    let config = choice.search_config()?;
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
    output.line(row(&heads.map(str::to_string)))?;
    let (mut slowest, mut n_good, mut count) = (0.0f64, 0, 0);
    for oracle in open_all(&arguments.names, output)? {
        let machine = build_to_search(&oracle.game.rules, choice.threads)
            .with_context(|| oracle.path.display().to_string())?;
        let setups = oracle.set_up(&machine, None)?;
        let bar = progress_bar(setups.len() as u64, "positions");
        bar.set_message(oracle.name.clone());
        for (line, setup) in setups {
            let finding = examine(&machine, &setup, &config, budget)?;
            slowest = finding.settled_seconds.unwrap_or(0.0).max(slowest);
            n_good += usize::from(finding.is_good);
            count += 1;
            let (good, legal) = setup.claims.good();
            let role = machine.info().role_name(setup.role);
            output.object(&CheckReport {
                oracle: &oracle.name,
                line,
                role,
                goal: setup.claims.value(),
                good: &texts(&machine, &good),
                legal,
                finding: &finding,
            })?;
            let mark = if finding.is_good { "yes" } else { "no" };
            let settled = finding.settled_seconds;
            let cells = [
                format!("{}:{line}", oracle.name),
                role.to_string(),
                or_dash(finding.mv.as_ref()),
                format!("{mark} {}/{legal}", good.len()),
                or_dash(settled.map(|seconds| format!("{seconds:.3}"))),
                or_dash(finding.settled_iterations.map(grouped)),
                setup.claims.value().to_string(),
                or_dash(finding.proven),
            ];
            bar.suspend(|| output.line(row(&cells)))?;
            bar.inc(1);
        }
        bar.finish_and_clear();
    }
    output.line(format_args!(
        "\na good move found in {n_good} of {count} positions, settled within {slowest:.2} s"
    ))?;
    Ok(Outcome::holds_if(n_good == count))
}

/// Searches a position until the budget is spent or the position is proven.
pub fn examine(
    machine: &Arc<dyn Machine>,
    setup: &OracleSetup,
    config: &SearchConfig,
    budget: SearchBudget,
) -> anyhow::Result<SearchFinding> {
    let started = start(machine, setup.role, &setup.state, config);
    let mut search = started.as_asked(config.method)?;
    let (good, _) = setup.claims.good();
    let mut finding = SearchFinding::default();
    let started = Instant::now();
    run_sliced(&mut *search, budget, LOOKS, |search| {
        let report = search.report(LineLimits::NONE);
        let mv = report.best;
        finding.seconds = started.elapsed().as_secs_f64();
        finding.iterations = report.steps;
        finding.proven = report.proven;
        finding.mv = mv.map(|mv| machine.info().move_text(mv));
        finding.is_good = mv.is_some_and(|mv| good.contains(&mv));
        match finding.is_good {
            true => {
                finding.settled_seconds.get_or_insert(finding.seconds);
                finding.settled_iterations.get_or_insert(report.steps);
            }
            false => (finding.settled_seconds, finding.settled_iterations) = (None, None),
        }
    })?;
    Ok(finding)
}

fn row(cells: &[String; 8]) -> String {
    let [position, role, mv, good, settled, iterations, goal, proven] = cells;
    format!(
        "{position:<26} {role:<14} {mv:<30} {good:>7} {settled:>9} {iterations:>11} {goal:>4} {proven:>6}"
    )
}
