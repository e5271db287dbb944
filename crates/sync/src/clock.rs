//! The processor time of a thread, which other processes on the machine affect little.

use std::time::Duration;

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
