//! Breadth-first search: all states, those of fewest moves first.
//!
//! The first plan found for a goal is a shortest one. Once no new state is left, the best plan
//! found is proven best. A search that becomes large starts again with the game over packed states,
//! which makes successors several times as fast. Where nothing is to be proven, states from which
//! the best goal is out of reach are left out.
//!
//! Invariant: all states before `head` are expanded or left out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::dead_ends::DeadEnds;
use super::packed_game::PackedGame;
use super::packing::Packing;
use super::solver::{Report, Solver, Status};
use super::store::{Added, StateId, Store};
use super::successors::Successors;
use super::task::Task;
use panza_sync::{Instant, is_past};

/// Successors made before the search starts again over packed states: some hundredths of a second.
const LARGE: u64 = 1 << 17;

pub(super) struct Layers {
    task: Arc<Task>,
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
    /// Where the states are packed.
    packed: Option<Arc<PackedGame>>,
    /// Whether states are to be packed once the search is large.
    may_pack: bool,
    max_bytes: usize,
    /// Successors made by searches that started again.
    n_made_before: u64,
}

impl Layers {
    pub fn new(task: &Arc<Task>, is_masked: bool, max_bytes: usize) -> Self {
        let mut layers = Self {
            task: Arc::clone(task),
            store: Store::new(&task.start, &task.game.packing, is_masked, max_bytes),
            successors: Successors::new(Arc::clone(&task.game.machine).expander()),
            head: 0,
            is_masked,
            is_proof: !is_masked && task.game.network.is_some(),
            dead_ends: DeadEnds::new(task),
            batch: Vec::new(),
            packed: None,
            may_pack: true,
            max_bytes,
            n_made_before: 0,
        };
        if let Some(packed) = task.game.packed_made() {
            layers.start_packed(packed);
        }
        layers
    }

    /// Starts again over packed states.
    fn start_packed(&mut self, packed: Arc<PackedGame>) {
        self.may_pack = false;
        if let Some(start) = packed.pack(&self.task.start) {
            let packing = Arc::new(packed.packing());
            let successors = Successors::new(packed.expander());
            self.start_again(&start, &packing, successors);
            self.packed = Some(packed);
        }
    }

    /// Starts again after a state that did not fit.
    fn start_raw(&mut self) {
        self.packed = None;
        let task = Arc::clone(&self.task);
        let successors = Successors::new(Arc::clone(&task.game.machine).expander());
        self.start_again(&task.start, &task.game.packing, successors);
    }

    fn start_again(&mut self, start: &[u64], packing: &Arc<Packing>, successors: Successors) {
        self.n_made_before += self.successors.n_made();
        self.head = 0;
        self.store = Store::new(start, packing, self.is_masked, self.max_bytes);
        self.successors = successors;
    }

    fn leave_out_dead_ends(&mut self) {
        let read = |id: StateId, state: &mut Vec<u64>| match &self.packed {
            Some(packed) => packed.unpack(self.store.packed(id), state),
            None => self.store.read(id, state),
        };
        let mut is_dead = self.dead_ends.test(&read, &self.batch);
        self.batch.retain(|_| is_dead.next() != Some(true));
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
        while !is_past(until) && !stop.load(Ordering::Relaxed) {
            if self.head == self.store.len() {
                return match self.is_proof {
                    true => Status::Exhausted,
                    false => Status::GaveUp,
                };
            }
            if self.may_pack && self.successors.n_made() >= LARGE {
                self.may_pack = false;
                if let Some(packed) = self.task.game.packed() {
                    self.start_packed(packed);
                }
            }
            let end = self
                .store
                .len()
                .min(self.head + self.successors.batch(&self.store));
            self.batch.clear();
            self.batch.extend(self.head as StateId..end as StateId);
            if self.is_masked && self.dead_ends.batch(&self.store) > 0 {
                self.leave_out_dead_ends();
            }
            self.successors.make(&self.store, &self.batch);
            if let Some(packed) = &self.packed
                && self
                    .successors
                    .states()
                    .any(|state| packed.overflows(state))
            {
                self.start_raw();
                continue;
            }
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
        self.n_made_before + self.successors.n_made()
    }
}
