//! A lower bound on the moves that are left: the steps to the goal in the relaxation.
//!
//! Invariant: no state is left out from which a plan with the best goal is short enough.

use std::sync::Arc;

use super::space::Space;
use crate::relaxed::Relaxed;
use crate::store::{StateId, Store};
use crate::task::Task;
use panza_machine::lanes::expand::Runner;

/// A layer of a search is tested on while one of this many states is left out.
const MAX_TESTED_PER_LEFT_OUT: usize = 8;

/// Bounds the moves from states to the best goal; one thread's.
pub(super) struct LowerBound {
    relaxed: Arc<Relaxed>,
    runner: Box<dyn Runner>,
    state: Vec<u64>,
    states: Vec<u64>,
    /// Per state the steps of its relaxation to the goal.
    steps: Vec<Option<u32>>,
    n_tested: usize,
    n_left_out: usize,
}

impl LowerBound {
    /// The bound on plans with the highest goal that is possible; `None` where there is none.
    pub fn new(task: &Task) -> Option<Self> {
        let relaxed = task.relaxed()?;
        Some(Self {
            runner: relaxed.runner(),
            relaxed,
            state: Vec::new(),
            states: Vec::new(),
            steps: Vec::new(),
            n_tested: 0,
            n_left_out: 0,
        })
    }

    /// The bound from a state; 0 where the goal is out of reach.
    pub fn fewest_moves(&mut self, state: &[u64]) -> usize {
        self.states.clear();
        self.relaxed.append(state, &mut self.states);
        self.runner.run(&self.states, u32::MAX, &mut self.steps);
        self.steps.first().copied().flatten().unwrap_or(0) as usize
    }

    /// Begins with states that have one number of moves left.
    pub fn begin_layer(&mut self) {
        self.n_tested = 0;
        self.n_left_out = 0;
    }

    /// The number of states to test at once; `None` where tests are of no use.
    pub fn batch(&self) -> Option<usize> {
        let is_useful =
            self.n_tested == 0 || self.n_left_out * MAX_TESTED_PER_LEFT_OUT >= self.n_tested;
        is_useful.then(|| self.runner.width())
    }

    /// Leaves out states from which no plan has at most `max_moves` moves.
    pub fn retain(
        &mut self,
        space: &Space,
        store: &Store,
        ids: &mut Vec<StateId>,
        max_moves: usize,
    ) {
        self.states.clear();
        for &id in ids.iter() {
            self.state.clear();
            space.read(store, id, &mut self.state);
            self.relaxed.append(&self.state, &mut self.states);
        }
        self.runner
            .run(&self.states, max_moves as u32, &mut self.steps);
        self.n_tested += ids.len();
        let mut steps = self.steps.iter();
        ids.retain(|_| {
            let steps = steps.next().copied().flatten();
            steps.is_some_and(|steps| steps as usize <= max_moves)
        });
        self.n_left_out += self.steps.len() - ids.len();
    }
}
