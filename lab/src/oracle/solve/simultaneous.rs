//! Exact values of two-role games in which both roles may choose at once, by backward induction.
//!
//! The value of a state is that of the matrix game of its joint moves, whose entries are the values
//! of the states after them (Shapley 1953). Each matrix game is solved by the simplex method.
//!
//! Invariant: each solution is certified: its two strategies guarantee the same value.

use std::sync::Arc;

use anyhow::{bail, ensure};
use panza_machine::machine::Machine;
use panza_rules::ids::{Id, MoveId, RoleId};
use rustc_hash::FxHashMap;

use super::{Solver, ValueTable, first_goal, matrix_game};
use crate::oracle::states::{States, in_order};

/// What the two strategies of a solution may differ in.
const TOLERANCE: f64 = 1e-6;
/// States kept from one position to the next.
const MAX_KEPT: usize = 3_000_000;

/// Solves states of a machine.
pub struct Simultaneous {
    game: States,
    /// The first role's value in each state solved.
    values: FxHashMap<Vec<u64>, f64>,
    states: u64,
    max_states: u64,
}

impl Simultaneous {
    /// A solver that visits at most `states` states for each position to be solved.
    pub fn new(machine: &Arc<dyn Machine>, states: u64) -> anyhow::Result<Self> {
        if machine.info().n_roles() != 2 {
            bail!("only games of two roles can be solved");
        }
        Ok(Self {
            game: States::new(machine),
            values: FxHashMap::default(),
            states: 0,
            max_states: states,
        })
    }

    /// The first role's value, `None` beyond the budget.
    fn value(&mut self, state: &[u64]) -> anyhow::Result<Option<f64>> {
        if let Some(&value) = self.values.get(state) {
            return Ok(Some(value));
        }
        self.states += 1;
        if self.states > self.max_states {
            return Ok(None);
        }
        let value = if self.game.is_over(state) {
            f64::from(first_goal(self.game.reasoner.as_mut())?)
        } else {
            let [rows, columns] = self.legal(state);
            let Some(matrix) = self.matrix(state, &rows, &columns)? else {
                return Ok(None);
            };
            certified_value(&matrix)?
        };
        self.values.insert(state.to_vec(), value);
        Ok(Some(value))
    }

    /// Both roles' legal moves, in the order of their texts.
    fn legal(&mut self, state: &[u64]) -> [Vec<MoveId>; 2] {
        self.game.reasoner.set_state(state);
        [0, 1].map(|role| {
            let legal = self.game.reasoner.legal_moves(RoleId::from_index(role));
            in_order(&self.game.machine, legal)
        })
    }

    /// The first role's values of its moves, the rows, against each move of the other role.
    fn matrix(
        &mut self,
        state: &[u64],
        rows: &[MoveId],
        columns: &[MoveId],
    ) -> anyhow::Result<Option<Vec<Vec<f64>>>> {
        ensure!(
            !rows.is_empty() && !columns.is_empty(),
            "a role has no legal move"
        );
        let mut matrix = Vec::with_capacity(rows.len());
        for &row in rows {
            let mut values = Vec::with_capacity(columns.len());
            for &column in columns {
                let next = self.game.after(state, &[row, column]);
                let Some(value) = self.value(&next)? else {
                    return Ok(None);
                };
                values.push(value);
            }
            matrix.push(values);
        }
        Ok(Some(matrix))
    }
}

/// The value of a matrix game. Fails unless both strategies of the solution guarantee it.
fn certified_value(matrix: &[Vec<f64>]) -> anyhow::Result<f64> {
    let solution = matrix_game::solve(matrix);
    let at_least = matrix_game::worth_of_rows(matrix, &solution.rows);
    let at_most = matrix_game::worth_of_columns(matrix, &solution.columns);
    ensure!(
        at_most - at_least < TOLERANCE,
        "a matrix game was solved with a gap from {at_least} to {at_most}"
    );
    Ok(solution.value)
}

impl Solver for Simultaneous {
    fn solve(&mut self, state: &[u64], role: RoleId) -> anyhow::Result<Option<ValueTable>> {
        self.states = 0;
        if self.values.len() > MAX_KEPT {
            self.values.clear();
        }
        let [rows, columns] = self.legal(state);
        let Some(matrix) = self.matrix(state, &rows, &columns)? else {
            return Ok(None);
        };
        let own = match role.index() {
            0 => rows.into_iter().zip(matrix).collect(),
            _ => {
                let column = |index: usize| matrix.iter().map(|row| 100.0 - row[index]).collect();
                let columns = columns.into_iter().enumerate();
                columns.map(|(index, mv)| (mv, column(index))).collect()
            }
        };
        Ok(Some(ValueTable::new(self.game.machine.info(), own)))
    }
}
