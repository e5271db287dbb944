//! Matrix games against an independent solver and against trying all supports.

use proptest::prelude::*;

use crate::matrix::{Matrix, MatrixSolver, Worth};
use panza_testing::matrix_game::{solve, worth_of_columns, worth_of_rows};

/// Differences below this are rounding.
const TINY: f64 = 1e-6;

fn matrix(rows: &[Vec<f64>]) -> Matrix {
    let mut matrix = Matrix::default();
    matrix.reset(rows.len(), rows[0].len());
    for (row, cells) in rows.iter().enumerate() {
        for (column, &points) in cells.iter().enumerate() {
            matrix.set(row, column, points);
        }
    }
    matrix
}

/// The value of a game of two rows: the best mixture is at the crossing of two columns, or pure.
fn value_of_two_rows(rows: &[Vec<f64>]) -> f64 {
    let [first, second] = rows else {
        panic!("two rows")
    };
    let n_columns = first.len();
    let least = |share: f64| {
        let columns = first.iter().zip(second);
        let points = columns.map(|(a, b)| share * a + (1.0 - share) * b);
        points.fold(f64::INFINITY, f64::min)
    };
    let mut best = least(0.0).max(least(1.0));
    for a in 0..n_columns {
        for b in 0..n_columns {
            let (slope_a, slope_b) = (first[a] - second[a], first[b] - second[b]);
            let share = (second[b] - second[a]) / (slope_a - slope_b);
            if (0.0..=1.0).contains(&share) {
                best = best.max(least(share));
            }
        }
    }
    best
}

fn cells(rows: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Vec<f64>>> {
    let goals = prop_oneof![Just(0u8), Just(50), Just(100), 0u8..=100];
    (rows, 1usize..7).prop_flat_map(move |(rows, columns)| {
        let row = prop::collection::vec(goals.clone().prop_map(f64::from), columns);
        prop::collection::vec(row, rows)
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn values_are_those_of_the_other_solver(rows in cells(1..8)) {
        let mut solver = MatrixSolver::default();
        let worth = solver.solve(&matrix(&rows));
        let expected = solve(&rows).value;
        prop_assert!((worth.at_least - expected).abs() < TINY, "{worth:?} for {expected}");
        prop_assert!((worth.at_most - expected).abs() < TINY, "{worth:?} for {expected}");
        // The strategies guarantee what is said.
        prop_assert!(worth_of_rows(&rows, &solver.rows) >= worth.at_least - TINY);
        prop_assert!(worth_of_columns(&rows, &solver.columns) <= worth.at_most + TINY);
        for shares in [&solver.rows, &solver.columns] {
            prop_assert!(shares.iter().all(|&share| share >= 0.0));
            prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < TINY);
        }
    }

    #[test]
    fn two_rows_are_solved_as_by_trying_all_crossings(rows in cells(2..3)) {
        let worth = MatrixSolver::default().solve(&matrix(&rows));
        let expected = value_of_two_rows(&rows);
        prop_assert!((worth.at_least - expected).abs() < TINY, "{worth:?} for {expected}");
    }
}

#[test]
fn a_large_matrix_is_solved() {
    // Each number beats the one below, and everything loses to 1 except by chance.
    let rows: Vec<Vec<f64>> = (0..16u32)
        .map(|row| {
            let cell = |column: u32| match (row + 16 - column) % 16 {
                0 => 50.0,
                1..=7 => 100.0,
                8 => 50.0,
                _ => 0.0,
            };
            (0..16).map(cell).collect()
        })
        .collect();
    let worth = MatrixSolver::default().solve(&matrix(&rows));
    assert!((worth.at_least - 50.0).abs() < TINY && (worth.at_most - 50.0).abs() < TINY);
    assert_eq!(worth.lower(), 50);
}

#[test]
fn a_lower_bound_is_rounded_down_but_for_rounding_errors() {
    let lower = |at_least: f64| {
        let worth = Worth {
            at_least,
            at_most: 100.0,
        };
        worth.lower()
    };
    assert_eq!(lower(33.4), 33);
    assert_eq!(lower(49.999_999_9), 50);
    assert_eq!(lower(49.9), 49);
    assert_eq!(lower(-1.0), 0);
}
