//! `panza verify`: compares recorded playouts with the engines.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use panza_cli::arguments::parse_seconds;
use panza_cli::output::{counted, spinner};
use panza_cli::replay::replay_trace;
use panza_cli::trace::Trace;
use panza_cli::{EngineKind, Game, Outcome, Output, Replay, engine_choice};
use panza_sync::Budget;

#[derive(Args, Debug)]
pub struct VerifyArguments {
    /// Path to a rulesheet, or the name of a game.
    game: String,
    /// Recorded playouts: JSON lines, compressed where the name ends in .gz; - is standard input.
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    trace: Vec<PathBuf>,
    /// The engine that is compared: counter, lanes, prover or all (those that the game has).
    #[arg(long, alias = "machine", default_value = "all", value_parser = parse_engines)]
    engine: Engines,
    /// Seconds to build the engines together; the prover needs none.
    #[arg(long, default_value_t = 60.0, value_parser = parse_seconds, value_name = "S")]
    build_seconds: f64,
}

/// One engine, or all that a game has.
type Engines = Option<EngineKind>;

fn parse_engines(text: &str) -> Result<Engines, String> {
    match text {
        "all" => Ok(None),
        _ => engine_choice::parse_kind(text)
            .map(Some)
            .map_err(|error| format!("{error} or all")),
    }
}

/// Runs the command. Any disagreement makes it [`Outcome::DoesNotHold`].
pub fn run(arguments: &VerifyArguments, output: Output) -> anyhow::Result<Outcome> {
    let game = Game::load(&arguments.game)?;
    let is_all = arguments.engine.is_none();
    let kinds = match arguments.engine {
        Some(kind) => vec![kind],
        None => EngineKind::ALL.to_vec(),
    };
    let traces = arguments.trace.iter().map(|path| Trace::at(path));
    let traces: Vec<Trace> = traces.collect::<anyhow::Result<_>>()?;
    let limits = Budget::lasting(Duration::from_secs_f64(arguments.build_seconds));
    let mut outcome = Outcome::Holds;
    for kind in kinds {
        let progress = spinner(format!("{} ({kind})", game.sheet.name));
        let (mut replay, mut refused) = (Replay::default(), None);
        match engine_choice::build_within(&game.rules, kind, engine_choice::WIDTH, &limits) {
            Ok(built) => {
                let machine = built.machine()?;
                for trace in &traces {
                    replay_trace(&machine, trace.read()?, &mut replay, || progress.inc(1))?;
                }
            }
            // Any game has the prover.
            Err(error) if is_all && kind != EngineKind::Prover => {
                refused = Some(format!("{error:#}"));
            }
            Err(error) => return Err(error),
        }
        progress.finish_and_clear();
        if replay.disagreements > 0 {
            outcome = Outcome::DoesNotHold;
        }
        let mut object = json!({
            "game": game.sheet.name,
            "machine": kind,
            "states": replay.states,
            "disagreements": replay.disagreements,
            "first": replay.first,
        });
        let title = format!("{} ({kind})", game.sheet.name);
        if let Some(reason) = refused {
            output.line(format_args!("{title}: not compared, {reason}"))?;
            object["refused"] = reason.into();
        } else {
            output.line(format_args!(
                "{title}: {}, {}",
                counted(replay.states, "state"),
                counted(replay.disagreements, "disagreement")
            ))?;
        }
        output.object(&object)?;
        if let Some(first) = &replay.first {
            output.line(format_args!("first: {first}"))?;
        }
    }
    Ok(outcome)
}
