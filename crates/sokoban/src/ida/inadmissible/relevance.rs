//! Relevance cuts: leave out a move far from the moves before it if there were such switches
//! already.
//!
//! Two moves are distant if the player's way between them without boxes is long in squares. A move
//! is cut if it returns to an area that was left a few moves ago, or if the last moves switch areas
//! too often. Goal macros and moves that the last move made possible are never cut.
//!
//! Invariants: the cut looks at no more than [`WINDOW`] moves.

use super::super::moves::Move;
use crate::board::{Board, NO_SQUARE, Square};

/// Moves looked at.
const WINDOW: usize = 10;
/// Switches allowed among them.
const SWITCHES: usize = 1;

/// Steps between squares of an empty board, and which count as distant.
pub struct Relevance {
    squares: usize,
    steps: Vec<u16>,
    distant: u16,
}

impl Relevance {
    pub fn new(board: &Board) -> Self {
        let squares = board.len();
        let mut steps = vec![u16::MAX; squares * squares];
        let mut queue: Vec<Square> = Vec::with_capacity(squares);
        for from in board.squares() {
            let row = &mut steps[usize::from(from) * squares..][..squares];
            row[usize::from(from)] = 0;
            queue.clear();
            queue.push(from);
            let mut at = 0;
            while at < queue.len() {
                let square = queue[at];
                for &next in board.neighbours(square) {
                    if next != NO_SQUARE && row[usize::from(next)] == u16::MAX {
                        row[usize::from(next)] = row[usize::from(square)] + 1;
                        queue.push(next);
                    }
                }
                at += 1;
            }
        }
        let sum: u64 = steps.iter().map(|&steps| u64::from(steps)).sum();
        let mean = sum / (squares * squares).max(1) as u64;
        Self {
            squares,
            steps,
            distant: (mean / 2).max(3) as u16,
        }
    }

    fn is_distant(&self, one: &Move, other: &Move) -> bool {
        self.steps[usize::from(one.to) * self.squares + usize::from(other.from)] > self.distant
            && !one.is_goal_macro
            && !other.is_goal_macro
    }

    /// Whether to leave out a move after a sequence of moves.
    pub fn is_cut(&self, path: &[Move], next: &Move) -> bool {
        let Some(last) = path.last() else {
            return false;
        };
        if next.is_goal_macro || next.index == last.index || !self.is_distant(last, next) {
            return false;
        }
        let mut switches = 1;
        let window = path[path.len().saturating_sub(WINDOW)..].windows(2);
        for pair in window.rev() {
            if pair[1].is_goal_macro {
                break;
            }
            if self.is_distant(&pair[0], &pair[1]) {
                switches += 1;
                // Back to the area before the switch.
                if !self.is_distant(&pair[0], next) {
                    return true;
                }
            }
        }
        switches > SWITCHES
    }
}
