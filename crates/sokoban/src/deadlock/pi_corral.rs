//! Areas whose boxes have to be pushed before anything else matters.
//!
//! If the boxes around an area that the player cannot enter can be pushed only into that area, and
//! all these pushes are possible at once, then nothing outside changes what happens inside. Such a
//! PI-corral must be opened some time, so that a search may open it first and leave all other
//! pushes out (B. Damgaard; Sokoban wiki, "Sokoban solver techniques", PI-corral pruning).
//!
//! Invariants: the pushes left out are not needed for a solution; a PI-corral without a push is a
//! deadlock.

use super::super::board::{Board, Direction, NO_SQUARE, Push, Square};
use super::super::distances::DeadSquares;
use super::super::level::Cell;
use super::super::reach::{Reach, Rows};

/// Finds PI-corrals; keeps its memory between calls.
#[derive(Clone, Debug)]
pub struct PiCorrals {
    area: Reach,
    corral: Corral,
    best: Vec<Push>,
}

/// A corral while it is collected.
#[derive(Clone, Debug)]
struct Corral {
    /// The cells that the player cannot enter before a push of the corral's boxes.
    inside: Rows,
    boxes: Vec<Square>,
    /// The cells of the boxes.
    occupied: Rows,
    /// The pushes into the corral.
    pushes: Vec<Push>,
}

/// A position as the search for corrals reads it.
struct Position<'a> {
    board: &'a Board,
    boxes: &'a [Square],
    free: &'a Rows,
    dead: &'a DeadSquares,
    reach: &'a Reach,
}

/// What a box of a corral says about it.
enum Finding {
    /// All pushes of the box lead inside.
    Closed,
    /// A push leads out of the corral.
    Open,
    /// This box may get out of the way later and belongs to the corral.
    Box(Square),
    /// The area of this cell belongs to the corral.
    Area(Cell),
}

impl PiCorrals {
    /// For positions of one board.
    pub fn new(board: &Board) -> Self {
        let rows = board.floor().len();
        Self {
            area: Reach::new(rows),
            corral: Corral {
                inside: Rows::new(rows),
                boxes: Vec::new(),
                occupied: Rows::new(rows),
                pushes: Vec::new(),
            },
            best: Vec::new(),
        }
    }

    /// The pushes into the PI-corral with the fewest, or none if there is no PI-corral. No push at
    /// all is a deadlock. `free` are the cells without `boxes`, and `reach` those of the player.
    pub fn find(
        &mut self,
        board: &Board,
        boxes: &[Square],
        free: &Rows,
        dead: &DeadSquares,
        reach: &Reach,
    ) -> Option<&[Push]> {
        let position = Position {
            board,
            boxes,
            free,
            dead,
            reach,
        };
        let mut left = free.clone();
        left.remove_all(reach.rows());
        let mut found = false;
        while let Some(cell) = left.first() {
            self.corral.inside = Rows::new(left.len());
            self.corral.occupied = Rows::new(left.len());
            self.corral.boxes.clear();
            self.include_area(&position, cell);
            left.remove_all(self.area.rows());
            self.corral.pushes.clear();
            if self.close(&position) && (!found || self.corral.pushes.len() < self.best.len()) {
                found = true;
                std::mem::swap(&mut self.best, &mut self.corral.pushes);
            }
        }
        found.then_some(&self.best)
    }

    /// Adds the area of a free cell and the boxes that touch it.
    fn include_area(&mut self, position: &Position<'_>, cell: Cell) {
        let board = position.board;
        self.area.fill(position.free, cell);
        self.corral.inside.insert_all(self.area.rows());
        for &square in position.boxes {
            let mut neighbours = board.neighbours(square).iter();
            let is_in_area =
                |&next: &Square| next != NO_SQUARE && self.area.contains(board.cell(next));
            if neighbours.any(is_in_area) {
                self.corral.include_box(board, square);
            }
        }
    }

    /// Adds boxes and areas until all pushes lead inside. False if one does not, or if nothing
    /// inside has to move.
    fn close(&mut self, position: &Position<'_>) -> bool {
        let mut at = 0;
        while let Some(&square) = self.corral.boxes.get(at) {
            at += 1;
            match self.corral.examine(position, square) {
                Finding::Closed => continue,
                Finding::Open => return false,
                Finding::Box(other) => self.corral.include_box(position.board, other),
                Finding::Area(cell) => self.include_area(position, cell),
            }
            // What was seen of the boxes before may have changed.
            at = 0;
            self.corral.pushes.clear();
            if self.corral.boxes.len() == position.boxes.len() {
                return false;
            }
        }
        let board = position.board;
        let is_filled = |&goal: &Square| !self.corral.inside.contains(board.cell(goal));
        let is_solved = board.is_solved(&self.corral.boxes) && board.goals().iter().all(is_filled);
        self.corral.boxes.len() < position.boxes.len() && !is_solved
    }
}

impl Corral {
    fn include_box(&mut self, board: &Board, square: Square) {
        let cell = board.cell(square);
        if !self.occupied.contains(cell) {
            self.occupied.insert(cell);
            self.boxes.push(square);
        }
    }

    /// Examines the pushes of a box and keeps those into the corral.
    fn examine(&mut self, position: &Position<'_>, square: Square) -> Finding {
        let Position {
            board,
            free,
            dead,
            reach,
            ..
        } = *position;
        for direction in Direction::ALL {
            let (to, behind) = (
                board.next(square, direction),
                board.next(square, direction.opposite()),
            );
            if to == NO_SQUARE || behind == NO_SQUARE || dead.contains(to) {
                continue;
            }
            let (to_cell, behind_cell) = (board.cell(to), board.cell(behind));
            if self.inside.contains(behind_cell)
                || self.occupied.contains(behind_cell)
                || self.occupied.contains(to_cell)
            {
                continue;
            }
            if !free.contains(behind_cell) {
                return Finding::Box(behind);
            }
            if !free.contains(to_cell) {
                return Finding::Box(to);
            }
            if !reach.contains(behind_cell) {
                return Finding::Area(behind_cell);
            }
            if self.inside.contains(to_cell) {
                self.pushes.push(Push { square, direction });
            } else if reach.contains(to_cell) {
                return Finding::Open;
            } else {
                return Finding::Area(to_cell);
            }
        }
        Finding::Closed
    }
}
