//! From a compiled game to lanes: which phases they go through.
//!
//! The candidates are those that the counter engine weighed; of those whose phases always follow each other in the same order, the ones
//! with the fewest operations a step are taken, or the whole game where that has fewer.

use std::sync::Arc;

use crate::ground;
use crate::ids::BaseId;
use crate::machine::counter::CounterMachine;
use crate::machine::lanes::compile::{self, Programs};
use crate::machine::lanes::interpret::Features;
use crate::machine::lanes::machine::LanesMachine;
use crate::propnet::{self, Network, passes};

/// What lanes are made from.
#[derive(Clone, Debug)]
pub struct LanesSource {
    /// The whole game.
    pub network: Arc<Network>,
    /// Sets of controls that may split it.
    pub(super) candidates: Vec<Vec<BaseId>>,
    /// The joint moves of a playout, roughly.
    pub(super) mean_length: f64,
    pub(super) set: passes::PassSet,
}

impl LanesSource {
    /// The game as programs for lanes; nothing where those would be too large or the budget ends first.
    pub fn programs(&self, limits: ground::Budget) -> Option<Programs> {
        let mut best = compile::compile(&self.network, None, self.mean_length);
        for controls in &self.candidates {
            let phases = propnet::phases_of(&self.network, controls, &self.set, limits);
            let Some(phases) = phases.filter(compile::is_in_lockstep) else {
                continue;
            };
            let split = compile::compile(&self.network, Some(&phases), self.mean_length);
            let work = |programs: &Option<Programs>| {
                programs.as_ref().map_or(usize::MAX, Programs::n_operations)
            };
            if work(&split) < work(&best) {
                best = split;
            }
        }
        best
    }
}

/// The game of a counter machine as a machine of lanes on this processor, with `n_words` words a vector (4, 8 or 16), if it can be one.
pub fn compile_lanes(
    counter: Arc<CounterMachine>,
    source: &LanesSource,
    limits: ground::Budget,
    n_words: usize,
) -> Option<LanesMachine> {
    let expander = compile::compile_expander(&source.network)?;
    let gangs = source.programs(limits);
    let features = Features::detect();
    Some(LanesMachine::new(
        counter,
        expander,
        gangs.as_ref(),
        features,
        n_words,
    ))
}
