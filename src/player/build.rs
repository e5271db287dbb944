//! The machines that the player plays with: a compiled network, and the prover when there is none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::lanes::{LanesSource, faster};
use super::last_resort::ProverMachine;
use super::{Budget, Factories, Playing, parts};
use crate::analysis::mutex_groups::{self, PlayBudget};
use crate::gdl::Rules;
use crate::ground;
use crate::ids::BaseId;
use crate::machine::Machine;
use crate::machine::compile::Layout;
use crate::machine::counter::CounterMachine;
use crate::machine::parts::MachineWithParts;
use crate::machine::specialised::SpecialisedLayout;
use crate::propnet::{self, MutexGroup, Network, SpecialisedGame, passes};

impl Factories {
    /// Compiled networks to play with, and the prover as the last resort.
    pub fn standard() -> Factories {
        Factories {
            main: Arc::new(build),
            fallback: Some(Arc::new(|rules: &Rules, _: &Budget| prover(rules))),
        }
    }
}

/// Gates and edges above which one mutex group is compiled and no other.
const LARGE: usize = 300_000;
/// Gates and edges above which a network is not kept as it was built: some tens of megabytes.
const LARGEST_KEPT: usize = 3_000_000;
/// Positions from play that phases are weighed by.
const MAX_POSITIONS: usize = 48;

/// Joint moves of a playout where none was seen.
const LENGTH_UNSEEN: f64 = 40.0;

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
    /// From ground program to networks, those of mutex groups that were weighed and left among
    /// them.
    pub network_time: Duration,
    /// From networks to machine.
    pub compile_time: Duration,
    /// What lanes can be made from.
    pub lanes: LanesSource,
    /// The network before the passes, in which factors and symmetries of the rules are plain to
    /// see; nothing for large games.
    pub built: Option<Arc<Network>>,
}

/// Compiles rules: grounds them, builds the network, makes it smaller, finds its phases, lays all
/// of it out.
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
    let grounded = Grounded::new(rules, limits)?;
    Ok(compile_network(grounded, set, limits))
}

/// A game's network as it was built from its rules.
struct Grounded {
    network: Network,
    ground_rules: usize,
    ground_time: Duration,
    /// When the network was begun.
    begun: Instant,
}

impl Grounded {
    fn new(rules: &Rules, limits: ground::Budget) -> Result<Self, String> {
        let started = Instant::now();
        let program = ground::ground(rules, limits).map_err(|error| error.to_string())?;
        let begun = Instant::now();
        let network = propnet::build(&program, limits).map_err(|error| error.to_string())?;
        Ok(Self {
            network,
            ground_rules: program.rules.len(),
            ground_time: begun - started,
            begun,
        })
    }

    /// A network that came from no rules of its own.
    fn of_part(network: Network) -> Self {
        Self {
            network,
            ground_rules: 0,
            ground_time: Duration::ZERO,
            begun: Instant::now(),
        }
    }
}

/// Makes a network smaller, finds its phases, lays all of it out.
fn compile_network(grounded: Grounded, set: &passes::PassSet, limits: ground::Budget) -> Compiled {
    let Grounded {
        network,
        ground_rules,
        ground_time,
        begun,
    } = grounded;
    let (bases, moves) = (network.facts.len(), network.moves.len());
    let gates_full = network.gates.len();
    let is_kept = network.gates.len() + network.n_edges() <= LARGEST_KEPT;
    let built = is_kept.then(|| Arc::new(network.clone()));
    let network = passes::optimise_with(network, set, limits);
    let chosen = Choice {
        network: &network,
        set,
        limits,
    }
    .best();
    let networks = chosen.networks;
    let machine = chosen.machine;
    Compiled {
        machine,
        bases,
        moves,
        ground_rules,
        gates_full,
        gates_optimised: network.gates.len(),
        gates_of_phases: networks.iter().map(|network| network.gates.len()).collect(),
        edges_of_phases: networks.iter().map(Network::n_edges).collect(),
        ground_time,
        network_time: begun.elapsed().saturating_sub(chosen.compile_time),
        compile_time: chosen.compile_time,
        lanes: LanesSource {
            network: Arc::new(network),
            mutex_groups: chosen.mutex_groups,
            mean_length: chosen.mean_length,
            set: *set,
        },
        built,
    }
}

/// A machine for a game, and its phases' networks.
struct Candidate {
    machine: CounterMachine,
    networks: Vec<Network>,
    /// What laying out took, candidates among it that were not taken.
    compile_time: Duration,
    /// The mutex groups that were weighed.
    mutex_groups: Vec<MutexGroup>,
    /// The joint moves of a random game, as far as play was seen.
    mean_length: f64,
}

/// The choice of a game's phases: a few are specialised, and the one that takes least work in play is
/// taken.
struct Choice<'a> {
    network: &'a Network,
    set: &'a passes::PassSet,
    limits: ground::Budget,
}

impl Choice<'_> {
    /// The specialised phases of this mutex group, or the specialised game without one, and the phases'
    /// networks.
    fn specialise(&self, group: &[BaseId]) -> Option<(SpecialisedGame, Vec<Network>)> {
        let phases = match group {
            [] => None,
            _ => Some(propnet::phases_of(
                self.network,
                group,
                self.set,
                self.limits,
            )?),
        };
        let specialised = propnet::specialise(self.network, phases.as_ref(), self.limits);
        let networks = phases.map_or_else(Vec::new, |phases| phases.networks);
        Some((specialised.ok().flatten()?, networks))
    }

    fn best(&self) -> Candidate {
        if !self.network.blocks.is_empty() {
            return self.counted();
        }
        let started = Instant::now();
        let whole = Arc::new(CounterMachine::new(Layout::compile(self.network)));
        let mut compile_time = started.elapsed();
        let size = self.network.gates.len() + self.network.n_edges();
        let budget = PlayBudget::for_size(size, self.limits.until);
        let player: Arc<dyn Machine> = whole.clone();
        let found = mutex_groups::find(self.network, &player, budget);
        drop(player);
        // Whoever played has given the machine back.
        let Some(mut machine) = Arc::into_inner(whole) else {
            return self.counted();
        };
        let played = &found.played[..found.played.len().min(MAX_POSITIONS)];
        let shortlist = propnet::shortlist(self.network, &found.groups, played);
        let is_large = size > LARGE;
        let mut options: Vec<&[BaseId]> = shortlist.into_iter().map(Vec::as_slice).collect();
        if is_large {
            options.truncate(1);
        }
        if !is_large || options.is_empty() {
            options.push(&[]);
        }
        let mutex_groups = options.iter().map(|group| group.to_vec());
        let mutex_groups = mutex_groups.filter(|group| !group.is_empty()).collect();
        let mean_length = found.mean_length();
        let mut best: Option<(u64, Vec<Network>)> = None;
        for group in options {
            let Some((specialised, networks)) = self.specialise(group) else {
                continue;
            };
            let specialised_at = Instant::now();
            let Some(layout) = SpecialisedLayout::compile(&specialised) else {
                continue;
            };
            compile_time += specialised_at.elapsed();
            let before = machine.run_specialised((group.to_vec(), Some(layout)));
            let work = machine.work(played).unwrap_or(u64::MAX);
            if best.as_ref().is_none_or(|&(least, _)| work < least) {
                best = Some((work, networks));
            } else {
                machine.run_specialised(before);
            }
        }
        match best {
            Some((_, networks)) => Candidate {
                machine,
                networks,
                compile_time,
                mutex_groups,
                mean_length,
            },
            None => self.counted(),
        }
    }

    /// The machine of a game that cannot be specialised, with the phases that its network's form
    /// shows.
    fn counted(&self) -> Candidate {
        let found = propnet::phases(self.network, self.limits);
        let found = match *self.set == passes::PassSet::default() {
            true => found,
            false => found.and_then(|found| {
                propnet::phases_of(self.network, &found.mutex_group, self.set, self.limits)
            }),
        };
        let (group, networks) = found.map_or_else(Default::default, |phases| {
            (phases.mutex_group, phases.networks)
        });
        let networked = Instant::now();
        let layouts = networks.iter().map(Layout::compile).collect();
        let whole = Layout::compile(self.network);
        let mutex_groups = [&group].into_iter().filter(|found| !found.is_empty());
        Candidate {
            mutex_groups: mutex_groups.cloned().collect(),
            machine: CounterMachine::with_phases(whole, group, layouts),
            networks,
            compile_time: networked.elapsed(),
            mean_length: LENGTH_UNSEEN,
        }
    }
}

/// The machine to play a game with: compiled, with lanes for playouts where those are faster, and
/// with machines for its parts where it falls into some.
///
/// # Errors
/// As [`compile`].
pub fn build(rules: &Rules, budget: &Budget) -> Result<Arc<dyn Machine>, String> {
    let limits = ground::Budget {
        until: Some(budget.until),
        max_bytes: budget.memory,
    };
    let grounded = Grounded::new(rules, limits)?;
    let found = parts::find(&grounded.network, budget.until);
    let compiled = compile_network(grounded, &passes::PassSet::default(), limits);
    let whole = faster(compiled, limits, Playing::Decisively).0;
    let parts = found.and_then(|found| {
        found.machines(|network, playing| {
            let compiled = compile_network(
                Grounded::of_part(network),
                &passes::PassSet::default(),
                limits,
            );
            faster(compiled, limits, playing).0
        })
    });
    Ok(match parts {
        Some(parts) => Arc::new(MachineWithParts::new(whole, parts)),
        None => whole,
    })
}

/// A machine that evaluates the rules themselves: slow, and there at once.
///
/// # Errors
/// The rules name no role, or what holds in every state cannot be evaluated.
pub fn prover(rules: &Rules) -> Result<Arc<dyn Machine>, String> {
    let machine = ProverMachine::new(rules).map_err(|error| error.to_string())?;
    Ok(Arc::new(machine))
}
