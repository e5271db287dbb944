//! States met by a search, each once, with the move that led to it first.
//!
//! Invariants: states are numbered in the order in which they were added; a state has a lower
//! number than the states that were reached from it.
//!
//! Never uses: what is searched for.

use std::sync::Arc;

use super::packing::Packing;
use panza_gdl::MoveId;

/// Numbers of states.
pub(super) type StateId = u32;

/// The parent of the first state.
const NO_PARENT: StateId = StateId::MAX;
/// A free slot of the table.
const FREE: u64 = u64::MAX;
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
    packing: Arc<Packing>,
    /// The number of leading words of a packed state that are hashed and compared.
    key_words: usize,
    is_masked: bool,
    words: Vec<u64>,
    parents: Vec<StateId>,
    moves: Vec<MoveId>,
    /// Open addressing with linear probing, at most three quarters full; a power of two. A slot has
    /// the upper half of a state's hash and the state's number, so that hardly any other state is
    /// compared. The leading bits of the hash say where probing begins, so that a larger table is
    /// filled in order.
    table: Vec<u64>,
    max_bytes: usize,
    /// The prepared states, packed, and their hashes.
    packed: Vec<u64>,
    hashes: Vec<u64>,
    touched: Vec<u64>,
    /// Whether a state did not fit and there is no memory to store states wider.
    is_full: bool,
}

impl Store {
    /// A store of at most `max_bytes` with the start as state 0. With `is_masked`, two states are
    /// equal if they agree in the facts of the packing's mask.
    pub fn new(start: &[u64], packing: &Arc<Packing>, is_masked: bool, max_bytes: usize) -> Self {
        let mut store = Self {
            key_words: 0,
            is_masked,
            words: Vec::new(),
            parents: Vec::new(),
            moves: Vec::new(),
            table: vec![FREE; MIN_SLOTS],
            max_bytes,
            packed: Vec::new(),
            hashes: Vec::new(),
            touched: Vec::new(),
            is_full: false,
            packing: Arc::clone(packing),
        };
        store.use_packing(Arc::clone(packing));
        store.prepare(std::iter::once(start));
        store.add(0, NO_PARENT, MoveId(0));
        store
    }

    fn use_packing(&mut self, packing: Arc<Packing>) {
        self.key_words = match self.is_masked {
            true => packing.key_words(),
            false => packing.n_words(),
        };
        self.packing = packing;
    }

    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// A state as it is stored.
    pub fn packed(&self, id: StateId) -> &[u64] {
        let n_words = self.packing.n_words();
        let start = id as usize * n_words;
        &self.words[start..start + n_words]
    }

    /// Appends a state to `out`.
    pub fn read(&self, id: StateId, out: &mut Vec<u64>) {
        self.packing.unpack(self.packed(id), out);
    }

    /// Words of a state.
    pub fn state_words(&self) -> usize {
        self.packing.raw_words()
    }

    fn n_bytes(&self) -> usize {
        self.len() * (8 * self.packing.n_words() + 8) + 8 * self.table.len()
    }

    /// Packs states that are to be added next, and touches the memory that this will need. The
    /// loads are independent of each other, so that the processor has many of them under way.
    pub fn prepare<'a>(&mut self, states: impl Iterator<Item = &'a [u64]> + Clone) {
        let n_words = self.packing.n_words();
        self.packed.clear();
        for state in states.clone() {
            let start = self.packed.len();
            self.packed.resize(start + n_words, 0);
            if !self.packing.pack(state, &mut self.packed[start..]) {
                match self.widen() {
                    true => return self.prepare(states),
                    // The state is never added.
                    false => self.is_full = true,
                }
            }
        }
        let packed = self.packed.chunks_exact(n_words);
        self.hashes.clear();
        self.hashes
            .extend(packed.map(|packed| hash(&packed[..self.key_words])));
        let shift = self.shift();
        self.touched.clear();
        let slots = self.hashes.iter();
        let slots = slots.map(|&hash| self.table[(hash >> shift) as usize]);
        self.touched.extend(slots);
        let mut any = 0;
        for (&slot, &hash) in self.touched.iter().zip(&self.hashes) {
            if is_alike(slot, hash) {
                let word = self.words.get(id_in(slot) as usize * n_words);
                any ^= word.copied().unwrap_or(0);
            }
        }
        std::hint::black_box(any);
    }

    /// Adds a prepared state, by its place among them, unless one like it is known.
    pub fn add(&mut self, index: usize, parent: StateId, mv: MoveId) -> Added {
        if self.is_full {
            return Added::Full;
        }
        if (self.len() + 1) * 4 > self.table.len() * 3 {
            let is_largest = self.table.len() as u64 > u64::from(StateId::MAX);
            if is_largest || self.n_bytes() + 8 * self.table.len() > self.max_bytes {
                return Added::Full;
            }
            self.grow();
        }
        let n_words = self.packing.n_words();
        let packed = &self.packed[index * n_words..(index + 1) * n_words];
        let key = &packed[..self.key_words];
        let last = self.table.len() - 1;
        let hash = self.hashes[index];
        let mut place = (hash >> self.shift()) as usize;
        loop {
            let slot = self.table[place];
            if slot == FREE {
                break;
            }
            if is_alike(slot, hash) {
                let known = &self.words[id_in(slot) as usize * n_words..];
                // A loop, since keys are too short for a call.
                if key.iter().zip(known).all(|(a, b)| a == b) {
                    return Added::Known;
                }
            }
            place = (place + 1) & last;
        }
        let id = self.len() as StateId;
        if id == NO_PARENT || self.n_bytes() > self.max_bytes {
            return Added::Full;
        }
        self.table[place] = slot_of(hash, id);
        self.words.extend_from_slice(packed);
        self.parents.push(parent);
        self.moves.push(mv);
        Added::New(id)
    }

    /// How far a hash is shifted for the place where probing begins.
    fn shift(&self) -> u32 {
        64 - self.table.len().trailing_zeros()
    }

    fn grow(&mut self) {
        let n_slots = self.table.len() * 2;
        let slots = std::mem::replace(&mut self.table, vec![FREE; n_slots]);
        slots
            .into_iter()
            .filter(|&slot| slot != FREE)
            .for_each(|slot| self.fill(slot));
    }

    /// Puts the slot of a new state into the table.
    fn fill(&mut self, slot: u64) {
        let last = self.table.len() - 1;
        let mut place = (slot >> self.shift()) as usize;
        while self.table[place] != FREE {
            place = (place + 1) & last;
        }
        self.table[place] = slot;
    }

    /// Gives each fact a field of its own, after a state that did not fit; `false` where that would
    /// take too much memory.
    #[cold]
    fn widen(&mut self) -> bool {
        let wide = Arc::new(self.packing.widened());
        if self.n_bytes() + self.len() * 8 * wide.n_words() > self.max_bytes {
            return false;
        }
        let mut words = Vec::with_capacity(self.len() * wide.n_words());
        let mut packed = vec![0; wide.n_words()];
        let mut state = Vec::new();
        for id in 0..self.len() as StateId {
            state.clear();
            self.read(id, &mut state);
            wide.pack(&state, &mut packed);
            words.extend_from_slice(&packed);
        }
        self.words = words;
        self.use_packing(wide);
        self.table.fill(FREE);
        for id in 0..self.len() as StateId {
            let hash = hash(&self.packed(id)[..self.key_words]);
            self.fill(slot_of(hash, id));
        }
        true
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

/// The slot of a state.
fn slot_of(hash: u64, id: StateId) -> u64 {
    hash & !u64::from(StateId::MAX) | u64::from(id)
}

/// The state of a slot.
fn id_in(slot: u64) -> StateId {
    slot as StateId
}

/// Whether the state of a slot may have a hash; not for free slots.
fn is_alike(slot: u64, hash: u64) -> bool {
    slot >> 32 == hash >> 32 && slot != FREE
}

fn hash(words: &[u64]) -> u64 {
    let mut hash = 0u64;
    for word in words {
        // The constant of Fibonacci hashing; the rotation carries high bits down.
        hash = (hash.rotate_left(29) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(start: &[u64], max_bytes: usize) -> Store {
        Store::new(
            start,
            &Arc::new(Packing::raw(start.len())),
            false,
            max_bytes,
        )
    }

    fn add(store: &mut Store, state: &[u64], parent: StateId, mv: u32) -> Added {
        store.prepare(std::iter::once(state));
        store.add(0, parent, MoveId(mv))
    }

    fn read(store: &Store, id: StateId) -> Vec<u64> {
        let mut state = Vec::new();
        store.read(id, &mut state);
        state
    }

    #[test]
    fn states_are_added_once_and_know_their_path() {
        let mut store = store(&[1, 0], 1 << 20);
        assert_eq!(add(&mut store, &[2, 0], 0, 7), Added::New(1));
        assert_eq!(add(&mut store, &[2, 0], 0, 8), Added::Known);
        assert_eq!(add(&mut store, &[2, 1], 1, 9), Added::New(2));
        assert_eq!(store.path(2), [MoveId(7), MoveId(9)]);
        assert_eq!(read(&store, 2), [2, 1]);
    }

    #[test]
    fn masked_facts_do_not_tell_states_apart() {
        let packing = Arc::new(Packing::bits(64, &[0b01]));
        let mut store = Store::new(&[0b01], &packing, true, 1 << 20);
        assert_eq!(add(&mut store, &[0b11], 0, 0), Added::Known);
        assert_eq!(add(&mut store, &[0b10], 0, 0), Added::New(1));
        assert_eq!(read(&store, 1), [0b10]);
    }

    #[test]
    fn a_store_grows_up_to_its_limit() {
        let max_bytes = 1 << 18;
        let mut store = store(&[0], max_bytes);
        let mut state = 0u64;
        while add(&mut store, &[state], 0, 0) != Added::Full {
            state += 1;
        }
        assert!((5_000..20_000).contains(&store.len()), "{}", store.len());
        // All states are found again after the table has grown.
        let mut grown = Store::new(&[0], &Arc::new(Packing::raw(1)), false, 1 << 24);
        for state in (0..20_000).chain(0..20_000) {
            add(&mut grown, &[state], 0, 0);
        }
        assert_eq!(grown.len(), 20_000);
        assert!(store.n_bytes() <= max_bytes + 32);
        assert_eq!(read(&store, 77), [77]);
    }

    #[test]
    fn states_that_do_not_fit_widen_the_packing() {
        let packing = Arc::new(Packing::with_fields(vec![(0..64).collect()], &[u64::MAX]));
        let mut store = Store::new(&[0b1], &packing, false, 1 << 20);
        assert_eq!(add(&mut store, &[0b10], 0, 0), Added::New(1));
        assert_eq!(add(&mut store, &[0b11], 1, 1), Added::New(2));
        assert_eq!(add(&mut store, &[0b10], 0, 0), Added::Known);
        assert_eq!(
            [0, 1, 2].map(|id| read(&store, id)),
            [[0b1], [0b10], [0b11]]
        );
    }
}
