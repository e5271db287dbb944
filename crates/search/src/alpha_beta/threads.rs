//! The threads of the search, which rest between runs in the middle of their work.
//!
//! A run sets limits and wakes the threads. A thread that reaches them leaves what it has found and
//! waits where it is, so that the next run goes on from there: many short runs cost no more than
//! one long run. For another position the threads leave the one they are in.
//!
//! Invariants: between runs every thread rests; a thread leaves findings only for the position in
//! force; dropping it ends the threads.
//!
//! Never uses: the table, machines.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Counts;
use super::root::RootMoves;
use super::score::Score;
use super::searcher::{Limits, Searcher};
use panza_sync::{Budget, lock, spawn, thread_cpu_time, unpoisoned};

/// What a thread has found about the position.
#[derive(Clone, Default)]
pub(super) struct Found {
    /// The score of the last depth that was searched in full, and that depth.
    pub score: Score,
    pub depth: i32,
    pub root: RootMoves,
    pub mover: usize,
    /// Since the thread began.
    pub counts: Counts,
    pub processor_time: Duration,
    /// Whether there is nothing left to search.
    pub is_finished: bool,
}

/// What a run asks for.
#[derive(Clone, Default)]
struct Run {
    until: Option<std::time::Instant>,
    /// Nodes of each thread.
    max_nodes: u64,
    stop: Option<Arc<AtomicBool>>,
    max_depth: i32,
}

#[derive(Default)]
struct Control {
    state: Vec<u64>,
    /// Counts positions and runs, from 1 on.
    position: u64,
    run_number: u64,
    run: Run,
    /// Threads that have not come to rest in the run.
    n_at_work: usize,
    is_over: bool,
    found: Vec<Found>,
    panic: Option<Box<dyn Any + Send>>,
}

#[derive(Default)]
struct Shared {
    control: Mutex<Control>,
    changed: Condvar,
    /// Set in a run once a thread has nothing left to do in it.
    is_done: Arc<AtomicBool>,
}

/// The end of a thread: where it rests.
pub(super) struct Rest {
    shared: Arc<Shared>,
    index: usize,
    /// The position and the run that the thread is in.
    position: u64,
    run_number: u64,
}

impl Rest {
    /// Leaves what was found and waits for the next run. Its limits; `None` once there is another
    /// position, and at the end.
    pub fn until_next_run(&mut self, mut found: Found) -> Option<Limits> {
        found.processor_time = thread_cpu_time().unwrap_or_default();
        let nodes = found.counts.nodes;
        let mut control = lock(&self.shared.control);
        control.found[self.index] = found;
        self.arrive(&mut control);
        let is_waiting = |control: &mut Control| {
            !control.is_over
                && control.position == self.position
                && control.run_number == self.run_number
        };
        control = unpoisoned(self.shared.changed.wait_while(control, is_waiting));
        if control.is_over || control.position != self.position {
            return None;
        }
        self.run_number = control.run_number;
        Some(self.limits(&control.run, nodes))
    }

    fn arrive(&self, control: &mut MutexGuard<'_, Control>) {
        control.n_at_work -= 1;
        if control.n_at_work == 0 {
            self.shared.changed.notify_all();
        }
    }

    /// The others have nothing left to do in this run.
    pub fn end_run(&self) {
        self.shared.is_done.store(true, Ordering::Relaxed);
    }

    fn limits(&self, run: &Run, nodes: u64) -> Limits {
        Limits {
            until: run.until,
            max_nodes: nodes.saturating_add(run.max_nodes),
            stop: run.stop.clone(),
            max_depth: run.max_depth,
            is_done: Arc::clone(&self.shared.is_done),
        }
    }

    /// Waits for a run of another position: its state and limits; `None` at the end.
    fn until_next_position(&mut self, nodes: u64) -> Option<(Vec<u64>, Limits)> {
        let control = lock(&self.shared.control);
        let is_waiting = |control: &mut Control| {
            !control.is_over
                && (control.position == self.position || control.run_number == self.run_number)
        };
        let control = unpoisoned(self.shared.changed.wait_while(control, is_waiting));
        (self.position, self.run_number) = (control.position, control.run_number);
        let limits = self.limits(&control.run, nodes);
        (!control.is_over).then(|| (control.state.clone(), limits))
    }

    /// Leaves what was found, unless there is another position meanwhile.
    fn finish(&mut self, found: Found) {
        let mut control = lock(&self.shared.control);
        if control.position == self.position && !control.is_over {
            control.found[self.index] = Found {
                processor_time: thread_cpu_time().unwrap_or_default(),
                is_finished: true,
                ..found
            };
            self.end_run();
            self.arrive(&mut control);
        }
    }
}

/// The threads of a search.
pub(super) struct Threads {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Starts a thread for each searcher, as far as the system gives any.
    pub fn start(searchers: impl IntoIterator<Item = Searcher>) -> Self {
        let shared = Arc::<Shared>::default();
        let mut threads = Vec::new();
        for searcher in searchers {
            let rest = Rest {
                shared: Arc::clone(&shared),
                index: threads.len(),
                position: 0,
                run_number: 0,
            };
            match spawn("alpha-beta", move || work(searcher, rest)) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    tracing::warn!(%error, "a thread of the search did not start");
                    break;
                }
            }
        }
        lock(&shared.control).found = vec![Found::default(); threads.len()];
        Self { shared, threads }
    }

    /// The number of threads.
    pub fn len(&self) -> usize {
        self.threads.len()
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
    pub fn run(&self, budget: &Budget<'_>, max_depth: i32, read: impl FnOnce(&[Found])) {
        let mut control = lock(&self.shared.control);
        let n_unfinished = control.found.iter().filter(|it| !it.is_finished).count();
        // What one has finished is found.
        if n_unfinished == control.found.len() {
            self.shared.is_done.store(false, Ordering::Relaxed);
            control.run = Run {
                until: budget.until,
                max_nodes: budget.max_steps,
                stop: budget.stop.cloned(),
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
fn work(mut searcher: Searcher, mut rest: Rest) {
    let shared = Arc::clone(&rest.shared);
    while let Some((state, limits)) = rest.until_next_position(searcher.counts.nodes) {
        searcher.limits = limits;
        searcher.rest = Some(rest);
        let searched = catch_unwind(AssertUnwindSafe(|| searcher.deepen(&state)));
        rest = match searcher.rest.take() {
            Some(rest) => rest,
            None => return,
        };
        match searched {
            Ok(()) => rest.finish(searcher.found()),
            Err(panic) => {
                let mut control = lock(&shared.control);
                control.panic = Some(panic);
                rest.end_run();
                rest.arrive(&mut control);
                // A thread that has panicked is never waited for again.
                control.found[rest.index].is_finished = true;
                return;
            }
        }
    }
}
