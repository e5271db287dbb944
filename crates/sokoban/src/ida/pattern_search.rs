//! Pattern search: which boxes near the last push hinder each other?
//!
//! The relaxed game is played with the pushed box alone, then with the boxes that are in the way of
//! the solution found, one by one, until no box is in the way or the boxes need more pushes than
//! their distances say. What is found becomes a pattern, after boxes that do not matter are left
//! out.
//!
//! Invariants: boxes on goals are in no pattern.

use super::patterns::{DEAD, Patterns};
use super::relaxed::{Game, MAX_BOXES, Relaxed};
use super::state::State;
use crate::board::{Board, Direction, NO_SQUARE, Square};
use crate::distances::Distances;
use crate::reach::{Reach, Rows};
use std::collections::HashMap;

/// Nodes of one search, and of one relaxed game that leaves out a box.
const LIMIT: u64 = 300;
const MINIMISE_LIMIT: u64 = 500;

/// How far a box in the way may be from the nearest box of the pattern, in rows and columns
/// together.
const NEAR: usize = 2;

/// Positions remembered per square and direction for which nothing was found.
const REMEMBERED: usize = 24;

/// A search that found nothing: the squares it looked at and the boxes that stood there.
struct Tested {
    squares: Rows,
    boxes: Rows,
}

/// Relaxed games kept.
const PLAYED: usize = 1 << 18;

/// A relaxed game that was played before.
struct Played {
    result: Relaxed,
    box_squares: Vec<Square>,
    player_squares: Vec<Square>,
}

pub struct PatternSearch {
    /// By boxes and the first square of the player's region.
    played: HashMap<Vec<Square>, Played>,
    game: Game,
    pub patterns: Patterns,
    tested: Vec<Vec<Tested>>,
    reach: Reach,
}

impl PatternSearch {
    pub fn new(board: &Board, distances: &Distances) -> Self {
        Self {
            played: HashMap::new(),
            game: Game::new(board, distances),
            patterns: Patterns::new(board),
            tested: (0..board.len() * 4).map(|_| Vec::new()).collect(),
            reach: Reach::new(board.floor().len()),
        }
    }

    /// Whether something stands or is out of reach around the box in front of the player.
    pub fn is_suspect(
        &self,
        state: &State,
        to: Square,
        direction: Direction,
        reach: &Reach,
    ) -> bool {
        let board = state.board();
        let side = Direction::ALL[(direction as usize + 1) % 4];
        let ahead = board.next(to, direction);
        let mut around = [
            ahead,
            board.next(to, side),
            board.next(to, side.opposite()),
            NO_SQUARE,
            NO_SQUARE,
        ];
        if ahead != NO_SQUARE {
            around[3] = board.next(ahead, side);
            around[4] = board.next(ahead, side.opposite());
        }
        (around.iter()).any(|&square| square != NO_SQUARE && !reach.contains(board.cell(square)))
    }

    /// Searches for patterns around a box that was pushed in a direction. Adds nodes to `spent`.
    pub fn search(&mut self, state: &State, index: usize, direction: Direction, spent: &mut u64) {
        let board = state.board();
        let to = state.squares()[index];
        if board.is_goal(to) {
            return;
        }
        let place = usize::from(to) * 4 + direction as usize;
        if self.was_tested(state, place) {
            return;
        }
        let mut chosen = vec![index];
        let mut looked = Rows::new(board.floor().len());
        let mut used = 0;
        loop {
            match self.play(state, &chosen, &mut used, LIMIT) {
                Relaxed::Dead => {
                    self.minimise(state, &mut chosen, DEAD, &mut used);
                    break;
                }
                Relaxed::Unknown => {
                    self.remember(state, place, looked);
                    break;
                }
                Relaxed::Extra(extra) => {
                    for &square in self
                        .game
                        .box_squares
                        .iter()
                        .chain(&self.game.player_squares)
                    {
                        looked.insert(board.cell(square));
                    }
                    let next = self.in_way(state, &chosen, to);
                    if extra > 0 && chosen.len() > 1 {
                        let mut fewer = chosen.clone();
                        self.minimise(state, &mut fewer, extra, &mut used);
                        break;
                    }
                    let Some(next) = next else {
                        self.remember(state, place, looked);
                        break;
                    };
                    chosen.push(next);
                    if chosen.len() > MAX_BOXES || chosen.len() + 2 > state.squares().len() {
                        self.remember(state, place, looked);
                        break;
                    }
                }
            }
            if used >= LIMIT {
                self.remember(state, place, looked);
                break;
            }
        }
        *spent += used;
    }

    fn was_tested(&self, state: &State, place: usize) -> bool {
        let free = state.free().words();
        let floor = state.board().floor().words();
        self.tested[place].iter().any(|tested| {
            let squares = tested.squares.words().iter().zip(tested.boxes.words());
            (squares.zip(free.iter().zip(floor)))
                .all(|((squares, boxes), (free, floor))| floor & !free & squares & !boxes == 0)
        })
    }

    fn remember(&mut self, state: &State, place: usize, squares: Rows) {
        let mut boxes = Rows::new(squares.len());
        for &square in state.squares() {
            boxes.insert(state.board().cell(square));
        }
        let tested = &mut self.tested[place];
        if tested.len() >= REMEMBERED {
            tested.remove(0);
        }
        tested.push(Tested { squares, boxes });
    }

    fn play(&mut self, state: &State, chosen: &[usize], used: &mut u64, limit: u64) -> Relaxed {
        let boxes: Vec<(Square, Direction)> = (chosen.iter())
            .map(|&index| (state.squares()[index], state.side(index)))
            .collect();
        let board = state.board();
        let mut key: Vec<Square> = boxes.iter().map(|&(square, _)| square).collect();
        key.sort_unstable();
        self.reach
            .fill(&board.free(&key), board.cell(state.player()));
        key.push(board.first(&self.reach));
        if let Some(played) = self.played.get(&key) {
            self.game.box_squares.clone_from(&played.box_squares);
            self.game.player_squares.clone_from(&played.player_squares);
            return played.result;
        }
        let in_way = |square: Square| {
            state.has_box(square)
                && !board.is_goal(square)
                && boxes.iter().all(|&(other, _)| other != square)
        };
        let result = self.game.play(
            board,
            &boxes,
            state.player(),
            &self.patterns,
            in_way,
            used,
            *used + limit,
        );
        if self.played.len() < PLAYED {
            self.played.insert(
                key,
                Played {
                    result,
                    box_squares: self.game.box_squares.clone(),
                    player_squares: self.game.player_squares.clone(),
                },
            );
        }
        result
    }

    /// The box in the way of the last solution that is nearest to a square: boxes in the way of
    /// boxes come before those in the way of the player.
    fn in_way(&self, state: &State, chosen: &[usize], near: Square) -> Option<usize> {
        let board = state.board();
        let (row, column) = board.cell(near);
        let nearest = |squares: &[Square]| {
            (squares.iter())
                .filter(|&&square| state.has_box(square) && !board.is_goal(square))
                .map(|&square| (square, usize::from(state.index_at(square))))
                .filter(|(_, index)| !chosen.contains(index))
                .filter(|&(square, _)| {
                    let cell = board.cell(square);
                    chosen
                        .iter()
                        .map(|&i| board.cell(state.squares()[i]))
                        .any(|(r, c)| cell.0.abs_diff(r) + cell.1.abs_diff(c) <= NEAR)
                })
                .min_by_key(|&(square, _)| {
                    let cell = board.cell(square);
                    cell.0.abs_diff(row) + cell.1.abs_diff(column)
                })
                .map(|(_, index)| index)
        };
        nearest(&self.game.box_squares).or_else(|| nearest(&self.game.player_squares))
    }

    /// Leaves out boxes as long as as many extra pushes are needed, and adds the pattern.
    fn minimise(&mut self, state: &State, chosen: &mut Vec<usize>, extra: u32, used: &mut u64) {
        let mut at = chosen.len();
        while at > 0 && chosen.len() > 1 {
            at -= 1;
            let mut fewer = chosen.clone();
            fewer.remove(at);
            let is_same = match self.play(state, &fewer, used, MINIMISE_LIMIT) {
                Relaxed::Dead => true,
                Relaxed::Extra(found) => extra != DEAD && found >= extra,
                Relaxed::Unknown => false,
            };
            if is_same {
                *chosen = fewer;
            }
        }
        let board = state.board();
        let mut boxes: Vec<Square> = chosen.iter().map(|&index| state.squares()[index]).collect();
        boxes.sort_unstable();
        self.reach
            .fill(&board.free(&boxes), board.cell(state.player()));
        self.patterns.add(&boxes, self.reach.rows().clone(), extra);
    }
}
