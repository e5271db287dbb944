//! The working copy of a position that searches change in place.
//!
//! It keeps the free cells as rows for fills, which box stands on which square, and the hash of the
//! set of boxes. Moving one box costs a few instructions.
//!
//! Invariants: the free rows are the floor without boxes; the hash is the exclusive or of one
//! random number for each occupied square (Zobrist, 1970).

use super::board::{Board, Direction, NO_SQUARE, Position, Push, Square};
use super::reach::{Reach, Rows};

/// No box.
const NO_BOX: u16 = u16::MAX;

/// Boxes on a board, changed in place.
#[derive(Clone, Debug)]
pub struct Field<'board> {
    board: &'board Board,
    free: Rows,
    boxes: Vec<Square>,
    box_at: Vec<u16>,
    hash: u64,
}

/// A random number for each value: the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
pub fn scramble(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl<'board> Field<'board> {
    /// The field with these boxes.
    pub fn new(board: &'board Board, boxes: &[Square]) -> Self {
        let mut field = Self {
            board,
            free: board.floor().clone(),
            boxes: Vec::with_capacity(boxes.len()),
            box_at: vec![NO_BOX; board.len()],
            hash: 0,
        };
        field.set(boxes);
        field
    }

    /// The board.
    pub fn board(&self) -> &'board Board {
        self.board
    }

    /// Replaces all boxes.
    pub fn set(&mut self, boxes: &[Square]) {
        while let Some(square) = self.boxes.pop() {
            self.lift_from(square);
        }
        for &square in boxes {
            self.add(square);
        }
    }

    fn lift_from(&mut self, square: Square) {
        self.box_at[square as usize] = NO_BOX;
        self.free.insert(self.board.cell(square));
        self.hash ^= scramble(square as u64);
    }

    /// Puts a further box on a free square.
    pub fn add(&mut self, square: Square) {
        self.box_at[square as usize] = self.boxes.len() as u16;
        self.boxes.push(square);
        self.free.remove(self.board.cell(square));
        self.hash ^= scramble(square as u64);
    }

    /// Takes a box away; the last box gets its number.
    pub fn remove(&mut self, square: Square) {
        let index = self.box_at[square as usize] as usize;
        self.lift_from(square);
        self.boxes.swap_remove(index);
        if let Some(&moved) = self.boxes.get(index) {
            self.box_at[moved as usize] = index as u16;
        }
    }

    /// Moves a box to a free square; it keeps its number.
    #[inline]
    pub fn shift(&mut self, from: Square, to: Square) {
        let index = self.box_at[from as usize];
        self.lift_from(from);
        self.box_at[to as usize] = index;
        self.boxes[index as usize] = to;
        self.free.remove(self.board.cell(to));
        self.hash ^= scramble(to as u64);
    }

    /// All boxes, by their numbers.
    #[inline]
    pub fn boxes(&self) -> &[Square] {
        &self.boxes
    }

    /// Whether a box stands on the square.
    #[inline]
    pub fn has_box(&self, square: Square) -> bool {
        self.box_at[square as usize] != NO_BOX
    }

    /// Whether the player or a box may enter the square.
    #[inline]
    pub fn is_free(&self, square: Square) -> bool {
        square != NO_SQUARE && self.box_at[square as usize] == NO_BOX
    }

    /// The squares without boxes.
    #[inline]
    pub fn free(&self) -> &Rows {
        &self.free
    }

    /// The hash of the set of boxes.
    #[inline]
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The hash of the position with a player in the area whose first square is `first`.
    #[inline]
    pub fn position_hash(&self, first: Square) -> u64 {
        self.hash ^ scramble(first as u64 + (1 << 20))
    }

    /// Finds what a player on a free square reaches.
    #[inline]
    pub fn fill(&self, reach: &mut Reach, player: Square) {
        reach.fill(&self.free, self.board.cell(player));
    }

    /// Whether the square, if it is one, is in the reach.
    #[inline]
    pub fn reaches(&self, reach: &Reach, square: Square) -> bool {
        square != NO_SQUARE && reach.contains(self.board.cell(square))
    }

    /// Whether a player with this reach can push the box on a square.
    #[inline]
    pub fn can_push(&self, reach: &Reach, square: Square, direction: Direction) -> bool {
        self.is_free(self.board.next(square, direction))
            && self.reaches(reach, self.board.next(square, direction.opposite()))
    }

    /// Calls `visit` for each area between boxes, with its first square; `area` is room for one.
    pub fn for_each_area(&self, area: &mut Reach, mut visit: impl FnMut(Square, &Reach)) {
        let mut left = self.free.clone();
        while let Some(cell) = left.first() {
            area.fill(&self.free, cell);
            left.remove_all(area.rows());
            visit(self.board.square_at(cell), area);
        }
    }

    /// The position with sorted boxes.
    pub fn position(&self, player: Square) -> Position {
        let mut boxes = self.boxes.clone();
        boxes.sort_unstable();
        Position { boxes, player }
    }
}

/// How the player moves a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Play {
    /// The player walks towards the box, which gives way.
    Push,
    /// The player walks away from the box, which follows: a push reversed.
    Pull,
}

impl Play {
    /// The other way.
    pub fn reversed(self) -> Self {
        match self {
            Self::Push => Self::Pull,
            Self::Pull => Self::Push,
        }
    }

    /// Where a box on `square` goes if the player beside it, on `side`, moves it. The player is
    /// then on the same side of it. None if walls or boxes are in the way.
    #[inline]
    pub fn moved(self, field: &Field<'_>, square: Square, side: Direction) -> Option<Square> {
        let board = field.board();
        match self {
            Self::Push => {
                let to = board.next(square, side.opposite());
                field.is_free(to).then_some(to)
            }
            Self::Pull => {
                let to = board.next(square, side);
                (to != NO_SQUARE && field.is_free(board.next(to, side))).then_some(to)
            }
        }
    }

    /// The push that moves a box from `square` with the player on `side`, or that a pull reverses.
    pub fn push(self, board: &Board, square: Square, side: Direction) -> Push {
        match self {
            Self::Push => Push {
                square,
                direction: side.opposite(),
            },
            Self::Pull => Push {
                square: board.next(square, side),
                direction: side.opposite(),
            },
        }
    }
}
