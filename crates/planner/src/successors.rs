//! The successors of many states at once.

use super::plan::PLAYER;
use super::store::{StateId, Store};
use panza_gdl::MoveId;
use panza_machine::{Expander, ExpansionStep, PositionBatch};

/// Words of the successors of a batch, about: they should stay in the cache.
const MAX_BATCH_WORDS: usize = 1 << 17;
/// The number of moves that is expected before any was counted.
const FIRST_BRANCHING: usize = 8;
/// Vectors of successors that a batch aims at.
const VECTORS: usize = 4;

/// A state after a move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Successor<'a> {
    pub parent: StateId,
    pub mv: MoveId,
    pub state: &'a [u64],
    /// The goal, if the game is over.
    pub goal: Option<u8>,
}

/// Makes successors; one thread's.
pub(super) struct Successors {
    expander: Box<dyn Expander>,
    parents: PositionBatch,
    children: PositionBatch,
    /// The states of the parents, concatenated.
    states: Vec<u64>,
    /// For each child its parent.
    parent_ids: Vec<StateId>,
    /// States made and moves found, for the size of the next batch.
    n_parents: u64,
    n_children: u64,
}

impl Successors {
    pub fn new(expander: Box<dyn Expander>) -> Self {
        Self {
            expander,
            parents: PositionBatch::default(),
            children: PositionBatch::default(),
            states: Vec::new(),
            parent_ids: Vec::new(),
            n_parents: 0,
            n_children: 0,
        }
    }

    /// The mean number of successors of a state, at least one; a guess before the first is made.
    pub fn branching(&self) -> usize {
        match self.n_parents {
            0 => FIRST_BRANCHING,
            n_parents => (self.n_children / n_parents).max(1) as usize,
        }
    }

    /// The number of parents that make a good batch.
    pub fn batch(&self, store: &Store) -> usize {
        let children = VECTORS * self.expander.width();
        let children = children.min(MAX_BATCH_WORDS / store.state_words());
        (children / self.branching()).clamp(1, 4096)
    }

    /// Successors made so far.
    pub fn n_made(&self) -> u64 {
        self.n_children
    }

    /// Makes all successors of some states that are not final.
    pub fn make(&mut self, store: &Store, parents: &[StateId]) {
        self.states.clear();
        for &id in parents {
            store.read(id, &mut self.states);
        }
        let n_words = store.state_words();
        let steps: Vec<ExpansionStep<'_>> = self
            .states
            .chunks_exact(n_words)
            .map(|state| ExpansionStep {
                state,
                joint_move: None,
            })
            .collect();
        self.expander.expand(&steps, true, &mut self.parents);
        self.parent_ids.clear();
        let mut steps = Vec::with_capacity(self.parents.legal.len());
        for (index, &id) in parents.iter().enumerate() {
            for mv in self.parents.legal(index, PLAYER) {
                self.parent_ids.push(id);
                steps.push(ExpansionStep {
                    state: &self.states[index * n_words..(index + 1) * n_words],
                    joint_move: Some(std::slice::from_ref(mv)),
                });
            }
        }
        self.expander.expand(&steps, false, &mut self.children);
        self.n_parents += parents.len() as u64;
        self.n_children += self.parent_ids.len() as u64;
    }

    /// The states of the successors made last.
    pub fn states(&self) -> impl Iterator<Item = &[u64]> + Clone {
        (0..self.parent_ids.len()).map(|index| self.children.state(index))
    }

    /// The successors made last, those of each parent together.
    pub fn iter(&self) -> impl Iterator<Item = Successor<'_>> {
        let made = self.parent_ids.iter().zip(&self.parents.legal);
        made.enumerate().map(|(index, (&parent, &mv))| {
            let goals = self.children.goals(index);
            Successor {
                parent,
                mv,
                state: self.children.state(index),
                goal: self.children.terminal[index]
                    .then(|| goals.first().copied().flatten().unwrap_or(0).min(100)),
            }
        })
    }
}
