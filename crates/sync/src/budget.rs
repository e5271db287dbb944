//! What a piece of work may cost, and whether it is still wanted.
//!
//! Long work takes a [`Budget`] from its caller: a deadline, one in processor time, a limit in
//! bytes, one in steps, and a stop flag, which another thread sets when the result is no longer
//! needed. Every loop whose length depends on the rules checks the budget once in a few thousand
//! steps and ends early when it is over. Work that counts its steps by [`Budget::spend`] takes the
//! budget by `&mut`; pieces of work that share it are bounded together. The documentation of the
//! work says what a step is, which limits it ignores, and whether its unfinished result is dropped
//! or kept.
//!
//! Invariants: a budget that is stopped stays stopped; one that is over or spent stays so.
//!
//! Never uses: what the work is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::clock::{Instant, thread_cpu_time};

/// Steps between two readings of the clock.
const CHECK_EVERY: usize = 1 << 14;

/// What a piece of work may cost. Clones share the stop flag, and count their steps apart.
#[derive(Clone, Debug)]
pub struct Budget {
    /// The work ends at this time.
    pub until: Option<Instant>,
    /// It ends once the thread that asks has used this much processor time.
    pub cpu_until: Option<Duration>,
    /// The work is given up when its tables hold more than this many bytes.
    pub max_bytes: usize,
    /// The work ends after this many of its steps: positions, edges, or iterations of a search. The
    /// same number gives the same result on every machine.
    pub max_steps: u64,
    /// Set by another thread once the result is no longer needed.
    pub stop: Option<Arc<AtomicBool>>,
    /// Set by work beside this one, once it has found what both look for.
    found: Option<Arc<AtomicBool>>,
    /// Steps counted since time and stop were looked at.
    n_unchecked: usize,
}

impl Budget {
    /// No limit but 4 GiB, or an eighth of all memory that can be addressed.
    pub fn generous() -> Self {
        Self {
            until: None,
            cpu_until: None,
            max_bytes: if usize::BITS > 32 { 4 << 30 } else { 1 << 29 },
            max_steps: u64::MAX,
            stop: None,
            found: None,
            // The first step looks at them.
            n_unchecked: CHECK_EVERY,
        }
    }

    /// The same as [`generous`](Self::generous) with a time limit from now on.
    pub fn lasting(time: Duration) -> Self {
        Self::generous().until(Some(after(time)))
    }

    /// A deadline `time` from now and a limit of `max_bytes`; steps are unlimited.
    pub fn within(time: Duration, max_bytes: usize) -> Self {
        Self::lasting(time).with_bytes(max_bytes)
    }

    /// The same as [`generous`](Self::generous) with a number of steps.
    pub fn of_steps(steps: u64) -> Self {
        Self::generous().with_steps(steps)
    }

    /// The same with a deadline, unless its own is earlier.
    pub fn until(&self, until: Option<Instant>) -> Self {
        let earlier = match (self.until, until) {
            (Some(own), Some(other)) => Some(own.min(other)),
            (own, other) => own.or(other),
        };
        Self {
            until: earlier,
            ..self.clone()
        }
    }

    /// The same with a limit of bytes.
    pub fn with_bytes(&self, max_bytes: usize) -> Self {
        Self {
            max_bytes,
            ..self.clone()
        }
    }

    /// The same with a number of steps.
    pub fn with_steps(&self, max_steps: u64) -> Self {
        Self {
            max_steps,
            ..self.clone()
        }
    }

    /// The same with the time left as processor time of the thread that asks, which other programs
    /// do not shorten; on the wall where the system does not report it. Reads the clocks.
    pub fn by_processor(&self) -> Self {
        let Some(used) = thread_cpu_time() else {
            return self.clone();
        };
        Self {
            until: None,
            cpu_until: self.until.map(|until| used + left_until(until)),
            ..self.clone()
        }
    }

    /// The same with a stop flag.
    pub fn stopped_by(&self, stop: &Arc<AtomicBool>) -> Self {
        Self {
            stop: Some(Arc::clone(stop)),
            ..self.clone()
        }
    }

    /// The same for work beside other work that sets this flag once it has found what both look
    /// for.
    pub fn beside(&self, found: &Arc<AtomicBool>) -> Self {
        Self {
            found: Some(Arc::clone(found)),
            ..self.clone()
        }
    }

    /// The same with this share of the time left. Reads the clock.
    pub fn share(&self, share: f64) -> Self {
        let on_wall = |until| after(left_until(until).mul_f64(share));
        let by_processor = |until| {
            let left = cpu_left(until);
            until - left + left.mul_f64(share)
        };
        Self {
            until: self.until.map(on_wall),
            cpu_until: self.cpu_until.map(by_processor),
            ..self.clone()
        }
    }

    /// The time left; the longest there is without a deadline. Reads the clock.
    pub fn left(&self) -> Duration {
        let on_wall = self.until.map_or(Duration::MAX, left_until);
        on_wall.min(self.cpu_until.map_or(Duration::MAX, cpu_left))
    }

    /// Whether the result is no longer needed.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        let mut flags = [&self.stop, &self.found].into_iter().flatten();
        flags.any(|flag| flag.load(Ordering::Relaxed))
    }

    /// Whether the time is up or the result is no longer needed. Reads the clock.
    pub fn is_over(&self) -> bool {
        self.is_stopped() || self.left().is_zero()
    }

    /// The same for work that has made this many steps in all.
    pub fn is_over_at(&self, steps: u64) -> bool {
        steps >= self.max_steps || self.is_over()
    }

    /// Takes some steps, of some nanoseconds each; `None` once the budget is spent, and ever after.
    /// Looks at time and stop once in some thousand steps, so that a loop may call it in each.
    #[inline]
    pub fn spend(&mut self, steps: usize) -> Option<()> {
        self.n_unchecked = self.n_unchecked.saturating_add(steps);
        let is_over = self.n_unchecked >= CHECK_EVERY && self.is_over_now();
        if is_over || steps as u64 > self.max_steps {
            self.max_steps = 0;
            return None;
        }
        self.max_steps -= steps as u64;
        Some(())
    }

    /// Looks at time and stop. A budget that is over is looked at again at each step.
    fn is_over_now(&mut self) -> bool {
        let is_over = self.is_over();
        if !is_over {
            self.n_unchecked = 0;
        }
        is_over
    }

    /// Whether no steps are left.
    pub fn is_spent(&self) -> bool {
        self.max_steps == 0
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

/// How much processor time this thread may use until it has used this much. None is left where the
/// system does not report it.
fn cpu_left(until: Duration) -> Duration {
    thread_cpu_time().map_or(Duration::ZERO, |used| until.saturating_sub(used))
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
        let stop = Arc::new(AtomicBool::new(false));
        let budget = Budget::generous().until(Some(late)).stopped_by(&stop);
        assert!(!budget.is_over());
        stop.store(true, Ordering::Relaxed);
        assert!(budget.is_stopped() && budget.is_over());
    }

    #[test]
    fn steps_look_at_the_stop_flag_first_and_then_now_and_again() {
        let stop = Arc::new(AtomicBool::new(false));
        let budget = Budget::generous().stopped_by(&stop);
        let mut counted = budget.clone();
        assert!(counted.spend(1).is_some());
        stop.store(true, Ordering::Relaxed);
        assert!(counted.spend(CHECK_EVERY - 1).is_some());
        assert!(counted.spend(1).is_none());
        assert!(counted.spend(0).is_none());
        assert!(budget.clone().spend(0).is_none());
    }

    #[test]
    fn work_beside_other_work_ends_once_that_has_found_it() {
        let (stop, found) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let budget = Budget::of_steps(10).stopped_by(&stop).beside(&found);
        assert!(!budget.is_over_at(9) && budget.is_over_at(10));
        found.store(true, Ordering::Relaxed);
        assert!(budget.is_stopped() && budget.is_over_at(0));
    }

    #[test]
    fn a_share_is_of_the_time_left() {
        let budget = Budget::lasting(Duration::from_secs(100)).share(0.25);
        assert!(budget.left() <= Duration::from_secs(25));
        assert!(budget.left() > Duration::from_secs(20));
        assert_eq!(Budget::generous().share(0.5).left(), Duration::MAX);
    }

    #[test]
    fn processor_time_passes_only_where_it_is_used() {
        let budget = Budget::lasting(Duration::from_millis(20)).by_processor();
        std::thread::sleep(Duration::from_millis(40));
        assert_eq!(budget.is_over(), thread_cpu_time().is_none());
        assert!(budget.share(0.5).left() <= Duration::from_millis(10));
        while !budget.is_over() {}
        assert!(budget.left().is_zero() && budget.share(0.5).is_over());
    }

    #[test]
    fn a_spent_budget_stays_spent() {
        let mut counted = Budget::of_steps(10);
        assert!(counted.spend(9).is_some());
        assert!(counted.spend(2).is_none());
        assert!(counted.is_spent());
        assert!(counted.spend(1).is_none());
    }

    #[test]
    fn no_step_is_taken_after_the_deadline() {
        let mut counted = Budget::of_steps(1 << 40).until(Some(Instant::now()));
        assert!(counted.spend(1).is_none());
        assert!(counted.is_spent());
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
