//! A rollout thread: passes requests from its ring to a worker, and answers back.
//!
//! It takes requests when lanes are about to run empty, or when enough wait for a batch.
//!
//! Invariant: the thread sleeps only while its worker is idle.
//!
//! Never uses: the graph.

use super::request::BoxedRequest;
use super::worker::Worker;
use panza_sync::{Consumer, Producer, StopFlag, Waited, Waiter, Waker};

/// Waiting requests that make a batch before lanes run empty.
const BATCH: usize = 16;

/// A rollout thread's side of the pipeline. Fields are dropped in order: the writer is woken after
/// the rings are closed.
pub(super) struct RolloutThread {
    pub(super) requests: Consumer<BoxedRequest>,
    pub(super) results: Producer<BoxedRequest>,
    pub(super) waiter: Waiter,
    pub(super) writer: Waker,
    pub(super) stop: StopFlag,
}

impl RolloutThread {
    /// Answers requests until the stop flag is set or the writer is gone.
    pub(super) fn run(mut self, mut worker: Worker) {
        while !self.stop.is_stopped() {
            if worker.needs_requests() || self.requests.len() >= BATCH {
                while worker.has_room()
                    && let Some(request) = self.requests.pop()
                {
                    worker.submit(request);
                }
            }
            if worker.is_idle() {
                if self.wait_for_request() {
                    continue;
                }
                return;
            }
            worker.work();
            let mut has_answered = false;
            while let Some(answer) = worker.take_finished() {
                // The ring has room: the writer limits the requests in flight to its capacity.
                if self.results.push(answer).is_err() {
                    return;
                }
                has_answered = true;
            }
            if has_answered {
                self.writer.wake();
            }
        }
    }

    /// Sleeps until a request is there. `false` when none can come any more.
    fn wait_for_request(&mut self) -> bool {
        let requests = &self.requests;
        let waited = self
            .waiter
            .wait_until(|| !requests.is_empty() || requests.is_closed());
        waited == Waited::Ready && !(requests.is_closed() && requests.is_empty())
    }
}
