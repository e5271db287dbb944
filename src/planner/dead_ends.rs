//! States from which the best goal cannot be reached any more.
//!
//! The relaxation of the game (`propnet::relaxation`) runs in lanes from hundreds of states at
//! once. A state whose relaxation never reaches the goal is dead. Games in which hardly any state
//! is dead are not tested any further.
//!
//! Invariant: no state that a plan with the best goal passes is called dead.

use std::sync::Arc;

use super::store::{StateId, Store};
use super::task::Task;
use crate::machine::lanes::expand::Runner;

/// More steps than a relaxation makes.
const MAX_STEPS: u32 = 1 << 20;
/// States made before the relaxation is built: small games are solved before.
const FIRST_STATES: usize = 4_096;
/// States that are tested before their share of dead ones counts.
const TRIAL: u64 = 8_192;
/// The least share of dead states that is worth the tests: one of so many.
const MIN_SHARE: u64 = 50;

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
