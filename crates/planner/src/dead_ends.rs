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
use panza_machine::lanes::expand::Runner;

/// More steps than a relaxation makes.
const MAX_STEPS: u32 = 1 << 20;
/// States made before the relaxation is built: small games are solved before.
const FIRST_STATES: usize = 4_096;
/// Tested states after which tests may end.
const TRIAL: u64 = 8_192;
/// Tests go on while at least one tested state of this number is dead.
const MAX_TESTED_PER_DEAD: u64 = 50;

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
    /// Per state the steps of its relaxation to the goal; `None` for a dead one.
    steps: Vec<Option<u32>>,
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
            steps: Vec::new(),
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

    /// For each of some states whether it is dead; nothing where no tests are made. `read` appends
    /// a state.
    pub fn test<'a>(
        &'a mut self,
        read: &dyn Fn(StateId, &mut Vec<u64>),
        ids: &[StateId],
    ) -> impl Iterator<Item = bool> + use<'a> {
        self.steps.clear();
        if !self.is_useless {
            self.is_useless = self.run(read, ids).is_none();
        }
        self.steps.iter().map(Option::is_none)
    }

    /// `None` where tests are of no use.
    fn run(&mut self, read: &dyn Fn(StateId, &mut Vec<u64>), ids: &[StateId]) -> Option<()> {
        let relaxed = self.task.relaxed()?;
        if self.runner.is_none() {
            // Where the best goal is out of reach, other goals are searched for.
            self.states.clear();
            relaxed.append(&self.task.start, &mut self.states);
            let mut runner = relaxed.runner();
            runner.run(&self.states, MAX_STEPS, &mut self.steps);
            if std::mem::take(&mut self.steps) == [None] {
                return None;
            }
            self.runner = Some(runner);
        }
        self.states.clear();
        for &id in ids {
            self.state.clear();
            read(id, &mut self.state);
            relaxed.append(&self.state, &mut self.states);
        }
        let runner = self.runner.as_mut()?;
        runner.run(&self.states, MAX_STEPS, &mut self.steps);
        self.n_tested += ids.len() as u64;
        self.n_dead += self.steps.iter().filter(|steps| steps.is_none()).count() as u64;
        (self.n_tested < TRIAL || self.n_dead * MAX_TESTED_PER_DEAD >= self.n_tested).then_some(())
    }
}
