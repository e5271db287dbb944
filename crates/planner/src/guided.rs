//! Greedy best-first search with two queues in turn: nearest to the goal, and new facts first.
//!
//! The first queue is ordered by the distance to the goal: [`GoalDistance`], and in searches that
//! have become large [`ProjectionDistance`] too. The second prefers states of novelty 1: they have
//! a fact that no state of the same distance had before (best-first width search; Lipovetzky and
//! Geffner 2017). The second queue leaves plateaus that the first one exhausts.
//!
//! States that differ in counters only are one state, so nothing is proven. New states are tested
//! for dead ends, as many at once as there are lanes, so some are expanded before.
//!
//! Invariant: each state is expanded at most once.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::dead_ends::DeadEnds;
use super::distance::GoalDistance;
use super::projections::ProjectionDistance;
use super::solver::{Report, Solver, Status};
use super::store::{Added, StateId, Store};
use super::successors::Successors;
use super::task::Task;
use panza_sync::{Instant, is_past};

/// What is added to the distance of a state without new facts in the second queue.
const OLD: u32 = 1 << 24;
/// Greater distances share their facts.
const MAX_SEEN_DISTANCE: u32 = 1 << 10;
/// States expanded together; more are less greedy.
const BATCH: usize = 8;
/// Successors made together, unless a single state has more.
const MAX_SUCCESSORS: usize = 1 << 14;
/// Successors between two looks at whether to stop.
const LOOK_EVERY: usize = 256;
/// States of a search in which projections are worth the time to find them.
const LARGE: usize = 4_096;

/// The least key first; of equal keys the last state.
type Queue = BinaryHeap<(Reverse<u32>, StateId)>;

pub(super) struct Guided {
    task: Arc<Task>,
    store: Store,
    successors: Successors,
    frontier: Frontier,
    dead_ends: DeadEnds,
    untested: Vec<StateId>,
    batch: Vec<StateId>,
}

/// The states to expand.
struct Frontier {
    mask: Vec<u64>,
    goal_distance: Option<GoalDistance>,
    projections: Option<ProjectionDistance>,
    /// Whether projections were looked for.
    is_refined: bool,
    nearest: Queue,
    newest: Queue,
    /// Whether each state is expanded or dead.
    is_closed: Vec<bool>,
    /// For each distance the facts of all states.
    seen: HashMap<u32, Vec<u64>>,
}

impl Guided {
    pub fn new(task: &Arc<Task>, max_bytes: usize) -> Self {
        Self {
            task: Arc::clone(task),
            // The queues and flags take as much again.
            store: Store::new(&task.start, &task.game.packing, true, max_bytes / 2),
            successors: Successors::new(Arc::clone(&task.game.machine).expander()),
            frontier: Frontier {
                mask: task.game.mask.clone(),
                goal_distance: GoalDistance::new(task),
                projections: None,
                is_refined: false,
                nearest: Queue::from([(Reverse(0), 0)]),
                newest: Queue::new(),
                is_closed: vec![false],
                seen: HashMap::new(),
            },
            dead_ends: DeadEnds::new(task),
            untested: Vec::new(),
            batch: Vec::new(),
        }
    }

    /// Adds projections to the distance, and orders the open states anew.
    fn refine(&mut self) {
        self.frontier.is_refined = true;
        let projections = self.task.projections();
        self.frontier.projections = projections.as_ref().map(ProjectionDistance::new);
        if self.frontier.projections.is_some() {
            self.frontier.nearest.clear();
            self.frontier.newest.clear();
            self.frontier.seen.clear();
            let mut state = Vec::new();
            for id in 0..self.store.len() as StateId {
                if !self.frontier.is_closed[id as usize] {
                    state.clear();
                    self.store.read(id, &mut state);
                    self.frontier.push(id, &state);
                }
            }
        }
    }

    fn close_dead_ends(&mut self) {
        match self.dead_ends.batch(&self.store) {
            0 => self.untested.clear(),
            batch if self.untested.len() >= batch => {
                let read = |id, state: &mut Vec<u64>| self.store.read(id, state);
                let is_dead = self.dead_ends.test(&read, &self.untested);
                for (&id, is_dead) in self.untested.iter().zip(is_dead) {
                    self.frontier.is_closed[id as usize] |= is_dead;
                }
                self.untested.clear();
            }
            _ => {}
        }
    }
}

impl Frontier {
    /// Takes states from both queues in turn, about `most`.
    fn take(&mut self, batch: &mut Vec<StateId>, most: usize) {
        batch.clear();
        for queue in [&mut self.nearest, &mut self.newest] {
            let mut left = (most / 2).max(1);
            while left > 0
                && let Some((_, id)) = queue.pop()
            {
                if !std::mem::replace(&mut self.is_closed[id as usize], true) {
                    batch.push(id);
                    left -= 1;
                }
            }
        }
    }

    fn push(&mut self, id: StateId, state: &[u64]) {
        let facts = self.goal_distance.as_mut().map_or(0, |goal| goal.of(state));
        let moves = self
            .projections
            .as_mut()
            .map_or(0, |groups| groups.of(state));
        let distance = facts + moves;
        self.nearest.push((Reverse(distance), id));
        let key = match self.is_new(distance, state) {
            true => distance,
            false => distance + OLD,
        };
        self.newest.push((Reverse(key), id));
    }

    /// Whether a state has a fact that no state of its distance had before.
    fn is_new(&mut self, distance: u32, state: &[u64]) -> bool {
        let distance = distance.min(MAX_SEEN_DISTANCE);
        let seen = self.seen.entry(distance);
        let seen = seen.or_insert_with(|| vec![0; self.mask.len()]);
        let mut is_new = false;
        for ((seen, word), mask) in seen.iter_mut().zip(state).zip(&self.mask) {
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
        while !is_past(until) && !stop.load(Ordering::Relaxed) {
            let most = (MAX_SUCCESSORS / self.successors.branching()).clamp(1, BATCH);
            self.frontier.take(&mut self.batch, most);
            if self.batch.is_empty() {
                return Status::GaveUp;
            }
            self.successors.make(&self.store, &self.batch);
            self.store.prepare(self.successors.states());
            for (index, child) in self.successors.iter().enumerate() {
                // A state may have very many successors.
                if index % LOOK_EVERY == 0 && stop.load(Ordering::Relaxed) {
                    return Status::Open;
                }
                if let Some(goal) = child.goal {
                    report.found_after(&self.store, &child, goal);
                    continue;
                }
                match self.store.add(index, child.parent, child.mv) {
                    Added::New(id) => {
                        self.frontier.is_closed.push(false);
                        self.frontier.push(id, child.state);
                        self.untested.push(id);
                    }
                    Added::Known => {}
                    Added::Full => return Status::GaveUp,
                }
            }
            if report.is_best_possible() {
                return Status::GaveUp;
            }
            if self.store.len() >= LARGE && !self.frontier.is_refined {
                self.refine();
            }
            self.close_dead_ends();
        }
        Status::Open
    }

    fn n_states(&self) -> u64 {
        self.successors.n_made()
    }
}
