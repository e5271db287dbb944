//! The rest of a plan mirrored or turned.
//!
//! A symmetry maps the squares of the board to each other so that neighbours stay neighbours and
//! goals goals. Where a symmetry also maps the boxes of a position to themselves, the image of what
//! remains of a plan leads to a solved position too. It is better where the player is nearer to
//! the image of the next push, or where the images of two parts fit together better.

use super::super::board::{Board, Direction, NO_SQUARE, Push, Square};
use super::Run;
use super::plan::StepField;

/// A mirror image or a turn of the board.
pub(super) struct Symmetry {
    squares: Vec<Square>,
    directions: [Direction; 4],
}

/// All symmetries of a board but the identity.
pub(super) fn symmetries(board: &Board) -> Vec<Symmetry> {
    // Whether rows and columns are exchanged, and then rows and columns turned round.
    let kinds = (1..8).map(|kind| [kind & 1 != 0, kind & 2 != 0, kind & 4 != 0]);
    kinds.filter_map(|kind| symmetry(board, kind)).collect()
}

fn symmetry(
    board: &Board,
    [transposed, rows_turned, columns_turned]: [bool; 3],
) -> Option<Symmetry> {
    let cells = || board.squares().map(|square| board.cell(square));
    let (top, bottom) = (
        cells().map(|cell| cell.0).min()?,
        cells().map(|cell| cell.0).max()?,
    );
    let (left, right) = (
        cells().map(|cell| cell.1).min()?,
        cells().map(|cell| cell.1).max()?,
    );
    let (height, width) = (bottom - top, right - left);
    if transposed && height != width {
        return None;
    }
    let image = |square: Square| {
        let (row, column) = board.cell(square);
        let (mut row, mut column) = (row - top, column - left);
        if transposed {
            (row, column) = (column, row);
        }
        if rows_turned {
            row = height - row;
        }
        if columns_turned {
            column = width - column;
        }
        let image = board.square_at((top + row, left + column));
        let fits = image != NO_SQUARE && board.is_goal(image) == board.is_goal(square);
        fits.then_some(image)
    };
    let squares: Vec<Square> = board.squares().map(image).collect::<Option<_>>()?;
    let directions = Direction::ALL.map(|direction| {
        let direction = match (transposed, direction) {
            (false, direction) => direction,
            (true, Direction::Up) => Direction::Left,
            (true, Direction::Left) => Direction::Up,
            (true, Direction::Down) => Direction::Right,
            (true, Direction::Right) => Direction::Down,
        };
        let is_turned = match direction {
            Direction::Up | Direction::Down => rows_turned,
            Direction::Left | Direction::Right => columns_turned,
        };
        if is_turned {
            direction.opposite()
        } else {
            direction
        }
    });
    Some(Symmetry {
        squares,
        directions,
    })
}

impl Symmetry {
    /// The image of a push.
    pub(super) fn push(&self, push: Push) -> Push {
        Push {
            square: self.squares[push.square as usize],
            direction: self.directions[push.direction as usize],
        }
    }

    /// Whether boxes are mapped to each other.
    fn keeps(&self, field: &StepField, boxes: &[Square]) -> bool {
        boxes
            .iter()
            .all(|&square| field.is_box(self.squares[square as usize]))
    }
}

pub(super) fn improve(run: &mut Run) {
    let symmetries = symmetries(run.board);
    if symmetries.is_empty() {
        return;
    }
    let mut at = 0;
    while at < run.plan.pushes().len() && !run.is_over() {
        run.tell(at, run.plan.pushes().len());
        let mut field = StepField::new(run.board, &run.board.start().boxes);
        for &push in &run.plan.pushes()[..at] {
            field.place(push);
        }
        let boxes = field.boxes();
        let gained = symmetries.iter().any(|symmetry| {
            let pushes = run.plan.pushes();
            let rest = pushes[at..].iter().map(|&push| symmetry.push(push));
            symmetry.keeps(&field, &boxes) && {
                let pushes = pushes[..at].iter().copied().chain(rest).collect();
                run.offer(pushes)
            }
        });
        // An image of the rest can make an earlier image better too.
        at = if gained { 0 } else { at + 1 };
    }
}
