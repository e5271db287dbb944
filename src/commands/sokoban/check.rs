//! `panza sokoban check`.

use clap::Args;
use serde_json::{Value, json};

use super::levels::{LevelChoice, NumberedLevel, listed};
use panza_cli::output::counted;
use panza_cli::{Outcome, Output};
use panza_sokoban::solution::SolutionError;
use panza_sokoban::{Board, Solution};

#[derive(Args, Debug)]
pub(super) struct CheckArguments {
    #[command(flatten)]
    levels: LevelChoice,
}

/// What there is to say about one level.
#[derive(Default)]
struct Report {
    boxes: usize,
    faults: Vec<String>,
    /// The name and replay of each solution.
    solutions: Vec<(String, Result<Solution, SolutionError>)>,
}

pub(super) fn run(arguments: &CheckArguments, output: Output) -> anyhow::Result<Outcome> {
    let levels = arguments.levels.load()?;
    let (mut faulty, mut solved) = (0, 0);
    for level in &levels {
        let report = report(level);
        let best = report.best();
        faulty += usize::from(report.has_faults());
        solved += usize::from(best.is_some());
        output.object(&json!({
            "level": level.number,
            "title": level.entry.title(),
            "boxes": report.boxes,
            "faults": report.faults,
            "solved": best.is_some(),
            "moves": best.map(|best| best.metrics().moves),
            "pushes": best.map(|best| best.metrics().pushes),
            "solution": best.map(ToString::to_string),
            "solutions": report.solutions.iter().map(shown).collect::<Vec<_>>(),
        }))?;
        let boxes = counted(report.boxes as u64, "box");
        output.line(format_args!("{}: {boxes}", level.name()))?;
        for fault in &report.faults {
            output.line(format_args!("    fault: {fault}"))?;
        }
        for (name, solution) in &report.solutions {
            match solution {
                Ok(solution) => {
                    output.line(format_args!("    {name}: {}", listed(&solution.metrics())))?
                }
                Err(error) => output.line(format_args!("    {name}: fault: {error}"))?,
            }
        }
    }
    output.line(format_args!(
        "{}, {solved} with a solution, {faulty} with faults",
        counted(levels.len() as u64, "level")
    ))?;
    Ok(Outcome::holds_if(faulty == 0))
}

fn report(level: &NumberedLevel) -> Report {
    let entry = &level.entry;
    let faults = entry.faults().iter().map(ToString::to_string).collect();
    let mut report = Report {
        faults,
        ..Report::default()
    };
    let Some(text) = entry.level() else {
        return report;
    };
    report.boxes = text.boxes().len();
    match Board::new(text) {
        Ok(board) => {
            let replayed = entry.solutions().iter().map(|named| {
                let solution = Solution::from_text(&board, named.moves());
                (named.name().to_string(), solution)
            });
            report.solutions = replayed.collect();
        }
        Err(error) => report.faults.push(error.to_string()),
    }
    report
}

impl Report {
    fn has_faults(&self) -> bool {
        !self.faults.is_empty() || self.solutions.iter().any(|(_, solution)| solution.is_err())
    }

    /// The solution with the fewest moves.
    fn best(&self) -> Option<&Solution> {
        let valid = self
            .solutions
            .iter()
            .filter_map(|(_, solution)| solution.as_ref().ok());
        valid.min_by_key(|solution| (solution.metrics().moves, solution.metrics().pushes))
    }
}

/// A solution as scripts read it.
fn shown((name, solution): &(String, Result<Solution, SolutionError>)) -> Value {
    match solution {
        Ok(solution) => {
            let metrics = solution.metrics();
            json!({
                "name": name,
                "valid": true,
                "moves": metrics.moves,
                "pushes": metrics.pushes,
                "box_lines": metrics.box_lines,
                "box_changes": metrics.box_changes,
                "pushing_sessions": metrics.pushing_sessions,
                "player_lines": metrics.player_lines,
            })
        }
        Err(error) => json!({"name": name, "valid": false, "error": error.to_string()}),
    }
}
