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
use super::super::field::Field;
use super::super::reach::{Reach, Rows};

/// Finds PI-corrals; keeps its memory between calls.
#[derive(Clone, Debug)]
pub struct PiCorrals {
    area: Reach,
    /// The area's cells that the player cannot enter before a push of its boxes.
    inside: Rows,
    /// The boxes around it.
    boxes: Vec<Square>,
    pushes: Vec<Push>,
    best: Vec<Push>,
}

impl PiCorrals {
    /// For positions of one board.
    pub fn new(board: &Board) -> Self {
        let rows = board.floor().len();
        Self {
            area: Reach::new(rows),
            inside: Rows::new(rows),
            boxes: Vec::new(),
            pushes: Vec::new(),
            best: Vec::new(),
        }
    }

    /// The pushes into the PI-corral with the fewest, or none if there is no PI-corral. No push at
    /// all is a deadlock.
    pub fn find(
        &mut self,
        field: &Field<'_>,
        dead: &DeadSquares,
        reach: &Reach,
    ) -> Option<&[Push]> {
        let mut left = field.free().clone();
        left.remove_all(reach.rows());
        let mut found = false;
        while let Some(cell) = left.first() {
            self.inside = Rows::new(left.len());
            self.boxes.clear();
            self.include_area(field, cell);
            left.remove_all(self.area.rows());
            if self.close(field, dead, reach) && (!found || self.pushes.len() < self.best.len()) {
                found = true;
                std::mem::swap(&mut self.best, &mut self.pushes);
            }
        }
        found.then_some(&self.best)
    }

    /// Adds the area of a free cell and the boxes that touch it.
    fn include_area(&mut self, field: &Field<'_>, cell: (usize, usize)) {
        let board = field.board();
        self.area.fill(field.free(), cell);
        self.inside.insert_all(self.area.rows());
        for &square in field.boxes() {
            let touches = board
                .neighbours(square)
                .iter()
                .any(|&next| field.reaches(&self.area, next));
            if touches && !self.boxes.contains(&square) {
                self.boxes.push(square);
            }
        }
    }

    /// Adds boxes and areas until all pushes lead inside. False if one does not, or if nothing
    /// inside has to move.
    fn close(&mut self, field: &Field<'_>, dead: &DeadSquares, reach: &Reach) -> bool {
        let board = field.board();
        self.pushes.clear();
        let mut at = 0;
        while let Some(&square) = self.boxes.get(at) {
            at += 1;
            for direction in Direction::ALL {
                let (to, behind) = (
                    board.next(square, direction),
                    board.next(square, direction.opposite()),
                );
                if to == NO_SQUARE || behind == NO_SQUARE {
                    continue;
                }
                let (to_cell, behind_cell) = (board.cell(to), board.cell(behind));
                if self.inside.contains(behind_cell) || dead.contains(to) {
                    continue;
                }
                if self.boxes.contains(&behind) || self.boxes.contains(&to) {
                    continue;
                }
                if field.has_box(behind) || field.has_box(to) {
                    // What stands in the way may move later: it belongs to the corral.
                    let other = if field.has_box(behind) { behind } else { to };
                    self.boxes.push(other);
                    return self.restart(field, dead, reach);
                }
                if !reach.contains(behind_cell) {
                    self.include_area(field, behind_cell);
                    return self.restart(field, dead, reach);
                }
                if self.inside.contains(to_cell) {
                    self.pushes.push(Push { square, direction });
                } else if reach.contains(to_cell) {
                    return false;
                } else {
                    self.include_area(field, to_cell);
                    return self.restart(field, dead, reach);
                }
            }
        }
        let solved = self.boxes.iter().all(|&square| board.is_goal(square));
        let unfilled = || {
            board
                .goals()
                .iter()
                .any(|&goal| self.inside.contains(board.cell(goal)))
        };
        self.boxes.len() < field.boxes().len() && (!solved || unfilled())
    }

    fn restart(&mut self, field: &Field<'_>, dead: &DeadSquares, reach: &Reach) -> bool {
        self.boxes.len() < field.boxes().len() && self.close(field, dead, reach)
    }
}
