//! The states that a plan is improved in: a game over packed or plain states.
//!
//! Invariant: the key of a state is the start of the words in which a store of this space keeps it.

use std::sync::Arc;

use crate::packed_game::PackedGame;
use crate::packing::Packing;
use crate::store::{StateId, Store};
use crate::successors::Successors;
use crate::task::Task;
use panza_propnet::BinaryField;

/// A game over states, and how stores keep them.
pub(super) struct Space {
    task: Arc<Task>,
    packed: Option<Arc<PackedGame>>,
    /// How stores keep the states of this space.
    packing: Arc<Packing>,
    fields: Vec<BinaryField>,
    successors: Successors,
}

impl Space {
    /// The space over plain states, which is ready at once.
    pub fn plain(task: &Arc<Task>) -> Self {
        // A field for each fact has room for every state, so that keys never change.
        let packing = &task.game.packing;
        let packing = match packing.free_bit() {
            Some(_) => Arc::new(packing.widened()),
            None => Arc::clone(packing),
        };
        Self {
            task: Arc::clone(task),
            packed: None,
            fields: packing.binary_fields(),
            packing,
            successors: Successors::new(Arc::clone(&task.game.machine).expander()),
        }
    }

    /// The space over packed states, which takes a second or two when it is first made; `None`
    /// where the game is too large, or a state did not fit.
    pub fn packed(task: &Arc<Task>) -> Option<Self> {
        let packed = task.game.packed()?;
        Some(Self {
            task: Arc::clone(task),
            fields: task.game.packing.binary_fields(),
            packing: Arc::new(packed.packing()),
            successors: Successors::new(packed.expander()),
            packed: Some(packed),
        })
    }

    /// The fields of a key: facts of which at most one is true.
    pub fn fields(&self) -> &[BinaryField] {
        &self.fields
    }

    /// The words of a key. Masked keys leave counters out.
    pub fn key_words(&self, is_masked: bool) -> usize {
        match is_masked {
            true => self.packing.key_words(),
            false => self.packing.n_words(),
        }
    }

    /// A state as it is stored; `None` if it does not fit.
    pub fn stored(&self, state: &[u64]) -> Option<Vec<u64>> {
        match &self.packed {
            Some(packed) => packed.pack(state),
            None => {
                let mut stored = vec![0; self.packing.n_words()];
                self.packing.pack(state, &mut stored).then_some(stored)
            }
        }
    }

    /// A store with one state; `None` if it does not fit.
    pub fn store(&self, state: &[u64], is_masked: bool, max_bytes: usize) -> Option<Store> {
        let store = |state: &[u64]| Store::new(state, &self.packing, is_masked, max_bytes);
        match &self.packed {
            Some(packed) => packed.pack(state).map(|packed| store(&packed)),
            None => Some(store(state)),
        }
    }

    /// Appends a stored state, as the machine numbers facts.
    pub fn read(&self, store: &Store, id: StateId, state: &mut Vec<u64>) {
        match &self.packed {
            Some(packed) => packed.unpack(store.packed(id), state),
            None => store.read(id, state),
        }
    }

    /// Makes the successors of some states; `false` if one of them does not fit.
    pub fn expand(&mut self, store: &Store, parents: &[StateId]) -> bool {
        self.successors.make(store, parents);
        match &self.packed {
            Some(packed) => !self
                .successors
                .states()
                .any(|state| packed.overflows(state)),
            None => true,
        }
    }

    /// The successors made last.
    pub fn successors(&self) -> &Successors {
        &self.successors
    }

    /// Whether the states are packed.
    pub fn is_packed(&self) -> bool {
        self.packed.is_some()
    }

    /// The task.
    pub fn task(&self) -> &Arc<Task> {
        &self.task
    }
}
