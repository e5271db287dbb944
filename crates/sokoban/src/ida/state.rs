//! The position of a search, changed and restored in place.
//!
//! Invariants: `index_at` inverts `squares`; `free` holds the squares without a box; the bound is
//! that of the matching for the side of each box on which the player stands. That side changes only
//! when the box itself moves, since walls and the box separate its sides.

use crate::board::{Board, Direction, NO_SQUARE, Position, Square};
use crate::distances::Distances;
use crate::matching::Matching;
use crate::reach::{Reach, Rows};

/// No box stands here.
pub const NO_BOX: u16 = u16::MAX;

/// What [`State::undo`] needs to restore.
#[derive(Clone, Copy, Debug)]
pub struct Undo {
    index: usize,
    from: Square,
    side: Direction,
    player: Square,
}

/// Boxes, player, hash and lower bound.
#[derive(Clone, Debug)]
pub struct State<'a> {
    board: &'a Board,
    distances: &'a Distances,
    squares: Vec<Square>,
    sides: Vec<Direction>,
    index_at: Vec<u16>,
    player: Square,
    free: Rows,
    matching: Matching,
    hash: u64,
}

/// A number that looks random and depends on `value` only (splitmix64).
#[inline]
pub fn mix(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl<'a> State<'a> {
    pub fn new(board: &'a Board, distances: &'a Distances, position: &Position) -> Self {
        let squares = position.boxes.clone();
        let mut index_at = vec![NO_BOX; board.len()];
        let mut hash = 0;
        for (index, &square) in squares.iter().enumerate() {
            index_at[usize::from(square)] = index as u16;
            hash ^= mix(u64::from(square));
        }
        let mut matching = Matching::new(distances, &squares);
        let mut sides = Vec::with_capacity(squares.len());
        for (index, &square) in squares.iter().enumerate() {
            let side = side_of(board, square, position.player);
            sides.push(side);
            matching.moved_from_side(distances, index, square, side);
        }
        Self {
            board,
            distances,
            free: board.free(&squares),
            squares,
            sides,
            index_at,
            player: position.player,
            matching,
            hash,
        }
    }

    pub fn board(&self) -> &'a Board {
        self.board
    }

    pub fn distances(&self) -> &'a Distances {
        self.distances
    }

    /// The squares of the boxes, by index.
    pub fn squares(&self) -> &[Square] {
        &self.squares
    }

    pub fn player(&self) -> Square {
        self.player
    }

    /// The side of each box on which the player stands, if that box were alone.
    pub fn side(&self, index: usize) -> Direction {
        self.sides[index]
    }

    pub fn free(&self) -> &Rows {
        &self.free
    }

    pub fn matching(&self) -> &Matching {
        &self.matching
    }

    /// Depends on the squares of the boxes only.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The box on a square, or [`NO_BOX`].
    #[inline]
    pub fn index_at(&self, square: Square) -> u16 {
        self.index_at[usize::from(square)]
    }

    #[inline]
    pub fn has_box(&self, square: Square) -> bool {
        self.index_at[usize::from(square)] != NO_BOX
    }

    /// Fills `reach` with the squares that the player reaches.
    #[inline]
    pub fn fill(&self, reach: &mut Reach) {
        reach.fill(&self.free, self.board.cell(self.player));
    }

    /// Moves a box to the square `to`. The player then stands beside it, behind the last push,
    /// whose direction is `last`.
    pub fn apply(&mut self, index: usize, to: Square, last: Direction) -> Undo {
        let undo = Undo {
            index,
            from: self.squares[index],
            side: self.sides[index],
            player: self.player,
        };
        let side = last.opposite();
        self.place(index, to, side);
        self.player = self.board.next(to, side);
        undo
    }

    pub fn undo(&mut self, undo: Undo) {
        self.place(undo.index, undo.from, undo.side);
        self.player = undo.player;
    }

    fn place(&mut self, index: usize, to: Square, side: Direction) {
        let from = std::mem::replace(&mut self.squares[index], to);
        self.sides[index] = side;
        self.index_at[usize::from(from)] = NO_BOX;
        self.index_at[usize::from(to)] = index as u16;
        self.free.insert(self.board.cell(from));
        self.free.remove(self.board.cell(to));
        self.hash ^= mix(u64::from(from)) ^ mix(u64::from(to));
        self.matching
            .moved_from_side(self.distances, index, to, side);
    }
}

/// A side of a lone box on `square` that the player reaches from `player`.
pub fn side_of(board: &Board, square: Square, player: Square) -> Direction {
    let mut reach = Reach::new(board.floor().len());
    reach.fill(&board.free(&[square]), board.cell(player));
    Direction::ALL
        .into_iter()
        .find(|&side| {
            let next = board.next(square, side);
            next != NO_SQUARE && reach.contains(board.cell(next))
        })
        .unwrap_or(Direction::Up)
}
