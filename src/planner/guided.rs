//! Greedy best-first search with two queues in turn: nearest to the goal, and new facts first.
//!
//! The first queue is ordered by [`GoalDistance`]. The second prefers states of novelty 1: they
//! have a fact that no state of the same distance had before (best-first width search; Lipovetzky
//! and Geffner 2017). The second queue leaves plateaus that the first one exhausts.
//!
//! States that differ in counters only are one state, so nothing is proven. New states are tested
//! for dead ends, as many at once as there are lanes, so some are expanded before.
//!
//! Invariant: each state is expanded at most once.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::dead_ends::DeadEnds;
use super::distance::GoalDistance;
use super::solver::{Report, Solver, Status};
use super::store::{Added, StateId, Store};
use super::successors::Successors;
use super::task::Task;

/// What is added to the distance of a state without new facts in the second queue.
const OLD: u32 = 1 << 24;
/// Greater distances share their facts.
const MAX_SEEN_DISTANCE: u32 = 1 << 10;
/// States expanded together; more are less greedy.
const BATCH: usize = 8;

/// The least key first; of equal keys the last state.
type Queue = BinaryHeap<(Reverse<u32>, StateId)>;

pub(super) struct Guided {
    mask: Vec<u64>,
    store: Store,
    successors: Successors,
    distance: Option<GoalDistance>,
    nearest: Queue,
    newest: Queue,
    /// Whether each state is expanded or dead.
    is_expanded: Vec<bool>,
    dead_ends: DeadEnds,
    untested: Vec<StateId>,
    /// For each distance the facts of all states.
    seen: HashMap<u32, Vec<u64>>,
    batch: Vec<StateId>,
}

impl Guided {
    pub fn new(task: &Arc<Task>, max_bytes: usize) -> Self {
        Self {
            mask: task.game.mask.clone(),
            // The queues and flags take as much again.
            store: Store::new(&task.start, &task.game.packing, true, max_bytes / 2),
            successors: Successors::new(&task.game.machine),
            distance: GoalDistance::new(task),
            nearest: Queue::from([(Reverse(0), 0)]),
            newest: Queue::new(),
            is_expanded: vec![false],
            dead_ends: DeadEnds::new(task),
            untested: Vec::new(),
            seen: HashMap::new(),
            batch: Vec::new(),
        }
    }

    /// Takes states from both queues in turn.
    fn take_batch(&mut self) {
        self.batch.clear();
        for queue in [&mut self.nearest, &mut self.newest] {
            let mut left = BATCH / 2;
            while left > 0
                && let Some((_, id)) = queue.pop()
            {
                if !std::mem::replace(&mut self.is_expanded[id as usize], true) {
                    self.batch.push(id);
                    left -= 1;
                }
            }
        }
    }

    fn test_for_dead_ends(&mut self) {
        match self.dead_ends.batch(&self.store) {
            0 => self.untested.clear(),
            batch if self.untested.len() >= batch => {
                let bounds = self.dead_ends.test(&self.store, &self.untested);
                for (&id, bound) in self.untested.iter().zip(bounds) {
                    self.is_expanded[id as usize] |= bound.is_none();
                }
                self.untested.clear();
            }
            _ => {}
        }
    }

    /// Whether a state has a fact that no state of its distance had before.
    fn is_new(
        seen: &mut HashMap<u32, Vec<u64>>,
        mask: &[u64],
        distance: u32,
        state: &[u64],
    ) -> bool {
        let distance = distance.min(MAX_SEEN_DISTANCE);
        let seen = seen.entry(distance).or_insert_with(|| vec![0; mask.len()]);
        let mut is_new = false;
        for ((seen, word), mask) in seen.iter_mut().zip(state).zip(mask) {
            is_new |= word & mask & !*seen != 0;
            *seen |= word & mask;
        }
        is_new
    }
}

impl Solver for Guided {
    fn name(&self) -> &'static str {
        "guided"
    }

    fn work(&mut self, report: &mut Report<'_>, until: Instant, stop: &AtomicBool) -> Status {
        while Instant::now() < until && !stop.load(Ordering::Relaxed) {
            self.take_batch();
            if self.batch.is_empty() {
                return Status::GaveUp;
            }
            self.successors.make(&self.store, &self.batch);
            self.store.prepare(self.successors.states());
            for (index, child) in self.successors.iter().enumerate() {
                if let Some(goal) = child.goal {
                    report.found_after(&self.store, &child, goal);
                    continue;
                }
                let id = match self.store.add(index, child.parent, child.mv) {
                    Added::New(id) => id,
                    Added::Known => continue,
                    Added::Full => return Status::GaveUp,
                };
                self.is_expanded.push(false);
                self.untested.push(id);
                let distance = self
                    .distance
                    .as_mut()
                    .map_or(0, |goal| goal.of(child.state));
                let is_new = Self::is_new(&mut self.seen, &self.mask, distance, child.state);
                self.nearest.push((Reverse(distance), id));
                let key = if is_new { distance } else { distance + OLD };
                self.newest.push((Reverse(key), id));
            }
            if report.is_best_possible() {
                return Status::GaveUp;
            }
            self.test_for_dead_ends();
        }
        Status::Open
    }

    fn n_states(&self) -> u64 {
        self.successors.n_made()
    }
}
