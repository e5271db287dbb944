//! Shortest walks of the player, and among them those with the fewest player lines.
//!
//! A breadth-first search measures the steps. Since squares are visited in the order of their
//! steps, the fewest lines to a square by each last direction follow from those of the squares
//! before it.
//!
//! Invariant: `lines` of a square that was reached has the number of lines for each direction of
//! the last move, or `NEVER`.

use super::board::{Board, Direction, NO_SQUARE, Square};

/// No shortest walk ends with this direction.
const NEVER: u32 = u32::MAX / 2;

/// Walks from one square; made once and measured again for each position.
#[derive(Clone, Debug)]
pub struct Walks {
    steps: Vec<u16>,
    lines: Vec<[u32; 4]>,
    /// `steps` and `lines` of a square hold if its round is the current one.
    round: Vec<u32>,
    rounds: u32,
    queue: Vec<Square>,
}

impl Walks {
    /// Room for walks on a board.
    pub fn new(board: &Board) -> Self {
        Self {
            steps: vec![0; board.len()],
            lines: vec![[NEVER; 4]; board.len()],
            round: vec![0; board.len()],
            rounds: 0,
            queue: Vec::with_capacity(board.len()),
        }
    }

    /// Measures the walks from a square over squares without a box, until the one to `end` is
    /// known. `last` is the direction of the move that led to `from`.
    pub fn measure(
        &mut self,
        board: &Board,
        has_box: impl Fn(Square) -> bool,
        from: Square,
        last: Option<Direction>,
        end: Option<Square>,
    ) {
        self.rounds += 1;
        self.queue.clear();
        self.queue.push(from);
        self.round[from as usize] = self.rounds;
        self.steps[from as usize] = 0;
        // The first move of all begins a line, whatever its direction.
        self.lines[from as usize] = last.map_or([1; 4], |last| {
            let mut lines = [NEVER; 4];
            lines[last as usize] = 0;
            lines
        });
        let mut next = 0;
        while let Some(&square) = self.queue.get(next) {
            if end == Some(square) {
                return;
            }
            next += 1;
            let steps = self.steps[square as usize] + 1;
            for direction in Direction::ALL {
                let to = board.next(square, direction);
                if to == NO_SQUARE || has_box(to) {
                    continue;
                }
                if self.round[to as usize] != self.rounds {
                    self.round[to as usize] = self.rounds;
                    self.steps[to as usize] = steps;
                    self.lines[to as usize] = [NEVER; 4];
                    self.queue.push(to);
                }
                if self.steps[to as usize] == steps {
                    self.lines[to as usize][direction as usize] =
                        fewest(self.lines[square as usize], direction);
                }
            }
        }
    }

    /// The steps to a square, or nothing if it is out of reach.
    pub fn steps(&self, to: Square) -> Option<u32> {
        (self.round[to as usize] == self.rounds).then(|| u32::from(self.steps[to as usize]))
    }

    /// The fewest lines that begin on a shortest walk to a square and with the move `then` from
    /// there.
    pub fn lines(&self, to: Square, then: Direction) -> u32 {
        fewest(self.lines[to as usize], then)
    }

    /// A shortest walk to a square that is in reach, with the fewest lines before the move `then`.
    pub fn way(&self, board: &Board, to: Square, then: Direction) -> Vec<Direction> {
        let mut way = Vec::new();
        let (mut at, mut then) = (to, then);
        for _ in 0..self.steps[to as usize] {
            let lines = self.lines[at as usize];
            let wanted = fewest(lines, then);
            let is_best = |&last: &Direction| lines[last as usize] + turn(last, then) == wanted;
            let Some(last) = Direction::ALL.into_iter().find(is_best) else {
                break;
            };
            way.push(last);
            at = board.next(at, last.opposite());
            then = last;
        }
        way.reverse();
        way
    }
}

/// The fewest lines up to a move, from those by the direction of the move before.
fn fewest(lines: [u32; 4], then: Direction) -> u32 {
    let last = Direction::ALL.into_iter();
    let all = last.map(|last| lines[last as usize] + turn(last, then));
    all.min().unwrap_or(NEVER)
}

/// Whether a move begins a line after another.
fn turn(last: Direction, then: Direction) -> u32 {
    u32::from(last != then)
}
