//! Shorter plans: a plan is shortened until it is proven shortest, or time is over.
//!
//! Each search is breadth-first from a state of the plan and looks for a shortcut to a later state
//! or to the end. Searches from the start come first, in neighbourhoods of the plan that grow
//! (`vicinity`), then among all states; those that reach their limit of states are followed by
//! searches from states along the plan. Then the limits grow. Where the plan reaches the best goal,
//! states too far from it in the relaxation are left out (`lower_bound`). A search from the start
//! among all states that ends without a shorter plan proves the plan shortest.
//!
//! States that differ in counters only count as one. Where that is wrong (`counters`), shortcuts
//! may fail to replay, and the proof tells all states apart.
//!
//! Invariants: a plan replaces another only if it replays on the machine with the same goal and
//! fewer moves, or with a higher goal and no more moves.

mod counters;
mod lower_bound;
mod search;
mod space;
mod vicinity;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::plan::Plan;
use super::task::Task;
use lower_bound::LowerBound;
use panza_sync::{Instant, is_past};
use search::{Bounds, Ended, Found, Line, Shortcut, search};
use space::Space;
use vicinity::Vicinity;

/// States of the first search, which solves small games.
const FIRST_STATES: usize = 1 << 15;
/// The factor by which the limit of states grows.
const GROWTH: usize = 4;
/// States of a search along the plan, at least.
const MIN_STATES: usize = 1 << 10;
/// Bytes that a stored state takes, at least.
const STATE_BYTES: usize = 16;

/// What an improver has found out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Improvement {
    /// The best plan so far.
    pub plan: Plan,
    /// Whether no plan reaches this goal in fewer moves.
    pub is_shortest: bool,
    /// Whether nothing is left to search.
    pub is_finished: bool,
}

/// Shortens one plan of a single-player game.
pub struct Improver {
    space: Space,
    line: Line,
    max_bytes: usize,
    is_shortest: bool,
    is_finished: bool,
    is_prepared: bool,
    lower_bound: Option<LowerBound>,
    /// The limit of states of a search from the start.
    max_states: usize,
    /// The number of groups that may differ from the plan; `None` for all.
    width: Option<u32>,
    /// Where the next search begins.
    from: usize,
    /// Whether the plan became shorter since `from` was 0.
    has_gained: bool,
    /// Up to this width there is no shorter plan.
    done: u32,
}

impl Improver {
    /// An improver of a plan from a state; `None` if the plan does not replay.
    pub(super) fn new(task: &Arc<Task>, plan: &Plan, max_bytes: usize) -> Option<Self> {
        let space = Space::plain(task);
        let plan = Plan::replay(&task.game.machine, &task.start, &plan.moves)?;
        let line = Line::new(&space, plan, true)?;
        Some(Self {
            space,
            line,
            max_bytes,
            is_shortest: false,
            is_finished: false,
            is_prepared: false,
            lower_bound: None,
            max_states: FIRST_STATES,
            width: None,
            from: 0,
            has_gained: false,
            done: 0,
        })
    }

    /// What is found so far.
    pub fn found(&self) -> Improvement {
        Improvement {
            plan: self.line.plan.clone(),
            is_shortest: self.is_shortest,
            is_finished: self.is_finished,
        }
    }

    /// Makes one search, until then or until `stop` is set at the latest. The first call analyses
    /// the plan for some seconds at most, whatever `until` is.
    pub fn step(&mut self, until: Instant, stop: &AtomicBool) {
        if !self.is_prepared {
            self.is_prepared = true;
            self.prepare();
        }
        if self.is_finished || is_past(until) || stop.load(Ordering::Relaxed) {
            return;
        }
        let n_moves = self.line.plan.moves.len();
        let part = (self.max_states / n_moves.max(1)).max(MIN_STATES);
        let bounds = Bounds {
            from: self.from,
            max_states: if self.from == 0 {
                self.max_states
            } else {
                part
            },
            max_bytes: self.max_bytes,
            until,
            stop,
        };
        let mut vicinity = self.width.map(|width| self.vicinity(width));
        let is_best_goal = self.is_best_goal();
        let lower_bound = self.lower_bound.as_mut().filter(|_| is_best_goal);
        let Found {
            ended,
            shortcut,
            n_states,
        } = search(
            &mut self.space,
            &self.line,
            vicinity.as_mut(),
            lower_bound,
            &bounds,
        );
        tracing::debug!(
            max_states = bounds.max_states, from = self.from, width = ?self.width,
            n_moves, ?ended, masked = self.line.is_masked, gained = shortcut.is_some(), "searched"
        );
        match (ended, shortcut) {
            (_, Some(shortcut)) => self.take(&shortcut),
            (Ended::Stopped, None) => {}
            (Ended::Unfit, None) => {
                let plain = Space::plain(self.space.task());
                self.is_finished = !self.space.is_packed() || !self.change_space(plain);
            }
            (Ended::Complete, None) if self.from == 0 => self.end_of_width(n_states),
            (Ended::Complete | Ended::Limit, None) => self.go_on(),
        }
    }

    /// Whether states that differ in counters only are known to be alike, before the plan ends.
    fn are_counters_idle(&self) -> bool {
        let game = &self.space.task().game;
        counters::are_idle(game, &self.line.states[..self.line.plan.moves.len()])
    }

    /// Whether the plan reaches the highest goal that is possible.
    fn is_best_goal(&self) -> bool {
        self.line.plan.goal >= self.space.task().goal_bound
    }

    /// Proves the plan shortest without a search, where that is possible.
    fn prepare(&mut self) {
        let task = Arc::clone(self.space.task());
        let n_moves = self.line.plan.moves.len();
        let mut lower_bound = LowerBound::new(&task);
        let bound = lower_bound.as_mut().filter(|_| self.is_best_goal());
        let fewest = bound.map_or(0, |bound| bound.fewest_moves(&task.start));
        self.lower_bound = lower_bound;
        if n_moves <= fewest.max(task.earliest_end) {
            self.is_shortest = true;
            self.is_finished = true;
        }
    }

    /// The neighbourhood of the plan from `from` on.
    fn vicinity(&self, width: u32) -> Vicinity {
        let key_words = self.space.key_words(self.line.is_masked);
        let keys = self.line.keys[self.from * key_words..].to_vec();
        Vicinity::new(self.space.fields(), key_words, keys, width)
    }

    /// Replaces a part of the plan, if the result replays.
    fn take(&mut self, shortcut: &Shortcut) {
        let plan = &self.line.plan;
        let mut moves = plan.moves[..shortcut.from].to_vec();
        moves.extend_from_slice(&shortcut.moves);
        moves.extend_from_slice(&plan.moves[shortcut.to..]);
        let task = self.space.task();
        let better = Plan::replay(&task.game.machine, &task.start, &moves);
        let better = better.filter(|better| match better.goal.cmp(&plan.goal) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => better.moves.len() < plan.moves.len(),
            std::cmp::Ordering::Greater => better.moves.len() <= plan.moves.len(),
        });
        let Some(better) = better else {
            // States that were thought alike are not.
            return self.tell_all_states_apart();
        };
        self.set_line(better, self.line.is_masked);
        self.has_gained = true;
        self.done = 0;
        if self.from == 0 {
            self.start_round();
        }
    }

    fn set_line(&mut self, plan: Plan, is_masked: bool) {
        match Line::new(&self.space, plan, is_masked) {
            Some(line) => self.line = line,
            None => self.is_finished = true,
        }
    }

    /// Goes on in another space; `false` if the plan does not fit into it.
    fn change_space(&mut self, space: Space) -> bool {
        let line = Line::new(&space, self.line.plan.clone(), self.line.is_masked);
        line.map(|line| {
            self.line = line;
            self.space = space;
        })
        .is_some()
    }

    fn tell_all_states_apart(&mut self) {
        // A second time, a machine disagrees with itself.
        self.is_finished |= !self.line.is_masked;
        self.set_line(self.line.plan.clone(), false);
        self.done = 0;
        self.start_round();
    }

    /// After a search from the start that has missed nothing.
    fn end_of_width(&mut self, n_states: usize) {
        match self.width {
            // On the prover a game ends where it passes its limits.
            None if !self.line.is_masked || self.are_counters_idle() => {
                self.is_shortest = self.space.task().game.network.is_some();
                self.is_finished = true;
            }
            None => {
                // Neighbourhoods have nothing that this search has missed.
                self.tell_all_states_apart();
                self.done = u32::MAX;
                self.width = None;
            }
            Some(width) => {
                self.done = width;
                let is_next_too_large = n_states > self.max_states / GROWTH;
                self.width = self.wider(width).filter(|_| !is_next_too_large);
            }
        }
    }

    /// The next neighbourhood; `None` where it would hold all states.
    fn wider(&self, width: u32) -> Option<u32> {
        let n_counted = self.vicinity(width).n_counted();
        let next = width.saturating_add(1);
        ((next as usize) < n_counted).then_some(next)
    }

    /// After a search that has reached its limit, or along the plan.
    fn go_on(&mut self) {
        self.from += 1;
        let is_first = !self.space.is_packed() && self.max_states == FIRST_STATES;
        if !is_first && self.from + 1 < self.line.plan.moves.len() {
            return;
        }
        let is_last = self.width.is_none();
        self.from = 0;
        if std::mem::take(&mut self.has_gained) {
            self.start_round();
        } else if !is_last {
            self.width = None;
        } else {
            if is_first && let Some(space) = Space::packed(self.space.task()) {
                self.change_space(space);
            }
            self.is_finished |= self.max_states > self.max_bytes / STATE_BYTES;
            self.max_states = self.max_states.saturating_mul(GROWTH);
            self.start_round();
        }
    }

    /// Begins with the narrowest neighbourhood that may hold a shorter plan.
    fn start_round(&mut self) {
        self.from = 0;
        self.has_gained = false;
        self.width = self.wider(self.done);
    }
}

#[cfg(test)]
mod tests;
