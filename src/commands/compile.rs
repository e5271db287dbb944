//! From rules to a compiled machine, stage by stage, with what each stage took.

use std::sync::Arc;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::gdl::Rules;
use crate::ground::{Budget, GroundError, GroundProgram, ground};
use crate::machine::Machine;
use crate::machine::compile::Layout;
use crate::machine::counter::CounterMachine;
use crate::propnet::{self, BuildError, Network};

/// Why there is no compiled machine.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CompileError {
    /// No ground program.
    #[error(transparent)]
    Ground(#[from] GroundError),
    /// No network.
    #[error(transparent)]
    Network(#[from] BuildError),
}

/// A compiled machine and what it was made from.
pub struct Compiled {
    /// The ground program.
    pub program: GroundProgram,
    /// Its network.
    pub network: Network,
    /// The machine.
    pub machine: Arc<CounterMachine>,
    /// What grounding took.
    pub ground_time: Duration,
    /// What the network took.
    pub network_time: Duration,
    /// What compiling the network took.
    pub compile_time: Duration,
}

/// Compiles rules, keeping what each stage made.
///
/// # Errors
/// The budget ended a stage, or the rules have no finite ground form.
pub fn compile(rules: &Rules, budget: Budget) -> Result<Compiled, CompileError> {
    let started = Instant::now();
    let program = ground(rules, budget)?;
    let grounded = Instant::now();
    let network = propnet::build(&program, budget)?;
    let networked = Instant::now();
    let machine = Arc::new(CounterMachine::new(Layout::compile(&network)));
    Ok(Compiled {
        program,
        network,
        machine,
        ground_time: grounded - started,
        network_time: networked - grounded,
        compile_time: networked.elapsed(),
    })
}

/// Compiles rules, keeping the machine alone.
///
/// # Errors
/// As [`compile`].
pub fn machine(rules: &Rules, budget: Budget) -> Result<Arc<dyn Machine>, CompileError> {
    let program = ground(rules, budget)?;
    let network = propnet::build(&program, budget)?;
    // Large games need the room while the layout is made.
    drop(program);
    Ok(Arc::new(CounterMachine::new(Layout::compile(&network))))
}
