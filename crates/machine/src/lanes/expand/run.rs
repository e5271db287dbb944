//! Games without choices, run to their end in all lanes.
//!
//! Invariant: a state is at its end when the game is over there, or after the most steps.

use super::*;

/// Runs a game in which no move matters.
pub trait Runner: Send {
    /// The number of states that cost as much as one.
    fn width(&self) -> usize;

    /// Runs each of some concatenated states to its end, and replaces `steps` by the steps until
    /// then where the first role's goal is 100 there, and by `None` elsewhere.
    fn run(&mut self, states: &[u64], max_steps: u32, steps: &mut Vec<Option<u32>>);

    /// Makes steps from some concatenated states, at most [`width`](Self::width) of them, until no
    /// state changes, or for the most steps; `see` gets all states after each step.
    fn watch(&mut self, states: &[u64], max_steps: u32, see: &mut dyn FnMut(&[u64]));
}

impl ExpanderLayout {
    /// A runner for a new thread.
    pub fn runner(self: &Arc<Self>) -> Box<dyn Runner> {
        let layout = Arc::clone(self);
        match self.n_words {
            4 => Box::new(LanesExpander::<4>::new(layout, GoalScope::Terminal)),
            _ => Box::new(LanesExpander::<8>::new(layout, GoalScope::Terminal)),
        }
    }
}

impl<const N: usize> Runner for LanesExpander<N> {
    fn width(&self) -> usize {
        64 * N
    }

    fn run(&mut self, states: &[u64], max_steps: u32, steps: &mut Vec<Option<u32>>) {
        steps.clear();
        let n_words = self.layout.state_words();
        for batch in states.chunks(64 * N * n_words) {
            self.run_batch(&still(batch, n_words), max_steps, steps);
        }
    }

    fn watch(&mut self, states: &[u64], max_steps: u32, see: &mut dyn FnMut(&[u64])) {
        let layout = Arc::clone(&self.layout);
        let batch = still(states, layout.state_words());
        self.scatter_states(&batch);
        let mut side = Side::Even;
        let (mut now, mut before) = (PositionBatch::default(), states.to_vec());
        for _ in 0..max_steps {
            layout.step.run(&mut self.memory, side);
            side = side.swapped();
            now.clear(layout.n_roles());
            for (word, group) in batch.chunks(64).enumerate() {
                self.gather_states(side, word, group.len(), &mut now);
            }
            if now.states == before {
                return;
            }
            see(&now.states);
            std::mem::swap(&mut now.states, &mut before);
        }
    }
}

/// Concatenated states to scatter.
fn still(states: &[u64], n_words: usize) -> Vec<ExpansionStep<'_>> {
    let states = states.chunks_exact(n_words);
    let step = |state| ExpansionStep {
        state,
        joint_move: None,
    };
    states.map(step).collect()
}

impl<const N: usize> LanesExpander<N> {
    fn run_batch(
        &mut self,
        batch: &[ExpansionStep<'_>],
        max_steps: u32,
        steps: &mut Vec<Option<u32>>,
    ) {
        let layout = Arc::clone(&self.layout);
        self.scatter_states(batch);
        let mut running = [0u64; N];
        for (word, group) in running.iter_mut().zip(batch.chunks(64)) {
            *word = u64::MAX >> (64 - group.len());
        }
        let first = steps.len();
        steps.resize(first + batch.len(), None);
        let mut side = Side::Even;
        for n_steps in 0..=max_steps {
            layout.end.run(&mut self.memory, side);
            let terminal = self.memory.slots()[layout.terminal];
            for (word, running) in running.iter_mut().enumerate() {
                let mut ended = terminal[word] & *running;
                *running &= !terminal[word];
                while ended != 0 {
                    let lane = word * 64 + ended.trailing_zeros() as usize;
                    ended &= ended - 1;
                    steps[first + lane] = Some(n_steps);
                }
            }
            if !is_any(&running) || n_steps == max_steps {
                break;
            }
            layout.step.run(&mut self.memory, side);
            side = side.swapped();
        }
        layout.goals.run(&mut self.memory, side);
        let mut is_reached = [0u64; N];
        for &(role, value, slot) in &layout.goal_slots {
            if role.index() == 0 && value == 100 {
                is_reached = self.memory.slots()[slot as usize];
            }
        }
        for (lane, steps) in steps[first..].iter_mut().enumerate() {
            if is_reached[lane / 64] >> (lane % 64) & 1 == 0 {
                *steps = None;
            }
        }
    }
}
