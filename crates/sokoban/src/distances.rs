//! How many pushes a box needs to each goal when it is alone on the board.
//!
//! A breadth-first search from each goal pulls a box backwards. It distinguishes on which side of
//! the box the player stands, since walls and the box itself can keep sides apart. The results are
//! lower bounds for positions with more boxes, and a square without a way to any goal is dead.
//!
//! Invariants: distances count pushes; [`UNREACHABLE`] stands for 'no way'.

use super::board::{Board, Direction, NO_SQUARE, Square};
use super::field::Play;
use super::reach::{Reach, Rows};
use std::collections::VecDeque;

/// The distance between squares without a way.
pub const UNREACHABLE: u16 = u16::MAX;

/// The squares from which a lone box reaches no goal.
#[derive(Clone, Debug)]
pub struct DeadSquares {
    is_dead: Vec<bool>,
}

impl DeadSquares {
    /// The squares without a distance.
    pub fn new(distances: &[u16]) -> Self {
        Self {
            is_dead: distances
                .iter()
                .map(|&moves| moves == UNREACHABLE)
                .collect(),
        }
    }

    /// Whether a box on the square reaches no goal.
    #[inline]
    pub fn contains(&self, square: Square) -> bool {
        self.is_dead[square as usize]
    }
}

/// Push distances of a lone box.
#[derive(Clone, Debug)]
pub struct Distances {
    squares: usize,
    /// For each square and direction, the first direction whose neighbour the player can walk to
    /// around a box on the square; 4 for walls.
    sides: Vec<[u8; 4]>,
    /// By goal number, square and side.
    by_side: Vec<[u16; 4]>,
    /// By goal number and square: the least over all sides.
    least: Vec<u16>,
    /// By square: the least over all goals.
    nearest: Vec<u16>,
    dead: DeadSquares,
}

impl Distances {
    /// The distances of a board without boxes.
    pub fn new(board: &Board) -> Self {
        let sides = sides(board, board.floor());
        let squares = board.len();
        let mut by_side = Vec::with_capacity(board.goals().len() * squares);
        for &goal in board.goals() {
            by_side.extend(spread(board, board.floor(), &sides, &[goal], Play::Pull));
        }
        let least: Vec<u16> = by_side
            .iter()
            .map(|sides| *sides.iter().min().unwrap_or(&UNREACHABLE))
            .collect();
        let nearest: Vec<u16> = (0..squares)
            .map(|square| {
                (0..board.goals().len())
                    .map(|goal| least[goal * squares + square])
                    .min()
                    .unwrap_or(UNREACHABLE)
            })
            .collect();
        let dead = DeadSquares::new(&nearest);
        Self {
            squares,
            sides,
            by_side,
            least,
            nearest,
            dead,
        }
    }

    /// The number of goals.
    pub fn goals(&self) -> usize {
        self.least.len() / self.squares
    }

    /// The least number of pushes from a square to the goal with this number in [`Board::goals`],
    /// for the best side of the player.
    #[inline]
    pub fn to_goal(&self, goal: usize, square: Square) -> u16 {
        self.least[goal * self.squares + square as usize]
    }

    /// As [`to_goal`](Self::to_goal), for a player who stands on one side of the box.
    #[inline]
    pub fn to_goal_from_side(&self, goal: usize, square: Square, side: Direction) -> u16 {
        self.by_side[goal * self.squares + square as usize][side as usize]
    }

    /// The least number of pushes to any goal.
    #[inline]
    pub fn to_nearest(&self, square: Square) -> u16 {
        self.nearest[square as usize]
    }

    /// Whether a box on the square can never reach a goal.
    #[inline]
    pub fn is_dead(&self, square: Square) -> bool {
        self.dead.contains(square)
    }

    /// The squares from which a lone box reaches no goal.
    pub fn dead(&self) -> &DeadSquares {
        &self.dead
    }

    /// Whether the player can walk from one side of a lone box to another.
    #[inline]
    pub fn same_side(&self, square: Square, one: Direction, other: Direction) -> bool {
        let sides = &self.sides[square as usize];
        sides[one as usize] == sides[other as usize] && sides[one as usize] != 4
    }
}

/// How a lone box moves where only some cells may be entered.
#[derive(Clone, Debug)]
pub struct LoneBox<'a> {
    board: &'a Board,
    free: &'a Rows,
    sides: Vec<[u8; 4]>,
}

impl<'a> LoneBox<'a> {
    /// Only the `free` cells may be entered.
    pub fn new(board: &'a Board, free: &'a Rows) -> Self {
        Self {
            board,
            free,
            sides: sides(board, free),
        }
    }

    /// The least number of moves from one of `starts` to each square, for each side of the box on
    /// which the player ends.
    pub fn moves_by_side(&self, starts: &[Square], play: Play) -> Vec<[u16; 4]> {
        spread(self.board, self.free, &self.sides, starts, play)
    }

    /// As [`moves_by_side`](Self::moves_by_side), for the best side.
    pub fn moves_from(&self, starts: &[Square], play: Play) -> Vec<u16> {
        let moves = self.moves_by_side(starts, play);
        let least = |sides: &[u16; 4]| sides.iter().copied().min().unwrap_or(UNREACHABLE);
        moves.iter().map(least).collect()
    }
}

/// For each square, which of its neighbours are connected around a box on it.
fn sides(board: &Board, free: &Rows) -> Vec<[u8; 4]> {
    let mut reach = Reach::new(free.len());
    let mut around = free.clone();
    (board.squares())
        .map(|square| {
            let mut sides = [4; 4];
            if !free.contains(board.cell(square)) {
                return sides;
            }
            around.remove(board.cell(square));
            for first in Direction::ALL {
                let start = board.next(square, first);
                if !is_free(board, free, start) || sides[first as usize] != 4 {
                    continue;
                }
                reach.fill(&around, board.cell(start));
                for other in Direction::ALL {
                    let end = board.next(square, other);
                    if end != NO_SQUARE && reach.contains(board.cell(end)) {
                        sides[other as usize] = first as u8;
                    }
                }
            }
            around.insert(board.cell(square));
            sides
        })
        .collect()
}

fn is_free(board: &Board, free: &Rows, square: Square) -> bool {
    square != NO_SQUARE && free.contains(board.cell(square))
}

/// The least number of moves that take a box from one of `starts` to each square and leave the
/// player on each of its sides. Pulls from a goal, reversed, are pushes to the goal.
fn spread(
    board: &Board,
    free: &Rows,
    sides: &[[u8; 4]],
    starts: &[Square],
    play: Play,
) -> Vec<[u16; 4]> {
    let mut found = vec![[UNREACHABLE; 4]; board.len()];
    let mut queue = VecDeque::new();
    for &start in starts {
        for side in Direction::ALL {
            if sides[start as usize][side as usize] != 4 {
                found[start as usize][side as usize] = 0;
                queue.push_back((start, side));
            }
        }
    }
    while let Some((square, side)) = queue.pop_front() {
        let moves = found[square as usize][side as usize];
        for other in Direction::ALL {
            let label = sides[square as usize][other as usize];
            if label == 4 || label != sides[square as usize][side as usize] {
                continue;
            }
            if found[square as usize][other as usize] > moves {
                found[square as usize][other as usize] = moves;
            }
            let (to, entered) = match play {
                Play::Push => {
                    let to = board.next(square, other.opposite());
                    (to, to)
                }
                Play::Pull => {
                    let to = board.next(square, other);
                    (to, board.next(to, other))
                }
            };
            if is_free(board, free, entered) && found[to as usize][other as usize] == UNREACHABLE {
                found[to as usize][other as usize] = moves + 1;
                queue.push_back((to, other));
            }
        }
    }
    found
}
