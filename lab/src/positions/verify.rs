//! `cargo lab positions verify`: proves anew what files of positions claim.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use serde::Serialize;

use super::check::read_all;
use super::file::Position;
use super::prove::Prover;
use panza::commands::Outcome;
use panza::commands::engine_choice::build_machine;
use panza::commands::game_source::Game;
use panza::commands::output::{Output, grouped, progress_bar};
use panza::machine::Machine;

/// Arguments of `cargo lab positions verify`.
#[derive(Args, Debug)]
pub struct VerifyArguments {
    /// Files of positions, or folders of such files.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// States that may be looked at for each position.
    #[arg(long, default_value_t = 10_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    states: u32,
}

/// What a proof says of a position's claims.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Verified {
    /// The highest goal that the role can force; nothing when the budget did not suffice.
    pub goal: Option<u8>,
    /// The moves that keep it.
    pub good: Vec<String>,
    /// Whether the position claims just that; nothing when nothing was proven.
    pub holds: Option<bool>,
    /// States that were looked at.
    pub states: usize,
}

#[derive(Serialize)]
struct Report<'a> {
    game: &'a str,
    position: usize,
    role: &'a str,
    #[serde(flatten)]
    verified: &'a Verified,
}

/// Runs the command. A claim that is wrong or could not be proven makes it
/// [`Outcome::DoesNotHold`].
///
/// # Errors
/// A file that cannot be read, a game that cannot be built, or a position that its rules do not
/// allow.
pub fn run(arguments: &VerifyArguments, output: Output) -> anyhow::Result<Outcome> {
    let read = read_all(&arguments.paths)?;
    let count = read
        .iter()
        .map(|(_, file)| file.positions.len())
        .sum::<usize>();
    let bar = progress_bar(count as u64, "positions");
    let mut holding = 0;
    for (path, file) in &read {
        let shown = path.display();
        let game = Game::load(&file.game).with_context(|| format!("{shown}"))?;
        let machine =
            build_machine(&game.rules).with_context(|| format!("{shown}: {}", game.sheet.name))?;
        bar.set_message(game.sheet.name.clone());
        for (index, position) in file.positions.iter().enumerate() {
            let verified = verify(&machine, position, arguments.states as usize)
                .with_context(|| format!("{shown}: position {}", index + 1))?;
            holding += usize::from(verified.holds == Some(true));
            let result = match (verified.holds, verified.goal) {
                (Some(true), _) => "proven".to_string(),
                (Some(false), Some(goal)) => {
                    format!("wrong: goal {goal}, good {}", verified.good.join(", "))
                }
                _ => "not proven within the budget".to_string(),
            };
            bar.suspend(|| {
                output.object(&Report {
                    game: &game.sheet.name,
                    position: index + 1,
                    role: &position.role,
                    verified: &verified,
                })?;
                output.line(format_args!(
                    "{:<26} {:>12} states  {result}",
                    format!("{} {}", game.sheet.name, index + 1),
                    grouped(verified.states as u64),
                ))
            })?;
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    output.line(format_args!("\n{holding} of {count} positions proven"))?;
    Ok(match holding == count {
        true => Outcome::Holds,
        false => Outcome::DoesNotHold,
    })
}

/// Proves anew what a position claims, looking at no more than about so many states.
///
/// # Errors
/// The rules do not allow the position.
pub fn verify(
    machine: &Arc<dyn Machine>,
    position: &Position,
    states: usize,
) -> anyhow::Result<Verified> {
    let standing = position.stand(machine)?;
    let mut prover = Prover::new(machine, standing.role);
    prover.budget = states;
    let verdict = prover.judge(&standing.state, &[0, position.goal, 100]);
    let states = states - prover.budget;
    Ok(match verdict {
        None => Verified {
            goal: None,
            good: Vec::new(),
            holds: None,
            states,
        },
        Some(verdict) => Verified {
            goal: Some(verdict.goal),
            holds: Some(verdict.goal == position.goal && verdict.good == standing.good),
            good: verdict
                .good
                .iter()
                .map(|&mv| machine.info().move_text(mv))
                .collect(),
            states,
        },
    })
}
