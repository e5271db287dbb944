//! Where a thread of the search rests, and what threads and their caller tell each other.
//!
//! A thread that reaches the limits of a run leaves what it has found and waits where it is, and
//! the next run goes on from there. For another position it leaves the one that it is in.
//!
//! Invariants: a thread leaves findings only for the position in force, and once in each run.
//!
//! Never uses: searchers, the table, machines.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use super::root::RootMoves;
use super::score::Score;
use super::{Counts, MAX_DEPTH};
use panza_sync::{Budget, lock, thread_cpu_time, unpoisoned};

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

/// When a run is to end.
#[derive(Clone)]
pub(super) struct Run {
    /// A step is a node of a thread. A thread counts them since its start, the caller since the
    /// start of the run.
    pub budget: Budget,
    /// The greatest depth.
    pub max_depth: i32,
}

impl Run {
    /// The same for a thread that has searched this number of nodes.
    pub fn after(&self, nodes: u64) -> Self {
        let max_nodes = nodes.saturating_add(self.budget.max_steps);
        Self {
            budget: self.budget.with_steps(max_nodes),
            max_depth: self.max_depth,
        }
    }
}

impl Default for Run {
    fn default() -> Self {
        Self {
            budget: Budget::generous(),
            max_depth: MAX_DEPTH,
        }
    }
}

/// What the caller wants, and what the threads have left.
#[derive(Default)]
pub(super) struct Control {
    pub state: Vec<u64>,
    /// Counts positions and runs, from 1 on.
    pub position: u64,
    pub run_number: u64,
    pub run: Run,
    /// The number of threads that still search in the run.
    pub n_at_work: usize,
    pub is_over: bool,
    pub found: Vec<Found>,
    pub panic: Option<Box<dyn Any + Send>>,
    /// Whether a thread has panicked and ended.
    pub is_broken: bool,
}

/// What the threads and their caller share.
#[derive(Default)]
pub(super) struct Shared {
    pub control: Mutex<Control>,
    pub changed: Condvar,
    /// Set in a run once a thread has nothing left to do in it.
    pub is_done: AtomicBool,
}

/// Where a thread rests.
pub(super) struct Rest {
    shared: Arc<Shared>,
    index: usize,
    /// The position and the run that the thread is in.
    position: u64,
    run_number: u64,
}

impl Rest {
    /// The place of the thread of this number.
    pub fn new(shared: &Arc<Shared>, index: usize) -> Self {
        Self {
            shared: Arc::clone(shared),
            index,
            position: 0,
            run_number: 0,
        }
    }

    /// Leaves what was found and waits for the next run. `None` once there is another position,
    /// and at the end.
    pub fn until_next_run(&mut self, mut found: Found) -> Option<Run> {
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
        Some(control.run.after(nodes))
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

    /// Whether another thread has nothing left to do in this run.
    pub fn is_run_over(&self) -> bool {
        self.shared.is_done.load(Ordering::Relaxed)
    }

    /// Waits for a run of another position: its state and the run; `None` at the end.
    pub fn until_next_position(&mut self, nodes: u64) -> Option<(Vec<u64>, Run)> {
        let control = lock(&self.shared.control);
        let is_waiting = |control: &mut Control| {
            !control.is_over
                && (control.position == self.position || control.run_number == self.run_number)
        };
        let control = unpoisoned(self.shared.changed.wait_while(control, is_waiting));
        (self.position, self.run_number) = (control.position, control.run_number);
        (!control.is_over).then(|| (control.state.clone(), control.run.after(nodes)))
    }

    /// Leaves what was found, unless there is another position meanwhile.
    pub fn finish(&self, found: Found) {
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

    /// Leaves a panic, after which the thread ends.
    pub fn panicked(&self, panic: Box<dyn Any + Send>) {
        let mut control = lock(&self.shared.control);
        control.panic = Some(panic);
        control.is_broken = true;
        self.end_run();
        self.arrive(&mut control);
    }
}
