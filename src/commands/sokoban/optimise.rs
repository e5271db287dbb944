//! `panza sokoban optimise`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::levels::{LevelChoice, NumberedLevel, length};
use super::results::Results;
use super::search::Bounds;
use super::solve::{playable, show_fault};
use panza_cli::output::spinner;
use panza_cli::{Outcome, Output, interrupt};
use panza_sokoban::optimiser::{Measure, Method};
use panza_sokoban::{Board, Metrics, Push, Solution, optimiser};

#[derive(Args, Debug)]
pub(super) struct OptimiseArguments {
    #[command(flatten)]
    levels: LevelChoice,
    #[command(flatten)]
    bounds: Bounds,
    /// What to make fewer first; the other breaks ties.
    #[arg(long, value_enum, default_value_t = By::Moves)]
    by: By,
    /// Methods of the optimiser, separated by commas; all without it.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = method_parser())]
    methods: Vec<Method>,
    /// A file that each solution is appended to; levels solved there are skipped.
    #[arg(short = 'o', long, value_name = "FILE.sok")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    Moves,
    Pushes,
}

impl By {
    fn measure(self) -> Measure {
        match self {
            Self::Moves => Measure::MovesPushes,
            Self::Pushes => Measure::PushesMoves,
        }
    }

    /// The smaller the better.
    fn key(self, metrics: Metrics) -> (usize, usize) {
        match self {
            Self::Moves => (metrics.moves, metrics.pushes),
            Self::Pushes => (metrics.pushes, metrics.moves),
        }
    }
}

pub(super) fn run(arguments: &OptimiseArguments, output: Output) -> anyhow::Result<Outcome> {
    let levels = arguments.levels.load()?;
    let out = arguments.out.as_deref();
    let mut results = out
        .map(|path| Results::open(path, &arguments.levels.file))
        .transpose()?;
    let stop = Arc::new(AtomicBool::new(false));
    interrupt::stop(&stop)?;
    let (mut before, mut after) = (Metrics::default(), Metrics::default());
    let (mut done, mut shorter, mut skipped) = (0, 0, 0);
    for level in &levels {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if Results::has(results.as_ref(), level) {
            skipped += 1;
            continue;
        }
        let Some(playable) = playable(level, output)? else {
            continue;
        };
        let board = &playable.board;
        let given = level.solutions(board);
        let given = (given.into_iter()).min_by_key(|solution| arguments.by.key(solution.metrics()));
        let Some(given) = given else {
            let fault = "no verified solution in the file; `panza sokoban solve` finds one";
            show_fault(level, fault, output)?;
            continue;
        };
        let started = Instant::now();
        let best = arguments.shorten(level, board, &given, &stop);
        let seconds = started.elapsed().as_secs_f64();
        let is_better = arguments.by.key(best.metrics()) < arguments.by.key(given.metrics());
        if stop.load(Ordering::Relaxed) && !is_better {
            break;
        }
        if let Some(results) = &mut results {
            results.append(level, &best)?;
        }
        done += 1;
        let (old, new) = (given.metrics(), best.metrics());
        shorter += usize::from(is_better);
        add(&mut before, old);
        add(&mut after, new);
        show(level, &given, &best, seconds, results.is_none(), output)?;
    }
    let earlier = if skipped > 0 {
        format!(", {skipped} before")
    } else {
        String::new()
    };
    output.line(format_args!(
        "{shorter} of {done} shorter{earlier}; {} became {}",
        length(&before),
        length(&after)
    ))?;
    if stop.load(Ordering::Relaxed) {
        return Ok(Outcome::Interrupted);
    }
    Ok(Outcome::holds_if(done + skipped == levels.len()))
}

impl OptimiseArguments {
    /// The best solution that the optimiser finds from a given one. What is replayed is kept,
    /// whatever the optimiser makes of it later.
    fn shorten(
        &self,
        level: &NumberedLevel,
        board: &Board,
        given: &Solution,
        stop: &Arc<AtomicBool>,
    ) -> Solution {
        let mut options = optimiser::Options {
            measure: self.by.measure(),
            threads: self.bounds.threads(),
            ..optimiser::Options::default()
        };
        if !self.methods.is_empty() {
            options.methods.clone_from(&self.methods);
        }
        let name = level.name();
        let progress = spinner(format!("level {name}"));
        let mut best = given.clone();
        let mut keep = |pushes: &[Push]| match Solution::from_pushes(board, pushes) {
            Ok(solution) => {
                let metrics = solution.metrics();
                if self.by.key(metrics) < self.by.key(best.metrics()) {
                    progress.set_message(format!("level {name}: {}", length(&metrics)));
                    best = solution;
                }
            }
            Err(error) => tracing::error!(level = name, "no solution: {error}"),
        };
        let limits = self.bounds.limits(stop);
        let last = optimiser::optimise(board, given.pushes(), &options, &limits, &mut keep);
        keep(&last);
        progress.finish_and_clear();
        best
    }
}

fn method_parser() -> impl TypedValueParser<Value = Method> {
    PossibleValuesParser::new(Method::ALL.iter().map(|method| method.name()))
        .try_map(|name| name.parse::<Method>())
}

/// Adds moves and pushes.
fn add(sum: &mut Metrics, metrics: Metrics) {
    sum.moves += metrics.moves;
    sum.pushes += metrics.pushes;
}

fn show(
    level: &NumberedLevel,
    given: &Solution,
    best: &Solution,
    seconds: f64,
    has_moves: bool,
    output: Output,
) -> anyhow::Result<()> {
    let (old, new) = (given.metrics(), best.metrics());
    output.object(&json!({
        "level": level.number,
        "title": level.entry.title(),
        "solved": true,
        "moves_before": old.moves,
        "pushes_before": old.pushes,
        "moves": new.moves,
        "pushes": new.pushes,
        "seconds": seconds,
        "solution": best.to_string(),
    }))?;
    output.line(format_args!(
        "{}: {} became {}; {seconds:.2} s",
        level.name(),
        length(&old),
        length(&new),
    ))?;
    if has_moves {
        output.line(format_args!("    {best}"))?;
    }
    Ok(())
}
