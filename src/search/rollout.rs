//! The rollout thread: keeps a worker busy from its ring.
//!
//! It takes up requests when lanes are about to run dry or when enough of them have gathered that
//! looking at their positions together pays.
//!
//! Invariant: it sleeps only while its worker has nothing to do.
//!
//! Never knows: the graph.

use super::worker::{Job, Worker};
use crate::sync::ring::{Consumer, Producer};
use crate::sync::stop::{StopFlag, Waited, Waiter, Waker};

/// So many requests are worth looking at before lanes run dry.
const BATCH: usize = 16;

/// A rollout thread's side of the pipeline. The order of the fields is the order in which they are
/// dropped: the writer is woken after the rings were closed.
pub(super) struct Rollout {
    pub(super) requests: Consumer<Box<Job>>,
    pub(super) results: Producer<Box<Job>>,
    pub(super) waiter: Waiter,
    /// Wakes the writer.
    pub(super) answered: Waker,
    pub(super) stop: StopFlag,
}

impl Rollout {
    /// Answers requests until the stop flag is set or the writer is gone.
    pub(super) fn run(mut self, mut worker: Worker) {
        while !self.stop.is_stopped() {
            if worker.is_short() || self.requests.len() >= BATCH {
                while worker.has_room()
                    && let Some(job) = self.requests.pop()
                {
                    worker.take(job);
                }
            }
            if worker.is_idle() {
                if self.wait_for_request() {
                    continue;
                }
                return;
            }
            worker.work();
            let mut any = false;
            while let Some(job) = worker.take_finished() {
                // There is always room: the writer never has more requests under way than the ring
                // holds.
                if self.results.push(job).is_err() {
                    return;
                }
                any = true;
            }
            if any {
                self.answered.wake();
            }
        }
    }

    /// Sleeps until there is a request. `false` when there will be none any more.
    fn wait_for_request(&mut self) -> bool {
        let requests = &self.requests;
        let waited = self
            .waiter
            .wait_until(|| !requests.is_empty() || requests.is_closed());
        waited == Waited::Ready && !(requests.is_closed() && requests.is_empty())
    }
}
