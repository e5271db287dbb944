//! The clock of a search: the deadline that a run is given, and a sampled profile of iterations.

#![expect(clippy::disallowed_methods, reason = "it measures")]

use panza_sync::Instant;
use std::time::Duration;

/// One iteration in this many is timed; reading the clock takes some 25 ns.
const TIMED_ITERATIONS: u64 = 64;
/// The first iteration that is timed. Earlier ones run code and read tables that no cache has yet:
/// one of them takes as long as some hundred others, for which it would count.
const FIRST_TIMED: u64 = 4;

/// Measures the stages of an iteration, if it is one of those that are timed.
pub(super) struct StageTimer(Option<Instant>);

impl StageTimer {
    /// A timer of iteration number `count`.
    #[inline]
    pub(super) fn start(count: u64) -> Self {
        let is_timed = count % TIMED_ITERATIONS == FIRST_TIMED;
        Self(is_timed.then(Instant::now))
    }

    pub(super) fn is_timed(&self) -> bool {
        self.0.is_some()
    }

    /// Ends a stage: adds its nanoseconds to `sum`.
    #[inline]
    pub(super) fn add_to(&mut self, sum: &mut u64) {
        if let Some(started) = &mut self.0 {
            let now = Instant::now();
            *sum += (now - *started).as_nanos() as u64;
            *started = now;
        }
    }
}

/// A deadline that reads the clock only at some of its checks while the game is fast.
pub(super) struct Deadline {
    until: Option<Instant>,
    last_read: Option<Instant>,
    /// Checks before the clock is read again.
    left: u32,
    /// Whether every check reads the clock, as long as iterations are not known to be fast.
    is_slow: bool,
    /// Whether it has passed.
    is_over: bool,
}

impl Deadline {
    /// Checks between two readings while the game is fast. A reading takes some 25 ns, an iteration
    /// about a microsecond.
    const CHECKS: u32 = 8;
    /// If that many checks take longer, every check reads the clock.
    const SLOW: Duration = Duration::from_micros(200);

    pub(super) fn new(until: Option<Instant>) -> Self {
        Self {
            until,
            last_read: None,
            left: 0,
            is_slow: true,
            is_over: false,
        }
    }

    #[inline]
    pub(super) fn is_over(&mut self) -> bool {
        let Some(until) = self.until else {
            return false;
        };
        if self.is_over {
            return true;
        }
        if self.left > 0 {
            self.left -= 1;
            return false;
        }
        let now = Instant::now();
        if let Some(before) = self.last_read.replace(now) {
            let checks = if self.is_slow { 1 } else { Self::CHECKS };
            self.is_slow = now - before > Self::SLOW / Self::CHECKS * checks;
        }
        self.left = if self.is_slow { 0 } else { Self::CHECKS - 1 };
        self.is_over = now >= until;
        self.is_over
    }

    /// Makes the next check read the clock.
    pub(super) fn read_at_next_check(&mut self) {
        self.left = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_iterations_are_not_timed() {
        let is_timed = |count: &u64| StageTimer::start(*count).is_timed();
        let timed: Vec<u64> = (0..200).filter(is_timed).collect();
        assert_eq!(timed, [4, 68, 132, 196]);
    }
}
