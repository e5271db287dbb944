//! PI-corrals: areas out of the player's reach that have to be opened first.
//!
//! If all pushes of the boxes around an area out of reach lead into the area, and all of them are
//! possible for the player now as far as other boxes are concerned, then no push elsewhere changes
//! what can happen there, and the boxes around may be pushed first. The source is the Sokoban wiki,
//! 'Solver', section PI-corrals. Such an area counts only if a box of it is not on a goal or a goal
//! in it has no box.
//!
//! Invariants: restricting pushes to the boxes of one such area loses no solution, nor its pushes.

use super::state::State;
use crate::sokoban::board::{Direction, NO_SQUARE};
use crate::sokoban::reach::{Reach, Rows};

/// Finds the PI-corral with the fewest pushes.
pub struct Corrals {
    area: Reach,
    in_corral: Vec<bool>,
    best: Vec<bool>,
    pushes: usize,
}

impl Corrals {
    pub fn new(boxes: usize, rows: usize) -> Self {
        Self {
            area: Reach::new(rows),
            in_corral: vec![false; boxes],
            best: vec![false; boxes],
            pushes: 0,
        }
    }

    /// Marks by index the boxes that may be pushed, or returns `None` if there is no PI-corral.
    pub fn find(&mut self, state: &State, reach: &Reach) -> Option<&[bool]> {
        let board = state.board();
        let mut seen = Rows::new(reach.rows().len());
        self.pushes = usize::MAX;
        for index in 0..state.squares().len() {
            for &start in board.neighbours(state.squares()[index]) {
                if start == NO_SQUARE
                    || state.has_box(start)
                    || reach.contains(board.cell(start))
                    || seen.contains(board.cell(start))
                {
                    continue;
                }
                self.area.fill(state.free(), board.cell(start));
                seen.extend(self.area.rows());
                if let Some(pushes) = self.is_closed(state, reach)
                    && pushes < self.pushes
                {
                    self.pushes = pushes;
                    std::mem::swap(&mut self.best, &mut self.in_corral);
                }
            }
        }
        (self.pushes < usize::MAX).then_some(&self.best[..])
    }

    /// Whether `area`, grown by areas behind its boxes, is a PI-corral; the number of its pushes.
    fn is_closed(&mut self, state: &State, reach: &Reach) -> Option<usize> {
        let board = state.board();
        let mut corral = self.area.rows().clone();
        self.in_corral.fill(false);
        let mut pushes = 0;
        let mut is_open = false;
        let mut changed = true;
        // Collects the boxes that touch the corral, and areas out of reach behind them.
        while changed {
            changed = false;
            for (index, &square) in state.squares().iter().enumerate() {
                if self.in_corral[index] {
                    continue;
                }
                let touches = (board.neighbours(square).iter())
                    .any(|&next| next != NO_SQUARE && corral.contains(board.cell(next)));
                if !touches {
                    continue;
                }
                self.in_corral[index] = true;
                changed = true;
                corral.insert(board.cell(square));
                for &next in board.neighbours(square) {
                    if next != NO_SQUARE
                        && !state.has_box(next)
                        && !reach.contains(board.cell(next))
                        && !corral.contains(board.cell(next))
                    {
                        self.area.fill(state.free(), board.cell(next));
                        corral.extend(self.area.rows());
                    }
                }
            }
        }
        for (index, &square) in state.squares().iter().enumerate() {
            if !self.in_corral[index] {
                continue;
            }
            is_open |= !board.is_goal(square);
            for direction in Direction::ALL {
                let behind = board.next(square, direction.opposite());
                let ahead = board.next(square, direction);
                if behind == NO_SQUARE || ahead == NO_SQUARE || state.distances().is_dead(ahead) {
                    continue;
                }
                let is_inside = corral.contains(board.cell(ahead));
                let is_behind_inside = corral.contains(board.cell(behind));
                if is_behind_inside {
                    // The player has to be inside first.
                    continue;
                }
                if !is_inside {
                    // A push along the border or out of it.
                    return None;
                }
                if state.has_box(ahead) {
                    continue;
                }
                if !reach.contains(board.cell(behind)) {
                    return None;
                }
                pushes += 1;
            }
        }
        if !is_open {
            is_open = (board.goals().iter())
                .any(|&goal| corral.contains(board.cell(goal)) && !state.has_box(goal));
        }
        is_open.then_some(pushes)
    }
}
