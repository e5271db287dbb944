//! Matrix games: one side chooses a row, the other a column, and the cell is what the first gets.
//!
//! [`MatrixSolver::solve`] finds a mixed strategy of each side by the simplex method (Dantzig
//! 1951). The worth of a strategy is then computed from the strategy and the cells alone. So what
//! is said to be guaranteed is guaranteed, whatever rounding or an early end did to the strategy.
//!
//! Never uses: games, the graph.

/// Differences of this size are rounding errors.
const TINY: f64 = 1e-9;
/// The greatest error of a worth, in points.
const TOLERANCE: f64 = 1e-6;
/// Pivots for each row and column. The simplex method takes one or two as a rule.
const MAX_PIVOTS: usize = 16;
/// Pivots for each row and column after which Bland's rule (1977), which is slow but never runs in
/// circles, takes the place of the greatest gain.
const GREATEST_GAINS: usize = 3;

/// What the side of the rows gets in each cell, in points.
#[derive(Clone, Default, Debug)]
pub(super) struct Matrix {
    n_columns: usize,
    cells: Vec<f64>,
}

impl Matrix {
    /// Makes all cells 0.
    pub(super) fn reset(&mut self, n_rows: usize, n_columns: usize) {
        self.n_columns = n_columns.max(1);
        self.cells.clear();
        self.cells.resize(n_rows.max(1) * self.n_columns, 0.0);
    }

    pub(super) fn set(&mut self, row: usize, column: usize, points: f64) {
        self.cells[row * self.n_columns + column] = points;
    }

    fn n_rows(&self) -> usize {
        self.cells.len() / self.n_columns
    }

    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.cells.chunks(self.n_columns)
    }

    fn column(&self, column: usize) -> impl Iterator<Item = f64> {
        self.rows().map(move |row| row[column])
    }

    /// The least cell of the best row, and the row.
    fn best_row(&self) -> (f64, usize) {
        let least = |row: &[f64]| row.iter().copied().fold(f64::INFINITY, f64::min);
        let rows = self.rows().enumerate();
        rows.map(|(index, row)| (least(row), index))
            .fold((f64::NEG_INFINITY, 0), |best, next| {
                if next.0 > best.0 { next } else { best }
            })
    }

    /// The greatest cell of the best column, and the column.
    fn best_column(&self) -> (f64, usize) {
        let greatest = |column| self.column(column).fold(f64::NEG_INFINITY, f64::max);
        (0..self.n_columns)
            .map(|column| (greatest(column), column))
            .fold((f64::INFINITY, 0), |best, next| {
                if next.0 < best.0 { next } else { best }
            })
    }
}

/// What the strategies of both sides guarantee.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Worth {
    /// The side of the rows gets at least this.
    pub(super) at_least: f64,
    /// And at most this.
    pub(super) at_most: f64,
}

impl Worth {
    /// The least whole goal that is not below `at_least`, rounding errors apart: the lower bound of
    /// a goal.
    pub(super) fn lower(self) -> u8 {
        (self.at_least + TOLERANCE).floor().clamp(0.0, 100.0) as u8
    }
}

/// Solves matrix games, and keeps the last solution.
#[derive(Default, Debug)]
pub(super) struct MatrixSolver {
    /// The probability of each row.
    pub(super) rows: Vec<f64>,
    /// The probability of each column.
    pub(super) columns: Vec<f64>,
    // The simplex tableau: a line for each row, with its numbers for the columns, for a slack of
    // each row, and for the bound. The last line is what a unit more would gain.
    lines: Vec<f64>,
    pivot_line: Vec<f64>,
    /// The variable of each line.
    basis: Vec<usize>,
}

impl MatrixSolver {
    /// Finds strategies of both sides, the best ones unless the game is too difficult.
    pub(super) fn solve(&mut self, matrix: &Matrix) -> Worth {
        let ((at_least, row), (at_most, column)) = (matrix.best_row(), matrix.best_column());
        self.rows.clear();
        self.rows.resize(matrix.n_rows(), 0.0);
        self.columns.clear();
        self.columns.resize(matrix.n_columns, 0.0);
        let mut worth = Worth { at_least, at_most };
        let (mut is_row_mixed, mut is_column_mixed) = (false, false);
        if at_most - at_least > TINY {
            self.mix(matrix, at_least);
            let mixed = self.worth(matrix);
            is_row_mixed = mixed.at_least > at_least;
            is_column_mixed = mixed.at_most < at_most;
            worth.at_least = worth.at_least.max(mixed.at_least);
            worth.at_most = worth.at_most.min(mixed.at_most);
        }
        if !is_row_mixed {
            self.rows.fill(0.0);
            self.rows[row] = 1.0;
        }
        if !is_column_mixed {
            self.columns.fill(0.0);
            self.columns[column] = 1.0;
        }
        worth
    }

    /// Writes mixed strategies. All numbers are made positive first. Then weights of the columns of
    /// the greatest sum are looked for of which no row gets more than 1: divided by their sum they
    /// are the strategy of the columns, and the prices of the rows are that of the rows.
    fn mix(&mut self, matrix: &Matrix, at_least: f64) {
        let (n_rows, n_columns) = (matrix.n_rows(), matrix.n_columns);
        let width = n_columns + n_rows + 1;
        let least = matrix.cells.iter().copied().fold(at_least, f64::min);
        self.lines.clear();
        self.lines.resize((n_rows + 1) * width, 0.0);
        self.basis.clear();
        self.basis.extend(n_columns..n_columns + n_rows);
        for (index, (line, row)) in self.lines.chunks_mut(width).zip(matrix.rows()).enumerate() {
            for (cell, points) in line.iter_mut().zip(row) {
                *cell = points + 1.0 - least;
            }
            line[n_columns + index] = 1.0;
            line[width - 1] = 1.0;
        }
        self.lines[n_rows * width..][..n_columns].fill(1.0);
        for n_pivots in 0..MAX_PIVOTS * (n_rows + n_columns) {
            let takes_greatest = n_pivots < GREATEST_GAINS * (n_rows + n_columns);
            if !self.pivot(width, takes_greatest) {
                break;
            }
        }
        for (line, &variable) in self.lines.chunks(width).zip(&self.basis) {
            if variable < n_columns {
                self.columns[variable] = line[width - 1];
            }
        }
        let prices = &self.lines[n_rows * width + n_columns..][..n_rows];
        for (share, price) in self.rows.iter_mut().zip(prices) {
            *share = -price;
        }
        normalise(&mut self.rows);
        normalise(&mut self.columns);
    }

    /// Takes a variable into the basis. `false` where none would gain anything.
    fn pivot(&mut self, width: usize, takes_greatest: bool) -> bool {
        let n_rows = self.basis.len();
        let (lines, gains) = self.lines.split_at_mut(n_rows * width);
        let mut enters = None;
        let mut greatest = TINY;
        for (variable, &gain) in gains[..width - 1].iter().enumerate() {
            if gain > greatest {
                enters = Some(variable);
                if !takes_greatest {
                    break;
                }
                greatest = gain;
            }
        }
        let Some(enters) = enters else { return false };
        let mut leaves: Option<(usize, f64)> = None;
        for (index, line) in lines.chunks(width).enumerate() {
            if line[enters] > TINY {
                let ratio = line[width - 1] / line[enters];
                let is_better = leaves.is_none_or(|(best, least)| {
                    ratio < least - TINY
                        || (ratio < least + TINY && self.basis[index] < self.basis[best])
                });
                if is_better {
                    leaves = Some((index, ratio));
                }
            }
        }
        let Some((leaves, _)) = leaves else {
            return false;
        };
        let line = &mut lines[leaves * width..][..width];
        let scale = 1.0 / line[enters];
        line.iter_mut().for_each(|cell| *cell *= scale);
        self.pivot_line.clear();
        self.pivot_line.extend_from_slice(line);
        for (index, line) in self.lines.chunks_mut(width).enumerate() {
            let factor = line[enters];
            if index != leaves && factor != 0.0 {
                for (cell, points) in line.iter_mut().zip(&self.pivot_line) {
                    *cell -= factor * points;
                }
            }
        }
        self.basis[leaves] = enters;
        true
    }

    /// What the strategies guarantee.
    fn worth(&self, matrix: &Matrix) -> Worth {
        let expected = |shares: &[f64], points: &mut dyn Iterator<Item = f64>| -> f64 {
            shares
                .iter()
                .zip(points)
                .map(|(share, it)| share * it)
                .sum()
        };
        let columns =
            (0..matrix.n_columns).map(|column| expected(&self.rows, &mut matrix.column(column)));
        let rows = matrix
            .rows()
            .map(|row| expected(&self.columns, &mut row.iter().copied()));
        Worth {
            at_least: columns.fold(f64::INFINITY, f64::min),
            at_most: rows.fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// Makes numbers a probability distribution.
fn normalise(shares: &mut [f64]) {
    shares.iter_mut().for_each(|share| *share = share.max(0.0));
    let sum: f64 = shares.iter().sum();
    if sum > 0.0 && sum.is_finite() {
        shares.iter_mut().for_each(|share| *share /= sum);
    } else {
        shares.fill(1.0 / shares.len().max(1) as f64);
    }
}
