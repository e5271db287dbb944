//! What is known of a move, from the search to logs and other processes.

use panza_gdl::MoveId;
use serde::{Deserialize, Serialize};

/// The statistics of a move. `M` is its number in the machine, or its text where others read it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct MoveStats<M = MoveId> {
    /// The move.
    #[serde(rename = "text")]
    pub mv: M,
    /// Finished iterations through it. In [`RootEstimates`](crate::RootEstimates) the number of
    /// visits that its value is worth, which may be a fraction.
    pub visits: f64,
    /// Our mean value after it, 0 to 100; `None` before the first result.
    pub value: Option<f32>,
    /// The least and the greatest goal of ours after it with best play by all roles.
    pub bounds: (u8, u8),
    /// Its probability in the mixed strategy where several roles choose at once; they sum to 1.
    #[serde(skip)]
    pub probability: Option<f32>,
    /// Whether the value is only known not to be greater.
    #[serde(skip)]
    pub is_bound: bool,
    /// Whether it is proven that no move is better. Only stated of a move that is to be played.
    #[serde(skip)]
    pub is_proven_best: bool,
}

impl<M> MoveStats<M> {
    /// A move of which nothing is known.
    pub fn new(mv: M) -> Self {
        Self {
            mv,
            visits: 0.0,
            value: None,
            bounds: (0, 100),
            probability: None,
            is_bound: false,
            is_proven_best: false,
        }
    }

    /// The same of the same move under another name.
    pub fn named<N>(&self, mv: N) -> MoveStats<N> {
        MoveStats {
            mv,
            visits: self.visits,
            value: self.value,
            bounds: self.bounds,
            probability: self.probability,
            is_bound: self.is_bound,
            is_proven_best: self.is_proven_best,
        }
    }

    /// Our goal after it with best play by all roles, once proven.
    pub fn proven(&self) -> Option<u8> {
        let (lower, upper) = self.bounds;
        (lower == upper).then_some(lower)
    }

    /// Adds what another search knows of the same move. Visits or values that are not valid numbers
    /// and bounds that contradict the known ones are left out.
    pub fn add<N>(&mut self, other: &MoveStats<N>) {
        let visits = other.visits;
        let is_valid = visits > 0.0 && visits.is_finite();
        if let Some(other) = (other.value).filter(|it| is_valid && (0.0..=100.0).contains(it)) {
            self.visits += visits;
            let value = self.value.get_or_insert(other);
            *value += (other - *value) * (visits / self.visits) as f32;
        }
        let (lower, upper) = other.bounds;
        let bounds = (self.bounds.0.max(lower), self.bounds.1.min(upper));
        if bounds.0 <= bounds.1 {
            self.bounds = bounds;
        }
    }

    /// The value less a standard error, within the bounds. `deviation` is the standard deviation of
    /// results, in points.
    pub fn lower_confidence_bound(&self, deviation: f32) -> f32 {
        let bound = self.value.filter(|_| self.visits > 0.0);
        let error = deviation / self.visits.sqrt() as f32;
        let bound = bound.map_or(f32::NEG_INFINITY, |value| value - error);
        bound.clamp(f32::from(self.bounds.0), f32::from(self.bounds.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_of_two_searches_are_added() {
        let mut estimate = MoveStats::new(MoveId(0));
        let other = |visits, value, bounds| MoveStats {
            visits,
            value,
            bounds,
            ..MoveStats::new("the same move")
        };
        assert_eq!(estimate.lower_confidence_bound(30.0), 0.0);
        estimate.add(&other(100.0, Some(40.0), (0, 100)));
        estimate.add(&other(300.0, Some(60.0), (10, 90)));
        assert_eq!((estimate.visits, estimate.value), (400.0, Some(55.0)));
        assert_eq!(estimate.lower_confidence_bound(40.0), 53.0);
        assert_eq!(estimate.bounds, (10, 90));
        // Neither numbers that are none nor bounds that contradict count.
        for visits in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
            estimate.add(&other(visits, Some(0.0), (95, 100)));
        }
        estimate.add(&other(1.0, Some(f32::NAN), (0, 100)));
        estimate.add(&other(1.0, Some(101.0), (0, 100)));
        assert_eq!((estimate.visits, estimate.value), (400.0, Some(55.0)));
        assert_eq!(estimate.bounds, (10, 90));
        estimate.add(&other(1.0, None, (80, 100)));
        assert_eq!(estimate.lower_confidence_bound(40.0), 80.0);
    }
}
