//! The budget of an analysis: a number of steps, and a deadline.
//!
//! A step is the visit of an edge of the network, so that the same number of steps gives the same
//! result on every machine.

use std::time::Instant;

use panza_sync::budget::{Budget, Meter};

/// The steps and the time left. Analyses that share a budget are bounded together.
#[derive(Clone, Copy, Debug)]
pub struct StepBudget<'a> {
    steps: u64,
    meter: Meter<'a>,
}

impl StepBudget<'static> {
    /// A budget of `steps`, none of them after `until`. A step takes some nanoseconds.
    pub fn new(steps: u64, until: Option<Instant>) -> Self {
        Self::within(steps, Budget::generous().until(until))
    }

    /// A budget bounded by time only.
    pub fn until(until: Option<Instant>) -> Self {
        Self::new(u64::MAX, until)
    }
}

impl<'a> StepBudget<'a> {
    /// A budget of `steps`, none of them after another budget is over.
    pub fn within(steps: u64, budget: Budget<'a>) -> Self {
        Self {
            steps,
            meter: Meter::new(budget),
        }
    }

    /// Takes some steps; `None` once the budget is spent, and ever after.
    #[inline]
    pub fn spend(&mut self, steps: usize) -> Option<()> {
        if steps as u64 > self.steps || self.meter.is_over_after(steps) {
            self.steps = 0;
            return None;
        }
        self.steps -= steps as u64;
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
