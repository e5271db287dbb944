//! The machines that the player plays with: a compiled network, and the prover when there is none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::last_resort::ProverMachine;
use super::{Budget, Factories};
use crate::analysis::control::{self, PlayBudget};
use crate::gdl::Rules;
use crate::ground;
use crate::machine::Machine;
use crate::machine::compile::Layout;
use crate::machine::counter::CounterMachine;
use crate::propnet::{self, Network, Phases, passes};

impl Factories {
    /// Compiled networks to play with, and the prover as the last resort.
    pub fn standard() -> Factories {
        Factories {
            main: Arc::new(build),
            fallback: Some(Arc::new(|rules: &Rules, _: &Budget| prover(rules))),
        }
    }
}

/// A compiled game, and what each stage from rules to machine made and took.
#[derive(Debug)]
pub struct Compiled {
    /// The machine.
    pub machine: CounterMachine,
    /// Facts that can ever be true.
    pub bases: usize,
    /// Moves that can ever be legal, of all roles together.
    pub moves: usize,
    /// Instances of rules.
    pub ground_rules: usize,
    /// Gates of the network before the passes.
    pub gates_full: usize,
    /// Gates of the whole game's network after them.
    pub gates_optimised: usize,
    /// Gates of each phase's network; empty when the game has no phases.
    pub gates_of_phases: Vec<usize>,
    /// From rules to ground program.
    pub ground_time: Duration,
    /// From ground program to networks.
    pub network_time: Duration,
    /// From networks to machine.
    pub compile_time: Duration,
}

/// Compiles rules: grounds them, builds the network, makes it smaller, finds its phases, lays all of it out.
///
/// # Errors
/// The budget ended a stage, or the rules have no finite ground form.
pub fn compile(rules: &Rules, limits: ground::Budget) -> Result<Compiled, String> {
    let started = Instant::now();
    let program = ground::ground(rules, limits).map_err(|error| error.to_string())?;
    let grounded = Instant::now();
    let network = propnet::build(&program, limits).map_err(|error| error.to_string())?;
    let (bases, moves, ground_rules) = (
        program.bases.len(),
        program.moves.len(),
        program.rules.len(),
    );
    // Large games need the room while the layout is made.
    drop(program);
    let gates_full = network.gates.len();
    let network = passes::optimise(network, limits);
    let (controls, networks) = match phases(&network, limits) {
        Some(phases) => (phases.controls, phases.networks),
        None => (Vec::new(), Vec::new()),
    };
    let networked = Instant::now();
    let layouts = networks.iter().map(Layout::compile).collect();
    let machine = CounterMachine::with_phases(Layout::compile(&network), controls, layouts);
    Ok(Compiled {
        machine,
        bases,
        moves,
        ground_rules,
        gates_full,
        gates_optimised: network.gates.len(),
        gates_of_phases: networks.iter().map(|network| network.gates.len()).collect(),
        ground_time: grounded - started,
        network_time: networked - grounded,
        compile_time: networked.elapsed(),
    })
}

/// Plays a little on the whole game's machine to find its controls, and makes the networks of its phases.
fn phases(network: &Network, limits: ground::Budget) -> Option<Phases> {
    let machine = CounterMachine::new(Layout::compile(network));
    let budget = PlayBudget::for_size(network.gates.len() + network.n_edges(), limits.until);
    let found = control::candidates(network, &(Arc::new(machine) as Arc<dyn Machine>), budget);
    propnet::phases_for(network, &found.candidates, &found.played, limits)
}

/// The compiled machine of a game.
///
/// # Errors
/// As [`compile`].
pub fn build(rules: &Rules, budget: &Budget) -> Result<Arc<dyn Machine>, String> {
    let limits = ground::Budget {
        until: Some(budget.until),
        max_bytes: budget.memory,
    };
    compile(rules, limits).map(|compiled| Arc::new(compiled.machine) as Arc<dyn Machine>)
}

/// A machine that evaluates the rules themselves: slow, and there at once.
///
/// # Errors
/// The rules name no role, or what holds in every state cannot be evaluated.
pub fn prover(rules: &Rules) -> Result<Arc<dyn Machine>, String> {
    let machine = ProverMachine::new(rules).map_err(|error| error.to_string())?;
    Ok(Arc::new(machine))
}
