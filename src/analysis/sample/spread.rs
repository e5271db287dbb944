//! Counts of numbers, and what they come to: mean, deviation, least and greatest.
//!
//! Never knows: what is counted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How numbers are spread.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spread {
    /// How many numbers there were.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// The least of them.
    pub least: u64,
    /// The greatest of them.
    pub greatest: u64,
}

/// How a role's goals are spread.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GoalSpread {
    /// Their mean, an undefined one counted as 0; nothing where none was seen.
    pub mean: Option<f64>,
    /// Their standard deviation.
    pub deviation: Option<f64>,
    /// Each goal and how often it was seen, from the lowest.
    pub values: Vec<(u8, u64)>,
    /// How often no goal was defined.
    pub undefined: u64,
}

/// How often each number was seen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts(BTreeMap<u64, u64>);

impl Counts {
    pub(super) fn note(&mut self, number: u64) {
        *self.0.entry(number).or_default() += 1;
    }

    pub(super) fn add(&mut self, other: &Counts) {
        for (&number, &count) in &other.0 {
            *self.0.entry(number).or_default() += count;
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// The one number that was seen, if it was always the same.
    pub(super) fn only(&self) -> Option<u32> {
        let (&number, _) = self.0.first_key_value()?;
        let number = u32::try_from(number).ok()?;
        (self.0.len() == 1).then_some(number)
    }

    pub(super) fn spread(&self) -> Option<Spread> {
        let (&least, _) = self.0.first_key_value()?;
        let (&greatest, _) = self.0.last_key_value()?;
        let count = self.count();
        let (mean, deviation) = moments(self.0.iter().map(|(&n, &count)| (n as f64, count)));
        Some(Spread {
            count,
            mean,
            deviation,
            least,
            greatest,
        })
    }
}

/// How often each goal was seen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct GoalCounts {
    values: Counts,
    undefined: u64,
}

impl GoalCounts {
    pub(super) fn note(&mut self, goal: Option<u8>) {
        match goal {
            Some(goal) => self.values.note(u64::from(goal)),
            None => self.undefined += 1,
        }
    }

    pub(super) fn add(&mut self, other: &GoalCounts) {
        self.values.add(&other.values);
        self.undefined += other.undefined;
    }

    pub(super) fn spread(&self) -> GoalSpread {
        let is_any = self.undefined + self.values.count() > 0;
        let pairs = self.values.0.iter();
        let pairs = pairs.map(|(&goal, &count)| (goal as f64, count));
        let (mean, deviation) = moments(pairs.chain([(0.0, self.undefined)]));
        GoalSpread {
            mean: is_any.then_some(mean),
            deviation: is_any.then_some(deviation),
            values: self
                .values
                .0
                .iter()
                .map(|(&goal, &n)| (goal as u8, n))
                .collect(),
            undefined: self.undefined,
        }
    }
}

/// Mean and standard deviation of numbers, each with how often it was seen; 0 and 0 of none.
fn moments(numbers: impl Iterator<Item = (f64, u64)> + Clone) -> (f64, f64) {
    let count: u64 = numbers.clone().map(|(_, count)| count).sum();
    let n = count.max(1) as f64;
    let mean = numbers
        .clone()
        .map(|(x, count)| x * count as f64)
        .sum::<f64>()
        / n;
    let squares = numbers.map(|(x, count)| (x - mean).powi(2) * count as f64);
    let variance = squares.sum::<f64>() / n;
    (mean, variance.sqrt())
}
