//! The machines that the player plays with: a compiled network, and the prover when there is none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::last_resort::ProverMachine;
use super::{Budget, Factories};
use crate::gdl::Rules;
use crate::ground;
use crate::machine::Machine;
use crate::machine::compile::Layout;
use crate::machine::counter::CounterMachine;
use crate::machine::unfolded::UnfoldedLayout;
use crate::propnet::{self, passes};

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
    /// Edges of each phase's network.
    pub edges_of_phases: Vec<usize>,
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
    compile_with(rules, &passes::PassSet::default(), limits)
}

/// As [`compile`], with the passes of a set.
///
/// # Errors
/// As [`compile`].
pub fn compile_with(
    rules: &Rules,
    set: &passes::PassSet,
    limits: ground::Budget,
) -> Result<Compiled, String> {
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
    let network = passes::optimise_with(network, set, limits);
    let phases = phases_with(&network, set, limits);
    let networked = Instant::now();
    let whole = Layout::compile(&network);
    let unfolded = propnet::unfold(&network, phases.as_ref(), limits)
        .ok()
        .flatten();
    let (controls, networks) = phases.map_or_else(Default::default, |phases| {
        (phases.controls, phases.networks)
    });
    let unfolded = unfolded.and_then(|unfolded| UnfoldedLayout::compile(&unfolded));
    let machine = match unfolded {
        Some(unfolded) => CounterMachine::with_unfolded(whole, controls, unfolded),
        None => {
            let layouts = networks.iter().map(Layout::compile).collect();
            CounterMachine::with_phases(whole, controls, layouts)
        }
    };
    Ok(Compiled {
        machine,
        bases,
        moves,
        ground_rules,
        gates_full,
        gates_optimised: network.gates.len(),
        gates_of_phases: networks.iter().map(|network| network.gates.len()).collect(),
        edges_of_phases: networks.iter().map(propnet::Network::n_edges).collect(),
        ground_time: grounded - started,
        network_time: networked - grounded,
        compile_time: networked.elapsed(),
    })
}

/// The phases of a network, each made smaller by the passes of a set.
fn phases_with(
    network: &propnet::Network,
    set: &passes::PassSet,
    limits: ground::Budget,
) -> Option<propnet::Phases> {
    let found = propnet::phases(network, limits)?;
    if *set == passes::PassSet::default() {
        return Some(found);
    }
    let networks = found.controls.iter().map(|&control| {
        let all = found.controls.iter();
        let known: Vec<_> = all.map(|&base| (base, base == control)).collect();
        let assumed = passes::assume::assume(network, &known, limits).ok()?;
        Some(passes::optimise_with(assumed, set, limits))
    });
    let networks = networks.collect::<Option<Vec<_>>>()?;
    Some(propnet::Phases { networks, ..found })
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
