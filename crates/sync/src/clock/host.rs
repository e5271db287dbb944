//! The clocks of the host of a WebAssembly module, with the interface of the standard library's as
//! far as it is used.
//!
//! The host gives two functions in the import module `panza`: `passed`, milliseconds since it began
//! (`performance.now`), and `date`, milliseconds since 1970 (`Date.now`).
//!
//! Invariant: time that passes never goes back, whatever the host says.

use std::cell::Cell;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

#[link(wasm_import_module = "panza")]
unsafe extern "C" {
    safe fn passed() -> f64;
    safe fn date() -> f64;
}

/// Milliseconds as a duration; none for what is no time.
fn duration(milliseconds: f64) -> Duration {
    Duration::try_from_secs_f64(milliseconds / 1000.0).unwrap_or_default()
}

/// A time of the clock that never goes back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Instant(Duration);

impl Instant {
    /// The present time.
    pub fn now() -> Self {
        thread_local!(static LATEST: Cell<Duration> = const { Cell::new(Duration::ZERO) });
        let latest = LATEST.get().max(duration(passed()));
        LATEST.set(latest);
        Self(latest)
    }

    /// The time since then.
    pub fn elapsed(&self) -> Duration {
        Self::now().saturating_duration_since(*self)
    }

    /// The time from `earlier` on; nothing where that is later.
    pub fn duration_since(&self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }

    /// The time from `earlier` on; nothing where that is later.
    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The time from `earlier` on; `None` where that is later.
    pub fn checked_duration_since(&self, earlier: Self) -> Option<Duration> {
        self.0.checked_sub(earlier.0)
    }

    /// A later time, if it can be represented.
    pub fn checked_add(&self, time: Duration) -> Option<Self> {
        self.0.checked_add(time).map(Self)
    }

    /// An earlier time, if the clock had begun.
    pub fn checked_sub(&self, time: Duration) -> Option<Self> {
        self.0.checked_sub(time).map(Self)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, time: Duration) -> Self {
        Self(self.0 + time)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, time: Duration) {
        self.0 += time;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, time: Duration) -> Self {
        Self(self.0.saturating_sub(time))
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }
}

/// A time of day.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SystemTime(Duration);

/// The beginning of 1970.
pub const UNIX_EPOCH: SystemTime = SystemTime(Duration::ZERO);

/// A time is not later than another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Earlier;

impl SystemTime {
    /// The beginning of 1970.
    pub const UNIX_EPOCH: Self = UNIX_EPOCH;

    /// The present time.
    pub fn now() -> Self {
        Self(duration(date()))
    }

    /// The time from `earlier` on.
    ///
    /// # Errors
    /// That is later.
    pub fn duration_since(&self, earlier: Self) -> Result<Duration, Earlier> {
        self.0.checked_sub(earlier.0).ok_or(Earlier)
    }
}
