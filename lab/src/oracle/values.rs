//! Exact values of every legal move of a role.
//!
//! A value is the role's goal with best play of both roles from there on; where both roles choose
//! at once, or chance takes part, it is the expected goal of best mixed strategies.

use anyhow::{bail, ensure};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::GameInfo;
use panza_testing::matrix_game;

/// The values of a role's moves against the replies of the other role.
///
/// Invariants: rows are in the order of their moves' texts and of one length, at least 1. There is
/// one column where the role chooses alone, else one for each legal move of the other role in the
/// order of the texts.
#[derive(Clone, PartialEq, Debug)]
pub struct ValueTable {
    moves: Vec<MoveId>,
    rows: Vec<Vec<f64>>,
}

impl ValueTable {
    /// The table of these moves and their values; rows must have one length.
    pub fn new(info: &dyn GameInfo, mut rows: Vec<(MoveId, Vec<f64>)>) -> Self {
        rows.sort_by_cached_key(|&(mv, _)| info.move_text(mv));
        let (moves, rows) = rows.into_iter().unzip();
        Self { moves, rows }
    }

    /// The moves.
    pub fn moves(&self) -> &[MoveId] {
        &self.moves
    }

    /// The values of each move.
    pub fn rows(&self) -> &[Vec<f64>] {
        &self.rows
    }

    /// Whether the role chooses alone.
    pub fn is_alone(&self) -> bool {
        self.rows.iter().all(|row| row.len() == 1)
    }

    /// The value of the position.
    pub fn value(&self) -> f64 {
        match self.is_alone() {
            true => self.rows.iter().map(|row| row[0]).fold(0.0, f64::max),
            false => matrix_game::solve(&self.rows).value,
        }
    }

    /// The value lost by a strategy, a probability for each move, against the best reply: its
    /// exploitability.
    pub fn lost(&self, strategy: &[f64]) -> f64 {
        (self.value() - matrix_game::worth_of_rows(&self.rows, strategy)).max(0.0)
    }

    /// The value lost by choosing this move.
    pub fn lost_by(&self, mv: MoveId) -> f64 {
        let is = |&other: &MoveId| f64::from(u8::from(other == mv));
        self.lost(&self.moves.iter().map(is).collect::<Vec<_>>())
    }

    /// The value lost by choosing all moves alike.
    pub fn lost_by_chance(&self) -> f64 {
        let share = 1.0 / self.moves.len() as f64;
        self.lost(&vec![share; self.moves.len()])
    }
}

/// The number of values of each of the role's moves: one for each legal move of the other role that
/// has an aim. Fails unless there are one or two of them beside chance.
pub(super) fn n_columns(
    info: &dyn GameInfo,
    legal: &[Vec<MoveId>],
    role: RoleId,
) -> anyhow::Result<usize> {
    let chance = info.chance_role();
    let with_aim = (0..info.n_roles()).filter(|&it| chance != Some(RoleId::from_index(it)));
    let others: Vec<usize> = with_aim.filter(|&it| it != role.index()).collect();
    match others[..] {
        [other] => Ok(legal[other].len()),
        [] => {
            ensure!(chance.is_some(), "a game of one role has no exact values");
            Ok(1)
        }
        _ => bail!("only games of one or two roles beside chance have exact values"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[&[f64]]) -> ValueTable {
        let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.to_vec()).collect();
        ValueTable {
            moves: (0..rows.len()).map(MoveId::from_index).collect(),
            rows,
        }
    }

    #[test]
    fn a_move_loses_what_it_is_worth_less_than_the_best() {
        let table = table(&[&[50.0], &[100.0], &[0.0]]);
        assert!(table.is_alone());
        assert_eq!(table.value(), 100.0);
        assert_eq!(table.lost(&[1.0, 0.0, 0.0]), 50.0);
        assert_eq!(table.lost(&[0.0, 1.0, 0.0]), 0.0);
        assert!((table.lost_by_chance() - 50.0).abs() < 1e-9);
    }

    #[test]
    fn a_strategy_loses_what_the_best_reply_takes() {
        let table = table(&[&[100.0, 0.0], &[0.0, 100.0]]);
        assert!((table.value() - 50.0).abs() < 1e-9);
        assert!((table.lost(&[1.0, 0.0]) - 50.0).abs() < 1e-9);
        assert!(table.lost_by_chance() < 1e-9);
    }
}
