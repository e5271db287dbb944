//! A level made ready for search: numbered squares, neighbours, positions and pushes.
//!
//! Squares are the cells that the player reaches if boxes do not block the way, numbered in rows
//! from the upper left. Boxes on goals elsewhere take no part: nothing can move them.
//!
//! Invariants: square numbers are below [`Board::len`]; there are as many boxes as goals; the boxes
//! of a [`Position`] are sorted and differ from each other and from the player's square.

use super::level::{Cell, Ground, Level};
use super::reach::{Reach, Rows};
use std::fmt;

/// The number of a square of a board.
pub type Square = u16;

/// No square: a wall, or outside the board.
pub const NO_SQUARE: Square = Square::MAX;

/// The four directions, in the order of LURD's letters `u`, `l`, `d`, `r`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// To the row before.
    Up,
    /// To the column before.
    Left,
    /// To the next row.
    Down,
    /// To the next column.
    Right,
}

impl Direction {
    /// All directions, in the order of their letters.
    pub const ALL: [Self; 4] = [Self::Up, Self::Left, Self::Down, Self::Right];

    /// The direction that leads back.
    pub fn opposite(self) -> Self {
        Self::ALL[(self as usize + 2) % 4]
    }

    /// The letter of a step in LURD notation; a push has the capital.
    pub fn letter(self) -> char {
        ['u', 'l', 'd', 'r'][self as usize]
    }
}

/// A push of the box at `square`: the player stands behind it, and both move one square on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Push {
    /// Where the box stands before.
    pub square: Square,
    /// Where box and player go.
    pub direction: Direction,
}

/// Where all boxes and the player stand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// Sorted.
    pub boxes: Vec<Square>,
    /// Where the player stands.
    pub player: Square,
}

/// Why a level cannot be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoardError {
    /// The player could leave the grid through a gap in the walls.
    Open {
        /// The row of the gap, from 0.
        row: usize,
        /// The column of the gap, from 0.
        column: usize,
    },
    /// A box is on no goal, and walls keep the player away from it.
    Unreachable {
        /// The row of the box, from 0.
        row: usize,
        /// The column of the box, from 0.
        column: usize,
    },
    /// Boxes and goals in reach of the player differ in number.
    Unequal {
        /// Boxes in reach.
        boxes: usize,
        /// Goals in reach.
        goals: usize,
    },
    /// No box in reach of the player.
    NoBox,
}

impl fmt::Display for BoardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { row, column } => write!(
                f,
                "row {}, column {}: the player can leave the level; walls must enclose it",
                row + 1,
                column + 1
            ),
            Self::Unreachable { row, column } => write!(
                f,
                "row {}, column {}: the player can never reach this box, which is on no goal",
                row + 1,
                column + 1
            ),
            Self::Unequal { boxes, goals } => {
                write!(
                    f,
                    "{boxes} boxes and {goals} goals are in reach; their number must be equal"
                )
            }
            Self::NoBox => write!(f, "the level has no box in reach"),
        }
    }
}

impl std::error::Error for BoardError {}

/// The cells around one that is not at the edge of the grid, in the order of directions.
fn around((row, column): Cell) -> [Cell; 4] {
    [
        (row - 1, column),
        (row, column - 1),
        (row + 1, column),
        (row, column + 1),
    ]
}

/// By row and column: whether the player could reach the cell if there were no boxes.
fn inside(level: &Level) -> Result<Vec<[bool; 64]>, BoardError> {
    let (rows, columns) = (level.rows(), level.columns());
    let mut inside = vec![[false; 64]; rows];
    let mut waiting = vec![level.player()];
    inside[level.player().0][level.player().1] = true;
    while let Some((row, column)) = waiting.pop() {
        if row == 0 || column == 0 || row + 1 == rows || column + 1 == columns {
            return Err(BoardError::Open { row, column });
        }
        for next in around((row, column)) {
            if level.ground(next) != Ground::Wall && !inside[next.0][next.1] {
                inside[next.0][next.1] = true;
                waiting.push(next);
            }
        }
    }
    Ok(inside)
}

/// Where the boxes and the player of a level stand, where as many goals as these are in reach.
fn start(
    level: &Level,
    square_at: &[[Square; 64]],
    n_goals: usize,
) -> Result<Position, BoardError> {
    let is_lost = |&&(row, column): &&Cell| {
        square_at[row][column] == NO_SQUARE && level.ground((row, column)) != Ground::Goal
    };
    if let Some(&(row, column)) = level.boxes().iter().find(is_lost) {
        return Err(BoardError::Unreachable { row, column });
    }
    let mut boxes: Vec<Square> = (level.boxes().iter())
        .map(|&(row, column)| square_at[row][column])
        .filter(|&square| square != NO_SQUARE)
        .collect();
    boxes.sort_unstable();
    if boxes.len() != n_goals {
        return Err(BoardError::Unequal {
            boxes: boxes.len(),
            goals: n_goals,
        });
    }
    if boxes.is_empty() {
        return Err(BoardError::NoBox);
    }
    let player = square_at[level.player().0][level.player().1];
    Ok(Position { boxes, player })
}

/// The squares of a level and how they are connected.
#[derive(Clone, Debug)]
pub struct Board {
    cells: Vec<Cell>,
    neighbours: Vec<[Square; 4]>,
    square_at: Vec<[Square; 64]>,
    floor: Rows,
    is_goal: Vec<bool>,
    goals: Vec<Square>,
    start: Position,
}

impl Board {
    /// The board of a level; an error if it cannot be played.
    pub fn new(level: &Level) -> Result<Self, BoardError> {
        let inside = inside(level)?;
        let mut square_at = vec![[NO_SQUARE; 64]; level.rows()];
        let mut cells = Vec::new();
        let mut floor = Rows::new(level.rows());
        for (row, inside) in inside.iter().enumerate() {
            for column in (0..level.columns()).filter(|&column| inside[column]) {
                square_at[row][column] = cells.len() as Square;
                cells.push((row, column));
                floor.insert((row, column));
            }
        }
        let neighbours = (cells.iter())
            .map(|&cell| around(cell).map(|(row, column)| square_at[row][column]))
            .collect();
        let is_goal: Vec<bool> = cells
            .iter()
            .map(|&cell| level.ground(cell) == Ground::Goal)
            .collect();
        let goals: Vec<Square> = (0..cells.len() as Square)
            .filter(|&square| is_goal[square as usize])
            .collect();
        let start = start(level, &square_at, goals.len())?;
        Ok(Self {
            cells,
            neighbours,
            square_at,
            floor,
            is_goal,
            goals,
            start,
        })
    }

    /// The number of squares.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there are no squares; never true for a board of a level.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// All squares.
    pub fn squares(&self) -> std::ops::Range<Square> {
        0..self.cells.len() as Square
    }

    /// Row and column of a square.
    pub fn cell(&self, square: Square) -> Cell {
        self.cells[square as usize]
    }

    /// The square at a cell, or [`NO_SQUARE`].
    pub fn square_at(&self, (row, column): Cell) -> Square {
        self.square_at[row][column]
    }

    /// The next square in a direction, or [`NO_SQUARE`].
    #[inline]
    pub fn next(&self, square: Square, direction: Direction) -> Square {
        self.neighbours[square as usize][direction as usize]
    }

    /// The next squares in the order of [`Direction::ALL`].
    #[inline]
    pub fn neighbours(&self, square: Square) -> &[Square; 4] {
        &self.neighbours[square as usize]
    }

    /// Whether the square is a goal.
    #[inline]
    pub fn is_goal(&self, square: Square) -> bool {
        self.is_goal[square as usize]
    }

    /// All goals, sorted.
    pub fn goals(&self) -> &[Square] {
        &self.goals
    }

    /// The position at the start.
    pub fn start(&self) -> &Position {
        &self.start
    }

    /// One bit for each square, by rows.
    pub fn floor(&self) -> &Rows {
        &self.floor
    }

    /// Whether every box stands on a goal.
    pub fn is_solved(&self, boxes: &[Square]) -> bool {
        boxes.iter().all(|&square| self.is_goal(square))
    }

    /// The squares without a box, by rows.
    pub fn free(&self, boxes: &[Square]) -> Rows {
        let mut free = self.floor.clone();
        for &square in boxes {
            free.remove(self.cell(square));
        }
        free
    }

    /// The squares that the player reaches without a push.
    pub fn reach(&self, position: &Position) -> Reach {
        let mut reach = Reach::new(self.floor.len());
        reach.fill(&self.free(&position.boxes), self.cell(position.player));
        reach
    }

    /// The first square of a reach: one name for all positions that differ only by steps.
    #[inline]
    pub fn first(&self, reach: &Reach) -> Square {
        self.square_at(reach.first())
    }

    /// All pushes in a position, by squares and directions.
    pub fn pushes(&self, position: &Position) -> Vec<Push> {
        let reach = self.reach(position);
        let mut pushes = Vec::new();
        for &square in &position.boxes {
            for direction in Direction::ALL {
                let (behind, ahead) = (
                    self.next(square, direction.opposite()),
                    self.next(square, direction),
                );
                if behind != NO_SQUARE
                    && ahead != NO_SQUARE
                    && reach.contains(self.cell(behind))
                    && position.boxes.binary_search(&ahead).is_err()
                {
                    pushes.push(Push { square, direction });
                }
            }
        }
        pushes
    }

    /// The position after a push that is one of [`pushes`](Self::pushes).
    pub fn after(&self, position: &Position, push: Push) -> Position {
        let ahead = self.next(push.square, push.direction);
        let mut boxes = position.boxes.clone();
        if let Ok(index) = boxes.binary_search(&push.square) {
            boxes[index] = ahead;
            boxes.sort_unstable();
        }
        Position {
            boxes,
            player: push.square,
        }
    }
}

/// Whether the pushes can be made from the start and leave all boxes on goals.
pub fn is_solution(board: &Board, pushes: &[Push]) -> bool {
    let mut position = board.start().clone();
    for &push in pushes {
        if !board.pushes(&position).contains(&push) {
            return false;
        }
        position = board.after(&position, push);
    }
    board.is_solved(&position.boxes)
}
