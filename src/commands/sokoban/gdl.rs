//! `panza sokoban gdl`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use serde_json::json;

use super::levels::{LevelChoice, NumberedLevel};
use panza_cli::{Outcome, Output};
use panza_sokoban::rulesheet::rulesheet;

/// Moves of a game without a known solution.
const STEPS: usize = 1000;

#[derive(Args, Debug)]
pub(super) struct GdlArguments {
    #[command(flatten)]
    levels: LevelChoice,
    /// Moves after which the game ends.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    steps: Option<u32>,
    /// A folder for a rulesheet of each level; without it one level goes to standard output.
    #[arg(short = 'o', long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(super) fn run(arguments: &GdlArguments, output: Output) -> anyhow::Result<Outcome> {
    let levels = arguments.levels.load()?;
    if arguments.out.is_none() && levels.len() > 1 {
        bail!(
            "{} levels were chosen; one goes to standard output (--level N), several need --out FOLDER",
            levels.len()
        );
    }
    if let Some(folder) = &arguments.out {
        let made = std::fs::create_dir_all(folder);
        made.with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    }
    let mut outcome = Outcome::Holds;
    for level in &levels {
        let (rules, steps) = match rules(level, arguments.steps) {
            Ok(rules) => rules,
            Err(fault) if arguments.out.is_none() => bail!("level {}: {fault}", level.name()),
            Err(fault) => {
                output.complaint(format_args!("level {}: {fault}", level.name()));
                let object =
                    json!({"level": level.number, "title": level.entry.title(), "fault": fault});
                output.object(&object)?;
                outcome = Outcome::DoesNotHold;
                continue;
            }
        };
        let mut object = json!({
            "level": level.number,
            "title": level.entry.title(),
            "steps": steps,
        });
        match &arguments.out {
            Some(folder) => {
                let path = folder.join(file_name(&arguments.levels.file, level.number));
                let written = std::fs::write(&path, &rules);
                written.with_context(|| format!("cannot write `{}`", path.display()))?;
                output.line(format_args!("{}: {}", level.name(), path.display()))?;
                object["file"] = json!(path);
            }
            None => {
                output.text(&rules)?;
                object["rules"] = json!(rules);
            }
        }
        output.object(&object)?;
    }
    Ok(outcome)
}

/// The rulesheet of a level and the moves after which its game ends.
fn rules(level: &NumberedLevel, steps: Option<u32>) -> Result<(String, usize), String> {
    let playable = level.playable()?;
    let steps = match steps {
        Some(steps) => steps as usize,
        None => {
            let solutions = level.solutions(&playable.board);
            let shortest = solutions
                .iter()
                .map(|solution| solution.metrics().moves)
                .min();
            shortest.map_or(STEPS, |moves| 2 * moves.max(1))
        }
    };
    let title = level.entry.title().unwrap_or("Sokoban");
    let rules = rulesheet(title, playable.level, &playable.board, steps);
    Ok((rules, steps))
}

/// The name of a level's rulesheet, such as `twelve-03.gdl`.
fn file_name(file: &str, number: usize) -> String {
    let stem = Path::new(file).file_stem().filter(|_| file != "-");
    let stem = stem.map_or("level".into(), |stem| stem.to_string_lossy());
    format!("{stem}-{number:02}.gdl")
}
