//! Moves of one box: a push, or a macro of several pushes without a move of another box between.

use super::state::{NO_BOX, State};
use crate::board::{Board, Direction, NO_SQUARE, Push, Square};
use crate::reach::{Reach, Rows};

/// One or more pushes of one box.
#[derive(Clone, Debug)]
pub struct Move {
    /// The index of the box.
    pub index: usize,
    pub from: Square,
    pub to: Square,
    /// The directions of the pushes.
    pub path: Path,
    /// Whether a goal macro made this move.
    pub is_goal_macro: bool,
    /// Moves with smaller numbers are tried first.
    pub order: i32,
}

/// The directions of the pushes of a move.
#[derive(Clone, Debug)]
pub enum Path {
    Straight { direction: Direction, pushes: u16 },
    Turning(Vec<Direction>),
}

impl Move {
    pub fn pushes(&self) -> u32 {
        match &self.path {
            Path::Straight { pushes, .. } => u32::from(*pushes),
            Path::Turning(path) => path.len() as u32,
        }
    }

    /// The direction of the last push.
    pub fn last(&self) -> Direction {
        match &self.path {
            Path::Straight { direction, .. } => *direction,
            Path::Turning(path) => path.last().copied().unwrap_or(Direction::Up),
        }
    }

    /// Appends the single pushes.
    pub fn append(&self, board: &Board, pushes: &mut Vec<Push>) {
        let mut square = self.from;
        let mut push = |direction| {
            pushes.push(Push { square, direction });
            square = board.next(square, direction);
        };
        match &self.path {
            Path::Straight { direction, pushes } => {
                (0..*pushes).for_each(|_| push(*direction));
            }
            Path::Turning(path) => path.iter().for_each(|&direction| push(direction)),
        }
    }
}

/// The number of pushes of a tunnel macro that starts with one push; 1 where there is no tunnel.
///
/// A box that was pushed from one square between two walls to another blocks the tunnel in both
/// places, and nothing can use the squares between. It could as well have waited on the first of
/// them, so it may be pushed to the end at once. A goal ends the macro. No solution and no shortest
/// solution is lost. The macro also ends where `may_go` says so of a square and the one ahead.
pub fn tunnel(
    state: &State,
    from: Square,
    direction: Direction,
    may_go: impl Fn(Square, Square) -> bool,
) -> u16 {
    let board = state.board();
    let side = Direction::ALL[(direction as usize + 1) % 4];
    let is_narrow = |square| {
        board.next(square, side) == NO_SQUARE && board.next(square, side.opposite()) == NO_SQUARE
    };
    let mut pushes = 1;
    let mut behind = from;
    let mut square = board.next(from, direction);
    while is_narrow(behind) && is_narrow(square) && !board.is_goal(square) {
        let ahead = board.next(square, direction);
        if ahead == NO_SQUARE
            || state.index_at(ahead) != NO_BOX
            || state.distances().is_dead(ahead)
            || !may_go(square, ahead)
        {
            break;
        }
        behind = square;
        square = ahead;
        pushes += 1;
    }
    pushes
}

/// What to do with a push that a [`Walker`] could make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Go,
    Skip,
    /// Ends the search with this push.
    Found,
}

const ROOT: u16 = u16::MAX;

/// Breadth-first search over the pushes of one box while all others rest.
///
/// After a push the player stands behind the box, so a square and the direction of the last push
/// describe the situation.
pub struct Walker {
    stamp: Vec<u32>,
    now: u32,
    /// Square and last direction of each situation, its parent, its number of pushes.
    queue: Vec<(Square, Direction, u16, u16)>,
    reach: Reach,
}

impl Walker {
    pub fn new(board: &Board) -> Self {
        Self {
            stamp: vec![0; board.len() * 4],
            now: 0,
            queue: Vec::new(),
            reach: Reach::new(board.floor().len()),
        }
    }

    /// Searches from a box on `square` with the player on `player`. `free` are the squares without
    /// a box, that of the searched box included. `visit` is asked about each push: from where, in
    /// what direction, to where, how many pushes with it, and the number by which
    /// [`path`](Self::path) gives the pushes. Returns the number of the found one.
    pub fn search(
        &mut self,
        board: &Board,
        free: &mut Rows,
        square: Square,
        player: Square,
        mut visit: impl FnMut(Square, Direction, Square, u16) -> Step,
    ) -> Option<usize> {
        self.now += 1;
        self.queue.clear();
        // The direction of the root is not used.
        self.queue.push((square, Direction::Up, ROOT, 0));
        let mut at = 0;
        while at < self.queue.len() {
            let (square, last, parent, pushes) = self.queue[at];
            let player = if parent == ROOT && at == 0 {
                player
            } else {
                board.next(square, last.opposite())
            };
            free.remove(board.cell(square));
            self.reach.fill(free, board.cell(player));
            free.insert(board.cell(square));
            for direction in Direction::ALL {
                let ahead = board.next(square, direction);
                let behind = board.next(square, direction.opposite());
                if ahead == NO_SQUARE
                    || behind == NO_SQUARE
                    || !free.contains(board.cell(ahead))
                    || !self.reach.contains(board.cell(behind))
                    || self.stamp[usize::from(ahead) * 4 + direction as usize] == self.now
                {
                    continue;
                }
                let step = visit(square, direction, ahead, pushes + 1);
                if step == Step::Skip {
                    continue;
                }
                self.stamp[usize::from(ahead) * 4 + direction as usize] = self.now;
                self.queue.push((ahead, direction, at as u16, pushes + 1));
                if step == Step::Found {
                    return Some(self.queue.len() - 1);
                }
            }
            at += 1;
        }
        None
    }

    /// The directions of the pushes that lead to a situation, by its number in order of discovery.
    pub fn path(&self, number: usize) -> Vec<Direction> {
        let mut path = Vec::new();
        let mut at = number;
        while at != 0 {
            let (_, last, parent, _) = self.queue[at];
            path.push(last);
            at = usize::from(parent);
        }
        path.reverse();
        path
    }

    /// All situations found: square, last direction, number of pushes. The first is the start.
    pub fn found(&self) -> impl Iterator<Item = (usize, Square, Direction, u16)> + '_ {
        (self.queue.iter().enumerate())
            .map(|(number, &(square, last, _, pushes))| (number, square, last, pushes))
    }
}
