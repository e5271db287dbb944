//! Boxes that can never move again.
//!
//! A box is frozen if it can move neither along its row nor along its column: there is a wall, a
//! frozen box, or a dead square on both sides. A frozen box that is not on a goal is a deadlock
//! (Sokoban wiki, "How to detect deadlocks", freeze deadlocks).

use super::super::board::{Direction, NO_SQUARE, Square};
use super::super::distances::DeadSquares;
use super::super::field::Field;

/// Finds frozen boxes; keeps its memory between calls.
#[derive(Clone, Debug, Default)]
pub struct Freeze {
    /// Boxes on the way of the recursion, taken for walls.
    assumed: Vec<Square>,
}

impl Freeze {
    /// Whether the box on `square` is frozen together with a box that is not on a goal.
    pub fn is_deadlock(&mut self, field: &Field<'_>, dead: &DeadSquares, square: Square) -> bool {
        self.assumed.clear();
        self.is_frozen(field, dead, square)
            && self
                .assumed
                .iter()
                .any(|&frozen| !field.board().is_goal(frozen))
    }

    /// Whether the box on `square` can never move. All boxes that it depends on are collected.
    fn is_frozen(&mut self, field: &Field<'_>, dead: &DeadSquares, square: Square) -> bool {
        let kept = self.assumed.len();
        self.assumed.push(square);
        let frozen = self.is_blocked(field, dead, square, Direction::Left)
            && self.is_blocked(field, dead, square, Direction::Up);
        if !frozen {
            self.assumed.truncate(kept);
        }
        frozen
    }

    /// Whether a box cannot move along the axis of a direction.
    fn is_blocked(
        &mut self,
        field: &Field<'_>,
        dead: &DeadSquares,
        square: Square,
        direction: Direction,
    ) -> bool {
        let board = field.board();
        let (one, other) = (
            board.next(square, direction),
            board.next(square, direction.opposite()),
        );
        if one == NO_SQUARE
            || other == NO_SQUARE
            || self.assumed.contains(&one)
            || self.assumed.contains(&other)
            || (dead.contains(one) && dead.contains(other))
        {
            return true;
        }
        (field.has_box(one) && self.is_frozen(field, dead, one))
            || (field.has_box(other) && self.is_frozen(field, dead, other))
    }

    /// The boxes found frozen by the last call of [`is_deadlock`](Self::is_deadlock), if its box
    /// was.
    pub fn frozen(&self) -> &[Square] {
        &self.assumed
    }
}
