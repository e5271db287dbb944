//! Solutions: every step of the player, verified on the board, and what a solution measures.
//!
//! LURD notation has a letter a move, `l u r d`; a push has the capital when it is written and may
//! have a small letter when it is read. Between two pushes the player takes a shortest way when a
//! solution is made from pushes alone, and of these ways one with the fewest lines. The level ends
//! with the push that brings the last box to a goal, so that later moves are left out.
//!
//! The metrics are those of YASO (Brian Damgaard) and JSoko (Matthias Meger).
//!
//! Invariants: a [`Solution`] of a board ends with every box on a goal; its metrics are those of
//! its moves.

use super::board::{Board, Direction, NO_SQUARE, Position, Push, Square};
use super::walk::Walks;
use std::fmt;

/// A verified solution of one board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    moves: Vec<Direction>,
    /// The number of each push among the moves.
    pushed_at: Vec<usize>,
    pushes: Vec<Push>,
    metrics: Metrics,
}

/// How long a solution is, by the six measures of Sokoban YASC and JSoko. Smaller is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Metrics {
    /// Steps of the player, pushes included.
    pub moves: usize,
    /// Pushes.
    pub pushes: usize,
    /// Runs of pushes of one box without a step between them; such a run is a straight line.
    pub box_lines: usize,
    /// How often a push moves another box than the push before it; the first push counts.
    pub box_changes: usize,
    /// Runs of pushes without a step between them, of one box or several.
    pub pushing_sessions: usize,
    /// Runs of moves in one direction, with or without pushes.
    pub player_lines: usize,
}

/// A secondary metric: it decides between solutions with equal moves and pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secondary {
    /// Of [`Metrics::box_lines`].
    BoxLines,
    /// Of [`Metrics::box_changes`].
    BoxChanges,
    /// Of [`Metrics::pushing_sessions`].
    PushingSessions,
    /// Of [`Metrics::player_lines`].
    PlayerLines,
}

impl Secondary {
    /// All of them, in the order in which YASO and JSoko compare solutions.
    pub const ALL: [Self; 4] = [
        Self::BoxLines,
        Self::BoxChanges,
        Self::PushingSessions,
        Self::PlayerLines,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::BoxLines => "box-lines",
            Self::BoxChanges => "box-changes",
            Self::PushingSessions => "pushing-sessions",
            Self::PlayerLines => "player-lines",
        }
    }

    /// The metric of a solution.
    pub fn of(self, metrics: &Metrics) -> usize {
        match self {
            Self::BoxLines => metrics.box_lines,
            Self::BoxChanges => metrics.box_changes,
            Self::PushingSessions => metrics.pushing_sessions,
            Self::PlayerLines => metrics.player_lines,
        }
    }
}

impl Metrics {
    /// What `f` makes of each metric of both.
    fn zip(self, other: Self, f: impl Fn(usize, usize) -> usize) -> Self {
        Self {
            moves: f(self.moves, other.moves),
            pushes: f(self.pushes, other.pushes),
            box_lines: f(self.box_lines, other.box_lines),
            box_changes: f(self.box_changes, other.box_changes),
            pushing_sessions: f(self.pushing_sessions, other.pushing_sessions),
            player_lines: f(self.player_lines, other.player_lines),
        }
    }
}

impl std::ops::Add for Metrics {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.zip(other, |one, other| one + other)
    }
}

/// A part of a whole, which is no larger.
impl std::ops::Sub for Metrics {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.zip(other, usize::saturating_sub)
    }
}

/// Why moves or pushes solve nothing. Numbers count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolutionError {
    /// A character that is no letter of LURD.
    NotAMove {
        /// The number of the move.
        number: usize,
        /// The character.
        found: char,
    },
    /// The player walks or pushes a box into a wall, or a box into another box.
    Blocked {
        /// The number of the move.
        number: usize,
        /// Its direction.
        direction: Direction,
        /// What cannot move: the player or a box.
        is_push: bool,
    },
    /// A capital letter, but no box to push.
    NothingToPush {
        /// The number of the move.
        number: usize,
    },
    /// The player cannot reach the place behind the box, or there is no box.
    Unreachable {
        /// The number of the push.
        number: usize,
    },
    /// The moves end with boxes beside the goals.
    Unsolved {
        /// The number of boxes that are on no goal.
        boxes: usize,
    },
}

impl fmt::Display for SolutionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NotAMove { number, found } => {
                write!(
                    f,
                    "move {number}: expected one of l u r d L U R D, found `{found}`"
                )
            }
            Self::Blocked {
                number,
                direction,
                is_push: false,
            } => write!(
                f,
                "move {number}, `{}`: the player cannot walk into a wall",
                direction.letter()
            ),
            Self::Blocked {
                number,
                direction,
                is_push: true,
            } => write!(
                f,
                "move {number}, `{}`: a wall or another box is behind the box",
                direction.letter().to_ascii_uppercase()
            ),
            Self::NothingToPush { number } => {
                write!(
                    f,
                    "move {number}: no box is pushed; expected a small letter"
                )
            }
            Self::Unreachable { number } => {
                write!(
                    f,
                    "push {number}: no box is there, or the player cannot get behind it"
                )
            }
            Self::Unsolved { boxes } => {
                let noun = if boxes == 1 { "box is" } else { "boxes are" };
                write!(f, "after the last move {boxes} {noun} on no goal")
            }
        }
    }
}

impl std::error::Error for SolutionError {}

impl Solution {
    /// Replays letters of LURD without run lengths; white space is skipped. A small letter pushes
    /// the box that is in the way; a capital has to push one. Moves after the level has ended are
    /// left out.
    ///
    /// # Errors
    ///
    /// The first move that is impossible, or that the last position is unsolved.
    pub fn from_text(board: &Board, text: &str) -> Result<Self, SolutionError> {
        let mut replay = Replay::new(board);
        for found in text.chars().filter(|c| !c.is_whitespace()) {
            let number = replay.moves.len() + 1;
            let direction = direction_of(found).ok_or(SolutionError::NotAMove { number, found })?;
            replay.step(direction, found.is_ascii_uppercase())?;
            if replay.has_ended {
                break;
            }
        }
        replay.solution()
    }

    /// Replays pushes, with a shortest way of the player to each that has the fewest lines.
    ///
    /// # Errors
    ///
    /// The first push that is impossible, or that the last position is unsolved.
    pub fn from_pushes(board: &Board, pushes: &[Push]) -> Result<Self, SolutionError> {
        let mut replay = Replay::new(board);
        let mut walks = Walks::new(board);
        for (index, push) in pushes.iter().enumerate() {
            let unreachable = SolutionError::Unreachable { number: index + 1 };
            // A square of another board is no square of this one.
            if usize::from(push.square) >= board.len() {
                return Err(unreachable);
            }
            let behind = board.next(push.square, push.direction.opposite());
            if behind == NO_SQUARE || !replay.position.boxes.contains(&push.square) {
                return Err(unreachable);
            }
            let (boxes, player) = (&replay.position.boxes, replay.position.player);
            let has_box = |square| boxes.binary_search(&square).is_ok();
            walks.measure(
                board,
                has_box,
                player,
                replay.moves.last().copied(),
                Some(behind),
            );
            walks.steps(behind).ok_or(unreachable)?;
            for direction in walks.way(board, behind, push.direction) {
                replay.step(direction, false)?;
            }
            replay.step(push.direction, true)?;
            if replay.has_ended {
                break;
            }
        }
        replay.solution()
    }

    /// Every move of the player.
    pub fn moves(&self) -> &[Direction] {
        &self.moves
    }

    /// The pushes alone, in order.
    pub fn pushes(&self) -> &[Push] {
        &self.pushes
    }

    /// What the solution measures.
    pub fn metrics(&self) -> Metrics {
        self.metrics
    }
}

/// The moves in LURD notation.
impl fmt::Display for Solution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut letters: Vec<char> = self.moves.iter().map(|mv| mv.letter()).collect();
        for &index in &self.pushed_at {
            letters[index].make_ascii_uppercase();
        }
        f.write_str(&letters.into_iter().collect::<String>())
    }
}

fn direction_of(letter: char) -> Option<Direction> {
    let small = letter.to_ascii_lowercase();
    Direction::ALL
        .into_iter()
        .find(|direction| direction.letter() == small)
}

/// A position on its way through the moves, with the metrics so far.
struct Replay<'a> {
    board: &'a Board,
    position: Position,
    moves: Vec<Direction>,
    pushed_at: Vec<usize>,
    pushes: Vec<Push>,
    metrics: Metrics,
    /// Where the box of the last push stands.
    last_box: Option<Square>,
    last_is_push: bool,
    /// Whether the last push has brought the last box to a goal.
    has_ended: bool,
}

impl<'a> Replay<'a> {
    fn new(board: &'a Board) -> Self {
        Self {
            board,
            position: board.start().clone(),
            moves: Vec::new(),
            pushed_at: Vec::new(),
            pushes: Vec::new(),
            metrics: Metrics::default(),
            last_box: None,
            last_is_push: false,
            has_ended: false,
        }
    }

    /// Makes one move, which pushes the box in its way; with `must_push` there has to be one.
    fn step(&mut self, direction: Direction, must_push: bool) -> Result<(), SolutionError> {
        let number = self.moves.len() + 1;
        let to = self.board.next(self.position.player, direction);
        let has_box = |square: &Square| self.position.boxes.binary_search(square).is_ok();
        let is_push = to != NO_SQUARE && has_box(&to);
        let blocked = SolutionError::Blocked {
            number,
            direction,
            is_push: is_push || must_push,
        };
        if to == NO_SQUARE {
            return Err(blocked);
        }
        if must_push && !is_push {
            return Err(SolutionError::NothingToPush { number });
        }
        if is_push {
            let ahead = self.board.next(to, direction);
            if ahead == NO_SQUARE || has_box(&ahead) {
                return Err(blocked);
            }
            let push = Push {
                square: to,
                direction,
            };
            self.position = self.board.after(&self.position, push);
            let is_same_box = self.last_box == Some(to);
            self.metrics.pushes += 1;
            self.metrics.box_lines += usize::from(!is_same_box || !self.last_is_push);
            self.metrics.box_changes += usize::from(!is_same_box);
            self.metrics.pushing_sessions += usize::from(!self.last_is_push);
            self.last_box = Some(ahead);
            self.pushed_at.push(self.moves.len());
            self.pushes.push(push);
            self.has_ended = self.board.is_solved(&self.position.boxes);
        } else {
            self.position.player = to;
        }
        self.last_is_push = is_push;
        self.metrics.moves += 1;
        self.metrics.player_lines += usize::from(self.moves.last() != Some(&direction));
        self.moves.push(direction);
        Ok(())
    }

    fn solution(self) -> Result<Solution, SolutionError> {
        let boxes = self.position.boxes.iter();
        let boxes = boxes.filter(|&&square| !self.board.is_goal(square)).count();
        if boxes > 0 {
            return Err(SolutionError::Unsolved { boxes });
        }
        Ok(Solution {
            moves: self.moves,
            pushed_at: self.pushed_at,
            pushes: self.pushes,
            metrics: self.metrics,
        })
    }
}

#[cfg(test)]
mod tests;
