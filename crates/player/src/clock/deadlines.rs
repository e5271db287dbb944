//! The deadlines of a match, as pure functions of instants; the margin before the end of a clock is
//! that of `margin`.
//!
//! An answer has two deadlines. At the first it leaves with the best move so far. Without a legal
//! move it waits until the second. The first lies before the end of the clock by a margin, which
//! takes at most half of the clock, and the second by half of that: delays and round trips still
//! have to fit.

use panza_sync::Instant;
use std::time::Duration;

/// When an answer leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Deadlines {
    /// The best move so far leaves.
    pub answer_by: Instant,
    /// Some move leaves, even if no legal move is known.
    pub last_call: Instant,
}

/// The deadlines of a request that was received at `received` and whose clock runs for `clock`.
pub(crate) fn deadlines(received: Instant, clock: Duration, margin: Duration) -> Deadlines {
    let margin = margin.min(clock / 2);
    let answer_by = received + (clock - margin);
    Deadlines {
        answer_by,
        last_call: answer_by + margin / 2,
    }
}

/// The deadline of builds: the given share of the time until `ready` is due. After it the fallback
/// is built.
pub(crate) fn build_until(received: Instant, ready_by: Instant, share: f64) -> Instant {
    let time = ready_by.saturating_duration_since(received);
    received + time.mul_f64(share.clamp(0.0, 1.0))
}

/// When a match is given up: `idle_abort` after the last message or the end of the running clock,
/// whichever is later, since other players may use all of theirs.
pub(crate) fn give_up_at(
    last_message: Instant,
    clock_end: Instant,
    idle_abort: Duration,
) -> Instant {
    last_message.max(clock_end) + idle_abort
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
        assert_eq!(deadlines.last_call, received + SECOND * 9);
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
        let last_message = Instant::now();
        assert_eq!(
            give_up_at(last_message, last_message + SECOND * 30, SECOND * 60) - last_message,
            SECOND * 90
        );
        assert_eq!(
            give_up_at(last_message, last_message, SECOND * 60) - last_message,
            SECOND * 60
        );
    }
}
