//! What a piece of work may cost, and whether it is still wanted.
//!
//! Long work takes a [`Budget`] from its caller: a deadline, a limit in bytes, and a stop flag,
//! which another thread sets when the result is no longer needed. Every loop whose length depends
//! on the rules checks the budget once in a few thousand steps and ends early when it is over. The
//! documentation of the work says whether its unfinished result is dropped or kept.
//!
//! Invariants: a budget that is stopped stays stopped; one that is over stays over.
//!
//! Never uses: what the work is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a piece of work may cost.
#[derive(Clone, Copy, Debug)]
pub struct Budget<'a> {
    /// The work ends at this time.
    pub until: Option<Instant>,
    /// The work is given up when its tables hold more than this many bytes.
    pub max_bytes: usize,
    /// Set by another thread once the result is no longer needed.
    pub stop: Option<&'a AtomicBool>,
}

impl Budget<'_> {
    /// No time limit, and 4 GiB.
    pub fn generous() -> Self {
        Self {
            until: None,
            max_bytes: 4 << 30,
            stop: None,
        }
    }

    /// The same with a deadline, unless its own is earlier.
    pub fn until(self, until: Option<Instant>) -> Self {
        let earlier = match (self.until, until) {
            (Some(own), Some(other)) => Some(own.min(other)),
            (own, other) => own.or(other),
        };
        Self {
            until: earlier,
            ..self
        }
    }

    /// Whether the result is no longer needed.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Whether the time is up or the result is no longer needed. Reads the clock.
    pub fn is_over(&self) -> bool {
        self.is_stopped() || self.until.is_some_and(is_past)
    }
}

/// Whether this time has come. Reads the clock.
pub fn is_past(time: Instant) -> bool {
    Instant::now() >= time
}

/// The time that is so far from now. Reads the clock.
pub fn after(time: Duration) -> Instant {
    Instant::now() + time
}

/// How long it is until this time; nothing once it is past. Reads the clock.
pub fn left_until(time: Instant) -> Duration {
    time.saturating_duration_since(Instant::now())
}

/// Steps between two readings of the clock.
const CHECK_EVERY: usize = 1 << 14;

/// Asks a budget once in some thousand steps, so that a loop may ask in each. A step takes some
/// nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Meter<'a> {
    budget: Budget<'a>,
    /// Steps since the budget was asked.
    n_unchecked: usize,
    is_over: bool,
}

impl<'a> Meter<'a> {
    /// A meter that asks at its first step.
    pub fn new(budget: Budget<'a>) -> Self {
        Self {
            budget,
            n_unchecked: CHECK_EVERY,
            is_over: false,
        }
    }

    /// Counts some steps; whether the work has to end.
    #[inline]
    pub fn is_over_after(&mut self, steps: usize) -> bool {
        self.n_unchecked = self.n_unchecked.saturating_add(steps);
        if self.n_unchecked >= CHECK_EVERY {
            self.n_unchecked = 0;
            self.is_over |= self.budget.is_over();
        }
        self.is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_ends_by_its_deadline_or_by_its_flag() {
        let now = Instant::now();
        let late = now + Duration::from_secs(3600);
        assert!(!Budget::generous().is_over());
        assert!(Budget::generous().until(Some(now)).is_over());
        let stop = AtomicBool::new(false);
        let budget = Budget {
            stop: Some(&stop),
            ..Budget::generous().until(Some(late))
        };
        assert!(!budget.is_over());
        stop.store(true, Ordering::Relaxed);
        assert!(budget.is_stopped() && budget.is_over());
    }

    #[test]
    fn a_meter_asks_at_its_first_step_and_then_now_and_again() {
        let stop = AtomicBool::new(false);
        let budget = Budget {
            stop: Some(&stop),
            ..Budget::generous()
        };
        let mut meter = Meter::new(budget);
        assert!(!meter.is_over_after(1));
        stop.store(true, Ordering::Relaxed);
        assert!(!meter.is_over_after(CHECK_EVERY - 1));
        assert!(meter.is_over_after(1));
        assert!(Meter::new(budget).is_over_after(0));
    }

    #[test]
    fn the_earlier_deadline_counts() {
        let now = Instant::now();
        let late = now + Duration::from_secs(1);
        let of = |first, second| Budget::generous().until(first).until(second).until;
        assert_eq!(of(None, None), None);
        assert_eq!(of(Some(late), Some(now)), Some(now));
        assert_eq!(of(Some(now), Some(late)), Some(now));
        assert_eq!(of(None, Some(late)), Some(late));
    }
}
