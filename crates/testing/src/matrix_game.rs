//! Exact solutions of matrix games: two roles, one joint move, what one wins the other loses.

/// What best play comes to.
pub struct Solution {
    /// What the role that chooses a row gets.
    pub value: f64,
    /// How often it plays each row.
    pub rows: Vec<f64>,
    /// How often the other role plays each column.
    pub columns: Vec<f64>,
}

/// Solves a game, given what the first role gets, by the simplex method (Dantzig 1951) with Bland's
/// rule (1977).
///
/// All numbers are made positive first. Then weights `y` of the columns of the greatest sum are
/// looked for of which no row gets more than 1: divided by their sum they are what the other role
/// plays, and the prices of the rows are what the first plays.
pub fn solve(matrix: &[Vec<f64>]) -> Solution {
    const TINY: f64 = 1e-9;
    let (n_rows, n_columns) = (matrix.len(), matrix[0].len());
    let least = matrix
        .iter()
        .flatten()
        .copied()
        .fold(f64::INFINITY, f64::min);
    let shift = 1.0 - least;
    // Each line: the columns, a slack for each row, the bound. The last line is what a unit more
    // would gain.
    let width = n_columns + n_rows + 1;
    let mut lines: Vec<Vec<f64>> = matrix
        .iter()
        .enumerate()
        .map(|(row, numbers)| {
            let mut line = vec![0.0; width];
            for (cell, number) in line.iter_mut().zip(numbers) {
                *cell = number + shift;
            }
            line[n_columns + row] = 1.0;
            line[width - 1] = 1.0;
            line
        })
        .collect();
    let mut gains = vec![0.0; width];
    gains[..n_columns].fill(1.0);
    let mut basis: Vec<usize> = (n_columns..n_columns + n_rows).collect();
    while let Some(enters) = gains[..width - 1].iter().position(|&gain| gain > TINY) {
        let mut leaves: Option<(usize, f64)> = None;
        for (index, line) in lines.iter().enumerate() {
            if line[enters] > TINY {
                let ratio = line[width - 1] / line[enters];
                let is_better = leaves.is_none_or(|(best, least)| {
                    ratio < least - TINY || (ratio < least + TINY && basis[index] < basis[best])
                });
                if is_better {
                    leaves = Some((index, ratio));
                }
            }
        }
        let (leaves, _) = leaves.expect("all numbers are positive, so the sum is bounded");
        let pivot = lines[leaves][enters];
        for cell in &mut lines[leaves] {
            *cell /= pivot;
        }
        let line = lines[leaves].clone();
        let subtract = |from: &mut [f64]| {
            let factor = from[enters];
            for (cell, number) in from.iter_mut().zip(&line) {
                *cell -= factor * number;
            }
        };
        for (index, other) in lines.iter_mut().enumerate() {
            if index != leaves {
                subtract(other);
            }
        }
        subtract(&mut gains);
        basis[leaves] = enters;
    }
    let sum = -gains[width - 1];
    let mut columns = vec![0.0; n_columns];
    for (line, &variable) in lines.iter().zip(&basis) {
        if variable < n_columns {
            columns[variable] = line[width - 1] / sum;
        }
    }
    let rows = gains[n_columns..width - 1]
        .iter()
        .map(|price| (-price / sum).max(0.0))
        .collect();
    Solution {
        value: 1.0 / sum - shift,
        rows,
        columns,
    }
}

/// What the first role gets that plays its rows so often, against the best reply.
pub fn worth_of_rows(matrix: &[Vec<f64>], shares: &[f64]) -> f64 {
    let against = |column: usize| -> f64 {
        let row = matrix.iter().zip(shares);
        row.map(|(numbers, share)| numbers[column] * share).sum()
    };
    (0..matrix[0].len())
        .map(against)
        .fold(f64::INFINITY, f64::min)
}

/// What the first role gets with its best reply, where the other plays its columns so often.
pub fn worth_of_columns(matrix: &[Vec<f64>], shares: &[f64]) -> f64 {
    let of_row = |numbers: &Vec<f64>| -> f64 {
        let column = numbers.iter().zip(shares);
        column.map(|(number, share)| number * share).sum()
    };
    matrix.iter().map(of_row).fold(f64::NEG_INFINITY, f64::max)
}
