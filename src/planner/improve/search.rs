//! Breadth-first search for a shortcut: from a state of a plan to a later one, or to the end.
//!
//! Invariants: a shortcut saves moves or reaches a higher goal, as far as states that agree in the
//! key are alike; a search that is complete has missed no shortcut from its state in its
//! neighbourhood.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::space::Space;
use super::vicinity::Vicinity;
use crate::ids::MoveId;
use crate::planner::Plan;
use crate::planner::store::{Added, StateId, Store};

/// A plan with its states.
pub(super) struct Line {
    pub plan: Plan,
    /// The states, as the machine numbers facts: the start, and one after each move.
    pub states: Vec<Vec<u64>>,
    /// Whether states that differ in counters only are one state.
    pub is_masked: bool,
    /// The keys of the states, concatenated.
    pub keys: Vec<u64>,
    /// The last position of each state, by its key.
    pub positions: FxHashMap<Box<[u64]>, usize>,
}

impl Line {
    /// A plan with its states in a space; `None` where one does not fit.
    pub fn new(space: &Space, plan: Plan, is_masked: bool) -> Option<Self> {
        let task = space.task();
        let key_words = space.key_words(is_masked);
        let mut reasoner = Arc::clone(&task.game.machine).reasoner();
        let mut states = vec![task.start.clone()];
        reasoner.set_state(&task.start);
        for mv in &plan.moves {
            let mut next = Vec::new();
            reasoner.next_state(&[*mv], &mut next);
            reasoner.set_state(&next);
            states.push(next);
        }
        let mut keys = Vec::with_capacity(states.len() * key_words);
        let mut positions = FxHashMap::default();
        for (position, state) in states.iter().enumerate() {
            let key = &space.stored(state)?[..key_words];
            keys.extend_from_slice(key);
            positions.insert(key.into(), position);
        }
        Some(Self {
            plan,
            states,
            is_masked,
            keys,
            positions,
        })
    }
}

/// Where a search begins and how far it goes.
pub(super) struct Bounds<'a> {
    /// The position in the plan where it begins.
    pub from: usize,
    pub max_states: usize,
    pub max_bytes: usize,
    pub until: Instant,
    pub stop: &'a AtomicBool,
}

/// How a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ended {
    /// Nothing shorter is left to find.
    Complete,
    /// The limit of states was reached.
    Limit,
    /// Time is over.
    Stopped,
    /// A state did not fit into the space.
    Unfit,
}

/// Moves that replace some moves of a plan.
#[derive(Debug)]
pub(super) struct Shortcut {
    pub from: usize,
    /// The position that the moves lead to: the number of moves of the plan where they end the
    /// game.
    pub to: usize,
    pub moves: Vec<MoveId>,
}

impl Shortcut {
    /// Moves saved.
    fn gain(&self) -> usize {
        (self.to - self.from).saturating_sub(self.moves.len())
    }
}

/// What a search has found.
pub(super) struct Found {
    pub ended: Ended,
    /// The shortcut that saves most.
    pub shortcut: Option<Shortcut>,
    /// States met.
    pub n_states: usize,
}

/// Searches for the shortcut that saves most.
pub(super) fn search(
    space: &mut Space,
    line: &Line,
    mut vicinity: Option<&mut Vicinity>,
    bounds: &Bounds<'_>,
) -> Found {
    let from = bounds.from;
    let n_moves = line.plan.moves.len();
    let key_words = space.key_words(line.is_masked);
    let start = &line.states[from];
    let Some(mut store) = space.store(start, line.is_masked, bounds.max_bytes) else {
        return Found {
            ended: Ended::Unfit,
            shortcut: None,
            n_states: 0,
        };
    };
    let mut best: Option<Shortcut> = None;
    let mut open: Vec<StateId> = vec![0];
    // The states from `head` to `layer_end` are `depth` moves away.
    let (mut head, mut layer_end, mut depth) = (0, 1, 0);
    let ended = 'search: loop {
        if head == layer_end {
            depth += 1;
            layer_end = open.len();
        }
        let saved = best.as_ref().map_or(0, Shortcut::gain);
        if head == open.len() || from + depth + 1 + saved >= n_moves {
            break Ended::Complete;
        }
        if Instant::now() >= bounds.until || bounds.stop.load(Ordering::Relaxed) {
            break Ended::Stopped;
        }
        if store.len() >= bounds.max_states {
            break Ended::Limit;
        }
        let end = layer_end.min(head + space.successors().batch(&store));
        if !space.expand(&store, &open[head..end]) {
            break Ended::Unfit;
        }
        head = end;
        store.prepare(space.successors().states());
        for (index, child) in space.successors().iter().enumerate() {
            let reached = match child.goal {
                Some(goal) if goal > line.plan.goal => {
                    let moves = path(&store, child.parent, child.mv);
                    best = Some(Shortcut {
                        from,
                        to: n_moves,
                        moves,
                    });
                    break 'search Ended::Limit;
                }
                Some(goal) if goal == line.plan.goal => Some(n_moves),
                Some(_) => None,
                None => match store.add(index, child.parent, child.mv) {
                    Added::New(id) => {
                        let key = &store.packed(id)[..key_words];
                        if vicinity.as_mut().is_none_or(|near| near.contains(key)) {
                            open.push(id);
                        }
                        line.positions.get(key).copied()
                    }
                    Added::Known => None,
                    Added::Full => break 'search Ended::Limit,
                },
            };
            let saved = best.as_ref().map_or(0, Shortcut::gain);
            if let Some(to) = reached
                && to > from + depth + 1 + saved
            {
                let moves = path(&store, child.parent, child.mv);
                best = Some(Shortcut { from, to, moves });
            }
        }
    };
    Found {
        ended,
        shortcut: best,
        n_states: store.len(),
    }
}

/// The moves to a state and one more.
fn path(store: &Store, parent: StateId, mv: MoveId) -> Vec<MoveId> {
    let mut moves = store.path(parent);
    moves.push(mv);
    moves
}
