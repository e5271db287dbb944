//! Games of rules that are being written, each built and played on a thread of its own.
//!
//! Where there are no threads, the one who asks does the work, within its own limits.
//!
//! The one who asks waits. The work ends when a match begins, when it takes too long, and when its
//! flag is set.
//!
//! Invariants: previews and trials together have [`build_memory::PREVIEWS`] threads at most, those
//! that nobody waits for any more included; nobody waits much longer than the time that is given.
//!
//! Never uses: what the work is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam::channel::{RecvTimeoutError, bounded};

use super::build_memory;
use panza_game::BuildError;
use panza_sync::{HAS_THREADS, after, allocator, is_past, spawn_deep};

/// How often it is looked whether a match has begun, or the flag is set.
pub const PAUSE: Duration = Duration::from_millis(10);
/// How many threads there are.
static N_THREADS: AtomicUsize = AtomicUsize::new(0);

/// Why there is no preview, or no trial.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PreviewError {
    /// A match of a game manager runs.
    #[error("a match is being played, and games are not tried out meanwhile")]
    Busy,
    /// Other games are built already, or a newer text has taken the place of this one.
    #[error("other games are still being tried out")]
    Full,
    /// The rules cannot be played, and why.
    #[error("{0}")]
    Rules(String),
}

/// One of [`N_THREADS`], while it exists.
struct OneThread;

impl Drop for OneThread {
    fn drop(&mut self) {
        N_THREADS.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Does some work on a thread with this name and waits for it, for this time at most. `is_busy`
/// says whether a match runs. The work ends soon after `stop` is set.
///
/// # Errors
/// A match runs, there are too many threads, `stop` was set, or the work failed.
pub fn run<T: Send + 'static>(
    name: &str,
    stop: &Arc<AtomicBool>,
    time: Duration,
    is_busy: impl Fn() -> bool,
    work: impl FnOnce(&Arc<AtomicBool>) -> Result<T, BuildError> + Send + 'static,
) -> Result<T, PreviewError> {
    let more = |n: usize| (n < build_memory::PREVIEWS).then_some(n + 1);
    let counted = N_THREADS.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
    if counted.is_err() {
        return Err(PreviewError::Full);
    }
    let thread = OneThread;
    if !HAS_THREADS {
        return work(stop).map_err(refusal);
    }
    let (sender, made) = bounded(1);
    let until = after(time);
    let of_thread = Arc::clone(stop);
    let spawned = spawn_deep(name, move || {
        let result = work(&of_thread);
        allocator::give_back();
        drop(thread);
        // Nobody may wait for it any more.
        drop(sender.send(result));
    });
    if spawned.is_err() {
        return Err(PreviewError::Rules("the system gives no thread".into()));
    }
    loop {
        let is_late = is_past(until);
        let failure = match made.recv_timeout(PAUSE) {
            Ok(Ok(result)) => return Ok(result),
            Ok(Err(why)) => refusal(why),
            Err(RecvTimeoutError::Disconnected) => {
                PreviewError::Rules("trying out this game failed".to_string())
            }
            Err(RecvTimeoutError::Timeout) if is_busy() => PreviewError::Busy,
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Acquire) => PreviewError::Full,
            Err(RecvTimeoutError::Timeout) if is_late => {
                PreviewError::Rules("this game is too large to be tried out here".to_string())
            }
            Err(RecvTimeoutError::Timeout) => continue,
        };
        stop.store(true, Ordering::Release);
        return Err(failure);
    }
}

/// Why there is no result of work that ended with this error.
fn refusal(why: BuildError) -> PreviewError {
    match why {
        BuildError::Stopped => PreviewError::Full,
        why => PreviewError::Rules(why.to_string()),
    }
}

/// Lets tests that build games run one after the other, each without threads of the one before.
#[cfg(test)]
pub fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let alone = panza_sync::lock(&ALONE);
    while N_THREADS.load(Ordering::Acquire) > 0 {
        std::thread::sleep(PAUSE);
    }
    alone
}
