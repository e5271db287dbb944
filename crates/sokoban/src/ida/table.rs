//! The transposition table: how deep a position was already searched in vain.
//!
//! Buckets of four; a new position replaces the one that was searched least deeply.
//!
//! Invariants: the number of buckets is a power of two; an empty slot has depth 0.

const BUCKET: usize = 4;

#[derive(Clone, Copy, Default)]
struct Slot {
    key: u32,
    /// One more than the pushes that were left, 0 for an empty slot.
    depth: u16,
    tested: bool,
}

/// What is known about a position.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// One more than the pushes within which no solution was found; 0: nothing is known.
    pub depth: u16,
    /// Whether a pattern search was made here.
    pub tested: bool,
}

pub struct Transpositions {
    slots: Vec<Slot>,
    mask: usize,
}

impl Transpositions {
    /// A table of at most this many bytes.
    pub fn new(bytes: usize) -> Self {
        let slots = (bytes / size_of::<Slot>()).max(BUCKET);
        let buckets = (slots / BUCKET + 1).next_power_of_two() / 2;
        let buckets = buckets.max(1);
        Self {
            slots: vec![Slot::default(); buckets * BUCKET],
            mask: buckets - 1,
        }
    }

    pub fn clear(&mut self) {
        self.slots.fill(Slot::default());
    }

    fn bucket(&self, hash: u64) -> usize {
        (hash as usize & self.mask) * BUCKET
    }

    pub fn get(&self, hash: u64) -> Known {
        let start = self.bucket(hash);
        let key = (hash >> 32) as u32;
        (self.slots[start..start + BUCKET].iter())
            .find(|slot| slot.depth > 0 && slot.key == key)
            .map_or(Known::default(), |slot| Known {
                depth: slot.depth,
                tested: slot.tested,
            })
    }

    pub fn set(&mut self, hash: u64, known: Known) {
        let start = self.bucket(hash);
        let key = (hash >> 32) as u32;
        let bucket = &mut self.slots[start..start + BUCKET];
        let place = (0..BUCKET)
            .find(|&place| bucket[place].depth > 0 && bucket[place].key == key)
            .or_else(|| (0..BUCKET).min_by_key(|&place| bucket[place].depth));
        if let Some(place) = place {
            bucket[place] = Slot {
                key,
                depth: known.depth.max(1),
                tested: known.tested,
            };
        }
    }
}
