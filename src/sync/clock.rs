//! Processor time, which passes for a thread only while it runs: what others do on the machine
//! counts little in it.

use std::time::Duration;

/// Processor time that this thread has used so far, where the system tells.
pub fn thread_cpu_time() -> Option<Duration> {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::try_from(time).ok()
    }
    #[cfg(not(unix))]
    None
}
