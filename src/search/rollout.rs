//! Playouts: from a state to the sums of the goals reached, and the thread that does nothing else.
//!
//! Never knows: the tree. A [`Job`] carries the path it belongs to as a parcel that is not opened here.

use std::sync::Arc;

use super::backup::Path;
use crate::machine::random::Random;
use crate::machine::{Machine, PlayoutEnd, Reasoner};
use crate::sync::ring::{Consumer, Producer};
use crate::sync::stop::{StopFlag, Waited, Waiter, Waker};

/// A request and later its answer. The same allocation travels back and forth and is used again.
#[derive(Debug, Default)]
pub(super) struct Job {
    /// Which account of what is under way it belongs to; the writer opens a new one when requests were lost.
    pub(super) epoch: u32,
    pub(super) path: Path,
    /// Where to play out from.
    pub(super) state: Vec<u64>,
    /// How many playouts are wanted.
    pub(super) samples: u32,
    pub(super) tally: Tally,
}

/// What came of some playouts from one state.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Sum of the final goals, one per role.
    pub(super) totals: Vec<u64>,
    pub(super) playouts: u32,
    /// Joint moves made.
    pub(super) steps: u64,
    /// Playouts that ended at the step limit.
    pub(super) cut_off: u32,
}

impl Tally {
    /// Starts counting anew.
    pub(super) fn clear(&mut self, roles: usize) {
        self.totals.clear();
        self.totals.resize(roles, 0);
        self.playouts = 0;
        self.steps = 0;
        self.cut_off = 0;
    }

    /// Adds one playout from where the reasoner stands. `goals` is room for one goal per role.
    pub(super) fn play(
        &mut self,
        reasoner: &mut dyn Reasoner,
        random: &mut Random,
        max_steps: u32,
        goals: &mut [u8],
    ) {
        match reasoner.playout(random, max_steps, goals) {
            PlayoutEnd::Finished { steps } => self.steps += u64::from(steps),
            PlayoutEnd::CutOff => {
                self.steps += u64::from(max_steps);
                self.cut_off += 1;
            }
        }
        self.playouts += 1;
        for (total, &goal) in self.totals.iter_mut().zip(&*goals) {
            *total += u64::from(goal.min(100));
        }
    }
}

/// A rollout thread's side of the pipeline. The order of the fields is the order in which they are dropped: the writer
/// is woken after the rings were closed.
pub(super) struct Rollout {
    pub(super) requests: Consumer<Box<Job>>,
    pub(super) results: Producer<Box<Job>>,
    pub(super) waiter: Waiter,
    /// Wakes the writer.
    pub(super) answered: Waker,
    pub(super) stop: StopFlag,
    pub(super) max_steps: u32,
    pub(super) random: Random,
}

impl Rollout {
    /// Answers requests until the stop flag is set or the writer is gone.
    pub(super) fn run(mut self, machine: Arc<dyn Machine>) {
        let mut goals = vec![0; machine.n_roles()];
        let mut reasoner = machine.reasoner();
        loop {
            let Some(mut job) = self.requests.pop() else {
                let requests = &self.requests;
                let waited = self
                    .waiter
                    .wait_until(|| !requests.is_empty() || requests.is_closed());
                if waited == Waited::Stopped || (requests.is_closed() && requests.is_empty()) {
                    return;
                }
                continue;
            };
            job.tally.clear(goals.len());
            for _ in 0..job.samples {
                if self.stop.is_stopped() {
                    return;
                }
                reasoner.set_state(&job.state);
                job.tally.play(
                    reasoner.as_mut(),
                    &mut self.random,
                    self.max_steps,
                    &mut goals,
                );
            }
            // There is always room: the writer never has more requests under way than the ring holds.
            if self.results.push(job).is_err() {
                return;
            }
            self.answered.wake();
        }
    }
}
