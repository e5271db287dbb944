//! Exact results of the ends of Reversi on the board of `reversi`, eight by eight squares.
//!
//! Negamax alpha-beta over bitboards with a transposition table. With many empty squares the move
//! that leaves the opponent the fewest moves comes first (fastest first); corners and squares in
//! quarters with an odd number of empty squares (parity) are preferred. As in the rules, a role
//! without a move passes, the game ends when neither can move, and only who has more discs counts.
//!
//! Knows the rules by itself: of the machine it uses the names of facts and moves only.

use std::sync::Arc;

use anyhow::bail;
use panza_gdl::{Id, RoleId};
use panza_machine::{GameInfo, Machine};

use super::{Bounds, NodeLimit, Solver, Spent, ValueTable, control, in_cells};

const SIZE: u32 = 8;
const FIRST_COLUMN: u64 = 0x0101_0101_0101_0101;
const LAST_COLUMN: u64 = FIRST_COLUMN << 7;
const CORNERS: u64 = 0x8100_0000_0000_0081;
const QUARTER: u64 = 0x0f0f_0f0f;
/// Entries of the transposition table, as a power of two.
const TABLE_BITS: u32 = 20;
/// Positions with fewer empty squares are not stored.
const MIN_STORED: u32 = 6;
/// With fewer empty squares moves are ordered by parity alone.
const MIN_ORDERED: u32 = 5;
/// What a corner and an odd quarter are worth, in moves of the opponent.
const CORNER_WORTH: i32 = 6;
const PARITY_WORTH: i32 = 1;

/// Directions: a shift to the left, or to the right if negative, and the squares that are reached
/// without leaving the board.
const DIRECTIONS: [(i32, u64); 8] = [
    (1, !FIRST_COLUMN),
    (-1, !LAST_COLUMN),
    (8, !0),
    (-8, !0),
    (9, !FIRST_COLUMN),
    (-9, !LAST_COLUMN),
    (7, !LAST_COLUMN),
    (-7, !FIRST_COLUMN),
];

#[inline]
fn step(bits: u64, (shift, reached): (i32, u64)) -> u64 {
    let shifted = if shift > 0 {
        bits << shift
    } else {
        bits >> -shift
    };
    shifted & reached
}

/// A position, from the side to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Board {
    own: u64,
    other: u64,
}

impl Board {
    fn empty(self) -> u64 {
        !(self.own | self.other)
    }

    fn passed(self) -> Self {
        Self {
            own: self.other,
            other: self.own,
        }
    }

    /// The squares on which the side to move can place a disc.
    fn moves(self) -> u64 {
        let mut found = 0;
        for direction in DIRECTIONS {
            let mut run = step(self.own, direction) & self.other;
            for _ in 0..SIZE - 3 {
                run |= step(run, direction) & self.other;
            }
            found |= step(run, direction);
        }
        found & self.empty()
    }

    /// The position after the side to move has placed a disc.
    fn after(self, square: u64) -> Self {
        let mut turned = 0;
        for direction in DIRECTIONS {
            let mut run = 0;
            let mut at = step(square, direction);
            while at & self.other != 0 {
                run |= at;
                at = step(at, direction);
            }
            if at & self.own != 0 {
                turned |= run;
            }
        }
        Self {
            own: self.other & !turned,
            other: self.own | turned | square,
        }
    }

    /// The result when the game is over.
    fn result(self) -> i8 {
        let difference = self.own.count_ones() as i32 - self.other.count_ones() as i32;
        difference.signum() as i8
    }

    /// The empty squares in quarters of the board with an odd number of them.
    fn odd_squares(self) -> u64 {
        let quarters = [QUARTER, QUARTER << 4, QUARTER << 32, QUARTER << 36];
        let odd = quarters
            .into_iter()
            .filter(|quarter| (self.empty() & quarter).count_ones() % 2 == 1);
        odd.fold(0, |all, quarter| all | quarter) & self.empty()
    }
}

#[derive(Clone, Copy, Default)]
struct Entry {
    board: Board,
    bounds: Bounds<i8>,
}

/// Solves ends of the game `reversi`. Results are 1 for a win of the side to move, 0 for a draw, -1
/// for a loss.
pub struct Reversi {
    machine: Arc<dyn Machine>,
    table: Vec<Entry>,
    budget: NodeLimit,
}

impl Reversi {
    /// A solver that visits at most `nodes` positions for each position to be solved.
    pub fn new(machine: &Arc<dyn Machine>, nodes: u64) -> Self {
        Self {
            machine: Arc::clone(machine),
            table: vec![Entry::default(); 1 << TABLE_BITS],
            budget: NodeLimit::new(nodes),
        }
    }

    fn search(&mut self, board: Board, mut alpha: i8, mut beta: i8) -> Result<i8, Spent> {
        self.budget.spend()?;
        let moves = board.moves();
        if moves == 0 {
            let passed = board.passed();
            return match passed.moves() {
                0 => Ok(board.result()),
                _ => Ok(-self.search(passed, -beta, -alpha)?),
            };
        }
        let n_empty = board.empty().count_ones();
        let is_stored = n_empty >= MIN_STORED;
        let slot = slot(board);
        let entry = self.table[slot];
        let (lower, upper) = (-1, 1);
        let mut bounds = Bounds { lower, upper };
        if is_stored && entry.board == board {
            bounds = entry.bounds;
        }
        if let Some(known) = bounds.narrow(&mut alpha, &mut beta) {
            return Ok(known);
        }
        let mut best = -1;
        let mut highest = alpha;
        if n_empty >= MIN_ORDERED {
            let (children, count) = ordered(board, moves);
            for &(_, child) in &children[..count] {
                best = best.max(-self.search(child, -beta, -highest)?);
                highest = highest.max(best);
                if best >= beta {
                    break;
                }
            }
        } else {
            let odd = board.odd_squares();
            for square in squares(moves & odd).chain(squares(moves & !odd)) {
                best = best.max(-self.search(board.after(square), -beta, -highest)?);
                highest = highest.max(best);
                if best >= beta {
                    break;
                }
            }
        }
        if is_stored {
            bounds.note(best, alpha, beta);
            self.table[slot] = Entry { board, bounds };
        }
        Ok(best)
    }

    /// The results of placing a disc on each square that allows it.
    fn results(&mut self, board: Board) -> Result<Vec<(u64, i8)>, Spent> {
        self.budget.restart();
        squares(board.moves())
            .map(|square| Ok((square, -self.search(board.after(square), -1, 1)?)))
            .collect()
    }
}

fn slot(board: Board) -> usize {
    let mixed = board.own.wrapping_mul(0x9E37_79B9_7F4A_7C15)
        ^ board
            .other
            .wrapping_mul(0xD6E8_FEB8_6659_FD93)
            .rotate_left(29);
    (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - TABLE_BITS)) as usize
}

/// The single squares of a set.
fn squares(mut set: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let lowest = set & set.wrapping_neg();
        set ^= lowest;
        (lowest != 0).then_some(lowest)
    })
}

/// Positions after the moves, the most promising for the side to move first, and their number.
fn ordered(board: Board, moves: u64) -> ([(i32, Board); 32], usize) {
    let odd = board.odd_squares();
    let mut children = [(0, Board::default()); 32];
    let mut count = 0;
    for square in squares(moves).take(children.len()) {
        let child = board.after(square);
        let mut score = child.moves().count_ones() as i32;
        score -= CORNER_WORTH * i32::from(square & CORNERS != 0);
        score -= PARITY_WORTH * i32::from(square & odd != 0);
        children[count] = (score, child);
        count += 1;
    }
    children[..count].sort_by_key(|&(score, _)| score);
    (children, count)
}

/// The position of a state, for the role in control.
fn board(info: &dyn GameInfo, state: &[u64]) -> anyhow::Result<(Board, RoleId)> {
    let facts = info.state_facts(state);
    let role = control(info, &facts)?;
    let name = info.role_name(role);
    let mut board = Board::default();
    for (column, row, content) in in_cells(&facts) {
        if column > SIZE || row > SIZE {
            bail!("a cell is outside the board of eight by eight squares");
        }
        let square = 1 << ((row - 1) * SIZE + column - 1);
        match content == name {
            true => board.own |= square,
            false => board.other |= square,
        }
    }
    Ok((board, role))
}

impl Solver for Reversi {
    fn solve(&mut self, state: &[u64], role: RoleId) -> anyhow::Result<Option<ValueTable>> {
        let machine = Arc::clone(&self.machine);
        let info = machine.info();
        let (board, mover) = board(info, state)?;
        if mover != role {
            bail!("role {} does not move here", role.index());
        }
        if board.moves() == 0 {
            bail!("role {} has to pass here", role.index());
        }
        let Ok(results) = self.results(board) else {
            return Ok(None);
        };
        let results = results.into_iter().map(|(square, result)| {
            let index = square.trailing_zeros();
            let text = format!("(place {} {})", index % SIZE + 1, index / SIZE + 1);
            (text, result)
        });
        ValueTable::of_results(info, role, results).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Board = Board {
        own: 1 << 35 | 1 << 28,
        other: 1 << 27 | 1 << 36,
    };

    #[test]
    fn random_games_agree_on_moves_and_turned_discs() {
        // From the start there are 4, 12, 56 and 244 sequences of one to four moves.
        fn sequences(board: Board, length: u32) -> u64 {
            if length == 0 {
                return 1;
            }
            let children = squares(board.moves()).map(|square| board.after(square));
            children.map(|child| sequences(child, length - 1)).sum()
        }
        let counts = [1, 2, 3, 4].map(|length| sequences(START, length));
        assert_eq!(counts, [4, 12, 56, 244]);
    }

    #[test]
    fn runs_do_not_leave_the_board() {
        // Discs at the end of a row and at the start of the next are no run.
        let board = Board {
            own: 1 << 8,
            other: 1 << 7,
        };
        assert_eq!(board.moves(), 0);
    }

    #[test]
    fn quarters_with_an_odd_number_of_empty_squares_are_found() {
        let board = Board {
            own: !(1 | 1 << 7 | 1 << 6),
            other: 0,
        };
        assert_eq!(board.odd_squares(), 1);
    }
}
