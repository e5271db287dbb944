//! Histograms of numbers and goals, and their summaries.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Summary of a series of numbers.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spread {
    /// How many numbers there are.
    pub count: u64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
    /// The minimum.
    pub least: u64,
    /// The numbers up to which a quarter, a half and three quarters of them lie.
    #[serde(default)]
    pub quartiles: [u64; 3],
    /// The maximum.
    pub greatest: u64,
}

/// Summary of a role's goals.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GoalSpread {
    /// The mean, undefined goals counted as 0; `None` if there are no goals.
    pub mean: Option<f64>,
    /// Each goal and its count, in rising order.
    pub values: Vec<(u8, u64)>,
    /// The number of undefined goals.
    pub undefined: u64,
}

/// A histogram.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts(BTreeMap<u64, u64>);

impl Counts {
    pub(crate) fn note(&mut self, number: u64) {
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

    /// The only number, if all are the same.
    pub(super) fn only(&self) -> Option<u32> {
        let (&number, _) = self.0.first_key_value()?;
        let number = u32::try_from(number).ok()?;
        (self.0.len() == 1).then_some(number)
    }

    pub(crate) fn spread(&self) -> Option<Spread> {
        let (&least, _) = self.0.first_key_value()?;
        let (&greatest, _) = self.0.last_key_value()?;
        let count = self.count();
        let mean = self.total() / count as f64;
        let squares = self
            .0
            .iter()
            .map(|(&number, &count)| (number as f64 - mean).powi(2) * count as f64);
        Some(Spread {
            count,
            mean,
            deviation: (squares.sum::<f64>() / count as f64).sqrt(),
            least,
            quartiles: [1, 2, 3].map(|quarters| self.at((quarters * count).div_ceil(4))),
            greatest,
        })
    }

    /// The number of this rank, from 1, in rising order; 0 where there are not as many.
    fn at(&self, rank: u64) -> u64 {
        let mut seen = 0;
        let mut numbers = self.0.iter();
        let found = numbers.find(|(_, count)| {
            seen += **count;
            seen >= rank
        });
        found.map_or(0, |(&number, _)| number)
    }

    fn total(&self) -> f64 {
        let products = self
            .0
            .iter()
            .map(|(&number, &count)| number as f64 * count as f64);
        products.sum()
    }
}

/// A histogram of goals, which may be undefined.
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

    pub(super) fn spread(&self) -> GoalSpread {
        let count = self.values.count() + self.undefined;
        let values = self.values.0.iter();
        GoalSpread {
            mean: (count > 0).then(|| self.values.total() / count as f64),
            values: values.map(|(&goal, &count)| (goal as u8, count)).collect(),
            undefined: self.undefined,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_numbers_of_the_series() {
        let quartiles = |numbers: &[u64]| {
            let mut counts = Counts::default();
            numbers.iter().for_each(|&number| counts.note(number));
            counts.spread().unwrap().quartiles
        };
        assert_eq!(quartiles(&[7]), [7, 7, 7]);
        assert_eq!(quartiles(&[5, 9, 6, 100]), [5, 6, 9]);
        assert_eq!(quartiles(&[1, 1, 1, 1, 1, 2, 3, 4, 5]), [1, 1, 3]);
    }
}
