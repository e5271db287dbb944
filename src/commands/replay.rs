//! `panza replay`: checks the record of a match against the rules.
//!
//! The record is the JSON object that game managers of ggp-base and match databases write. Every
//! state, move and goal in it is compared with what the prover finds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{anyhow, bail, ensure};
use clap::Args;
use serde_json::json;

use panza_cli::arguments::{read_text, shown_path};
use panza_cli::engine_choice::build_prover;
use panza_cli::output::counted;
use panza_cli::replay::replay_states;
use panza_cli::trace::TraceState;
use panza_cli::{Game, Outcome, Output, Replay, Rulesheet};
use panza_gdl::Encoding;
use panza_player::MatchFile;

/// Larger records are refused.
const MAX_RECORD: u64 = 64 << 20;

#[derive(Args, Debug)]
pub struct ReplayArguments {
    /// The record of a match: JSON with `states` and `moves`.
    file: PathBuf,
    /// The rules: a path to a rulesheet, or the name of a game. [default: those in the record, or
    /// of the game that it names]
    #[arg(long)]
    game: Option<String>,
}

/// Runs the command. Any disagreement makes it [`Outcome::DoesNotHold`].
pub fn run(arguments: &ReplayArguments, output: Output) -> anyhow::Result<Outcome> {
    let origin = shown_path(&arguments.file);
    let record = MatchFile::read(&read_text(&arguments.file, MAX_RECORD)?);
    let record = record.map_err(|why| anyhow!("`{origin}`: {why}"))?;
    let game = game_of(arguments, &record, &origin)?;
    let machine = build_prover(&game.rules)?;
    let roles = roles_of(&record, machine.info().roles(), &origin)?;
    let mut replay = Replay::default();
    replay_states(&machine, &origin, states_of(&record, &roles), &mut replay);
    let steps = record.moves.len();
    output.object(&json!({
        "game": game.sheet.name,
        "match": record.match_id,
        "steps": steps,
        "states": replay.states,
        "disagreements": replay.disagreements,
        "first": replay.first,
    }))?;
    output.line(format_args!(
        "{}: {}, {}",
        game.sheet.name,
        counted(steps as u64, "joint move"),
        counted(replay.disagreements, "disagreement")
    ))?;
    if let Some(first) = &replay.first {
        output.line(format_args!("first: {first}"))?;
    }
    Ok(match replay.disagreements {
        0 => Outcome::Holds,
        _ => Outcome::DoesNotHold,
    })
}

/// The game of a record.
fn game_of(arguments: &ReplayArguments, record: &MatchFile, origin: &str) -> anyhow::Result<Game> {
    if let Some(game) = &arguments.game {
        return Game::load(game);
    }
    let name = record.game.as_deref();
    if let Some(rules) = &record.rules {
        return Game::as_played(Rulesheet {
            name: name.unwrap_or("rules").to_string(),
            origin: format!("the rules in {origin}"),
            text: rules.clone(),
            encoding: Encoding::Utf8,
            file: None,
        });
    }
    let Some(name) = name else {
        bail!("`{origin}` has no rules and does not name its game; --game names it");
    };
    let game = Rulesheet::find_named(name, &[]).and_then(Game::from_sheet);
    game.map_err(|why| anyhow!("`{origin}` has no rules, and --game does not name them: {why}"))
}

/// The roles in the order of the record.
fn roles_of(record: &MatchFile, own: Vec<String>, origin: &str) -> anyhow::Result<Vec<String>> {
    if record.roles.is_empty() {
        return Ok(own);
    }
    let is_known = record.roles.iter().all(|role| own.contains(role));
    ensure!(
        is_known && record.roles.len() == own.len(),
        "`{origin}` is a match of the roles {}, and the rules have the roles {}",
        record.roles.join(", "),
        own.join(", ")
    );
    Ok(record.roles.clone())
}

/// The states of a record in the form of a trace.
fn states_of(record: &MatchFile, roles: &[String]) -> impl Iterator<Item = TraceState> {
    let n_states = record.states.len().max(record.moves.len() + 1);
    (0..n_states).map(move |step| {
        let moves = record.moves.get(step).map(|moves| {
            let pairs = roles.iter().cloned().zip(moves.iter().cloned());
            pairs.collect::<BTreeMap<String, String>>()
        });
        let is_end = step + 1 == n_states && record.is_complete;
        let names = roles
            .iter()
            .cloned()
            .chain((roles.len() + 1..).map(|n| format!("role {n}")));
        let goals = names.zip(record.goals.iter().copied());
        TraceState {
            playout: 0,
            step: step as u64,
            state: record.states.get(step).cloned(),
            terminal: is_end,
            legal: None,
            moves,
            goal: is_end.then(|| goals.collect()),
            goal_values: None,
            error: None,
        }
    })
}
