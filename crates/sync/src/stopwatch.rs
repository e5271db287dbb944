//! Short measurements on a busy machine.

use std::time::Duration;

use crate::{Instant, thread_cpu_time};

/// A measurement takes at most this many times its limit on the wall.
const MAX_WALL_RATIO: u32 = 4;

/// Measures processor time of this thread, or wall time where the system does not report it.
pub struct Stopwatch {
    started: Instant,
    used_before: Option<Duration>,
}

impl Stopwatch {
    /// Starts now, on this thread.
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
            used_before: thread_cpu_time(),
        }
    }

    /// Starts now, and measures wall time: for work of many threads.
    pub fn on_wall() -> Self {
        Self {
            used_before: None,
            ..Self::start()
        }
    }

    /// Whether it measures wall time.
    pub fn is_on_wall(&self) -> bool {
        self.used_before.is_none()
    }

    /// Time used since the start.
    pub fn elapsed(&self) -> Duration {
        let used = thread_cpu_time().zip(self.used_before);
        used.map_or_else(
            || self.started.elapsed(),
            |(now, before)| now.saturating_sub(before),
        )
    }

    /// Whether less than `limit` was used, and not much more passed on the wall.
    pub fn is_within(&self, limit: Duration) -> bool {
        self.elapsed() < limit && self.started.elapsed() < limit * MAX_WALL_RATIO
    }
}
