//! A search of one level: its bounds, its progress, and the check of what it finds.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::levels::NumberedLevel;
use panza_cli::arguments::parse_seconds;
use panza_cli::output::counted;
use panza_sokoban::solver::{Method, Options};
use panza_sokoban::{Board, Solution, Verdict, solver};
use panza_sync::Budget;

/// The bounds of the search of each level.
#[derive(Args, Debug)]
pub(super) struct Bounds {
    /// Seconds for each level.
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = parse_seconds)]
    seconds: f64,
    /// Nodes for each level; no bound without it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// Threads of the search.
    #[arg(short = 'j', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Mebibytes for positions.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(16..))]
    memory: u32,
}

/// How levels are solved.
#[derive(Args, Debug)]
pub(super) struct SearchChoice {
    #[command(flatten)]
    bounds: Bounds,
    /// Methods of the solver, separated by commas; without it, forward and backward. `optimal`
    /// finds the fewest pushes; it and `deepening` keep a thread to themselves.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = method_parser())]
    methods: Vec<Method>,
}

/// What the search of one level found.
pub(super) struct Found {
    pub solution: Option<Solution>,
    /// Proven: no solution exists, or none with fewer pushes.
    pub is_proven: bool,
    pub nodes: u64,
    pub seconds: f64,
    pub method: &'static str,
}

impl Found {
    /// The result as scripts read it.
    pub fn object(&self, level: &NumberedLevel) -> Value {
        let metrics = self.solution.as_ref().map(Solution::metrics);
        json!({
            "level": level.number,
            "title": level.entry.title(),
            "solved": metrics.is_some(),
            "proven": self.is_proven,
            "moves": metrics.map(|metrics| metrics.moves),
            "pushes": metrics.map(|metrics| metrics.pushes),
            "method": self.method,
            "nodes": self.nodes,
            "seconds": self.seconds,
            "solution": self.solution.as_ref().map(ToString::to_string),
        })
    }
}

impl Bounds {
    /// A budget that begins now and ends when `stop` is set.
    pub fn limits(&self, stop: &Arc<AtomicBool>) -> Budget {
        Budget::within(
            Duration::from_secs_f64(self.seconds),
            (self.memory as usize) << 20,
        )
        .with_steps(self.nodes.unwrap_or(u64::MAX))
        .stopped_by(stop)
    }

    pub fn threads(&self) -> usize {
        usize::from(self.threads)
    }
}

impl SearchChoice {
    /// The limits of one level.
    pub fn limits(&self, stop: &Arc<AtomicBool>) -> Budget {
        self.bounds.limits(stop)
    }

    /// Solves a level, shows progress after the words `name`, and replays the solution.
    pub fn solve(
        &self,
        board: &Board,
        name: &str,
        progress: &ProgressBar,
        stop: &Arc<AtomicBool>,
    ) -> Found {
        let mut options = Options {
            threads: self.bounds.threads(),
            ..Options::default()
        };
        if !self.methods.is_empty() {
            options.methods.clone_from(&self.methods);
        }
        progress.set_message(name.to_string());
        let show = |report: &solver::Progress| {
            let nodes = counted(report.nodes, "node");
            progress.set_message(format!("{name}: {}, {nodes}", report.method));
        };
        let started = Instant::now();
        let outcome = solver::solve(board, &options, &self.bounds.limits(stop), &show);
        let seconds = started.elapsed().as_secs_f64();
        let (solution, is_proven) = match outcome.verdict {
            Verdict::Solved(pushes) => match Solution::from_pushes(board, &pushes) {
                Ok(solution) => (Some(solution), outcome.push_optimal),
                Err(error) => {
                    tracing::error!(
                        level = name,
                        method = outcome.method,
                        "no solution: {error}"
                    );
                    (None, false)
                }
            },
            Verdict::Unsolvable => (None, true),
            Verdict::Unknown => (None, false),
        };
        Found {
            solution,
            is_proven,
            nodes: outcome.nodes,
            seconds,
            method: outcome.method,
        }
    }
}

fn method_parser() -> impl TypedValueParser<Value = Method> {
    PossibleValuesParser::new(Method::ALL.iter().map(|method| method.name()))
        .try_map(|name| name.parse::<Method>())
}
