//! How much an analysis may do: a number of steps, and a time after which no further step is taken.
//!
//! Steps are looks at an edge of the network, so that the same bound gives the same findings on
//! every machine; the time is there for those who must be done by then.
//!
//! Never knows: what the steps are for.

use std::time::Instant;

/// Steps between two looks at the clock.
const CLOCK_EVERY: u64 = 1 << 14;

/// What is left to an analysis. Handed from one to the next, it bounds them together.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    steps: u64,
    until: Option<Instant>,
    until_clock: u64,
}

impl Effort {
    /// So many steps, none of them after `until`. A step takes some nanoseconds.
    pub fn new(steps: u64, until: Option<Instant>) -> Self {
        Self {
            steps,
            until,
            until_clock: 0,
        }
    }

    /// Takes some steps; false when they are not to be had, and ever after.
    #[inline]
    pub fn spend(&mut self, steps: u64) -> bool {
        if steps > self.steps {
            self.steps = 0;
            return false;
        }
        self.steps -= steps;
        if steps >= self.until_clock {
            self.until_clock = CLOCK_EVERY;
            if self.until.is_some_and(|until| Instant::now() >= until) {
                self.steps = 0;
                return false;
            }
        } else {
            self.until_clock -= steps;
        }
        true
    }

    /// Whether nothing is left.
    pub fn is_spent(&self) -> bool {
        self.steps == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_run_out_and_stay_out() {
        let mut effort = Effort::new(10, None);
        assert!(effort.spend(9));
        assert!(!effort.spend(2));
        assert!(effort.is_spent());
        assert!(!effort.spend(1));
    }

    #[test]
    fn no_step_is_taken_after_the_time() {
        let mut effort = Effort::new(1 << 40, Some(Instant::now()));
        assert!(!effort.spend(1));
        assert!(effort.is_spent());
    }
}
