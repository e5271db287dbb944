//! The spread of results: the unit of exploration terms.
//!
//! Means of many playouts and static values differ less from move to move than single playouts do.
//! An exploration term in units of the spread suits all of them.
//!
//! Invariant: the spread lies between [`MIN_DEVIATION`] and [`MAX_DEVIATION`] points.

/// The standard deviation of a coin toss between 0 and 100.
pub(super) const MAX_DEVIATION: f32 = 50.0;
const MIN_DEVIATION: f32 = 1.0;
/// Results that the initial value counts for.
const INITIAL_WEIGHT: u32 = 32;
/// Later results have a constant weight, so that old ones fade.
const MAX_WEIGHT: u32 = 4096;

/// A running standard deviation of results from the mean of the root.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    variance: f32,
    count: u32,
}

impl Spread {
    /// A spread before any result: half of the greatest.
    pub(super) fn new() -> Self {
        Self {
            variance: MAX_DEVIATION * MAX_DEVIATION / 4.0,
            count: INITIAL_WEIGHT,
        }
    }

    /// Adds the difference of a result from the mean, in points.
    #[inline]
    pub(super) fn add(&mut self, difference: f32) {
        self.count = (self.count + 1).min(MAX_WEIGHT);
        self.variance += (difference * difference - self.variance) / self.count as f32;
    }

    /// The standard deviation, in points.
    #[inline]
    pub(super) fn deviation(self) -> f32 {
        self.variance.sqrt().clamp(MIN_DEVIATION, MAX_DEVIATION)
    }
}
