//! A thread that sleeps and measures how much later it wakes up: how long the machine lets a thread
//! wait that has something to do, such as an answer to give.

use panza_sync::lock;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

const SLEEP: Duration = Duration::from_millis(5);
/// Delays below this are not kept.
const SHORT: Duration = Duration::from_millis(10);
/// How long delays are kept; no clock of a run is longer.
const KEPT: Duration = Duration::from_secs(3600);

/// What the thread has measured.
#[derive(Default)]
pub struct Witness {
    /// When it woke up, and how much too late.
    delays: Mutex<VecDeque<(Instant, Duration)>>,
}

impl Witness {
    /// Measures until `is_over`.
    pub fn watch(&self, is_over: impl Fn() -> bool) {
        while !is_over() {
            let asleep = Instant::now();
            thread::sleep(SLEEP);
            let woken = Instant::now();
            let delay = (woken - asleep).saturating_sub(SLEEP);
            if delay >= SHORT {
                let mut delays = self.delays();
                delays.push_back((woken, delay));
                while delays.front().is_some_and(|(at, _)| woken - *at > KEPT) {
                    delays.pop_front();
                }
            }
        }
    }

    /// The greatest delay since then; zero if there was none of a hundredth of a second.
    pub fn since(&self, then: Instant) -> Duration {
        let delays = self.delays();
        let since = delays.iter().rev().take_while(|(woken, _)| *woken >= then);
        since.map(|(_, delay)| *delay).max().unwrap_or_default()
    }

    fn delays(&self) -> MutexGuard<'_, VecDeque<(Instant, Duration)>> {
        lock(&self.delays)
    }
}
