//! The moves of a role as bits of a row of legal moves.
//!
//! Invariant: the moves of a role have consecutive numbers.

use std::ops::Range;

use panza_gdl::MoveId;

/// What a role can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Nothing: it has no legal move.
    None,
    /// This move only.
    Only(MoveId),
    /// One of several moves.
    Several,
}

/// The place of a role's moves in rows.
#[derive(Clone, Debug)]
pub struct RoleMoves {
    /// The numbers of the moves.
    pub range: Range<u32>,
    /// The words that they are in, and which bits of each.
    words: Vec<(usize, u64)>,
}

impl RoleMoves {
    /// The place of moves with these numbers.
    pub fn new(range: &Range<u32>) -> Self {
        let (start, end) = (range.start as usize, range.end as usize);
        let words = (start / 64..end.div_ceil(64)).map(|word| {
            let from = start.max(word * 64) - word * 64;
            let to = end.min(word * 64 + 64) - word * 64;
            let mask = match to.checked_sub(from) {
                None | Some(0) => 0,
                Some(count) => u64::MAX >> (64 - count) << from,
            };
            (word, mask)
        });
        Self {
            range: range.clone(),
            words: words.filter(|&(_, mask)| mask != 0).collect(),
        }
    }

    /// The number of moves.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// The move of an action, whether legal or not.
    #[inline]
    pub fn move_of(&self, action: i64) -> Option<MoveId> {
        let action = u32::try_from(action).ok()?;
        (action < self.range.end - self.range.start).then(|| MoveId(self.range.start + action))
    }

    /// What the role can do.
    #[inline]
    pub fn choice(&self, legal: &[u64]) -> Choice {
        let mut only = Choice::None;
        for &(word, mask) in &self.words {
            let bits = legal[word] & mask;
            if bits == 0 {
                continue;
            }
            if only != Choice::None || bits & (bits - 1) != 0 {
                return Choice::Several;
            }
            only = Choice::Only(MoveId(word as u32 * 64 + bits.trailing_zeros()));
        }
        only
    }

    /// The number of legal moves.
    #[inline]
    pub fn count(&self, legal: &[u64]) -> u32 {
        let bits = self.words.iter().map(|&(word, mask)| legal[word] & mask);
        bits.map(u64::count_ones).sum()
    }

    /// The n-th legal move in the order of their numbers.
    #[inline]
    pub fn nth(&self, legal: &[u64], mut n: u32) -> Option<MoveId> {
        for &(word, mask) in &self.words {
            let bits = legal[word] & mask;
            let count = bits.count_ones();
            if n < count {
                return Some(MoveId(word as u32 * 64 + nth_bit(bits, n)));
            }
            n -= count;
        }
        None
    }

    /// The action of a legal move that `below` draws by its number among them; none where there is
    /// no legal move. A single one is not drawn.
    #[inline]
    pub fn draw(&self, legal: &[u64], below: impl FnOnce(u32) -> u32) -> Option<u32> {
        let (first, drawn) = match self.words[..] {
            // Most roles of small games have their moves in one word.
            [(word, mask)] => {
                let bits = legal[word] & mask;
                let drawn = match bits {
                    0 => return None,
                    _ if bits & (bits - 1) == 0 => bits.trailing_zeros(),
                    _ => nth_bit(bits, below(bits.count_ones())),
                };
                (word as u32 * 64, drawn)
            }
            _ => {
                let count = self.count(legal);
                let nth = if count > 1 { below(count) } else { 0 };
                (0, self.nth(legal, nth)?.0)
            }
        };
        Some(first + drawn - self.range.start)
    }

    /// Writes for each move whether it is legal, and false behind the last.
    #[inline]
    pub fn write_flags(&self, legal: &[u64], out: &mut [bool]) {
        let (start, end) = (self.range.start as usize, self.range.end as usize);
        let (flags, rest) = out.split_at_mut((end - start).min(out.len()));
        rest.fill(false);
        write_bits(legal, start, flags);
    }

    /// Writes the same as bits, the lowest first.
    #[inline]
    pub fn write_packed(&self, legal: &[u64], out: &mut [u8]) {
        let (start, end) = (self.range.start as usize, self.range.end as usize);
        for (index, byte) in out.iter_mut().enumerate() {
            let from = start + index * 8;
            let left = end.saturating_sub(from).min(8);
            let mask = ((1u16 << left) - 1) as u8;
            *byte = byte_at(legal, from) & mask;
        }
    }
}

/// The place of the n-th bit of those that are on; there are more than n.
#[inline]
fn nth_bit(mut bits: u64, mut n: u32) -> u32 {
    let mut place = 0;
    loop {
        let count = (bits as u8).count_ones();
        if n < count || place >= 56 {
            break;
        }
        n -= count;
        bits >>= 8;
        place += 8;
    }
    for _ in 0..n {
        bits &= bits - 1;
    }
    place + bits.trailing_zeros()
}

/// Eight bits from a place on; beyond the end they are off.
#[inline]
fn byte_at(words: &[u64], place: usize) -> u8 {
    let (word, shift) = (place / 64, place % 64);
    let low = words.get(word).copied().unwrap_or(0) >> shift;
    let high = match shift {
        0..=56 => 0,
        _ => words.get(word + 1).copied().unwrap_or(0) << (64 - shift),
    };
    (low | high) as u8
}

/// For each byte its bits, the lowest first.
const FLAGS: [[bool; 8]; 256] = {
    let mut flags = [[false; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            flags[byte][bit] = byte >> bit & 1 == 1;
            bit += 1;
        }
        byte += 1;
    }
    flags
};

/// Writes the bits from `start` on, one flag for each.
#[inline]
pub fn write_bits(words: &[u64], start: usize, out: &mut [bool]) {
    let mut place = start;
    let mut chunks = out.chunks_exact_mut(8);
    for chunk in &mut chunks {
        chunk.copy_from_slice(&FLAGS[usize::from(byte_at(words, place))]);
        place += 8;
    }
    let rest = chunks.into_remainder();
    let flags = &FLAGS[usize::from(byte_at(words, place))];
    rest.copy_from_slice(&flags[..rest.len()]);
}
