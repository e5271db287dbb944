//! A node on the path of the search: its position, its children, and their order.
//!
//! Invariants: buffers are kept from node to node, so nothing is allocated once they have grown;
//! all scores but those of `order` are of the first role.
//!
//! Never uses: the table, clocks.

use super::score::{INFINITE, Score};
use panza_gdl::{Id, MoveId};
use panza_machine::PositionBatch;

/// Moves that are found by selection, since most nodes need no more; the rest is sorted.
const SELECTED: usize = 3;

/// A node on the path.
pub(super) struct Frame {
    pub state: Vec<u64>,
    /// The static score of the state, once it is known.
    pub score: Option<Score>,
    /// The role that chooses, and 1 or -1 for the first and the second role.
    pub mover: usize,
    pub sign: Score,
    /// The move that is searched, of this frame.
    pub made: Option<MoveId>,
    /// Moves that were refuted by in other nodes of this ply.
    pub killers: [Option<MoveId>; 2],
    /// The mover's moves, and joint moves with the only one of the other role.
    pub moves: Vec<MoveId>,
    pub joint_moves: Vec<[MoveId; 2]>,
    /// The children, and the score of each: static, or of its end.
    pub children: PositionBatch,
    pub scores: Vec<Score>,
    /// For each move to be searched its ordering score and its index in `moves`. Sorted by falling
    /// score as far as [`pick`](Self::pick) has gone; moves that were left out are marked there.
    pub order: Vec<(Score, u32)>,
    /// The places in `order` of moves that are searched last.
    pub deferred: Vec<usize>,
}

impl Frame {
    pub fn new(n_words: usize) -> Self {
        Self {
            state: vec![0; n_words],
            score: None,
            mover: 0,
            sign: 1,
            made: None,
            killers: [None; 2],
            moves: Vec::new(),
            joint_moves: Vec::new(),
            children: PositionBatch::default(),
            scores: Vec::new(),
            order: Vec::new(),
            deferred: Vec::new(),
        }
    }

    /// Puts a state here.
    pub fn set(&mut self, state: &[u64], score: Option<Score>) {
        self.state.clear();
        self.state.extend_from_slice(state);
        self.score = score;
    }

    /// Sets the role that chooses, and its moves beside the only one of the other role.
    pub fn set_moves(&mut self, mover: usize, moves: &[MoveId], other: MoveId) {
        self.mover = mover;
        self.sign = if mover == 0 { 1 } else { -1 };
        self.moves.clear();
        self.moves.extend_from_slice(moves);
        self.joint_moves.clear();
        let joint = |&mv| if mover == 0 { [mv, other] } else { [other, mv] };
        self.joint_moves.extend(moves.iter().map(joint));
    }

    /// Whether the game ends with a move.
    #[inline]
    pub fn is_end(&self, index: usize) -> bool {
        self.children.terminal[index]
    }

    /// What the mover has after a move: the static score, or that of the end.
    #[inline]
    pub fn score_after(&self, index: usize) -> Score {
        self.sign * self.scores[index]
    }

    /// The place of the move that promises the most, of all but the first `n_tried`.
    #[inline]
    pub fn pick(&mut self, n_tried: usize) -> usize {
        match n_tried {
            ..SELECTED => {
                let mut best = (n_tried, -2 * INFINITE);
                for (place, &(promise, _)) in self.order.iter().enumerate().skip(n_tried) {
                    if promise > best.1 {
                        best = (place, promise);
                    }
                }
                self.order.swap(n_tried, best.0);
            }
            SELECTED => {
                let rest = &mut self.order[SELECTED..];
                rest.sort_unstable_by_key(|&(promise, place)| (-promise, place));
            }
            _ => {}
        }
        self.order[n_tried].1 as usize
    }

    /// Remembers a move that refuted this node.
    pub fn add_killer(&mut self, mv: MoveId) {
        if self.killers[0] != Some(mv) {
            self.killers[1] = self.killers[0];
            self.killers[0] = Some(mv);
        }
    }
}

/// Places of moves in the history.
const HISTORY_SIZE: usize = 1 << 15;
/// The largest value of the history.
pub(super) const MAX_HISTORY: Score = 512;

/// Places of pairs of moves.
const PAIRS_SIZE: usize = 1 << 17;

/// How well moves of each role did in other nodes, and after the move before them.
pub(super) struct History {
    moves: Vec<i16>,
    pairs: Vec<i16>,
    is_empty: bool,
}

impl History {
    pub fn new() -> Self {
        Self {
            moves: vec![0; 2 * HISTORY_SIZE],
            pairs: vec![0; PAIRS_SIZE],
            is_empty: true,
        }
    }

    #[inline]
    fn pair_place(before: MoveId, mv: MoveId) -> usize {
        let pair = (before.index() as u64) << 32 | mv.index() as u64;
        (pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize % PAIRS_SIZE
    }

    /// What a move has earned after another, from -[`MAX_HISTORY`] to [`MAX_HISTORY`].
    #[inline]
    pub fn after(&self, before: Option<MoveId>, mv: MoveId) -> Score {
        before.map_or(0, |before| self.pairs[Self::pair_place(before, mv)].into())
    }

    /// As [`add`](Self::add), for a move after another.
    #[inline]
    pub fn add_after(&mut self, before: Option<MoveId>, mv: MoveId, bonus: Score) {
        if let Some(before) = before {
            self.is_empty = false;
            earn(&mut self.pairs[Self::pair_place(before, mv)], bonus);
        }
    }

    #[inline]
    fn place(role: usize, mv: MoveId) -> usize {
        role % 2 * HISTORY_SIZE + mv.index() % HISTORY_SIZE
    }

    /// What a move has earned, from -[`MAX_HISTORY`] to [`MAX_HISTORY`].
    #[inline]
    pub fn of(&self, role: usize, mv: MoveId) -> Score {
        self.moves[Self::place(role, mv)].into()
    }

    /// Adds to what a move has earned. The nearer that is to its limit, the less counts.
    #[inline]
    pub fn add(&mut self, role: usize, mv: MoveId, bonus: Score) {
        self.is_empty = false;
        earn(&mut self.moves[Self::place(role, mv)], bonus);
    }

    /// Halves everything, twice: the next position is another one.
    pub fn age(&mut self) {
        if self.is_empty {
            return;
        }
        let all = self.moves.iter_mut().chain(&mut self.pairs);
        all.for_each(|earned| *earned /= 4);
    }
}

#[inline]
fn earn(earned: &mut i16, bonus: Score) {
    *earned += (bonus - Score::from(*earned) * bonus.abs() / MAX_HISTORY) as i16;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_picked_in_the_order_of_their_promise() {
        let mut frame = Frame::new(1);
        let promises = [3, 9, -4, 9, 0, 12, 7, 7, -1];
        frame.order = promises.iter().copied().zip(0..).collect();
        let picked: Vec<Score> = (0..promises.len())
            .map(|n_tried| promises[frame.pick(n_tried)])
            .collect();
        assert_eq!(picked, [12, 9, 9, 7, 7, 3, 0, -1, -4]);
    }

    #[test]
    fn history_stays_within_its_limits() {
        let mut history = History::new();
        for _ in 0..1000 {
            history.add(0, MoveId(3), 64);
            history.add(1, MoveId(3), -64);
        }
        assert!((400..=MAX_HISTORY).contains(&history.of(0, MoveId(3))));
        assert!((-MAX_HISTORY..=-400).contains(&history.of(1, MoveId(3))));
        history.age();
        assert!(history.of(0, MoveId(3)) <= MAX_HISTORY / 4);
    }
}
