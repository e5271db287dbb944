//! The agreement of values with a reference: values of positions, and the order of their moves.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use panza_gdl::{Id, RoleId};
use panza_machine::Machine;
use serde::Serialize;

use super::reference::{Child, Reference, children};

/// How well values agree with a reference. Means over positions of, in this order:
///
/// 1. the cross-entropy of the position's value with that of its best move in the reference;
/// 2. Kendall's tau of the moves: pairs in the same order less those in the other, of the pairs
///    that differ by at least [`LEAST_DIFFERENCE`];
/// 3. what the best move by value loses against the best one of the reference, in points;
/// 4. the correlation of those values of positions.
#[derive(Clone, Copy, Default, Debug, Serialize)]
pub struct Agreement(pub [f64; 4]);

/// Pairs of moves with a smaller difference in the reference are not compared.
const LEAST_DIFFERENCE: f32 = 2.0;

impl Agreement {
    /// The means of some, and their standard errors.
    pub fn mean_and_error(found: &[Self]) -> (Self, Self) {
        let n = found.len().max(1) as f64;
        let mean = |at: usize| found.iter().map(|it| it.0[at]).sum::<f64>() / n;
        let means = [0, 1, 2, 3].map(mean);
        let error = |at: usize| {
            let squares = found.iter().map(|it| (it.0[at] - means[at]).powi(2));
            (squares.sum::<f64>() / (n - 1.0).max(1.0) / n).sqrt()
        };
        (Self(means), Self([0, 1, 2, 3].map(error)))
    }
}

/// A reference with the states of a machine.
pub struct Comparison {
    n_roles: usize,
    positions: Vec<Compared>,
}

struct Compared {
    state: Vec<u64>,
    role: usize,
    /// Each child with the role's value.
    children: Vec<(Child, f32)>,
}

impl Comparison {
    /// The states of the reference's positions on this machine.
    pub fn new(machine: &Arc<dyn Machine>, reference: &Reference) -> anyhow::Result<Self> {
        let info = machine.info();
        let mut reasoner = Arc::clone(machine).reasoner();
        let mut positions = Vec::new();
        for position in &reference.positions {
            let state = info.state_from_facts(&position.facts);
            let state = state.map_err(|fact| anyhow!(fact))?;
            let role = position.role;
            let mut values = HashMap::new();
            for value in &position.moves {
                let mv = info.find_move(RoleId::from_index(role), &value.mv);
                values.insert(
                    mv.with_context(|| format!("no move `{}`", value.mv))?,
                    value,
                );
            }
            let children = children(&mut *reasoner, info.n_roles(), &state, role);
            let children = children.into_iter().map(|child| {
                let value = values.get(&child.mv).context("a move has no value")?.value;
                Ok((child, value))
            });
            positions.push(Compared {
                children: children.collect::<anyhow::Result<_>>()?,
                state,
                role,
            });
        }
        Ok(Self {
            n_roles: info.n_roles(),
            positions,
        })
    }

    /// The agreement of a function from states to the values of all roles.
    pub fn of(&self, mut values_of: impl FnMut(&[u64], &mut [f32])) -> Agreement {
        let mut values = vec![0.0; self.n_roles];
        let (mut loss, mut tau_sum, mut lost) = (0.0, 0.0, 0.0);
        let (mut own, mut best) = (Vec::new(), Vec::new());
        for position in &self.positions {
            values_of(&position.state, &mut values);
            let value = f64::from(values[position.role]);
            let children = position.children.iter().map(|(child, wanted)| {
                let found = match &child.goals {
                    Some(goals) => goals[position.role],
                    None => {
                        values_of(&child.state, &mut values);
                        values[position.role]
                    }
                };
                (found, *wanted)
            });
            let pairs: Vec<(f32, f32)> = children.collect();
            let wanted = f64::from(most(&pairs));
            let share = (value / 100.0).clamp(1e-3, 1.0 - 1e-3);
            loss -= wanted / 100.0 * share.ln() + (1.0 - wanted / 100.0) * (1.0 - share).ln();
            lost += regret(&pairs);
            tau_sum += tau(&pairs);
            own.push(value);
            best.push(wanted);
        }
        let n = self.positions.len().max(1) as f64;
        Agreement([loss / n, tau_sum / n, lost / n, correlation(&own, &best)])
    }
}

fn most(pairs: &[(f32, f32)]) -> f32 {
    pairs.iter().map(|&(_, value)| value).fold(0.0, f32::max)
}

fn regret(pairs: &[(f32, f32)]) -> f64 {
    let chosen = pairs
        .iter()
        .max_by(|left, right| left.0.total_cmp(&right.0));
    chosen.map_or(0.0, |&(_, value)| f64::from(most(pairs) - value))
}

fn tau(pairs: &[(f32, f32)]) -> f64 {
    let (mut sum, mut n) = (0.0, 0.0f64);
    for (index, left) in pairs.iter().enumerate() {
        for right in &pairs[..index] {
            if (left.1 - right.1).abs() >= LEAST_DIFFERENCE {
                n += 1.0;
                if left.0 != right.0 {
                    sum += f64::from(((left.1 - right.1) * (left.0 - right.0)).signum());
                }
            }
        }
    }
    sum / n.max(1.0)
}

fn correlation(left: &[f64], right: &[f64]) -> f64 {
    let n = left.len().max(1) as f64;
    let mean = |series: &[f64]| series.iter().sum::<f64>() / n;
    let (mean_left, mean_right) = (mean(left), mean(right));
    let (mut both, mut of_left, mut of_right) = (0.0, 0.0, 0.0);
    for (left, right) in left.iter().zip(right) {
        both += (left - mean_left) * (right - mean_right);
        of_left += (left - mean_left).powi(2);
        of_right += (right - mean_right).powi(2);
    }
    both / (of_left * of_right).sqrt().max(1e-9)
}
