//! The neighbourhood of a plan: states that differ from one of its states in few groups.
//!
//! A group is a field of packed states: facts of which at most one is true, such as the places of a
//! tile or the contents of a square. Groups that change at most moves of the plan, such as the
//! square of the player, may have any value. (Vicinity search as in the Sokoban optimiser YASO,
//! with groups in place of boxes; the neighbourhood graph of a plan by distance in moves: Nakhost
//! and Müller 2010.)
//!
//! Invariant: the states of the plan are near.

use panza_propnet::BinaryField;

/// A group is free if it changes at one move in this many, or more often.
const MOVES_PER_CHANGE: usize = 3;

/// Tells whether states are near a plan.
pub(super) struct Vicinity {
    key_words: usize,
    /// The keys of the states of the plan, concatenated.
    keys: Vec<u64>,
    /// Per word and bit of a key all bits of the bit's group.
    groups: Vec<[u64; 64]>,
    /// The bits of groups that are not free.
    counted: Vec<u64>,
    n_counted: usize,
    max_differing: u32,
    /// Where the state of the plan that was near last begins.
    last_near: usize,
}

impl Vicinity {
    /// The neighbourhood of some states of a plan, given by their keys one after the other: states
    /// in which at most `max_differing` groups differ from one of them.
    pub fn new(
        fields: &[BinaryField],
        key_words: usize,
        keys: Vec<u64>,
        max_differing: u32,
    ) -> Self {
        let mut vicinity = Self {
            key_words,
            groups: vec![[0; 64]; key_words],
            counted: vec![0; key_words],
            n_counted: 0,
            max_differing,
            last_near: 0,
            keys,
        };
        let n_moves = vicinity.keys.len() / key_words - 1;
        for field in fields {
            let (word, shift) = (field.first_bit / 64, field.first_bit % 64);
            if word >= key_words {
                continue;
            }
            let n_bits = usize::BITS - field.facts.len().leading_zeros();
            let mask = ((1u64 << n_bits) - 1) << shift;
            for bit in shift..shift + n_bits as usize {
                vicinity.groups[word][bit] = mask;
            }
            let values = vicinity.keys[word..].iter().step_by(key_words);
            let next = values.clone().skip(1);
            let changes = values.zip(next).filter(|(a, b)| (*a ^ *b) & mask != 0);
            if changes.count() * MOVES_PER_CHANGE < n_moves {
                vicinity.counted[word] |= mask;
                vicinity.n_counted += 1;
            }
        }
        vicinity
    }

    /// The number of groups that are not free.
    pub fn n_counted(&self) -> usize {
        self.n_counted
    }

    /// Whether a state is near, by its key.
    pub fn contains(&mut self, key: &[u64]) -> bool {
        // Searches go along the plan, so that mostly one of the next states is near.
        let (before, after) = self.keys.split_at(self.last_near);
        let near = |keys: &[u64]| {
            let mut keys = keys.chunks_exact(self.key_words);
            keys.position(|of_plan| self.is_near(of_plan, key))
        };
        let found = near(after).map(|index| self.last_near + index * self.key_words);
        let found = found.or_else(|| near(before).map(|index| index * self.key_words));
        self.last_near = found.unwrap_or(self.last_near);
        found.is_some()
    }

    fn is_near(&self, of_plan: &[u64], key: &[u64]) -> bool {
        let mut n_differing = 0;
        for (word, (a, b)) in of_plan.iter().zip(key).enumerate() {
            let mut differing = (a ^ b) & self.counted[word];
            while differing != 0 {
                n_differing += 1;
                if n_differing > self.max_differing {
                    return false;
                }
                differing &= !self.groups[word][differing.trailing_zeros() as usize];
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_near_by_the_number_of_groups_that_differ() {
        // Four groups of three facts, two bits each. The first and the last are free: they change
        // at one and at three of the three moves.
        let field = |group: usize| BinaryField {
            first_bit: group * 2,
            facts: (0..3).map(|fact| (group * 3 + fact) as u32).collect(),
        };
        let fields: Vec<BinaryField> = (0..4).map(field).collect();
        let keys = vec![0b01_01_01_01, 0b10_01_01_10, 0b01_01_01_10, 0b10_01_01_10];
        for (key, n_differing) in [
            (0b11_01_01_11u64, 0),
            (0b00_01_01_01, 0),
            (0b01_10_01_01, 1),
            (0b01_10_10_01, 2),
        ] {
            for max_differing in 0..3 {
                let mut vicinity = Vicinity::new(&fields, 1, keys.clone(), max_differing);
                assert_eq!(vicinity.n_counted(), 2);
                let is_near = n_differing <= max_differing;
                assert_eq!(vicinity.contains(&[key]), is_near, "{key:b}");
            }
        }
    }
}
