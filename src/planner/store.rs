//! States met by a search, each once, with the move that led to it first.
//!
//! Invariants: states are numbered in the order in which they were added; a state has a lower
//! number than the states that were reached from it.
//!
//! Never knows: what is searched for.

use crate::ids::MoveId;

/// Numbers of states.
pub(super) type StateId = u32;

/// The parent of the first state.
const NO_PARENT: StateId = StateId::MAX;
/// A free slot of the table.
const FREE: StateId = StateId::MAX;
/// Slots of the smallest table.
const MIN_SLOTS: usize = 1 << 12;

/// What became of an added state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Added {
    New(StateId),
    Known,
    /// There is no memory left.
    Full,
}

/// A set of states with their parents.
pub(super) struct Store {
    /// The bits by which states are told apart.
    mask: Vec<u64>,
    words: Vec<u64>,
    parents: Vec<StateId>,
    moves: Vec<MoveId>,
    /// Open addressing with linear probing, at most half full; a power of two.
    table: Vec<StateId>,
    max_states: usize,
}

impl Store {
    /// A store with the start as state 0, for at most so many bytes.
    pub fn new(start: &[u64], mask: &[u64], max_bytes: usize) -> Self {
        let bytes_per_state = 8 * start.len() + 2 * 4 + 4 * 4;
        let mut store = Self {
            mask: mask.to_vec(),
            words: Vec::new(),
            parents: Vec::new(),
            moves: Vec::new(),
            table: vec![FREE; MIN_SLOTS],
            max_states: (max_bytes / bytes_per_state).clamp(1, 1 << 31),
        };
        store.add(start, NO_PARENT, MoveId(0));
        store
    }

    pub fn len(&self) -> usize {
        self.parents.len()
    }

    pub fn state(&self, id: StateId) -> &[u64] {
        let n_words = self.mask.len();
        let start = id as usize * n_words;
        &self.words[start..start + n_words]
    }

    /// Adds a state, unless one that agrees in all bits of the mask is known.
    pub fn add(&mut self, state: &[u64], parent: StateId, mv: MoveId) -> Added {
        let Err(mut slot) = self.slot_of(state) else {
            return Added::Known;
        };
        if self.len() >= self.max_states {
            return Added::Full;
        }
        if self.len() * 2 >= self.table.len() {
            self.grow();
            slot = match self.slot_of(state) {
                Ok(slot) | Err(slot) => slot,
            };
        }
        let id = self.len() as StateId;
        self.table[slot] = id;
        self.words.extend_from_slice(state);
        self.parents.push(parent);
        self.moves.push(mv);
        Added::New(id)
    }

    /// The slot of a known state, or else as an error the free slot where it belongs.
    fn slot_of(&self, state: &[u64]) -> Result<usize, usize> {
        let last = self.table.len() - 1;
        let mut slot = hash(state, &self.mask) as usize & last;
        loop {
            let id = self.table[slot];
            if id == FREE {
                return Err(slot);
            }
            let known = self.state(id).iter().zip(state).zip(&self.mask);
            if known.fold(0, |differs, ((a, b), mask)| differs | (a ^ b) & mask) == 0 {
                return Ok(slot);
            }
            slot = (slot + 1) & last;
        }
    }

    fn grow(&mut self) {
        let n_slots = self.table.len() * 2;
        self.table.clear();
        self.table.resize(n_slots, FREE);
        for id in 0..self.len() as StateId {
            let mut slot = hash(self.state(id), &self.mask) as usize & (n_slots - 1);
            while self.table[slot] != FREE {
                slot = (slot + 1) & (n_slots - 1);
            }
            self.table[slot] = id;
        }
    }

    /// The moves from the start to a state.
    pub fn path(&self, mut id: StateId) -> Vec<MoveId> {
        let mut path = Vec::new();
        while self.parents[id as usize] != NO_PARENT {
            path.push(self.moves[id as usize]);
            id = self.parents[id as usize];
        }
        path.reverse();
        path
    }
}

fn hash(state: &[u64], mask: &[u64]) -> u64 {
    let mut hash = 0u64;
    for (word, mask) in state.iter().zip(mask) {
        // The constant of Fibonacci hashing; the rotation carries high bits down.
        hash = (hash.rotate_left(29) ^ (word & mask)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_added_once_and_know_their_path() {
        let mut store = Store::new(&[1, 0], &[u64::MAX, u64::MAX], 1 << 20);
        assert_eq!(store.add(&[2, 0], 0, MoveId(7)), Added::New(1));
        assert_eq!(store.add(&[2, 0], 0, MoveId(8)), Added::Known);
        assert_eq!(store.add(&[2, 1], 1, MoveId(9)), Added::New(2));
        assert_eq!(store.path(2), [MoveId(7), MoveId(9)]);
        assert_eq!(store.state(2), [2, 1]);
    }

    #[test]
    fn masked_bits_do_not_tell_states_apart() {
        let mut store = Store::new(&[0b01], &[0b01], 1 << 20);
        assert_eq!(store.add(&[0b11], 0, MoveId(0)), Added::Known);
        assert_eq!(store.add(&[0b10], 0, MoveId(0)), Added::New(1));
    }

    #[test]
    fn a_store_grows_up_to_its_limit() {
        let mut store = Store::new(&[0], &[u64::MAX], 32 * 10_000);
        let added =
            (1..20_000u64).take_while(|&state| store.add(&[state], 0, MoveId(0)) != Added::Full);
        assert_eq!(added.count(), 9_999);
        assert_eq!(store.add(&[5], 0, MoveId(0)), Added::Known);
    }
}
