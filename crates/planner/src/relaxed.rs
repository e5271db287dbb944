//! The relaxation of a game towards one goal, compiled for lanes.
//!
//! Invariant: a runner's states are those of `panza_propnet::relaxation`.

use std::sync::Arc;
use std::time::Duration;

use super::compiled::{compiled, may_derive};
use panza_machine::ExpanderLayout;
use panza_machine::lanes::expand::Runner;
use panza_propnet::{Network, Signal};
use panza_sync::Budget;

/// Time to build the network.
const BUILD_TIME: Duration = Duration::from_secs(1);

/// The relaxation of a game towards one goal.
pub(super) struct Relaxed {
    layout: Arc<ExpanderLayout>,
    n_facts: usize,
}

impl Relaxed {
    /// The relaxation towards final states with this goal; `None` where it is too large.
    pub fn new(network: &Network, goal: Signal) -> Option<Self> {
        if !may_derive(network) {
            return None;
        }
        let limits = Budget::lasting(BUILD_TIME);
        let relaxed = panza_propnet::relaxation(network, &[goal, network.terminal], &limits)?;
        Some(Self {
            layout: compiled(&relaxed)?,
            n_facts: network.facts.len(),
        })
    }

    /// Appends the relaxed state of a state.
    pub fn append(&self, state: &[u64], relaxed: &mut Vec<u64>) {
        panza_propnet::append_relaxed(self.n_facts, state, relaxed);
    }

    pub fn runner(&self) -> Box<dyn Runner> {
        self.layout.runner()
    }

    /// The relaxed state in which of some facts exactly `fact` is true, and every other fact can be
    /// true and can be false.
    pub fn free_but_for(&self, facts: &[u32], fact: u32) -> Vec<u64> {
        let n_words = self.layout.state_words() / 2;
        let mut state = vec![0; n_words];
        for fact in 0..self.n_facts {
            state[fact / 64] |= 1 << (fact % 64);
        }
        state.extend_from_within(..);
        for &other in facts {
            // The second half says what can be false.
            let half = if other == fact { n_words } else { 0 };
            state[half + other as usize / 64] &= !(1 << (other % 64));
        }
        state
    }
}
