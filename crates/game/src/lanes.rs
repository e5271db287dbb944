//! From an optimised network to lanes.
//!
//! The mutex groups that were weighed for the counter engine are candidates for phases. Of those
//! whose phases follow each other in a fixed order, the one with the fewest operations per step is
//! taken, or the whole game where that has fewer.

use std::sync::Arc;

use panza_machine::lanes::compile;
use panza_machine::lanes::compile::GangPrograms;
use panza_machine::lanes::interpret::Features;
use panza_machine::{CounterMachine, ExpanderLayout, LanesMachine, PlayoutPolicy};
use panza_propnet::{MutexGroup, Network, Phases, passes};
use panza_sync::Budget;

/// The network that lanes are compiled from, and its candidate phases.
#[derive(Clone, Debug)]
pub struct LanesSource {
    /// The optimised network.
    pub network: Arc<Network>,
    /// Candidates for phases.
    pub mutex_groups: Vec<MutexGroup>,
    /// Mean joint moves of a playout.
    pub(super) mean_length: f64,
    pub(super) set: passes::PassSet,
}

impl LanesSource {
    /// Compiles programs. `None` where they would be too large.
    pub fn programs(&self, limits: &Budget, policy: PlayoutPolicy) -> Option<GangPrograms> {
        let compile = |phases: Option<&Phases>, policy| {
            compile::compile(&self.network, phases, self.mean_length, policy, limits)
        };
        let mut best = compile(None, PlayoutPolicy::Uniform);
        let mut best_phases = None;
        for group in &self.mutex_groups {
            if limits.is_stopped() {
                return None;
            }
            let phases = panza_propnet::phases_of(&self.network, group, &self.set, limits);
            let Some(phases) = phases.filter(compile::is_in_lockstep) else {
                continue;
            };
            let split = compile(Some(&phases), PlayoutPolicy::Uniform);
            let work = |programs: &Option<GangPrograms>| {
                programs
                    .as_ref()
                    .map_or(usize::MAX, GangPrograms::n_operations)
            };
            if work(&split) < work(&best) {
                best = split;
                best_phases = Some(phases);
            }
        }
        match policy {
            PlayoutPolicy::Uniform => best,
            PlayoutPolicy::Decisive => compile(best_phases.as_ref(), policy).or(best),
        }
    }
}

/// Steps of many states by lanes, as wide as the processor's vectors. `None` where the game is too
/// large.
pub fn compile_steps(source: &LanesSource) -> Option<Arc<ExpanderLayout>> {
    let programs = compile::compile_expander(&source.network)?;
    let features = Features::detect();
    let n_words = if features == Features::Avx512 { 8 } else { 4 };
    let layout = ExpanderLayout::new(programs, features, n_words);
    Some(Arc::new(layout))
}

/// The machine that does everything by lanes, with `n_words` words per vector (4, 8 or 16). `None`
/// where the game is too large.
pub fn compile_lanes(
    counter: Arc<CounterMachine>,
    source: &LanesSource,
    limits: &Budget,
    n_words: usize,
) -> Option<LanesMachine> {
    let expander = compile::compile_expander(&source.network)?;
    let gangs = source.programs(limits, PlayoutPolicy::Uniform);
    let features = Features::detect();
    Some(LanesMachine::new(
        counter,
        expander,
        gangs.as_ref(),
        features,
        n_words,
    ))
}
