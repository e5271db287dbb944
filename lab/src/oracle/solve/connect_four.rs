//! Exact results of Connect Four on the board of `connectFour`, eight columns of six squares.
//!
//! Negamax alpha-beta over bitboards with a transposition table. A column is seven bits, the
//! highest of which is always empty, so that shifted lines never run into the next column. Moves
//! are ordered by the threats that they make: empty squares which would complete a line. A square
//! below a threat of the opponent is never played, and a threat that can be carried out is answered
//! (the rules of Allis, 'A Knowledge-Based Approach of Connect-Four', 1988).
//!
//! Knows the rules by itself: of the machine it uses the names of facts and moves only.

use std::sync::Arc;

use anyhow::bail;
use panza_gdl::{Id, RoleId};
use panza_machine::{GameInfo, Machine};

use super::{Bounds, NodeLimit, Solver, Spent, ValueTable, control, in_cells};

const COLUMNS: u32 = 8;
const ROWS: u32 = 6;
/// Bits of a column.
const HEIGHT: u32 = ROWS + 1;
/// The lowest square of each column.
const BOTTOM: u64 = {
    let (mut bits, mut column) = (0, 0);
    while column < COLUMNS {
        bits |= 1 << (column * HEIGHT);
        column += 1;
    }
    bits
};
/// All squares.
const BOARD: u64 = BOTTOM * ((1 << ROWS) - 1);
/// The columns from the centre outwards.
const FROM_CENTRE: [u32; COLUMNS as usize] = [3, 4, 2, 5, 1, 6, 0, 7];
/// Steps between the squares of a line: up, across, falling, rising.
const DIRECTIONS: [u32; 4] = [1, HEIGHT, HEIGHT - 1, HEIGHT + 1];
/// Entries of the transposition table, as a power of two.
const TABLE_BITS: u32 = 22;

/// A position in which nobody has a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Board {
    /// The discs of the side to move.
    own: u64,
    /// All discs.
    all: u64,
}

impl Board {
    /// The lowest empty square of each column that is not full.
    fn playable(self) -> u64 {
        (self.all + BOTTOM) & BOARD
    }

    /// The position after the side to move has played this square.
    fn after(self, square: u64) -> Self {
        Self {
            own: self.all & !self.own,
            all: self.all | square,
        }
    }

    /// One number per position: the discs of the side to move below a mark on top of each column.
    fn key(self) -> u64 {
        self.own | (self.all + BOTTOM)
    }
}

/// The empty squares on which one more disc completes a line.
fn threats(discs: u64, all: u64) -> u64 {
    let mut found = 0;
    for step in DIRECTIONS {
        let (a, b, c) = (discs << step, discs << (2 * step), discs << (3 * step));
        let (d, e, f) = (discs >> step, discs >> (2 * step), discs >> (3 * step));
        found |= (a & b & (c | d)) | (d & e & (a | f));
    }
    found & BOARD & !all
}

/// Solves positions of the game `connectFour`. Results are 1 for a win of the side to move, 0 for a
/// draw, -1 for a loss.
pub struct ConnectFour {
    machine: Arc<dyn Machine>,
    /// Keys shifted by four bits over the bounds of the result, each plus one in two bits.
    table: Vec<u64>,
    budget: NodeLimit,
}

impl ConnectFour {
    /// A solver that visits at most `nodes` positions for each position to be solved.
    pub fn new(machine: &Arc<dyn Machine>, nodes: u64) -> Self {
        Self {
            machine: Arc::clone(machine),
            table: vec![0; 1 << TABLE_BITS],
            budget: NodeLimit::new(nodes),
        }
    }

    fn search(&mut self, board: Board, mut alpha: i8, mut beta: i8) -> Result<i8, Spent> {
        self.budget.spend()?;
        let playable = board.playable();
        if playable == 0 {
            return Ok(0);
        }
        if threats(board.own, board.all) & playable != 0 {
            return Ok(1);
        }
        let against = threats(board.all & !board.own, board.all);
        let forced = against & playable;
        if forced & forced.wrapping_sub(1) != 0 {
            return Ok(-1);
        }
        let answers = if forced == 0 { playable } else { forced };
        let moves = answers & !(against >> 1);
        if moves == 0 {
            return Ok(-1);
        }
        if (BOARD & !board.all).count_ones() <= 2 {
            return Ok(0);
        }
        let key = board.key();
        let slot = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - TABLE_BITS)) as usize;
        let entry = self.table[slot];
        let (lower, upper) = match entry >> 4 == key {
            true => ((entry & 3) as i8 - 1, (entry >> 2 & 3) as i8 - 1),
            false => (-1, 1),
        };
        let mut bounds = Bounds { lower, upper };
        if let Some(known) = bounds.narrow(&mut alpha, &mut beta) {
            return Ok(known);
        }
        let mut best = -1;
        let mut highest = alpha;
        for square in ordered(board, moves).into_iter().take_while(|&it| it != 0) {
            best = best.max(-self.search(board.after(square), -beta, -highest)?);
            highest = highest.max(best);
            if best >= beta {
                break;
            }
        }
        bounds.note(best, alpha, beta);
        let [lower, upper] = [bounds.lower, bounds.upper].map(|bound| (bound + 1) as u64);
        self.table[slot] = key << 4 | upper << 2 | lower;
        Ok(best)
    }

    /// The results of playing each playable column, from the left.
    fn results(&mut self, board: Board) -> Result<Vec<(u32, i8)>, Spent> {
        self.budget.restart();
        let wins = threats(board.own, board.all);
        let mut results = Vec::new();
        for column in 0..COLUMNS {
            let square = board.playable() & column_bits(column);
            if square == 0 {
                continue;
            }
            let result = match wins & square {
                0 => -self.search(board.after(square), -1, 1)?,
                _ => 1,
            };
            results.push((column, result));
        }
        Ok(results)
    }
}

fn column_bits(column: u32) -> u64 {
    ((1 << ROWS) - 1) << (column * HEIGHT)
}

/// The squares to play, those with the most threats first, then from the centre outwards. Zeros
/// fill the rest.
fn ordered(board: Board, moves: u64) -> [u64; COLUMNS as usize] {
    let mut squares = [0; COLUMNS as usize];
    let mut scores = [0; COLUMNS as usize];
    let mut count = 0;
    for column in FROM_CENTRE {
        let square = moves & column_bits(column);
        if square == 0 {
            continue;
        }
        let all = board.all | square;
        let score = threats(board.own | square, all).count_ones();
        let mut place = count;
        while place > 0 && scores[place - 1] < score {
            squares[place] = squares[place - 1];
            scores[place] = scores[place - 1];
            place -= 1;
        }
        squares[place] = square;
        scores[place] = score;
        count += 1;
    }
    squares
}

/// The position of a state, for the role in control.
fn board(info: &dyn GameInfo, state: &[u64]) -> anyhow::Result<(Board, RoleId)> {
    let facts = info.state_facts(state);
    let role = control(info, &facts)?;
    let name = info.role_name(role);
    let mut board = Board { own: 0, all: 0 };
    for (column, row, content) in in_cells(&facts) {
        if column > COLUMNS || row > ROWS {
            bail!("a cell is outside the board of eight columns of six squares");
        }
        let square = 1 << ((column - 1) * HEIGHT + row - 1);
        board.all |= square;
        if content == name {
            board.own |= square;
        }
    }
    Ok((board, role))
}

impl Solver for ConnectFour {
    fn solve(&mut self, state: &[u64], role: RoleId) -> anyhow::Result<Option<ValueTable>> {
        let machine = Arc::clone(&self.machine);
        let info = machine.info();
        let (board, mover) = board(info, state)?;
        if mover != role {
            bail!("role {} does not move here", role.index());
        }
        let Ok(results) = self.results(board) else {
            return Ok(None);
        };
        let results = results.into_iter();
        let results = results.map(|(column, result)| (format!("(drop {})", column + 1), result));
        ValueTable::of_results(info, role, results).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(column: u32, row: u32) -> u64 {
        1 << (column * HEIGHT + row)
    }

    #[test]
    fn threats_complete_lines_in_all_directions() {
        let row = square(0, 0) | square(1, 0) | square(3, 0);
        assert_eq!(threats(row, row), square(2, 0));
        let open = square(2, 0) | square(3, 0) | square(4, 0);
        assert_eq!(threats(open, open), square(1, 0) | square(5, 0));
        let stack = square(7, 0) | square(7, 1) | square(7, 2);
        assert_eq!(threats(stack, stack), square(7, 3));
        let rising = square(4, 2) | square(5, 3) | square(7, 5);
        assert_eq!(threats(rising, rising), square(6, 4));
        // The top of a column and the bottom of the next are no line.
        let wrapped = square(2, 4) | square(2, 5) | square(3, 0);
        assert_eq!(threats(wrapped, wrapped), 0);
    }
}
