//! Processor times of threads that have ended, for those who sample the times of all threads: the
//! system lists only those that live.
//!
//! Invariant: only the last [`KEPT`] threads are kept. That is more than end between two samples.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::thread_cpu_time;

/// Threads that are kept, at most.
const KEPT: usize = 4096;

static ENDED: Mutex<Ended> = Mutex::new(Ended {
    last: VecDeque::new(),
    count: 0,
});

struct Ended {
    last: VecDeque<EndedThread>,
    /// All that have ended.
    count: u64,
}

/// A thread that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndedThread {
    /// Its number in the system.
    pub number: u64,
    /// Its name.
    pub name: String,
    /// The processor time that it has used.
    pub time: Duration,
}

fn locked() -> MutexGuard<'static, Ended> {
    ENDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells the time of the thread that drops it.
pub(crate) struct TellsTime;

impl Drop for TellsTime {
    fn drop(&mut self) {
        let thread = std::thread::current();
        if let (Some(number), Some(time)) = (number(), thread_cpu_time()) {
            let name = thread.name().unwrap_or_default().to_string();
            let mut ended = locked();
            if ended.last.len() == KEPT {
                ended.last.pop_front();
            }
            ended.last.push_back(EndedThread { number, name, time });
            ended.count += 1;
        }
    }
}

/// The threads that have ended since there were `known` of them, as far as they are kept, and how
/// many there are by now. Threads that this crate has not started are not among them. Empty on
/// systems other than Linux.
pub fn ended_threads(known: u64) -> (Vec<EndedThread>, u64) {
    let ended = locked();
    let n_new = usize::try_from(ended.count - known.min(ended.count)).unwrap_or(usize::MAX);
    let n_old = ended.last.len().saturating_sub(n_new);
    (ended.last.range(n_old..).cloned().collect(), ended.count)
}

/// The number of this thread in the system.
fn number() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        u64::try_from(rustix::thread::gettid().as_raw_nonzero().get()).ok()
    }
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::{spawn, spawn_scoped};
    use std::panic::resume_unwind;

    #[test]
    fn a_thread_that_has_ended_is_told_once_with_its_time_also_after_a_panic() {
        let (_, known) = ended_threads(u64::MAX);
        let works = || {
            while thread_cpu_time().unwrap() < Duration::from_millis(2) {}
        };
        spawn("told-1", works).unwrap().join().unwrap();
        std::thread::scope(|scope| {
            let _ = spawn_scoped(scope, "told-2", works).unwrap().join();
        });
        let panics = || {
            if KEPT > 0 {
                resume_unwind(Box::new("it ends here"));
            }
        };
        assert!(spawn("told-3", panics).unwrap().join().is_err());
        let (told, now) = ended_threads(known);
        let is_ours = |it: &EndedThread| it.name.starts_with("told-");
        let told: Vec<EndedThread> = told.into_iter().filter(is_ours).collect();
        let names: Vec<&str> = told.iter().map(|thread| &*thread.name).collect();
        assert_eq!(names, ["told-1", "told-2", "told-3"]);
        assert!(
            told[..2]
                .iter()
                .all(|it| it.time >= Duration::from_millis(2))
        );
        let (later, _) = ended_threads(now);
        assert!(!later.iter().any(is_ours));

        // The oldest make room.
        for _ in 0..KEPT + 5 {
            drop(TellsTime);
        }
        assert_eq!(locked().last.len(), KEPT);
        let (kept, now) = ended_threads(0);
        assert!(kept.len() == KEPT && now > KEPT as u64);
    }
}
