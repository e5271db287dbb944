//! Ending a group of threads together, and letting one sleep until there is
//! work for it.
//!
//! A [`StopFlag`] is set once and never cleared. It hands out pairs of a
//! [`Waiter`], for the thread that may run out of work, and a [`Waker`], for
//! those who give it some. A waiter spins briefly, since work mostly comes
//! within a microsecond, and then parks, since a spinning thread takes a core
//! from those that compute.
//!
//! # Why no wake-up is lost
//!
//! Parking works with one token: `unpark` puts it down, `park` returns at once
//! if it lies there and takes it away. Both synchronise, so what a thread did
//! before it put the token down is seen by the one that took it.
//!
//! 1. Whoever makes a waiter's condition true does so *first* and calls
//!    [`Waker::wake`] *after*. [`StopFlag::stop`] does the same for all waiters.
//! 2. The waiter checks its condition, parks, and checks again.
//! 3. If the token was put down after the waiter last took it, the next `park`
//!    returns at once and the check after it sees the condition. If it was put
//!    down before, then the check after that taking has seen it already.
//!
//! So a condition can turn true at any moment between check and sleep: the token
//! lies there when the thread tries to fall asleep. A token left over from an
//! earlier condition costs one needless check. A waker that is dropped wakes
//! too, so the end of a thread, even by a panic, is noticed by those who wait
//! for it; let a waker be dropped after the ring end that it announces (struct
//! fields are dropped in the order they are declared).
//!
//! Invariant: every wait ends once the flag is set. Nothing here knows what is
//! being waited for.

use super::primitives::{Arc, AtomicBool, Mutex, Ordering, Parker, Unparker};
#[cfg(not(panza_loom))]
use crossbeam::utils::Backoff;
use std::fmt;
use std::sync::PoisonError;

/// A flag that says "finish now" to every thread that holds a clone of it.
#[derive(Clone)]
pub struct StopFlag {
    shared: Arc<Shared>,
}

struct Shared {
    stopped: AtomicBool,
    /// Everyone to wake when the flag is set. Locked when a waiter is made and
    /// when the flag is set, never on the way of a playout.
    waiters: Mutex<Vec<Unparker>>,
}

/// The sleeping side of a pair made by [`StopFlag::waiter`].
pub struct Waiter {
    stop: StopFlag,
    parker: Parker,
}

/// The waking side of a pair made by [`StopFlag::waiter`]; wakes a last time
/// when it is dropped.
#[derive(Clone)]
pub struct Waker {
    unparker: Unparker,
}

/// Why a wait ended.
#[must_use = "a stopped thread has to finish"]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// The condition holds.
    Ready,
    /// The stop flag is set; the condition was not looked at.
    Stopped,
}

impl StopFlag {
    /// A flag that is not set.
    #[expect(
        clippy::new_without_default,
        reason = "a default flag would be one that nobody else holds"
    )]
    pub fn new() -> StopFlag {
        StopFlag {
            shared: Arc::new(Shared {
                stopped: AtomicBool::new(false),
                waiters: Mutex::new(Vec::new()),
            }),
        }
    }

    /// Sets the flag and wakes everyone who waits under it. Setting it again
    /// does no harm.
    pub fn stop(&self) {
        // Pairs with the Acquire load in `is_stopped`.
        self.shared.stopped.store(true, Ordering::Release);
        for waiter in self
            .shared
            .waiters
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
        {
            waiter.unpark();
        }
    }

    /// Whether the flag is set. What happened before [`stop`](StopFlag::stop)
    /// was called is visible to whoever sees `true`.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::Acquire)
    }

    /// Makes a place to wait, for one thread, and the means to wake it. The flag
    /// remembers each as long as it lives: make one per thread, not one per wait.
    pub fn waiter(&self) -> (Waiter, Waker) {
        let parker = Parker::new();
        let unparker = parker.unparker().clone();
        // A `stop` that took the lock before us has set the flag before, so that
        // the first check of a wait sees it; one that takes it after wakes us.
        self.shared
            .waiters
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(unparker.clone());
        let waiter = Waiter {
            stop: self.clone(),
            parker,
        };
        (waiter, Waker { unparker })
    }
}

impl Waiter {
    /// Sleeps until `ready` returns true or the flag is set; the flag comes first.
    ///
    /// Whatever can make `ready` true has to be followed by a [`Waker::wake`].
    /// `ready` is called again and again and should be cheap, for example
    /// `|| !work.is_empty() || work.is_closed()`.
    pub fn wait_until(&mut self, mut ready: impl FnMut() -> bool) -> Waited {
        let mut check = || {
            if self.stop.is_stopped() {
                Some(Waited::Stopped)
            } else {
                ready().then_some(Waited::Ready)
            }
        };
        // Some microseconds of spinning, then of yielding, before the system
        // has to be asked to sleep. A model has nothing to learn from it.
        #[cfg(not(panza_loom))]
        {
            let backoff = Backoff::new();
            while !backoff.is_completed() {
                if let Some(waited) = check() {
                    return waited;
                }
                backoff.snooze();
            }
        }
        loop {
            if let Some(waited) = check() {
                return waited;
            }
            self.parker.park();
        }
    }
}

impl Waker {
    /// Makes the waiter look at its condition again. Cheap when it is awake: one
    /// atomic swap on a line that the waiter does not read meanwhile.
    #[inline]
    pub fn wake(&self) {
        self.unparker.unpark();
    }
}

impl Drop for Waker {
    fn drop(&mut self) {
        self.wake();
    }
}

impl fmt::Debug for StopFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StopFlag({})", self.is_stopped())
    }
}

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Waiter({:?})", self.stop)
    }
}

impl fmt::Debug for Waker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Waker")
    }
}

#[cfg(all(test, not(panza_loom)))]
mod tests {
    use super::*;
    use crate::ring::ring;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn a_set_flag_is_seen_by_every_clone_and_stays_set() {
        let flag = StopFlag::new();
        let other = flag.clone();
        assert!(!flag.is_stopped() && !other.is_stopped());
        other.stop();
        assert!(flag.is_stopped() && other.is_stopped());
        flag.stop();
        assert!(other.is_stopped());
    }

    #[test]
    fn a_wait_for_what_holds_already_returns_at_once() {
        let (mut waiter, _waker) = StopFlag::new().waiter();
        assert_eq!(waiter.wait_until(|| true), Waited::Ready);
    }

    #[test]
    fn the_flag_goes_before_the_condition() {
        let flag = StopFlag::new();
        let (mut waiter, _waker) = flag.waiter();
        flag.stop();
        assert_eq!(waiter.wait_until(|| true), Waited::Stopped);
    }

    #[test]
    fn a_waiter_made_after_the_stop_does_not_sleep() {
        let flag = StopFlag::new();
        flag.stop();
        let (mut waiter, _waker) = flag.waiter();
        assert_eq!(waiter.wait_until(|| false), Waited::Stopped);
    }

    #[test]
    fn stop_wakes_every_sleeper() {
        let flag = StopFlag::new();
        let (report, reports) = mpsc::channel();
        let mut wakers = Vec::new();
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (mut waiter, waker) = flag.waiter();
                wakers.push(waker);
                let report = report.clone();
                thread::spawn(move || {
                    let mut checks = 0;
                    waiter.wait_until(|| {
                        checks += 1;
                        if checks == 1 {
                            report.send(()).unwrap();
                        }
                        false
                    })
                })
            })
            .collect();
        for _ in 0..3 {
            reports.recv().unwrap();
        }
        flag.stop();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), Waited::Stopped);
        }
    }

    #[test]
    fn every_item_of_a_trickle_reaches_a_sleeping_consumer() {
        let items = if cfg!(miri) { 20 } else { 2_000 };
        let (mut producer, mut consumer) = ring(4);
        let (mut answers, mut answered) = ring(4);
        let flag = StopFlag::new();
        let (mut work_waiter, work_waker) = flag.waiter();
        let (mut answer_waiter, answer_waker) = flag.waiter();
        let worker = thread::spawn(move || {
            while work_waiter.wait_until(|| !consumer.is_empty()) == Waited::Ready {
                while let Some(item) = consumer.pop() {
                    answers.push(item).unwrap();
                    answer_waker.wake();
                }
            }
        });
        for item in 0..items {
            producer.push(item).unwrap();
            work_waker.wake();
            // One item at a time, so that both sides fall asleep again and again.
            assert_eq!(
                answer_waiter.wait_until(|| !answered.is_empty()),
                Waited::Ready
            );
            assert_eq!(answered.pop(), Some(item));
        }
        flag.stop();
        worker.join().unwrap();
    }

    #[test]
    fn a_dropped_waker_wakes() {
        let (producer, consumer) = ring::<u8>(1);
        let (mut waiter, waker) = StopFlag::new().waiter();
        let sleeper = thread::spawn(move || waiter.wait_until(|| consumer.is_closed()));
        drop(producer);
        drop(waker);
        assert_eq!(sleeper.join().unwrap(), Waited::Ready);
    }
}
