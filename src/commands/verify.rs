//! `panza verify`: holds recorded playouts against our own machines.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::engine::{EngineError, EngineKind};
use super::engine_choice::{self, EngineChoice, Hands};
use super::game_source::Game;
use super::outcome::Outcome;
use super::output::{Output, spinner};
use super::replay::{Disagreement, Replay, replay_file};

/// Arguments of `panza verify`.
#[derive(Args, Debug)]
pub struct VerifyArguments {
    /// Path to a rulesheet, or the name of a game.
    game: String,
    /// Recorded playouts: JSON lines, packed where the name ends in .gz.
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    trace: Vec<PathBuf>,
    /// What is compared with the trace: counter, lanes, prover or all (those that the
    /// game has).
    #[arg(long, default_value = "all", value_parser = parse_machines)]
    machine: Machines,
}

#[derive(Clone, Copy, Debug)]
enum Machines {
    One(EngineKind),
    All,
}

fn parse_machines(text: &str) -> Result<Machines, String> {
    match text {
        "all" => Ok(Machines::All),
        _ => engine_choice::parse_kind(text)
            .map(Machines::One)
            .map_err(|error| format!("{error} or all")),
    }
}

#[derive(Serialize)]
struct Report<'a> {
    game: &'a str,
    machine: EngineKind,
    states: u64,
    disagreements: u64,
    first: Option<&'a Disagreement>,
    /// Why the game has no such machine, where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

/// Runs the command. Any disagreement makes it [`Outcome::DoesNotHold`].
///
/// # Errors
/// A game or trace that cannot be read, or rules that the machine refuses.
pub fn run(arguments: &VerifyArguments, output: Output) -> anyhow::Result<Outcome> {
    let game = Game::load(&arguments.game)?;
    let kinds = match arguments.machine {
        Machines::One(kind) => vec![kind],
        Machines::All => EngineKind::ALL.to_vec(),
    };
    let mut outcome = Outcome::Holds;
    for kind in kinds {
        let (replay, refused) = match verify(&game, kind, &arguments.trace) {
            Ok(replay) => (replay, None),
            Err(error) => match (arguments.machine, error.downcast::<EngineError>()) {
                (Machines::All, Ok(EngineError::Build(reason))) => {
                    (Replay::default(), Some(reason))
                }
                (_, Ok(error)) => return Err(error.into()),
                (_, Err(error)) => return Err(error),
            },
        };
        if replay.disagreements > 0 {
            outcome = Outcome::DoesNotHold;
        }
        output.object(&Report {
            game: &game.sheet.name,
            machine: kind,
            states: replay.states,
            disagreements: replay.disagreements,
            first: replay.first.as_ref(),
            refused: refused.clone(),
        })?;
        if let Some(reason) = refused {
            output.line(format_args!(
                "{} ({kind}): not compared, {reason}",
                game.sheet.name
            ))?;
            continue;
        }
        output.line(format_args!(
            "{} ({kind}): {} states, {} disagreements",
            game.sheet.name, replay.states, replay.disagreements
        ))?;
        if let Some(first) = &replay.first {
            output.line(format_args!("first: {first}"))?;
        }
    }
    Ok(outcome)
}

fn verify(game: &Game, kind: EngineKind, traces: &[PathBuf]) -> anyhow::Result<Replay> {
    let progress = spinner(format!("{} ({kind})", game.sheet.name));
    let built = engine_choice::build(&game.rules, EngineChoice::Only(kind))?;
    let mut hands = built.hands()?;
    let mut replay = Replay::default();
    for trace in traces {
        let on_state = || progress.inc(1);
        match &mut hands {
            Hands::Prover(engine) => replay_file(engine.as_mut(), trace, &mut replay, on_state)?,
            Hands::Machine(engine) => replay_file(engine, trace, &mut replay, on_state)?,
        }
    }
    progress.finish_and_clear();
    Ok(replay)
}
