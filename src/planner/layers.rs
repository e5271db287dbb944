//! Breadth-first search: all states, those of fewest moves first.
//!
//! The first plan found for a goal is a shortest one. Once no new state is left, the best plan
//! found is proven best.
//!
//! Where nothing is to be proven, states from which the best goal is out of reach are left out.
//!
//! Invariant: all states before `head` are expanded or left out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::dead_ends::DeadEnds;
use super::solver::{Report, Solver, Status};
use super::store::{Added, StateId, Store};
use super::successors::Successors;
use super::task::Task;

pub(super) struct Layers {
    store: Store,
    successors: Successors,
    head: usize,
    /// Whether states that differ in counters only are one state.
    is_masked: bool,
    /// Whether the end of the search is a proof: not with masked states, nor on the prover, which
    /// ends a game that passes its limits.
    is_proof: bool,
    dead_ends: DeadEnds,
    batch: Vec<StateId>,
}

impl Layers {
    pub fn new(task: &Arc<Task>, is_masked: bool, max_bytes: usize) -> Self {
        Self {
            store: Store::new(&task.start, &task.game.packing, is_masked, max_bytes),
            successors: Successors::new(&task.game.machine),
            head: 0,
            is_masked,
            is_proof: !is_masked && task.game.network.is_some(),
            dead_ends: DeadEnds::new(task),
            batch: Vec::new(),
        }
    }
}

impl Solver for Layers {
    fn name(&self) -> &'static str {
        match self.is_masked {
            true => "layers-masked",
            false => "layers",
        }
    }

    fn work(&mut self, report: &mut Report<'_>, until: Instant, stop: &AtomicBool) -> Status {
        while Instant::now() < until && !stop.load(Ordering::Relaxed) {
            if self.head == self.store.len() {
                return match self.is_proof {
                    true => Status::Exhausted,
                    false => Status::GaveUp,
                };
            }
            let end = self
                .store
                .len()
                .min(self.head + self.successors.batch(&self.store));
            self.batch.clear();
            self.batch.extend(self.head as StateId..end as StateId);
            if self.is_masked && self.dead_ends.batch(&self.store) > 0 {
                let mut bounds = self.dead_ends.test(&self.store, &self.batch).iter();
                self.batch
                    .retain(|_| bounds.next().is_none_or(Option::is_some));
            }
            self.successors.make(&self.store, &self.batch);
            self.store.prepare(self.successors.states());
            for (index, child) in self.successors.iter().enumerate() {
                if let Some(goal) = child.goal {
                    report.found_after(&self.store, &child, goal);
                } else if self.store.add(index, child.parent, child.mv) == Added::Full {
                    return Status::GaveUp;
                }
            }
            self.head = end;
            if report.is_best_possible() {
                return Status::GaveUp;
            }
        }
        Status::Open
    }

    fn n_states(&self) -> u64 {
        self.successors.n_made()
    }
}
