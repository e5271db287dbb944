//! The machines that the player plays with: a compiled network, and the prover when there is none.

use std::sync::Arc;

use super::last_resort::ProverMachine;
use super::{Budget, Factories};
use crate::gdl::Rules;
use crate::ground;
use crate::machine::Machine;
use crate::machine::compile::Layout;
use crate::machine::counter::CounterMachine;
use crate::propnet;

impl Factories {
    /// Compiled networks to play with, and the prover as the last resort.
    pub fn standard() -> Factories {
        Factories {
            main: Arc::new(build),
            fallback: Some(Arc::new(|rules: &Rules, _: &Budget| prover(rules))),
        }
    }
}

/// Compiles rules: grounds them, builds the network, lays it out.
///
/// # Errors
/// The budget ended a stage, or the rules have no finite ground form.
pub fn build(rules: &Rules, budget: &Budget) -> Result<Arc<dyn Machine>, String> {
    let limits = ground::Budget {
        until: Some(budget.until),
        max_bytes: budget.memory,
    };
    let program = ground::ground(rules, limits).map_err(|error| error.to_string())?;
    let network = propnet::build(&program, limits).map_err(|error| error.to_string())?;
    // Large games need the room while the layout is made.
    drop(program);
    Ok(Arc::new(CounterMachine::new(Layout::compile(&network))))
}

/// A machine that evaluates the rules themselves: slow, and there at once.
///
/// # Errors
/// The rules name no role, or what holds in every state cannot be evaluated.
pub fn prover(rules: &Rules) -> Result<Arc<dyn Machine>, String> {
    let machine = ProverMachine::new(rules).map_err(|error| error.to_string())?;
    Ok(Arc::new(machine))
}
