//! A set of box configurations with numbers, and for each the squares where the player has been.
//!
//! A configuration is a bit for each square. Its record holds these bits and as many bits for the
//! player, side by side, so that a step of the player touches one place in memory. One more word
//! belongs to the user of the set.
//!
//! Invariants: numbers count from 0 and stay below [`LIMIT`]; a record is `2 * words + 1` long.

use super::super::board::{Board, Square};

/// More configurations than fit in a queue entry.
pub(super) const LIMIT: usize = 1 << 26;

/// Records in one allocation. A set grows without copies.
const CHUNK: usize = 1 << 14;

const EMPTY: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Configurations {
    words: usize,
    len: usize,
    chunks: Vec<Vec<u64>>,
    /// Hash table of numbers with linear probing; at most half full.
    slots: Vec<u32>,
}

/// The words and the bit of a square.
#[inline]
pub(super) fn bit(square: Square) -> (usize, u64) {
    (usize::from(square) / 64, 1 << (square % 64))
}

/// One bit for each box.
pub(super) fn bits(board: &Board, boxes: &[Square]) -> Vec<u64> {
    let mut words = vec![0; words(board)];
    for &square in boxes {
        let (word, bit) = bit(square);
        words[word] |= bit;
    }
    words
}

/// The boxes of a configuration, sorted.
pub(super) fn squares(boxes: &[u64]) -> impl Iterator<Item = Square> {
    boxes.iter().enumerate().flat_map(|(index, &word)| {
        let rest = std::iter::successors(Some(word), |&rest| Some(rest & rest.wrapping_sub(1)));
        rest.take_while(|&rest| rest != 0)
            .map(move |rest| (index * 64) as Square + rest.trailing_zeros() as Square)
    })
}

/// The words of one configuration.
pub(super) fn words(board: &Board) -> usize {
    board.len().div_ceil(64)
}

fn hash(boxes: &[u64]) -> usize {
    let mut hash = 0u64;
    for &word in boxes {
        let product = u128::from(hash ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        hash = (product >> 64) as u64 ^ product as u64;
    }
    hash as usize
}

impl Configurations {
    pub(super) fn new(board: &Board) -> Self {
        Self {
            words: words(board),
            len: 0,
            chunks: Vec::new(),
            slots: vec![EMPTY; 1 << 10],
        }
    }

    /// The length of a record.
    #[inline]
    fn stride(&self) -> usize {
        2 * self.words + 1
    }

    /// The bytes in use.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.len() * CHUNK * self.stride() * 8 + self.slots.len() * 4
    }

    /// Boxes, visited squares and the user's word of a configuration, in this order.
    #[inline]
    pub(super) fn record(&self, number: usize) -> &[u64] {
        let start = number % CHUNK * self.stride();
        &self.chunks[number / CHUNK][start..start + self.stride()]
    }

    /// As [`record`](Self::record), for marking squares as visited.
    #[inline]
    pub(super) fn record_mut(&mut self, number: usize) -> &mut [u64] {
        let stride = self.stride();
        let start = number % CHUNK * stride;
        &mut self.chunks[number / CHUNK][start..start + stride]
    }

    /// The number of a configuration in the set, or the slot where it belongs.
    #[inline]
    fn locate(&self, boxes: &[u64]) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = hash(boxes) & mask;
        loop {
            let number = self.slots[slot];
            if number == EMPTY {
                return Err(slot);
            }
            let record = &self.record(number as usize)[..self.words];
            if record.iter().zip(boxes).all(|(word, other)| word == other) {
                return Ok(number as usize);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The number of a configuration in the set.
    #[inline]
    pub(super) fn find(&self, boxes: &[u64]) -> Option<usize> {
        self.locate(boxes).ok()
    }

    /// The number of a configuration, which is added if the set has it not. Nothing if the set is
    /// full.
    pub(super) fn insert(&mut self, boxes: &[u64]) -> Option<usize> {
        let slot = match self.locate(boxes) {
            Ok(number) => return Some(number),
            Err(slot) => slot,
        };
        if self.len >= LIMIT {
            return None;
        }
        let number = self.len;
        if number.is_multiple_of(CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK * self.stride()));
        }
        let chunk = &mut self.chunks[number / CHUNK];
        chunk.extend_from_slice(boxes);
        chunk.extend(std::iter::repeat_n(0, self.words + 1));
        self.slots[slot] = number as u32;
        self.len += 1;
        if self.len * 2 > self.slots.len() {
            self.grow();
        }
        Some(number)
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        let mut slots = vec![EMPTY; mask + 1];
        for number in 0..self.len {
            let mut slot = hash(&self.record(number)[..self.words]) & mask;
            while slots[slot] != EMPTY {
                slot = (slot + 1) & mask;
            }
            slots[slot] = number as u32;
        }
        self.slots = slots;
    }
}
