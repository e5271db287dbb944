//! Breadth-first search for a shortcut: from a state of a plan to a later one, or to the end.
//!
//! Invariants: a shortcut saves moves or reaches a higher goal, as far as states that agree in the
//! key are alike; a search that is complete has missed no shortcut from its state in its
//! neighbourhood.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashMap;

use super::lower_bound::LowerBound;
use super::space::Space;
use super::vicinity::Vicinity;
use crate::Plan;
use crate::store::{Added, StateId, Store};
use crate::successors::Successors;
use panza_gdl::MoveId;
use panza_sync::{Instant, is_past};

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

/// A search under way.
struct Search<'a> {
    line: &'a Line,
    from: usize,
    vicinity: Option<&'a mut Vicinity>,
    key_words: usize,
    store: Store,
    /// The states to expand, in the order in which they were met.
    open: Vec<StateId>,
    best: Option<Shortcut>,
}

/// Searches for the shortcut that saves most. States too far from the best goal by `lower_bound`
/// are left out.
pub(super) fn search(
    space: &mut Space,
    line: &Line,
    vicinity: Option<&mut Vicinity>,
    mut lower_bound: Option<&mut LowerBound>,
    bounds: &Bounds<'_>,
) -> Found {
    let from = bounds.from;
    let n_moves = line.plan.moves.len();
    let Some(store) = space.store(&line.states[from], line.is_masked, bounds.max_bytes) else {
        return Found {
            ended: Ended::Unfit,
            shortcut: None,
            n_states: 0,
        };
    };
    let mut search = Search {
        line,
        from,
        vicinity,
        key_words: space.key_words(line.is_masked),
        store,
        open: vec![0],
        best: None,
    };
    // The states from `head` to `layer_end` are `depth` moves away.
    let (mut head, mut layer_end, mut depth) = (0, 1, 0);
    let mut parents = Vec::new();
    let ended = 'search: loop {
        if head == layer_end {
            depth += 1;
            layer_end = search.open.len();
            if let Some(bound) = &mut lower_bound {
                bound.begin_layer();
            }
        }
        let useful_moves = n_moves.saturating_sub(from + depth + search.saved() + 1);
        if head == search.open.len() || useful_moves == 0 {
            break Ended::Complete;
        }
        let batch = space.successors().batch(&search.store);
        let tested = lower_bound.as_ref().and_then(|bound| bound.batch());
        let end = layer_end.min(head + tested.unwrap_or(batch));
        parents.clear();
        parents.extend_from_slice(&search.open[head..end]);
        if tested.is_some()
            && let Some(bound) = &mut lower_bound
        {
            bound.retain(space, &search.store, &mut parents, useful_moves);
        }
        head = end;
        for parents in parents.chunks(batch) {
            if is_past(bounds.until) || bounds.stop.load(Ordering::Relaxed) {
                break 'search Ended::Stopped;
            }
            if search.store.len() >= bounds.max_states {
                break 'search Ended::Limit;
            }
            if !space.expand(&search.store, parents) {
                break 'search Ended::Unfit;
            }
            if !search.take(space.successors(), depth + 1) {
                break 'search Ended::Limit;
            }
        }
    };
    Found {
        ended,
        shortcut: search.best,
        n_states: search.store.len(),
    }
}

impl Search<'_> {
    /// Moves saved by the best shortcut.
    fn saved(&self) -> usize {
        self.best.as_ref().map_or(0, Shortcut::gain)
    }

    /// Takes successors that are `depth` moves away; `false` if the search ends with them.
    fn take(&mut self, successors: &Successors, depth: usize) -> bool {
        let n_moves = self.line.plan.moves.len();
        self.store.prepare(successors.states());
        for (index, child) in successors.iter().enumerate() {
            let goal = child.goal.map(|goal| goal.cmp(&self.line.plan.goal));
            let reached = match goal {
                Some(std::cmp::Ordering::Less) => None,
                Some(_) => Some(n_moves),
                None => match self.store.add(index, child.parent, child.mv) {
                    Added::New(id) => {
                        let key = &self.store.packed(id)[..self.key_words];
                        if self.vicinity.as_mut().is_none_or(|near| near.contains(key)) {
                            self.open.push(id);
                        }
                        self.line.positions.get(key).copied()
                    }
                    Added::Known => None,
                    Added::Full => return false,
                },
            };
            let is_higher = goal == Some(std::cmp::Ordering::Greater);
            if let Some(to) = reached
                && (to > self.from + depth + self.saved() || is_higher)
            {
                let mut moves = self.store.path(child.parent);
                moves.push(child.mv);
                let from = self.from;
                self.best = Some(Shortcut { from, to, moves });
                if is_higher {
                    return false;
                }
            }
        }
        true
    }
}
