//! The clocks: time that passes, the time of day, and the processor time of a thread.
//!
//! [`Instant`] and [`SystemTime`] are the standard library's. In WebAssembly that has no clock, and
//! the host of the module gives the time (`host`). So the crates that run there take these names
//! from here.

use std::time::Duration;

#[cfg(not(target_family = "wasm"))]
pub use std::time::{Instant, SystemTime, UNIX_EPOCH};

#[cfg(target_family = "wasm")]
pub use host::{Instant, SystemTime, UNIX_EPOCH};

#[cfg(target_family = "wasm")]
mod host;

/// The processor time that this thread has used so far, where the system reports it.
pub fn thread_cpu_time() -> Option<Duration> {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::try_from(time).ok()
    }
    #[cfg(not(unix))]
    None
}
