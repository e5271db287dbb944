//! From rules to a machine of counters: grounding, the network, its passes and its phases.

#![expect(
    clippy::disallowed_methods,
    reason = "the times of the build are reported"
)]

use std::sync::Arc;
use std::time::Duration;

use super::error::BuildError;
use super::lanes::LanesSource;
use panza_analysis::mutex_groups;
use panza_gdl::Rules;
use panza_machine::{CounterLayout, CounterMachine, Machine, SpecialisedLayout, specialised};
use panza_propnet::{MutexGroup, Network, PlayedPosition, SpecialisedGame, passes};

use panza_gdl::BaseId;
use panza_sync::{Budget, Instant};

/// Gates and edges above which only one mutex group is tried.
const LARGE: usize = 300_000;
/// Gates and edges above which the network before the passes is not kept: some tens of megabytes.
const MAX_KEPT: usize = 3_000_000;
/// Positions of random games that phases are weighed by.
const MAX_POSITIONS: usize = 48;

/// Assumed joint moves of a game where none was played.
const DEFAULT_LENGTH: f64 = 40.0;

/// A compiled game, with the sizes and times of each stage from rules to machine.
#[derive(Debug)]
pub struct Compiled {
    /// The machine.
    pub machine: CounterMachine,
    /// Reachable facts.
    pub bases: usize,
    /// Reachable moves of all roles.
    pub moves: usize,
    /// Ground rules.
    pub ground_rules: usize,
    /// Gates of the network before the passes.
    pub gates_full: usize,
    /// Gates of the whole game's network after them.
    pub gates_optimised: usize,
    /// Gates of each phase's network; empty when the game has no phases.
    pub gates_of_phases: Vec<usize>,
    /// From rules to ground program.
    pub ground_time: Duration,
    /// From ground program to networks, rejected mutex groups included.
    pub network_time: Duration,
    /// From networks to machine.
    pub compile_time: Duration,
    /// The optimised network, for lanes.
    pub lanes: LanesSource,
    /// The network before the passes. `None` for very large games.
    pub network: Option<Arc<Network>>,
}

/// Compiles rules: grounds them, builds and optimises the network, chooses its phases, lays all of
/// it out.
///
/// # Errors
/// The budget ended a stage, or the rules have no finite ground form.
pub fn compile(rules: &Rules, limits: &Budget) -> Result<Compiled, BuildError> {
    compile_with(rules, &passes::PassSet::default(), limits)
}

/// As [`compile`], with a choice of passes.
///
/// # Errors
/// As [`compile`].
pub fn compile_with(
    rules: &Rules,
    set: &passes::PassSet,
    limits: &Budget,
) -> Result<Compiled, BuildError> {
    let grounded = GroundNetwork::new(rules, limits)?;
    compile_network(grounded, set, limits)
}

/// The counter machine of the whole game, without phases: it is built sooner than by [`compile`]
/// and runs slower.
///
/// # Errors
/// As [`compile`].
pub fn compile_whole(rules: &Rules, limits: &Budget) -> Result<CounterMachine, BuildError> {
    let network = GroundNetwork::new(rules, limits)?.network;
    let network = passes::optimise_with(network, &passes::PassSet::default(), limits);
    match limits.is_stopped() {
        true => Err(BuildError::Stopped),
        false => Ok(CounterMachine::new(CounterLayout::compile(&network))),
    }
}

/// A network as built from its rules.
pub(super) struct GroundNetwork {
    pub network: Network,
    ground_rules: usize,
    ground_time: Duration,
    /// When building the network began.
    begun: Instant,
}

impl GroundNetwork {
    pub fn new(rules: &Rules, limits: &Budget) -> Result<Self, BuildError> {
        let started = Instant::now();
        let program = panza_ground::ground(rules, limits)
            .map_err(|error| BuildError::Ground(error).within(limits))?;
        let begun = Instant::now();
        let network = panza_propnet::build(&program, limits)
            .map_err(|error| BuildError::Network(error).within(limits))?;
        Ok(Self {
            network,
            ground_rules: program.rules.len(),
            ground_time: begun - started,
            begun,
        })
    }

    /// The network of a part of a game.
    pub fn of_part(network: Network) -> Self {
        Self {
            network,
            ground_rules: 0,
            ground_time: Duration::ZERO,
            begun: Instant::now(),
        }
    }
}

/// Optimises a network, chooses its phases, lays all of it out. The end of the time costs speed,
/// not the machine.
///
/// # Errors
/// The game is no longer needed.
pub(super) fn compile_network(
    grounded: GroundNetwork,
    set: &passes::PassSet,
    limits: &Budget,
) -> Result<Compiled, BuildError> {
    let GroundNetwork {
        network,
        ground_rules,
        ground_time,
        begun,
    } = grounded;
    let (bases, moves) = (network.facts.len(), network.moves.len());
    let gates_full = network.gates.len();
    let is_kept = network.gates.len() + network.n_edges() <= MAX_KEPT;
    let kept = is_kept.then(|| Arc::new(network.clone()));
    let network = passes::optimise_with(network, set, limits);
    let chosen = PhaseChoice {
        network: &network,
        set,
        limits,
    }
    .best()
    .ok_or(BuildError::Stopped)?;
    let networks = chosen.networks;
    let machine = chosen.machine;
    Ok(Compiled {
        machine,
        bases,
        moves,
        ground_rules,
        gates_full,
        gates_optimised: network.gates.len(),
        gates_of_phases: networks.iter().map(|network| network.gates.len()).collect(),
        ground_time,
        network_time: begun.elapsed().saturating_sub(chosen.compile_time),
        compile_time: chosen.compile_time,
        lanes: LanesSource {
            network: Arc::new(network),
            mutex_groups: chosen.mutex_groups,
            mean_length: chosen.mean_length,
            set: *set,
        },
        network: kept,
    })
}

/// A machine with its phases' networks.
struct PhasedMachine {
    machine: CounterMachine,
    networks: Vec<Network>,
    /// Time for layouts, rejected ones included.
    compile_time: Duration,
    /// The mutex groups that were weighed.
    mutex_groups: Vec<MutexGroup>,
    /// Mean joint moves of the random games played.
    mean_length: f64,
}

/// The phases of one mutex group, specialised and laid out.
struct Specialisation {
    /// Empty when the whole game is one phase.
    mutex_group: Vec<BaseId>,
    layout: SpecialisedLayout,
    networks: Vec<Network>,
    /// The work per step over the sampled positions.
    work: u64,
    compile_time: Duration,
}

/// Chooses the phases of a game: a few mutex groups are specialised, and the one with the least
/// work per step over the sampled positions is taken. Nothing is timed.
struct PhaseChoice<'a> {
    network: &'a Network,
    set: &'a passes::PassSet,
    limits: &'a Budget,
}

impl PhaseChoice<'_> {
    /// The specialised phases of this mutex group, or the specialised game without one, and the
    /// phases' networks.
    fn specialise(&self, group: &[BaseId]) -> Option<(SpecialisedGame, Vec<Network>)> {
        let phases = match group {
            [] => None,
            _ => Some(panza_propnet::phases_of(
                self.network,
                group,
                self.set,
                self.limits,
            )?),
        };
        let specialised = panza_propnet::specialise(self.network, phases.as_ref(), self.limits);
        let networks = phases.map_or_else(Vec::new, |phases| phases.networks);
        Some((specialised.ok().flatten()?, networks))
    }

    /// `None` when the game is no longer needed.
    fn best(&self) -> Option<PhasedMachine> {
        if !self.network.blocks.is_empty() {
            return self.counted();
        }
        let started = Instant::now();
        let whole = Arc::new(CounterMachine::new(CounterLayout::compile(self.network)));
        let mut compile_time = started.elapsed();
        let size = self.network.gates.len() + self.network.n_edges();
        let player: Arc<dyn Machine> = whole.clone();
        if self.limits.is_stopped() {
            return None;
        }
        let found = mutex_groups::find(self.network, &player, self.limits);
        drop(player);
        // `find` has dropped its clone.
        let Some(machine) = Arc::into_inner(whole) else {
            return self.counted();
        };
        let played = &found.played[..found.played.len().min(MAX_POSITIONS)];
        let shortlist = panza_propnet::shortlist(self.network, &found.groups, played);
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
        let mut best: Option<Specialisation> = None;
        for group in options {
            if self.limits.is_stopped() {
                return None;
            }
            let Some(option) = self.specialisation(group, played) else {
                continue;
            };
            compile_time += option.compile_time;
            if best.as_ref().is_none_or(|best| option.work < best.work) {
                best = Some(option);
            }
        }
        let Some(best) = best else {
            return self.counted();
        };
        Some(PhasedMachine {
            machine: machine.specialise(best.mutex_group, best.layout),
            networks: best.networks,
            compile_time,
            mutex_groups,
            mean_length: found.mean_length(),
        })
    }

    /// The layout of a mutex group's phases, with the work per step over the sampled positions.
    /// `None` when the game cannot be specialised so.
    fn specialisation(
        &self,
        group: &[BaseId],
        played: &[PlayedPosition],
    ) -> Option<Specialisation> {
        let (specialised, networks) = self.specialise(group)?;
        let started = Instant::now();
        let layout = SpecialisedLayout::compile(&specialised)?;
        let compile_time = started.elapsed();
        let work = specialised::work(&layout, self.network.roles.len(), group, played);
        Some(Specialisation {
            mutex_group: group.to_vec(),
            layout,
            networks,
            work: work.unwrap_or(u64::MAX),
            compile_time,
        })
    }

    /// The machine of a game that cannot be specialised, with the phases found by form.
    /// `None` when the game is no longer needed.
    fn counted(&self) -> Option<PhasedMachine> {
        let found = panza_propnet::phases(self.network, self.limits);
        let found = match *self.set == passes::PassSet::default() {
            true => found,
            false => found.and_then(|found| {
                panza_propnet::phases_of(self.network, &found.mutex_group, self.set, self.limits)
            }),
        };
        let (group, networks) = found.map_or_else(Default::default, |phases| {
            (phases.mutex_group, phases.networks)
        });
        if self.limits.is_stopped() {
            return None;
        }
        let networked = Instant::now();
        let layouts = networks.iter().map(CounterLayout::compile).collect();
        let whole = CounterLayout::compile(self.network);
        let mutex_groups = [&group].into_iter().filter(|found| !found.is_empty());
        Some(PhasedMachine {
            mutex_groups: mutex_groups.cloned().collect(),
            machine: CounterMachine::with_phases(whole, group, layouts),
            networks,
            compile_time: networked.elapsed(),
            mean_length: DEFAULT_LENGTH,
        })
    }
}
