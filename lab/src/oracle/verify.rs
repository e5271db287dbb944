//! `cargo lab oracle verify`: proves claims again by proof-number search on a machine.
//!
//! The value after a move and a reply lies between the goal that the role forces from there when it
//! moves first in every state, and the one that it forces when it moves last. Without states in
//! which both roles choose, the two are the same, and the value is proven.

use std::sync::Arc;

use anyhow::ensure;
use clap::Args;
use panza_cli::engine_choice::build_machine;
use panza_cli::output::{grouped, progress_bar};
use panza_cli::{Outcome, Output};
use panza_gdl::{Id, MoveId};
use panza_machine::Machine;
use serde::Serialize;

use super::file::{Claims, OracleSetup};
use super::open_all;
use super::prove::{GoalProver, MoveOrder};
use super::states::{States, in_order, texts};
use super::values::ValueTable;

/// What rounding may change about a stored value.
const TOLERANCE: f64 = 0.002;

#[derive(Args, Debug)]
pub(super) struct VerifyArguments {
    /// Names of oracles, or paths to their files or folders. [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Positions of each oracle.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    positions: u32,
    /// States to visit for a position, about 100 bytes each.
    #[arg(long, value_name = "N", default_value_t = 2_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    states: u32,
}

/// What came of verifying a position.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Verified {
    /// Whether the claims are right; nothing beyond the budget.
    pub holds: Option<bool>,
    /// What is wrong.
    pub fault: Option<String>,
    /// States visited.
    pub states: usize,
}

#[derive(Serialize)]
struct VerifyReport<'a> {
    oracle: &'a str,
    line: usize,
    role: &'a str,
    #[serde(flatten)]
    verified: &'a Verified,
}

/// Runs the command. A claim that is wrong or not proven makes it [`Outcome::DoesNotHold`].
pub(super) fn run(arguments: &VerifyArguments, output: Output) -> anyhow::Result<Outcome> {
    let (mut holding, mut wrong, mut count) = (0, 0, 0);
    for oracle in open_all(&arguments.names, output)? {
        let machine = build_machine(&oracle.game.rules)?;
        // A role that may choose anything proves no expected goal.
        ensure!(
            machine.info().chance_role().is_none(),
            "{}: the values of games with chance are not proven by proof-number search",
            oracle.name
        );
        let setups = oracle.set_up(&machine, Some(arguments.positions as usize))?;
        let bar = progress_bar(setups.len() as u64, "positions");
        bar.set_message(oracle.name.clone());
        for (line, setup) in &setups {
            let verified = verify(&machine, setup, arguments.states as usize);
            count += 1;
            holding += usize::from(verified.holds == Some(true));
            wrong += usize::from(verified.holds == Some(false));
            output.object(&VerifyReport {
                oracle: &oracle.name,
                line: *line,
                role: machine.info().role_name(setup.role),
                verified: &verified,
            })?;
            let result = match (verified.holds, &verified.fault) {
                (Some(true), _) => "proven".to_string(),
                (_, Some(fault)) => format!("wrong: {fault}"),
                _ => "not proven within the budget".to_string(),
            };
            let name = format!("{}:{line}", oracle.name);
            let states = grouped(verified.states as u64);
            bar.suspend(|| output.line(format_args!("{name:<26} {states:>12} states  {result}")))?;
            bar.inc(1);
        }
        bar.finish_and_clear();
    }
    output.line(format_args!(
        "\n{holding} of {count} positions proven, {wrong} wrong"
    ))?;
    Ok(Outcome::holds_if(holding == count))
}

/// Proves the claims of a position again, visiting about `states` states at most.
pub fn verify(machine: &Arc<dyn Machine>, setup: &OracleSetup, states: usize) -> Verified {
    let mut prover = GoalProver::new(machine, setup.role);
    prover.budget = states;
    let fault = match &setup.claims {
        Claims::Values(table) => fault_of_values(machine, setup, table, &mut prover),
        Claims::Forced(claimed) => {
            let verdict = prover.judge(&setup.state, &[0, claimed.goal, 100]);
            verdict.map(|verdict| {
                let good = texts(machine, &verdict.good).join(", ");
                (verdict != *claimed).then(|| format!("goal {}, good {good}", verdict.goal))
            })
        }
    };
    Verified {
        holds: fault.as_ref().map(Option::is_none),
        fault: fault.flatten(),
        states: states - prover.budget,
    }
}

/// The first wrong value of a position; nothing at all beyond the budget.
fn fault_of_values(
    machine: &Arc<dyn Machine>,
    setup: &OracleSetup,
    table: &ValueTable,
    prover: &mut GoalProver,
) -> Option<Option<String>> {
    let mut states = States::new(machine);
    let role = setup.role.index();
    let legal = states.choices(&setup.state)?;
    let replies = in_order(machine, &legal[1 - role]);
    for (&mv, row) in table.moves().iter().zip(table.rows()) {
        for (&reply, &value) in replies.iter().zip(row) {
            let mut joint_move: [MoveId; 2] = [mv, reply];
            if role == 1 {
                joint_move.reverse();
            }
            let next = states.after(&setup.state, &joint_move);
            let least = (value - TOLERANCE).ceil().clamp(0.0, 100.0) as u8;
            let above = (value + TOLERANCE).floor().clamp(0.0, 100.0) as u8 + 1;
            let reaches = prover.can_force(&next, least, MoveOrder::RoleLast)?;
            let exceeds = above <= 100 && prover.can_force(&next, above, MoveOrder::RoleFirst)?;
            if !reaches || exceeds {
                let [mv, reply] = [mv, reply].map(|mv| machine.info().move_text(mv));
                let is = if exceeds { "more" } else { "less" };
                let fault = format!("{mv} against {reply} is worth {is} than {value}");
                return Some(Some(fault));
            }
        }
    }
    Some(None)
}
