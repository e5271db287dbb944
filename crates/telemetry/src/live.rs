//! Detects live matches: the writer of a log holds a lock on its events, which the system releases
//! with the process.

use std::fs::File;
#[cfg(unix)]
use std::time::Duration;

/// Attempts to lock, and the pause between them.
#[cfg(unix)]
const TRIES: usize = 10;
#[cfg(unix)]
const BETWEEN_TRIES: Duration = Duration::from_millis(1);

/// The lock, released on drop even if the file is open elsewhere.
#[derive(Debug)]
pub(super) struct Lock(File);

#[cfg(unix)]
impl Drop for Lock {
    fn drop(&mut self) {
        // Should it fail, the lock ends when the file is closed.
        let _ = rustix::fs::flock(&self.0, rustix::fs::FlockOperation::Unlock);
    }
}

/// Locks the events of a new match, where the system can.
#[cfg(unix)]
pub(super) fn lock(events: &File) -> Option<Lock> {
    use rustix::fs::{FlockOperation, flock};
    let held = events.try_clone().ok()?;
    // A process that asks whether the match is live holds the lock for a moment.
    for _ in 0..TRIES {
        if flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Some(Lock(held));
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
    None
}

#[cfg(unix)]
pub(super) fn is_locked(events: &File) -> bool {
    use rustix::fs::{FlockOperation, flock};
    // The lock that this may take ends with the file, which is closed soon.
    flock(events, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
}

#[cfg(not(unix))]
pub(super) fn lock(_: &File) -> Option<Lock> {
    None
}

/// Without locks, a file written to recently counts as live.
#[cfg(not(unix))]
pub(super) fn is_locked(events: &File) -> bool {
    let written = events.metadata().and_then(|data| data.modified());
    written.is_ok_and(|written| written.elapsed().is_ok_and(|ago| ago.as_secs() < 5))
}
