//! `cargo lab positions verify`: proves the claims of files of positions again.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use panza_arena::engine_choice::build_machine;
use panza_arena::outcome::Outcome;
use panza_arena::output::{Output, grouped};
use panza_machine::machine::Machine;
use serde::Serialize;

use super::examine_all;
use super::file::{Position, PositionSetup};
use super::prove::GoalProver;

#[derive(Args, Debug)]
pub(super) struct VerifyArguments {
    /// Files of positions, or folders of such files.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// States to visit for the proof of a position.
    #[arg(long, default_value_t = 10_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    states: u32,
}

/// The result of proving a position's claims.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Verified {
    /// The highest goal that the role can force; nothing when the budget was too small.
    pub goal: Option<u8>,
    /// The moves that keep it.
    pub good: Vec<String>,
    /// Whether the position claims the same; nothing without a proof.
    pub holds: Option<bool>,
    /// States visited.
    pub states: usize,
}

#[derive(Serialize)]
struct VerifyReport<'a> {
    game: &'a str,
    position: usize,
    role: &'a str,
    #[serde(flatten)]
    verified: &'a Verified,
}

/// Runs the command. A claim that is wrong or not proven makes it [`Outcome::DoesNotHold`].
pub(super) fn run(arguments: &VerifyArguments, output: Output) -> anyhow::Result<Outcome> {
    let (holding, count) = examine_all(&arguments.paths, build_machine, |position| {
        let claims = position.position;
        let states = arguments.states as usize;
        let verified = verify(position.machine, claims, &position.setup, states);
        let result = match (verified.holds, verified.goal) {
            (Some(true), _) => "proven".to_string(),
            (Some(false), Some(goal)) => {
                format!("wrong: goal {goal}, good {}", verified.good.join(", "))
            }
            _ => "not proven within the budget".to_string(),
        };
        output.object(&VerifyReport {
            game: position.game,
            position: position.number,
            role: &claims.role,
            verified: &verified,
        })?;
        output.line(format_args!(
            "{:<26} {:>12} states  {result}",
            position.name,
            grouped(verified.states as u64),
        ))?;
        Ok(verified.holds == Some(true))
    })?;
    output.line(format_args!("\n{holding} of {count} positions proven"))?;
    Ok(Outcome::holds_if(holding == count))
}

/// Proves the claims of a position again, visiting about `states` states at most.
pub fn verify(
    machine: &Arc<dyn Machine>,
    position: &Position,
    setup: &PositionSetup,
    states: usize,
) -> Verified {
    let mut prover = GoalProver::new(machine, setup.role);
    prover.budget = states;
    let verdict = prover.judge(&setup.state, &[0, position.goal, 100]);
    let verdict = verdict.as_ref();
    let good = verdict.into_iter().flat_map(|verdict| &verdict.good);
    Verified {
        goal: verdict.map(|verdict| verdict.goal),
        good: good.map(|&mv| machine.info().move_text(mv)).collect(),
        holds: verdict.map(|verdict| verdict.goal == position.goal && verdict.good == setup.good),
        states: states - prover.budget,
    }
}
