//! `cargo lab oracle verify`: proves values of oracles again by proof-number search on a machine.
//!
//! The value after a move and a reply lies between the goal that the role forces from there when it
//! moves first in every state, and the one that it forces when it moves last. Without states in
//! which both roles choose, the two are the same, and the value is proven.

use std::sync::Arc;

use clap::Args;
use panza_arena::engine_choice::build_machine;
use panza_arena::outcome::Outcome;
use panza_arena::output::{Output, progress_bar};
use panza_machine::machine::Machine;
use panza_rules::ids::{Id, MoveId, RoleId};
use serde::Serialize;

use super::file::OracleSetup;
use super::{Oracle, open_all};
use crate::positions::file::in_order;
use crate::positions::prove::{GoalProver, MoveOrder, legal_moves};

/// What rounding may change about a stored value.
const TOLERANCE: f64 = 0.002;

#[derive(Args, Debug)]
pub(super) struct VerifyArguments {
    /// Names of oracles, or paths to their files. [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Positions of each oracle.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    positions: u32,
    /// States to visit for a position, about 100 bytes each.
    #[arg(long, value_name = "N", default_value_t = 2_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    states: u32,
}

/// What came of verifying an oracle.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verification {
    /// Positions with values that hold.
    pub holding: usize,
    /// Positions beyond the budget.
    pub open: usize,
    /// Values that are wrong.
    pub faults: Vec<String>,
}

#[derive(Serialize)]
struct VerifyReport<'a> {
    oracle: &'a str,
    #[serde(flatten)]
    verification: &'a Verification,
}

/// Runs the command. A wrong value makes it [`Outcome::DoesNotHold`].
pub(super) fn run(arguments: &VerifyArguments, output: Output) -> anyhow::Result<Outcome> {
    let mut holds = true;
    for oracle in open_all(&arguments.names, output)? {
        let states = arguments.states as usize;
        let verification = verify(&oracle, arguments.positions as usize, states)?;
        output.object(&VerifyReport {
            oracle: &oracle.name,
            verification: &verification,
        })?;
        output.line(format_args!(
            "{:<20} {} positions hold, {} are beyond the budget, {} are wrong",
            oracle.name,
            verification.holding,
            verification.open,
            verification.faults.len()
        ))?;
        for fault in &verification.faults {
            output.complaint(fault);
        }
        holds &= verification.faults.is_empty();
    }
    Ok(Outcome::holds_if(holds))
}

/// Verifies `count` positions of an oracle, each with a proof-number search of about `states`
/// states at most.
pub fn verify(oracle: &Oracle, count: usize, states: usize) -> anyhow::Result<Verification> {
    let machine = build_machine(&oracle.game.rules)?;
    let setups = oracle.set_up(&machine, Some(count))?;
    let bar = progress_bar(setups.len() as u64, "positions");
    bar.set_message(oracle.name.clone());
    let mut verification = Verification::default();
    for (line, setup) in &setups {
        match fault_of(&machine, setup, states) {
            None => verification.open += 1,
            Some(None) => verification.holding += 1,
            Some(Some(fault)) => {
                let shown = oracle.path.display();
                verification.faults.push(format!("{shown}:{line}: {fault}"));
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(verification)
}

/// The first wrong value of a position; nothing at all beyond the budget.
fn fault_of(
    machine: &Arc<dyn Machine>,
    setup: &OracleSetup,
    states: usize,
) -> Option<Option<String>> {
    let role = setup.role;
    let mut prover = GoalProver::new(machine, role);
    prover.budget = states;
    let mut reasoner = Arc::clone(machine).reasoner();
    let other = RoleId::from_index(1 - role.index());
    let legal = legal_moves(machine, &setup.state);
    let replies = in_order(machine, &legal[other.index()]);
    for (&mv, row) in setup.table.moves().iter().zip(setup.table.rows()) {
        for (&reply, &value) in replies.iter().zip(row) {
            let mut joint_move: [MoveId; 2] = [mv, reply];
            if role.index() == 1 {
                joint_move.reverse();
            }
            let mut next = Vec::new();
            reasoner.set_state(&setup.state);
            reasoner.next_state(&joint_move, &mut next);
            let least = (value - TOLERANCE).ceil().clamp(0.0, 100.0) as u8;
            let above = (value + TOLERANCE).floor().clamp(0.0, 100.0) as u8 + 1;
            let reaches = prover.can_force(&next, least, MoveOrder::RoleLast)?;
            let exceeds = above <= 100 && prover.can_force(&next, above, MoveOrder::RoleFirst)?;
            if !reaches || exceeds {
                let text = machine.info().move_text(mv);
                let reply = machine.info().move_text(reply);
                let is = if exceeds { "more" } else { "less" };
                let fault = format!("{text} against {reply} is worth {is} than {value}");
                return Some(Some(fault));
            }
        }
    }
    Some(None)
}
