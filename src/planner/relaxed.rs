//! The relaxation of a game towards one goal, compiled for lanes.
//!
//! Invariant: a runner's states are those of `propnet::relaxation`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::machine::lanes::compile::compile_expander;
use crate::machine::lanes::expand::{ExpanderLayout, Runner};
use crate::machine::lanes::interpret::Features;
use crate::propnet::{self, Network, Signal};

/// Time to build the relaxation.
const BUILD_TIME: Duration = Duration::from_secs(1);
/// Networks of more gates before the passes are not tried.
const MAX_GATES: usize = 1 << 17;
/// Networks of more gates after them take seconds to compile.
const MAX_COMPILED_GATES: usize = 1 << 15;
/// Words of a vector.
const VECTOR_WORDS: usize = 8;

/// The relaxation of a game towards one goal.
pub(super) struct Relaxed {
    layout: Arc<ExpanderLayout>,
    n_facts: usize,
}

impl Relaxed {
    /// The relaxation towards final states with this goal; `None` where it is too large.
    pub fn new(network: &Network, goal: Signal) -> Option<Self> {
        if network.gates.len() > MAX_GATES {
            return None;
        }
        let until = Instant::now() + BUILD_TIME;
        let relaxed = propnet::relaxation(network, &[goal, network.terminal], until)?;
        let relaxed = Some(relaxed).filter(|network| network.gates.len() <= MAX_COMPILED_GATES)?;
        let programs = compile_expander(&relaxed)?;
        let layout = ExpanderLayout::new(programs, Features::detect(), VECTOR_WORDS);
        Some(Self {
            layout: Arc::new(layout),
            n_facts: network.facts.len(),
        })
    }

    /// Appends the relaxed state of a state.
    pub fn append(&self, state: &[u64], relaxed: &mut Vec<u64>) {
        propnet::append_relaxed(self.n_facts, state, relaxed);
    }

    pub fn runner(&self) -> Box<dyn Runner> {
        self.layout.runner()
    }

    /// The relaxed state in which of some facts one is true, and all other facts are free.
    pub fn free_but_for(&self, facts: &[u32], fact: u32) -> Vec<u64> {
        let n_words = self.layout.state_words() / 2;
        let mut state = vec![0; n_words];
        for fact in 0..self.n_facts {
            state[fact / 64] |= 1 << (fact % 64);
        }
        state.extend_from_within(..);
        for &other in facts {
            let rail = if other == fact { n_words } else { 0 };
            state[rail + other as usize / 64] &= !(1 << (other % 64));
        }
        state
    }
}
