//! Playouts: from a state to the sums of the goals reached, and the thread that does nothing else.
//!
//! A rollout thread plays one after the other, or, where the machine can, many abreast (see `abreast`).
//!
//! Never knows: the tree. A [`Job`] carries the path it belongs to as a parcel that is not opened here.

use std::sync::Arc;

use super::abreast::Abreast;
use super::backup::Path;
use crate::machine::random::Random;
use crate::machine::{Machine, PlayoutEnd, Playouts, Reasoner, Tally};
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

/// Adds one playout to a tally, from where the reasoner stands. `goals` is room for one goal per role.
pub(super) fn play(
    tally: &mut Tally,
    reasoner: &mut dyn Reasoner,
    random: &mut Random,
    max_steps: u32,
    goals: &mut [u8],
) {
    match reasoner.playout(random, max_steps, goals) {
        PlayoutEnd::Finished { steps } => tally.steps += u64::from(steps),
        PlayoutEnd::CutOff => {
            tally.steps += u64::from(max_steps);
            tally.cut_off += 1;
        }
    }
    tally.playouts += 1;
    for (total, &goal) in tally.totals.iter_mut().zip(&*goals) {
        *total += u64::from(goal.min(100));
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
    pub(super) fn run(self, machine: Arc<dyn Machine>, playouts: Option<Box<dyn Playouts>>) {
        match playouts {
            Some(playouts) => Abreast::new(self, machine, playouts).run(),
            None => self.run_one_by_one(machine),
        }
    }

    fn run_one_by_one(mut self, machine: Arc<dyn Machine>) {
        let mut goals = vec![0; machine.n_roles()];
        let mut reasoner = machine.reasoner();
        loop {
            let Some(mut job) = self.requests.pop() else {
                if self.wait_for_request() {
                    continue;
                }
                return;
            };
            job.tally.clear(goals.len());
            for _ in 0..job.samples {
                if self.stop.is_stopped() {
                    return;
                }
                reasoner.set_state(&job.state);
                play(
                    &mut job.tally,
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

    /// Sleeps until there is a request. `false` when there will be none any more.
    pub(super) fn wait_for_request(&mut self) -> bool {
        let requests = &self.requests;
        let waited = self
            .waiter
            .wait_until(|| !requests.is_empty() || requests.is_closed());
        waited == Waited::Ready && !(requests.is_closed() && requests.is_empty())
    }
}
