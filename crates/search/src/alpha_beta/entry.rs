//! What the table knows of a position, packed into 64 bits.
//!
//! Invariant: a packed entry is never 0.
//!
//! Never uses: machines, threads.

use super::score::Score;
use panza_gdl::{Id, MoveId};

/// What a stored score says about the true one, as seen by the first role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bound {
    /// It is at least as high.
    Lower = 1,
    /// It is at most as high.
    Upper = 2,
    Exact = 3,
}

impl Bound {
    /// The same as seen by the role of `sign`.
    pub fn seen_by(self, sign: Score) -> Self {
        match (self, sign) {
            (Self::Lower, -1) => Self::Upper,
            (Self::Upper, -1) => Self::Lower,
            (bound, _) => bound,
        }
    }
}

/// What is known of a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub score: Score,
    pub bound: Bound,
    /// The depth of its search; at most 127.
    pub depth: i32,
    /// The mover's best move; of moves beyond 2^24 none is kept.
    pub mv: Option<MoveId>,
    /// The number of the search that stored it, modulo [`AGES`].
    pub age: u8,
}

/// The number of ages: the age of an entry wraps around at this.
pub(super) const AGES: u8 = 64;
const MOVE_BITS: u32 = 24;
/// What an age costs an entry, in plies of depth.
const PLIES_PER_AGE: u32 = 4;

impl Entry {
    #[inline]
    pub fn pack(self) -> u64 {
        let mv = self.mv.map_or(0, |mv| mv.index() as u64 + 1);
        let mv = if mv >> MOVE_BITS == 0 { mv } else { 0 };
        mv | u64::from(self.score as i16 as u16) << 24
            | u64::from(self.depth.clamp(-128, 127) as i8 as u8) << 40
            | (self.bound as u64) << 48
            | u64::from(self.age % AGES) << 50
    }

    #[inline]
    pub fn unpack(data: u64) -> Self {
        let mv = (data & ((1 << MOVE_BITS) - 1)) as usize;
        Self {
            score: (data >> 24) as i16 as Score,
            bound: match data >> 48 & 3 {
                1 => Bound::Lower,
                2 => Bound::Upper,
                _ => Bound::Exact,
            },
            depth: (data >> 40) as i8 as i32,
            mv: mv.checked_sub(1).map(MoveId::from_index),
            age: (data >> 50) as u8 % AGES,
        }
    }
}

/// What a packed entry is worth while `age` is the present one: deep and recent ones are kept.
#[inline]
pub(super) fn worth(data: u64, age: u8) -> u32 {
    let depth = i32::from((data >> 40) as i8) + 128;
    let behind = age.wrapping_sub((data >> 50) as u8) % AGES;
    (depth as u32 + 4 * u32::from(AGES)).saturating_sub(PLIES_PER_AGE * u32::from(behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_they_were_packed() {
        let moves = [None, Some(MoveId(0)), Some(MoveId(70_000))];
        for (index, mv) in moves.into_iter().enumerate() {
            for (bound, score) in [
                (Bound::Lower, -29_990),
                (Bound::Upper, 31_000),
                (Bound::Exact, -1),
            ] {
                let entry = Entry {
                    score,
                    bound,
                    depth: 10 * index as i32 - 7,
                    mv,
                    age: 60 + index as u8,
                };
                assert_ne!(entry.pack(), 0);
                assert_eq!(Entry::unpack(entry.pack()), entry);
            }
        }
    }

    #[test]
    fn deep_and_recent_entries_are_worth_more() {
        let of = |depth, age| {
            let entry = Entry {
                score: 0,
                bound: Bound::Exact,
                depth,
                mv: None,
                age,
            };
            worth(entry.pack(), 1)
        };
        assert!(of(5, 1) > of(4, 1));
        assert!(of(5, 1) > of(8, 63), "ages go round");
        assert!(of(20, 0) > of(4, 1));
    }
}
