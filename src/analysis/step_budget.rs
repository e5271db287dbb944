//! The budget of an analysis: a number of steps, and a deadline.
//!
//! A step is the visit of an edge of the network, so that the same number of steps gives the same
//! result on every machine.

use std::time::Instant;

/// Steps between two readings of the clock.
const CLOCK_EVERY: u64 = 1 << 14;

/// The steps and the time left. Analyses that share a budget are bounded together.
#[derive(Clone, Copy, Debug)]
pub struct StepBudget {
    steps: u64,
    until: Option<Instant>,
    until_clock: u64,
}

impl StepBudget {
    /// A budget of `steps`, none of them after `until`. A step takes some nanoseconds.
    pub fn new(steps: u64, until: Option<Instant>) -> Self {
        Self {
            steps,
            until,
            until_clock: 0,
        }
    }

    /// A budget bounded by time only.
    pub fn until(until: Option<Instant>) -> Self {
        Self::new(u64::MAX, until)
    }

    /// Takes some steps; `None` once the budget is spent, and ever after.
    #[inline]
    pub fn spend(&mut self, steps: usize) -> Option<()> {
        let steps = steps as u64;
        if steps > self.steps {
            self.steps = 0;
            return None;
        }
        self.steps -= steps;
        if steps >= self.until_clock {
            self.until_clock = CLOCK_EVERY;
            if self.until.is_some_and(|until| Instant::now() >= until) {
                self.steps = 0;
                return None;
            }
        } else {
            self.until_clock -= steps;
        }
        Some(())
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
    fn a_spent_budget_stays_spent() {
        let mut budget = StepBudget::new(10, None);
        assert!(budget.spend(9).is_some());
        assert!(budget.spend(2).is_none());
        assert!(budget.is_spent());
        assert!(budget.spend(1).is_none());
    }

    #[test]
    fn no_step_is_taken_after_the_deadline() {
        let mut budget = StepBudget::new(1 << 40, Some(Instant::now()));
        assert!(budget.spend(1).is_none());
        assert!(budget.is_spent());
    }
}
