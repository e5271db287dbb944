//! A level as a problem to be solved forwards, by pushes, or backwards, by pulls.
//!
//! Backwards, the boxes begin on the goals and the player drags them to the squares where they
//! start. Searches differ only in how a box moves, so that each of them works in both directions.
//!
//! Invariants: a solution of the backward problem, reversed, is a solution of the level.

use super::super::board::{Board, Direction, Square};
use super::super::distances::{DeadSquares, LoneBox};
use super::super::field::{Field, Play};
use super::super::reach::Reach;

/// Where boxes begin and where they belong.
#[derive(Clone, Debug)]
pub struct Problem<'board> {
    pub board: &'board Board,
    pub play: Play,
    pub start: Vec<Square>,
    /// One square for each area in which the player may begin.
    pub players: Vec<Square>,
    is_target: Vec<bool>,
    /// By square: the least number of moves of a lone box to any target.
    nearest: Vec<u16>,
    dead: DeadSquares,
    /// Where the player has to end, backwards.
    end: Option<Square>,
}

impl<'board> Problem<'board> {
    pub fn new(board: &'board Board, play: Play) -> Self {
        let (goals, boxes) = (board.goals().to_vec(), board.start().boxes.clone());
        let (start, targets, players, end) = match play {
            Play::Push => (boxes, goals, vec![board.start().player], None),
            Play::Pull => (
                goals.clone(),
                boxes,
                areas(board, &goals),
                Some(board.start().player),
            ),
        };
        let mut is_target = vec![false; board.len()];
        for &target in &targets {
            is_target[target as usize] = true;
        }
        let lone_box = LoneBox::new(board, board.floor());
        let nearest = lone_box.moves_from(&targets, play.reversed());
        let dead = DeadSquares::new(&nearest);
        Self {
            board,
            play,
            start,
            players,
            is_target,
            nearest,
            dead,
            end,
        }
    }

    #[inline]
    pub fn to_nearest(&self, square: Square) -> u16 {
        self.nearest[square as usize]
    }

    #[inline]
    pub fn is_dead(&self, square: Square) -> bool {
        self.dead.contains(square)
    }

    /// The squares from which a lone box reaches no target.
    pub fn dead(&self) -> &DeadSquares {
        &self.dead
    }

    #[inline]
    pub fn is_target(&self, square: Square) -> bool {
        self.is_target[square as usize]
    }

    pub fn is_solved(&self, field: &Field<'_>, reach: &Reach) -> bool {
        field.boxes().iter().all(|&square| self.is_target(square))
            && self.end.is_none_or(|end| field.reaches(reach, end))
    }

    /// Whether the player, with this reach, can move the box on a square.
    #[inline]
    pub fn can_move(&self, field: &Field<'_>, reach: &Reach, square: Square) -> bool {
        Direction::ALL.into_iter().any(|side| {
            field.reaches(reach, self.board.next(square, side))
                && self.play.moved(field, square, side).is_some()
        })
    }
}

/// One square of each area between boxes.
fn areas(board: &Board, boxes: &[Square]) -> Vec<Square> {
    let mut players = Vec::new();
    let mut area = Reach::new(board.floor().len());
    Field::new(board, boxes).for_each_area(&mut area, |square, _| players.push(square));
    players
}
