//! A level as a problem to be solved forwards, by pushes, or backwards, by pulls.
//!
//! Backwards, the boxes begin on the goals and the player drags them to the squares where they
//! start. Searches differ only in how a box moves, so that each of them works in both directions.
//!
//! Invariants: a solution of the backward problem, reversed, is a solution of the level.

use super::super::board::{Board, Direction, Square};
use super::super::distances::{DeadSquares, LoneBox, UNREACHABLE};
use super::super::field::{Field, Play};
use super::super::reach::{Reach, Rows};
use std::sync::OnceLock;

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
    /// By square: see [`blocked_by`](Self::blocked_by); found when asked for. Empty on boards of
    /// more than [`MOST_SQUARES`].
    blocked: Vec<OnceLock<Rows>>,
    no_rows: Rows,
}

/// The most squares of a board on which boxes that block others are looked for. One box's squares
/// take about a millisecond on such a board, in time that no limit interrupts.
const MOST_SQUARES: usize = 1_000;

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
        let blocked = match board.len() {
            0..=MOST_SQUARES => vec![OnceLock::new(); board.len()],
            _ => Vec::new(),
        };
        Self {
            board,
            play,
            start,
            players,
            is_target,
            nearest,
            dead,
            end,
            blocked,
            no_rows: Rows::new(0),
        }
    }

    /// The squares from which a lone box reaches a target, but none past a box on `square`.
    pub fn blocked_by(&self, square: Square) -> &Rows {
        let Some(rows) = self.blocked.get(square as usize) else {
            return &self.no_rows;
        };
        rows.get_or_init(|| {
            let board = self.board;
            let mut free = board.floor().clone();
            free.remove(board.cell(square));
            let targets: Vec<Square> = board
                .squares()
                .filter(|&target| self.is_target(target) && target != square)
                .collect();
            let moves = LoneBox::new(board, &free).moves_from(&targets, self.play.reversed());
            let mut blocked = Rows::new(free.len());
            for from in board.squares().filter(|&from| from != square) {
                if moves[from as usize] == UNREACHABLE && !self.is_dead(from) {
                    blocked.insert(board.cell(from));
                }
            }
            blocked
        })
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
