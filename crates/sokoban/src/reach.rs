//! The squares that the player reaches, as one bit a cell and one word a row.
//!
//! A fill goes through the rows down and up until nothing changes. Within a row, an addition
//! carries from each marked cell to the end of its run of free cells, so that a row costs a few
//! instructions however long its runs are. The source of the addition is the occluded fill of chess
//! programs (chessprogramming.org, "Fill by Subtraction").
//!
//! Invariants: bit `column` of word `row` stands for the cell `(row, column)`; the last column is
//! never free.

use super::level::{Cell, MAX_SIDE};

/// A set of cells: one word a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    words: [u64; MAX_SIDE],
    len: usize,
}

impl Rows {
    /// The empty set of a grid with `len` rows, at most [`MAX_SIDE`].
    pub fn new(len: usize) -> Self {
        Self {
            words: [0; MAX_SIDE],
            len,
        }
    }

    /// The number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no cell is in the set.
    pub fn is_empty(&self) -> bool {
        self.words[..self.len].iter().all(|&word| word == 0)
    }

    /// Adds a cell.
    #[inline]
    pub fn insert(&mut self, (row, column): Cell) {
        self.words[row] |= 1 << column;
    }

    /// Takes a cell away.
    #[inline]
    pub fn remove(&mut self, (row, column): Cell) {
        self.words[row] &= !(1 << column);
    }

    /// Whether a cell is in the set.
    #[inline]
    pub fn contains(&self, (row, column): Cell) -> bool {
        self.words[row] >> column & 1 != 0
    }

    /// The words, one a row.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words[..self.len]
    }

    /// Adds all cells of another set.
    pub fn insert_all(&mut self, others: &Self) {
        for (word, other) in self.words[..self.len].iter_mut().zip(&others.words) {
            *word |= other;
        }
    }

    /// Takes all cells of another set away.
    pub fn remove_all(&mut self, others: &Self) {
        for (word, other) in self.words[..self.len].iter_mut().zip(&others.words) {
            *word &= !other;
        }
    }

    /// The first cell by rows and columns.
    #[inline]
    pub fn first(&self) -> Option<Cell> {
        let row = self.words().iter().position(|&word| word != 0)?;
        Some((row, self.words[row].trailing_zeros() as usize))
    }

    /// The number of cells in the set.
    pub fn count(&self) -> usize {
        self.words()
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }
}

/// The cells that are connected to one cell.
#[derive(Clone, Debug)]
pub struct Reach {
    rows: Rows,
}

/// The free cells of a row that are connected to marked ones within the row.
#[inline]
fn run(free: u64, marked: u64) -> u64 {
    let others = free & !marked;
    // A carry starts above each marked cell and stops at the first cell that is marked or not free.
    let above = others & !others.wrapping_add(marked << 1);
    let mut filled = marked | above;
    let mut open = free;
    // Downwards by doubling, since carries only go up.
    filled |= open & (filled >> 1);
    open &= open >> 1;
    filled |= open & (filled >> 2);
    open &= open >> 2;
    filled |= open & (filled >> 4);
    open &= open >> 4;
    filled |= open & (filled >> 8);
    open &= open >> 8;
    filled |= open & (filled >> 16);
    open &= open >> 16;
    filled | open & (filled >> 32)
}

impl Reach {
    /// The empty set of a grid with this many rows.
    pub fn new(rows: usize) -> Self {
        Self {
            rows: Rows::new(rows),
        }
    }

    /// Replaces the set by the cells of `free` that are connected to `start`, which must be free.
    pub fn fill(&mut self, free: &Rows, (row, column): Cell) {
        let len = free.len();
        let free = &free.words[..len];
        let reached = &mut self.rows.words[..len];
        reached.fill(0);
        reached[row] = run(free[row], 1 << column);
        let (mut top, mut bottom) = (row, row);
        loop {
            let mut changed = false;
            let mut at = top;
            while at + 1 < len {
                let entering = reached[at] & free[at + 1] & !reached[at + 1];
                if entering != 0 {
                    reached[at + 1] |= run(free[at + 1], entering);
                    changed = true;
                } else if at >= bottom {
                    break;
                }
                at += 1;
            }
            bottom = bottom.max(at);
            let mut at = bottom;
            while at > 0 {
                let entering = reached[at] & free[at - 1] & !reached[at - 1];
                if entering != 0 {
                    reached[at - 1] |= run(free[at - 1], entering);
                    changed = true;
                } else if at <= top {
                    break;
                }
                at -= 1;
            }
            top = top.min(at);
            if !changed {
                break;
            }
        }
    }

    /// Whether a cell is connected.
    #[inline]
    pub fn contains(&self, cell: Cell) -> bool {
        self.rows.contains(cell)
    }

    /// The first cell by rows and columns.
    #[inline]
    pub fn first(&self) -> Cell {
        self.rows.first().unwrap_or((0, 0))
    }

    /// The set.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }
}

#[cfg(test)]
mod tests;
