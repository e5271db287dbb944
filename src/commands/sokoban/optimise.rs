//! `panza sokoban optimise`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;

use super::levels::{LevelChoice, NumberedLevel, length, listed};
use super::results::Results;
use super::search::Bounds;
use super::solve::{playable, show_fault};
use panza_cli::output::spinner;
use panza_cli::{Outcome, Output, interrupt};
use panza_sokoban::optimiser::{Measure, Method, Report};
use panza_sokoban::solution::Secondary;
use panza_sokoban::{Board, Metrics, Solution, optimiser};

/// Time between two objects of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// The most boxes that `--vicinity` moves at a time.
const MAX_VICINITY: usize = 4;

#[derive(Args, Debug)]
pub(super) struct OptimiseArguments {
    #[command(flatten)]
    levels: LevelChoice,
    #[command(flatten)]
    bounds: Bounds,
    /// What to make fewer, in order, separated by commas: moves or pushes first, then any of
    /// box-lines, box-changes, pushing-sessions and player-lines. Those left out follow in this
    /// order.
    #[arg(long, value_name = "METRICS", default_value = "moves", value_parser = parse_order)]
    by: Order,
    /// Methods of the optimiser, separated by commas; all without it.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = method_parser())]
    methods: Vec<Method>,
    /// How far the method vicinity looks around the solution: one box may stand on one of its N
    /// nearest squares, a second box on one of its second N, and so on for up to 4 boxes.
    #[arg(
        long,
        visible_alias = "neighbours",
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "20,10",
        value_parser = clap::value_parser!(u16).range(1..=4096)
    )]
    vicinity: Vec<u16>,
    /// A file that each solution is appended to; levels solved there are skipped.
    #[arg(short = 'o', long, value_name = "FILE.sok")]
    out: Option<PathBuf>,
}

/// What makes one solution better than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Order {
    measure: Measure,
    ties: [Secondary; 4],
}

/// Metrics in the order of their names; those left out follow.
fn parse_order(text: &str) -> Result<Order, String> {
    let names: Vec<&str> = text.split(',').map(str::trim).collect();
    let primary = |name: &&str| matches!(*name, "moves" | "pushes");
    let count = names.iter().take_while(|name| primary(name)).count();
    let (first, others) = names.split_at(count);
    let measure = match first {
        [] | ["moves"] | ["moves", "pushes"] => Measure::MovesPushes,
        ["pushes"] | ["pushes", "moves"] => Measure::PushesMoves,
        _ => return Err("a metric is named twice".to_string()),
    };
    let mut ties: Vec<Secondary> = Vec::new();
    for name in others {
        if primary(name) {
            return Err(format!("`{name}` has to stand before `{}`", others[0]));
        }
        let all = Secondary::ALL.into_iter();
        let tie = all.clone().find(|tie| tie.name() == *name).ok_or_else(|| {
            let known: Vec<&str> = all.map(Secondary::name).collect();
            format!(
                "expected moves, pushes, {}; found `{name}`",
                known.join(", ")
            )
        })?;
        if ties.contains(&tie) {
            return Err(format!("`{name}` is named twice"));
        }
        ties.push(tie);
    }
    let left_out = Secondary::ALL.into_iter().filter(|tie| !ties.contains(tie));
    let all: Vec<Secondary> = ties.iter().copied().chain(left_out).collect();
    let ties = all
        .try_into()
        .map_err(|_| "a metric is named twice".to_string())?;
    Ok(Order { measure, ties })
}

pub(super) fn run(arguments: &OptimiseArguments, output: Output) -> anyhow::Result<Outcome> {
    if arguments.vicinity.len() > MAX_VICINITY {
        bail!("--vicinity moves at most {MAX_VICINITY} boxes, so that it takes that many numbers");
    }
    let levels = arguments.levels.load()?;
    let options = arguments.options();
    let out = arguments.out.as_deref();
    let mut results = out
        .map(|path| Results::open(path, &arguments.levels.file))
        .transpose()?;
    let stop = Arc::new(AtomicBool::new(false));
    interrupt::stop(&stop)?;
    let mut summary = Summary::default();
    for level in &levels {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if Results::has(results.as_ref(), level) {
            summary.skipped += 1;
            continue;
        }
        let Some(playable) = playable(level, output)? else {
            continue;
        };
        let board = &playable.board;
        let given = level.solutions(board).into_iter();
        let given = given.min_by_key(|solution| options.key(&solution.metrics()));
        let Some(given) = given else {
            let fault = "no verified solution in the file; `panza sokoban solve` finds one";
            show_fault(level, fault, output)?;
            continue;
        };
        let started = Instant::now();
        let best = arguments.shorten(level, board, &given, &options, &stop, output);
        let seconds = started.elapsed().as_secs_f64();
        let is_better = options.key(&best.metrics()) < options.key(&given.metrics());
        if stop.load(Ordering::Relaxed) && !is_better {
            break;
        }
        if let Some(results) = &mut results {
            results.append(level, &best)?;
        }
        summary.add(&given, &best, is_better);
        show(level, &given, &best, seconds, results.is_none(), output)?;
    }
    output.line(summary.line())?;
    if stop.load(Ordering::Relaxed) {
        return Ok(Outcome::Interrupted);
    }
    Ok(Outcome::holds_if(
        summary.done + summary.skipped == levels.len(),
    ))
}

/// What came of the levels.
#[derive(Default)]
struct Summary {
    /// Levels that were optimised now.
    done: usize,
    /// Those of them with a better solution.
    better: usize,
    /// Levels that the results had before.
    skipped: usize,
    /// The metrics of all solutions, as given and as found.
    before: Metrics,
    after: Metrics,
}

impl Summary {
    fn add(&mut self, given: &Solution, best: &Solution, is_better: bool) {
        self.done += 1;
        self.better += usize::from(is_better);
        self.before = self.before + given.metrics();
        self.after = self.after + best.metrics();
    }

    fn line(&self) -> String {
        let earlier = match self.skipped {
            0 => String::new(),
            skipped => format!(", {skipped} before"),
        };
        format!(
            "{} of {} better{earlier}; {} became {}",
            self.better,
            self.done,
            length(&self.before),
            length(&self.after)
        )
    }
}

impl OptimiseArguments {
    fn options(&self) -> optimiser::Options {
        let mut options = optimiser::Options {
            measure: self.by.measure,
            ties: self.by.ties,
            threads: self.bounds.threads(),
            neighbours: self.vicinity.iter().copied().map(usize::from).collect(),
            ..optimiser::Options::default()
        };
        if !self.methods.is_empty() {
            options.methods.clone_from(&self.methods);
        }
        options
    }

    /// The best solution that the optimiser finds from a given one. What is replayed is kept,
    /// whatever the optimiser makes of it later. Scripts are told the progress once a second.
    fn shorten(
        &self,
        level: &NumberedLevel,
        board: &Board,
        given: &Solution,
        options: &optimiser::Options,
        stop: &Arc<AtomicBool>,
        output: Output,
    ) -> Solution {
        let name = level.name();
        let mut ticker = Ticker::new(level, output);
        let progress = spinner(format!("level {name}"));
        let mut best = given.clone();
        let mut at = String::new();
        let mut keep = |report: Report<'_>| {
            match report {
                Report::Better(pushes) => match Solution::from_pushes(board, pushes) {
                    Ok(found) if options.key(&found.metrics()) < options.key(&best.metrics()) => {
                        best = found;
                    }
                    Ok(_) => {}
                    Err(error) => tracing::error!(level = name, "no solution: {error}"),
                },
                Report::Progress { method, done, all } => {
                    at = format!("{} {} %", method.name(), 100 * done / all.max(1));
                    ticker.tell(method, done as f64 / all.max(1) as f64, &best.metrics());
                }
            }
            progress.set_message(format!("level {name}: {}; {at}", length(&best.metrics())));
        };
        let limits = self.bounds.limits(stop);
        let last = optimiser::optimise(board, given.pushes(), options, &limits, &mut keep);
        keep(Report::Better(&last));
        progress.finish_and_clear();
        best
    }
}

/// Tells scripts the progress of one level.
struct Ticker<'a> {
    level: &'a NumberedLevel,
    output: Output,
    begun: Instant,
    told: Instant,
}

impl<'a> Ticker<'a> {
    fn new(level: &'a NumberedLevel, output: Output) -> Self {
        let begun = Instant::now();
        Self {
            level,
            output,
            begun,
            told: begun,
        }
    }

    /// Tells the part of its pass that a method has done, and the best solution, unless it was told
    /// something just now.
    fn tell(&mut self, method: Method, part: f64, best: &Metrics) {
        if self.told.elapsed() < PROGRESS_INTERVAL {
            return;
        }
        self.told = Instant::now();
        self.output.progress(&json!({
            "level": self.level.number,
            "method": method.name(),
            "part": part,
            "moves": best.moves,
            "pushes": best.pushes,
            "seconds": self.begun.elapsed().as_secs_f64(),
        }));
    }
}

fn method_parser() -> impl TypedValueParser<Value = Method> {
    PossibleValuesParser::new(Method::ALL.iter().map(|method| method.name()))
        .try_map(|name| name.parse::<Method>())
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
    let mut object = json!({
        "level": level.number,
        "title": level.entry.title(),
        "solved": true,
        "moves_before": old.moves,
        "pushes_before": old.pushes,
        "moves": new.moves,
        "pushes": new.pushes,
        "seconds": seconds,
        "solution": best.to_string(),
    });
    for tie in Secondary::ALL {
        let key = tie.name().replace('-', "_");
        object[format!("{key}_before")] = json!(tie.of(&old));
        object[key] = json!(tie.of(&new));
    }
    output.object(&object)?;
    output.line(format_args!(
        "{}: {} became {}; {seconds:.2} s",
        level.name(),
        listed(&old),
        listed(&new),
    ))?;
    if has_moves {
        output.line(format_args!("    {best}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_begins_with_moves_or_pushes() {
        let order = |text| parse_order(text).map(|order| (order.measure, order.ties[0]));
        assert_eq!(
            order("moves"),
            Ok((Measure::MovesPushes, Secondary::BoxLines))
        );
        assert_eq!(
            order("pushes,moves"),
            Ok((Measure::PushesMoves, Secondary::BoxLines))
        );
        assert_eq!(
            order("pushes,player-lines"),
            Ok((Measure::PushesMoves, Secondary::PlayerLines))
        );
        assert_eq!(
            order("box-changes"),
            Ok((Measure::MovesPushes, Secondary::BoxChanges))
        );
        for (text, error) in [
            ("box-lines,moves", "`moves` has to stand before `box-lines`"),
            ("moves,moves", "a metric is named twice"),
            ("moves,box-lines,box-lines", "`box-lines` is named twice"),
            ("speed", "expected moves, pushes, box-lines"),
        ] {
            assert!(order(text).unwrap_err().starts_with(error), "{text}");
        }
    }
}
