//! The threads of the search, which rest between runs in the middle of their work.
//!
//! A run sets limits and wakes the threads. It ends when all threads rest again. They search
//! nothing twice, so a long run may be split into short ones.
//!
//! Where there are no threads, the calling thread searches. It cannot rest in the middle of a
//! depth: at the end of a run it leaves the depth unfinished, and the next run begins that depth
//! again with the entries of the table. So runs of a few milliseconds would repeat much.
//!
//! Invariants: between runs every thread rests; dropping it ends the threads.
//!
//! Never uses: the table, machines.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use super::Counts;
use super::rest::{Control, Found, Rest, Run, Shared};
use super::searcher::NodeSearch;
use panza_sync::{Budget, Stopwatch, lock, spawn, unpoisoned};

/// The threads of a search.
pub(super) struct Threads {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// The searcher of the calling thread, and the number of the position that it is in.
    own: Option<(Box<NodeSearch>, u64)>,
}

impl Threads {
    /// Starts a thread for each searcher, as far as the system gives any.
    pub fn start(searchers: impl IntoIterator<Item = NodeSearch>) -> Self {
        let shared = Arc::<Shared>::default();
        let mut threads = Vec::new();
        for searcher in searchers {
            let rest = Rest::new(&shared, threads.len());
            match spawn("alpha-beta", move || work(searcher, rest)) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    tracing::warn!(%error, "a thread of the search did not start");
                    break;
                }
            }
        }
        lock(&shared.control).found = vec![Found::default(); threads.len()];
        Self {
            shared,
            threads,
            own: None,
        }
    }

    /// The calling thread alone.
    pub fn of_caller(searcher: NodeSearch) -> Self {
        let mut threads = Self::start([]);
        lock(&threads.shared.control).found = vec![Found::default()];
        threads.own = Some((Box::new(searcher), 0));
        threads
    }

    /// Whether nothing searches.
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty() && self.own.is_none()
    }

    /// Goes to a position.
    pub fn set_state(&self, state: &[u64]) {
        let mut control = lock(&self.shared.control);
        control.position += 1;
        control.state.clear();
        control.state.extend_from_slice(state);
        for found in &mut control.found {
            *found = Found {
                counts: Counts {
                    deepest: 0,
                    ..found.counts
                },
                processor_time: found.processor_time,
                ..Found::default()
            };
        }
        self.shared.changed.notify_all();
    }

    /// Searches on within a budget. What each thread has found is given to `read`.
    ///
    /// # Panics
    /// A thread has panicked, in this run or in an earlier one.
    pub fn run(&mut self, budget: &Budget, max_depth: i32, read: impl FnOnce(&[Found])) {
        if self.own.is_some() {
            return self.run_on_caller(budget, max_depth, read);
        }
        let mut control = lock(&self.shared.control);
        assert!(!control.is_broken, "a thread of the search has panicked");
        let n_unfinished = control.found.iter().filter(|it| !it.is_finished).count();
        // What one has finished is found.
        if n_unfinished == control.found.len() {
            self.shared.is_done.store(false, Ordering::Relaxed);
            control.run = Run {
                budget: budget.clone(),
                max_depth,
            };
            control.run_number += 1;
            control.n_at_work = n_unfinished;
            self.shared.changed.notify_all();
            let is_running = |control: &mut Control| control.n_at_work > 0;
            control = unpoisoned(self.shared.changed.wait_while(control, is_running));
        }
        if let Some(panic) = control.panic.take() {
            drop(control);
            resume_unwind(panic);
        }
        read(&control.found);
    }

    fn run_on_caller(&mut self, budget: &Budget, max_depth: i32, read: impl FnOnce(&[Found])) {
        let mut control = lock(&self.shared.control);
        let Some((searcher, position)) = &mut self.own else {
            return;
        };
        if !control.found[0].is_finished {
            let budget = budget.clone();
            searcher.run = Run { budget, max_depth }.after(searcher.counts.nodes);
            if *position != control.position {
                *position = control.position;
                searcher.begin_position();
            }
            let stopwatch = Stopwatch::start();
            let is_finished = searcher.go_on(&control.state);
            control.found[0] = Found {
                processor_time: control.found[0].processor_time + stopwatch.elapsed(),
                is_finished,
                ..searcher.found()
            };
        }
        read(&control.found);
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        lock(&self.shared.control).is_over = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // A panic was told by the run that it happened in.
            let _ = thread.join();
        }
    }
}

/// The work of a thread.
fn work(mut searcher: NodeSearch, mut rest: Rest) {
    while let Some((state, run)) = rest.until_next_position(searcher.counts.nodes) {
        searcher.run = run;
        searcher.rest = Some(rest);
        let searched = catch_unwind(AssertUnwindSafe(|| searcher.deepen(&state)));
        rest = match searcher.rest.take() {
            Some(rest) => rest,
            None => return,
        };
        match searched {
            Ok(()) => rest.finish(searcher.found()),
            Err(panic) => return rest.panicked(panic),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_sync::catch_panic;

    #[test]
    fn a_panic_is_told_in_its_run_and_in_later_ones() {
        let mut threads = Threads::start([]);
        lock(&threads.shared.control).found = vec![Found::default()];
        let shared = Arc::clone(&threads.shared);
        let rest = Rest::new(&shared, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while lock(&shared.control).n_at_work == 0 {
                    std::thread::yield_now();
                }
                rest.panicked(Box::new("the machine failed"));
            });
            let mut run = || threads.run(&Budget::generous(), 3, |_| ());
            assert!(catch_panic(&mut run).is_err());
            // The thread has ended, so a wait for it would have no end.
            assert!(catch_panic(&mut run).is_err());
        });
    }
}
