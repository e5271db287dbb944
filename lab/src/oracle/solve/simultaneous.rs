//! Exact values of games in which both roles may choose at once, or chance takes part, by backward
//! induction.
//!
//! The value of a state is that of the matrix game of its joint moves, whose entries are the values
//! of the states after them (Shapley 1953), or their mean where the role `random` chooses among
//! several. Each matrix game is solved by the simplex method. A single role with an aim has a
//! matrix of one column.
//!
//! Invariant: each solution is certified: its two strategies guarantee the same value.

use std::sync::Arc;

use anyhow::ensure;
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::Machine;
use rustc_hash::FxHashMap;

use super::{Players, Solver, ValueTable};
use crate::oracle::states::{States, in_order};
use panza_testing::matrix_game;

/// What the two strategies of a solution may differ in.
const TOLERANCE: f64 = 1e-6;
/// States kept from one position to the next.
const MAX_KEPT: usize = 3_000_000;

/// Solves states of a machine.
pub struct Simultaneous {
    game: States,
    players: Players,
    /// The first role's value in each state solved.
    values: FxHashMap<Vec<u64>, f64>,
    states: u64,
    max_states: u64,
}

impl Simultaneous {
    /// A solver that visits at most `states` states for each position to be solved.
    pub fn new(machine: &Arc<dyn Machine>, states: u64) -> anyhow::Result<Self> {
        Ok(Self {
            game: States::new(machine),
            players: Players::of(machine.info())?,
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
            f64::from(self.players.first_goal(self.game.reasoner.as_mut())?)
        } else {
            let Some(matrix) = self.matrix(state)? else {
                return Ok(None);
            };
            certified_value(&matrix)?
        };
        self.values.insert(state.to_vec(), value);
        Ok(Some(value))
    }

    /// The legal moves of all roles, in the order of their texts.
    fn legal(&mut self, state: &[u64]) -> Vec<Vec<MoveId>> {
        self.game.reasoner.set_state(state);
        (0..self.players.n_roles)
            .map(|role| {
                let legal = self.game.reasoner.legal_moves(RoleId::from_index(role));
                in_order(&self.game.machine, legal)
            })
            .collect()
    }

    /// The first player's values of its moves, the rows, against each move of the second.
    fn matrix(&mut self, state: &[u64]) -> anyhow::Result<Option<Vec<Vec<f64>>>> {
        let legal = self.legal(state);
        ensure!(
            legal.iter().all(|moves| !moves.is_empty()),
            "a role has no legal move"
        );
        let [first, second, chance] = self.players.places();
        let count = |role: Option<usize>| role.map_or(1, |role| legal[role].len());
        let mut joint_move: Vec<MoveId> = legal.iter().map(|moves| moves[0]).collect();
        let mut matrix = Vec::with_capacity(count(first));
        for row in 0..count(first) {
            let mut values = Vec::with_capacity(count(second));
            for column in 0..count(second) {
                let mut sum = 0.0;
                for outcome in 0..count(chance) {
                    let chosen = [(first, row), (second, column), (chance, outcome)];
                    for (role, index) in chosen {
                        if let Some(role) = role {
                            joint_move[role] = legal[role][index];
                        }
                    }
                    let next = self.game.after(state, &joint_move);
                    let Some(value) = self.value(&next)? else {
                        return Ok(None);
                    };
                    sum += value;
                }
                values.push(sum / count(chance) as f64);
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
        let moves = self.legal(state).swap_remove(role.index());
        let Some(matrix) = self.matrix(state)? else {
            return Ok(None);
        };
        let [first, second, _] = self.players.places();
        let own = if first == Some(role.index()) {
            moves.into_iter().zip(matrix).collect()
        } else {
            ensure!(second == Some(role.index()), "chance has no aim");
            let column = |index: usize| matrix.iter().map(|row| 100.0 - row[index]).collect();
            let columns = moves.into_iter().enumerate();
            columns.map(|(index, mv)| (mv, column(index))).collect()
        };
        Ok(Some(ValueTable::new(self.game.machine.info(), own)))
    }
}
