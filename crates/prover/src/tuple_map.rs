//! A map whose keys are short lists of terms.
//!
//! Term numbers are small, so nearly all lists fit into one `u64` with an equal share of bits per
//! term. The others go to a second table.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use panza_gdl::TermId;

/// From lists of terms of one length to small values.
#[derive(Clone, Debug)]
pub struct TupleMap<V> {
    packed: HashMap<u64, V, FxBuildHasher>,
    wide: HashMap<Box<[TermId]>, V, FxBuildHasher>,
}

/// The list in one number, if it fits.
#[inline]
fn pack(terms: &[TermId]) -> Option<u64> {
    match terms {
        [] => Some(0),
        [only] => Some(u64::from(only.0)),
        [first, second] => Some(u64::from(first.0) << 32 | u64::from(second.0)),
        [first, second, third] => {
            let all = first.0 | second.0 | third.0;
            let packed = u64::from(first.0) << 42 | u64::from(second.0) << 21 | u64::from(third.0);
            (all >> 21 == 0).then_some(packed)
        }
        _ if terms.len() > 64 => None,
        _ => {
            let bits = 64 / terms.len();
            let (mut packed, mut all) = (0u64, 0u64);
            for term in terms {
                all |= u64::from(term.0);
                packed = packed << bits | u64::from(term.0);
            }
            (all >> bits == 0).then_some(packed)
        }
    }
}

impl<V: Copy> TupleMap<V> {
    pub fn new() -> Self {
        Self {
            packed: HashMap::default(),
            wide: HashMap::default(),
        }
    }

    #[inline]
    pub fn get(&self, terms: &[TermId]) -> Option<V> {
        match pack(terms) {
            Some(packed) => self.packed.get(&packed).copied(),
            None => self.wide.get(terms).copied(),
        }
    }

    /// The value of a list, which becomes `new` when there was none.
    #[inline]
    pub fn get_or_insert(&mut self, terms: &[TermId], new: V) -> V {
        match pack(terms) {
            Some(packed) => *self.packed.entry(packed).or_insert(new),
            None => *self.wide.entry_ref(terms).or_insert(new),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_any_length_and_size_are_told_apart() {
        for length in 0..70 {
            let mut map = TupleMap::new();
            let mut lists = Vec::new();
            for large in [0, 1, 1 << 9, 1 << 12, 1 << 16, 1 << 21, u32::MAX - 1] {
                for place in 0..length {
                    let mut list = vec![TermId(1); length];
                    list[place] = TermId(large + u32::from(large == 1));
                    lists.push(list);
                }
            }
            for (number, list) in lists.iter().enumerate() {
                assert_eq!(map.get(list), None, "{list:?}");
                assert_eq!(map.get_or_insert(list, number), number);
                assert_eq!(map.get_or_insert(list, usize::MAX), number);
            }
            for (number, list) in lists.iter().enumerate() {
                assert_eq!(map.get(list), Some(number));
            }
        }
    }
}
