//! The clock arithmetic of a match, as pure functions: no clock is read here, every instant is
//! handed in.
//!
//! An answer has two deadlines. By the first it leaves with the best move known; only when no legal
//! move is known yet it waits on, up to the second. Both lie before the end of the clock, by a
//! margin that grows with the lateness that was observed and never takes more than half of the
//! clock.

use std::time::{Duration, Instant};

/// When an answer leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Deadlines {
    /// The best move known leaves now.
    pub answer_by: Instant,
    /// Something leaves now, even if no legal move is known.
    pub last_call: Instant,
}

/// The deadlines of a request that was received at `received` and whose clock runs for `clock`.
pub(super) fn deadlines(received: Instant, clock: Duration, margin: Duration) -> Deadlines {
    let margin = margin.min(clock / 2);
    let answer_by = received + (clock - margin);
    Deadlines {
        answer_by,
        last_call: answer_by + margin * 3 / 4,
    }
}

/// Until when a machine may be built: the given share of the time until `ready` is due. When none
/// has come by then, the machine of last resort is asked for.
pub(super) fn build_until(received: Instant, ready_by: Instant, share: f64) -> Instant {
    let time = ready_by.saturating_duration_since(received);
    received + time.mul_f64(share.clamp(0.0, 1.0))
}

/// When a match is given up: after `idle_abort` of silence, counted from the last message or from
/// the end of the clock that was running, whichever is later, since other players may use theirs to
/// the end.
pub(super) fn give_up_at(heard: Instant, clock_end: Instant, idle_abort: Duration) -> Instant {
    heard.max(clock_end) + idle_abort
}

/// How late answers have been lately: the largest delay seen, forgotten by an eighth with each
/// answer since.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Lateness(Duration);

impl Lateness {
    /// Takes in the delay of one answer.
    pub fn observe(&mut self, delay: Duration) {
        self.0 = delay.max(self.0 * 7 / 8);
    }

    /// What to add to the margin.
    pub fn expected(self) -> Duration {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn an_answer_leaves_a_margin_before_the_clock_ends() {
        let received = Instant::now();
        let deadlines = deadlines(received, SECOND * 10, SECOND * 2);
        assert_eq!(deadlines.answer_by, received + SECOND * 8);
        assert_eq!(deadlines.last_call, received + SECOND * 19 / 2);
    }

    #[test]
    fn a_margin_never_takes_more_than_half_of_the_clock() {
        let received = Instant::now();
        let short = deadlines(received, SECOND, SECOND * 20);
        assert_eq!(short.answer_by, received + SECOND / 2);
        assert!(short.last_call < received + SECOND);
        let none = deadlines(received, Duration::ZERO, SECOND);
        assert_eq!((none.answer_by, none.last_call), (received, received));
    }

    #[test]
    fn building_may_use_its_share_of_the_time_until_ready() {
        let received = Instant::now();
        let at = |ready_by, share| build_until(received, ready_by, share) - received;
        assert_eq!(at(received + SECOND * 10, 0.5), SECOND * 5);
        assert_eq!(at(received, 0.5), Duration::ZERO);
        assert_eq!(at(received + SECOND, f64::INFINITY), SECOND);
    }

    #[test]
    fn silence_counts_from_the_end_of_the_running_clock() {
        let heard = Instant::now();
        assert_eq!(
            give_up_at(heard, heard + SECOND * 30, SECOND * 60) - heard,
            SECOND * 90
        );
        assert_eq!(give_up_at(heard, heard, SECOND * 60) - heard, SECOND * 60);
    }

    #[test]
    fn lateness_rises_at_once_and_is_forgotten_slowly() {
        let mut lateness = Lateness::default();
        lateness.observe(SECOND * 8);
        lateness.observe(Duration::ZERO);
        assert_eq!(lateness.expected(), SECOND * 7);
        lateness.observe(SECOND * 9);
        assert_eq!(lateness.expected(), SECOND * 9);
    }
}
