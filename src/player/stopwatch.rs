//! Short measurements on a machine that others use too.

use std::time::{Duration, Instant};

use crate::sync::clock::thread_cpu_time;

/// Where the machine is busy, measuring takes at most so many times as long on the wall.
const WALL: u32 = 4;

/// Processor time, so that engines are compared fairly on a busy machine; time on the wall where
/// the system does not tell.
pub(super) struct Stopwatch {
    started: Instant,
    used_before: Option<Duration>,
}

impl Stopwatch {
    /// From now on, on this thread.
    pub(super) fn start() -> Self {
        Self {
            started: Instant::now(),
            used_before: thread_cpu_time(),
        }
    }

    /// What was used since.
    pub(super) fn elapsed(&self) -> Duration {
        let used = thread_cpu_time().zip(self.used_before);
        used.map_or_else(
            || self.started.elapsed(),
            |(now, before)| now.saturating_sub(before),
        )
    }

    /// Whether so much time has not passed yet, nor a few times of it on the wall.
    pub(super) fn is_within(&self, time: Duration) -> bool {
        self.elapsed() < time && self.started.elapsed() < time * WALL
    }
}
