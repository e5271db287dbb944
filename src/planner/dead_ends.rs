//! States from which the best goal cannot be reached any more.
//!
//! The relaxation of the game (`propnet::relaxation`) runs in lanes from hundreds of states at
//! once. A state whose relaxation never reaches the goal is dead. Games in which hardly any state
//! is dead are not tested any further.
//!
//! Invariant: no state that a plan with the best goal passes is called dead.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::store::{StateId, Store};
use super::task::Task;
use crate::machine::lanes::compile::compile_expander;
use crate::machine::lanes::expand::{ExpanderLayout, Runner};
use crate::machine::lanes::interpret::Features;
use crate::propnet::{self, Network, Signal};

/// Time to build the relaxation.
const BUILD_TIME: Duration = Duration::from_secs(1);
/// Words of a vector.
const VECTOR_WORDS: usize = 8;
/// More steps than a relaxation makes.
const MAX_STEPS: u32 = 1 << 20;
/// States made before the relaxation is built: small games are solved before.
const FIRST_STATES: usize = 4_096;
/// States that are tested before their share of dead ones counts.
const TRIAL: u64 = 8_192;
/// The least share of dead states that is worth the tests: one of so many.
const MIN_SHARE: u64 = 50;

/// The relaxation of a game towards one goal.
pub(super) struct Relaxed {
    layout: Arc<ExpanderLayout>,
    /// The facts in the last word of a state.
    last_word: u64,
}

impl Relaxed {
    /// The relaxation towards final states with this goal; `None` where it is too large.
    pub fn new(network: &Network, goal: Signal) -> Option<Self> {
        let until = Instant::now() + BUILD_TIME;
        let relaxed = propnet::relaxation(network, &[goal, network.terminal], until)?;
        let programs = compile_expander(&relaxed)?;
        let layout = ExpanderLayout::new(programs, Features::detect(), VECTOR_WORDS);
        Some(Self {
            layout: Arc::new(layout),
            last_word: match network.facts.len() % 64 {
                0 => u64::MAX,
                n_facts => (1 << n_facts) - 1,
            },
        })
    }

    pub fn runner(&self) -> Box<dyn Runner> {
        self.layout.runner()
    }

    /// The relaxed state in which of some facts one is true, and all other facts are free.
    pub fn free_but_for(&self, facts: &[u32], fact: u32) -> Vec<u64> {
        let n_words = self.layout.state_words() / 2;
        let mut state = vec![u64::MAX; 2 * n_words];
        state[n_words - 1] = self.last_word;
        state[2 * n_words - 1] = self.last_word;
        for &other in facts {
            let rail = if other == fact { n_words } else { 0 };
            state[rail + other as usize / 64] &= !(1 << (other % 64));
        }
        state
    }

    /// Appends the relaxed state of a state.
    fn append(&self, state: &[u64], relaxed: &mut Vec<u64>) {
        relaxed.extend_from_slice(state);
        relaxed.extend(state.iter().map(|word| !word));
        if let Some(last) = relaxed.last_mut() {
            *last &= self.last_word;
        }
    }
}

/// Tests states; one thread's.
pub(super) struct DeadEnds {
    task: Arc<Task>,
    /// `None` before the first test, and where no tests are made.
    runner: Option<Box<dyn Runner>>,
    is_useless: bool,
    n_tested: u64,
    n_dead: u64,
    state: Vec<u64>,
    states: Vec<u64>,
    bounds: Vec<Option<u32>>,
}

impl DeadEnds {
    pub fn new(task: &Arc<Task>) -> Self {
        Self {
            task: Arc::clone(task),
            runner: None,
            is_useless: false,
            n_tested: 0,
            n_dead: 0,
            state: Vec::new(),
            states: Vec::new(),
            bounds: Vec::new(),
        }
    }

    /// The number of states to test at once; 0 where no tests are made.
    pub fn batch(&self, store: &Store) -> usize {
        match &self.runner {
            _ if self.is_useless || store.len() < FIRST_STATES => 0,
            Some(runner) => runner.width(),
            None => 1,
        }
    }

    /// For each of some states a lower bound on the moves to the best goal, `None` where it is out
    /// of reach. Nothing where no tests are made. `read` appends a state.
    pub fn test(
        &mut self,
        read: impl Fn(StateId, &mut Vec<u64>),
        ids: &[StateId],
    ) -> &[Option<u32>] {
        self.bounds.clear();
        let Some(relaxed) = self.task.relaxed().filter(|_| !self.is_useless) else {
            self.is_useless = true;
            return &[];
        };
        self.states.clear();
        for &id in ids {
            self.state.clear();
            read(id, &mut self.state);
            relaxed.append(&self.state, &mut self.states);
        }
        let runner = self.runner.get_or_insert_with(|| relaxed.runner());
        runner.run(&self.states, MAX_STEPS, &mut self.bounds);
        self.n_tested += ids.len() as u64;
        self.n_dead += self.bounds.iter().filter(|bound| bound.is_none()).count() as u64;
        self.is_useless = self.n_tested >= TRIAL && self.n_dead * MIN_SHARE < self.n_tested;
        &self.bounds
    }
}
