//! The agreement of values with a reference: the order of moves, and the loss on results.

use std::sync::Arc;

use anyhow::{Context, anyhow};
use panza_gdl::{Id, RoleId};
use panza_machine::Machine;
use serde::Serialize;

use super::reference::{Child, Reference, children};

/// How well values agree with a reference. Means over positions.
#[derive(Clone, Copy, Default, Debug, Serialize)]
pub struct Agreement {
    /// What the best move by value loses against the best one of the reference, in points.
    pub regret: f64,
    /// Kendall's tau of the moves: pairs in the same order less those in the other, of the pairs
    /// that differ by at least [`LEAST_DIFFERENCE`].
    pub tau: f64,
    /// The cross-entropy of results.
    pub loss: f64,
    /// The correlation of the position's value with that of its best move in the reference.
    pub correlation: f64,
}

/// Pairs of moves with a smaller difference in the reference are not compared.
const LEAST_DIFFERENCE: f32 = 2.0;

/// A reference with the states of a machine.
pub struct Comparison {
    positions: Vec<Compared>,
    results: Vec<(Vec<u64>, Vec<f32>)>,
}

struct Compared {
    state: Vec<u64>,
    role: usize,
    /// Each child with the role's value and its mean of playouts.
    children: Vec<(Child, f32, f32)>,
}

impl Comparison {
    /// The states of the reference's positions on this machine.
    pub fn new(machine: &Arc<dyn Machine>, reference: &Reference) -> anyhow::Result<Self> {
        let info = machine.info();
        let state_of =
            |facts: &[String]| info.state_from_facts(facts).map_err(|fact| anyhow!(fact));
        let mut reasoner = Arc::clone(machine).reasoner();
        let mut positions = Vec::new();
        for position in &reference.positions {
            let state = state_of(&position.facts)?;
            let role = position.role;
            let mut values = std::collections::HashMap::new();
            for value in &position.moves {
                let mv = info.find_move(RoleId::from_index(role), &value.mv);
                let mv = mv.with_context(|| format!("no move `{}`", value.mv))?;
                values.insert(mv, (value.value, value.playouts));
            }
            let children = children(&mut *reasoner, info.n_roles(), &state, role);
            let children = children.into_iter().map(|child| {
                let value = values.get(&child.mv).context("a move has no value")?;
                Ok((child, value.0, value.1))
            });
            positions.push(Compared {
                state,
                role,
                children: children.collect::<anyhow::Result<_>>()?,
            });
        }
        let results = reference.results.iter().map(|result| {
            let goals = result.goals.iter().map(|&goal| f32::from(goal)).collect();
            Ok((state_of(&result.facts)?, goals))
        });
        Ok(Self {
            results: results.collect::<anyhow::Result<_>>()?,
            positions,
        })
    }

    /// The agreement of a function from states to the values of all roles.
    pub fn of(&self, mut values_of: impl FnMut(&[u64], &mut [f32])) -> Agreement {
        let n_roles = self.results.first().map_or(1, |(_, goals)| goals.len());
        let mut values = vec![0.0; n_roles];
        let mut sums = Agreement::default();
        let (mut own, mut best) = (Vec::new(), Vec::new());
        for position in &self.positions {
            values_of(&position.state, &mut values);
            own.push(f64::from(values[position.role]));
            let children = position.children.iter().map(|(child, value, _)| {
                let found = match &child.goals {
                    Some(goals) => goals[position.role],
                    None => {
                        values_of(&child.state, &mut values);
                        values[position.role]
                    }
                };
                (found, *value)
            });
            let pairs: Vec<(f32, f32)> = children.collect();
            best.push(f64::from(most(&pairs)));
            sums.regret += regret(&pairs);
            sums.tau += tau(&pairs);
        }
        let n = self.positions.len().max(1) as f64;
        let mut loss = 0.0;
        for (state, goals) in &self.results {
            values_of(state, &mut values);
            for (value, goal) in values.iter().zip(goals) {
                let (value, goal) = (f64::from(*value) / 100.0, f64::from(*goal) / 100.0);
                let value = value.clamp(1e-3, 1.0 - 1e-3);
                loss -= goal * value.ln() + (1.0 - goal) * (1.0 - value).ln();
            }
        }
        Agreement {
            regret: sums.regret / n,
            tau: sums.tau / n,
            loss: loss / (self.results.len().max(1) * n_roles) as f64,
            correlation: correlation(&own, &best),
        }
    }

    /// The agreement of playouts, without a loss.
    pub fn of_playouts(&self) -> Agreement {
        let n = self.positions.len().max(1) as f64;
        let mut sums = Agreement::default();
        for position in &self.positions {
            let pairs = position.children.iter().map(|(child, value, playouts)| {
                let goals = child.goals.as_ref();
                (
                    goals.map_or(*playouts, |goals| goals[position.role]),
                    *value,
                )
            });
            let pairs: Vec<(f32, f32)> = pairs.collect();
            sums.regret += regret(&pairs) / n;
            sums.tau += tau(&pairs) / n;
        }
        sums
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
