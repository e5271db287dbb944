//! The parts of Rolling Stone after which the first solution may have more pushes than needed: goal
//! macros, goal cuts, relevance cuts, overestimation, and restarts with random order.
//!
//! Invariants: a part that is off changes nothing, so the search is push-optimal without any.

mod goal_macros;
mod goal_moves;
mod relevance;
mod rooms;

use super::Parts;
use super::moves::{Move, Path};
use super::state::{State, mix};
use crate::board::{Board, Direction, Square};
use crate::distances::Distances;
use crate::reach::Rows;
use goal_moves::Rooms;
use relevance::Relevance;

/// Nodes of the first slices between restarts.
const SLICE: u64 = 250_000;

/// Random numbers below this are added to the order of moves.
const NOISE: u32 = 16;

/// By how much overestimation raises the bound above the least estimate, in percent of the first.
const STEP: u32 = 5;

/// Pushes above the least estimate, in percent of the first estimate, by turn.
const SLACKS: [u32; 4] = [0, 5, 15, 60];

/// The parts that are on.
pub struct Inadmissible {
    rooms: Option<Rooms>,
    goal_cuts: bool,
    relevance: Option<Relevance>,
    /// Whether a relevance cut left out a move since the last [`forget_cuts`](Self::forget_cuts).
    was_cut: bool,
    overestimation: bool,
    restarts: bool,
    /// Random numbers below this are added to the order of moves.
    noise: u32,
    random: u64,
}

/// Iterations with growing bounds.
pub struct Turn {
    /// Nodes at which the turn ends.
    pub nodes: u64,
    /// By how much the first bound exceeds the least estimate not yet refuted.
    pub first_slack: u32,
    /// By how much later bounds exceed it.
    pub slack: u32,
}

impl Inadmissible {
    pub fn new(board: &Board, distances: &Distances, parts: &Parts, seed: u64) -> Self {
        Self {
            rooms: (parts.goal_macros.then(|| Rooms::new(board, distances))).flatten(),
            goal_cuts: parts.goal_cuts,
            relevance: parts.relevance_cuts.then(|| Relevance::new(board)),
            was_cut: false,
            overestimation: parts.overestimation,
            restarts: parts.restarts,
            noise: 0,
            random: mix(seed),
        }
    }

    /// Switches off the next part that leaves out moves. Returns whether one was on.
    pub fn switch_off(&mut self) -> bool {
        if self.relevance.is_some() && self.was_cut {
            self.relevance = None;
        } else if self.rooms.is_some() && self.goal_cuts {
            self.goal_cuts = false;
        } else if self.rooms.is_some() {
            self.rooms = None;
        } else {
            return false;
        }
        true
    }

    pub fn forget_cuts(&mut self) {
        self.was_cut = false;
    }

    /// One turn without an end, or with restarts a slice of nodes each: iterative deepening from
    /// the least estimate not yet refuted, then searches with larger bounds and random order.
    /// Slices double after each turn of all. `start` is the estimate of the start.
    pub fn turn(&mut self, round: u32, start: u32) -> Turn {
        if !self.restarts {
            let step = if self.overestimation { STEP } else { 0 };
            return Turn {
                nodes: u64::MAX,
                first_slack: 0,
                slack: start * step / 100,
            };
        }
        let (doublings, kind) = (round / SLACKS.len() as u32, round as usize % SLACKS.len());
        let slack = start * SLACKS[kind] / 100;
        self.noise = if SLACKS[kind] == 0 { 0 } else { NOISE };
        Turn {
            nodes: SLICE << doublings.min(16),
            first_slack: slack,
            slack,
        }
    }

    /// Whether extra pushes are counted more than once.
    pub fn overestimates(&self) -> bool {
        self.overestimation
    }

    /// Reads a position before its moves are generated. Returns whether a goal cut found all moves
    /// that are to be tried.
    pub fn cut_to_goal(&mut self, state: &mut State, moves: &mut Vec<Move>) -> bool {
        self.rooms.as_mut().is_some_and(|rooms| {
            rooms.update(state);
            self.goal_cuts && rooms.cut(state, moves)
        })
    }

    /// Adds macro moves of a box inside a goal room. Returns whether it has no other moves.
    pub fn resolve_inside(&mut self, state: &State, index: usize, moves: &mut Vec<Move>) -> bool {
        (self.rooms.as_mut()).is_some_and(|rooms| rooms.resolve_inside(state, index, moves))
    }

    /// Adds macro moves in place of a push into a goal room. Returns whether the push is replaced.
    pub fn enter(
        &mut self,
        state: &State,
        index: usize,
        direction: Direction,
        moves: &mut Vec<Move>,
    ) -> bool {
        (self.rooms.as_mut()).is_some_and(|rooms| rooms.enter(state, index, direction, moves))
    }

    /// Whether the border of a goal room lies between two squares.
    pub fn is_border(&self, one: Square, other: Square) -> bool {
        (self.rooms.as_ref()).is_some_and(|rooms| rooms.is_border(one, other))
    }

    /// Whether to leave out a move after the moves of `path`. A move that was not possible before
    /// the last of them, when the player could reach the squares `before`, is not left out.
    pub fn is_cut(
        &mut self,
        board: &Board,
        path: &[Move],
        next: &Move,
        before: Option<&Rows>,
    ) -> bool {
        let Some(relevance) = &self.relevance else {
            return false;
        };
        if !relevance.is_cut(path, next) {
            return false;
        }
        let first = match &next.path {
            Path::Straight { direction, .. } => *direction,
            Path::Turning(path) => path.first().copied().unwrap_or(Direction::Up),
        };
        let behind = board.next(next.from, first.opposite());
        let is_cut = before.is_none_or(|rows| rows.contains(board.cell(behind)));
        self.was_cut |= is_cut;
        is_cut
    }

    /// Adds random numbers to the order of moves, in a turn that has them.
    pub fn disturb(&mut self, moves: &mut [Move]) {
        if self.noise > 0 {
            for next in moves {
                self.random = mix(self.random);
                next.order += (self.random % u64::from(self.noise)) as i32;
            }
        }
    }
}
