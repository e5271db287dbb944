//! Threads and their panics: spawning by name, locks whose holder has panicked, and the texts of
//! panics.
//!
//! A thread takes over the `tracing` span that the thread which starts it is in, so that what it
//! reports is known to belong to the same match.
//!
//! WebAssembly has no threads here: starting one is an error there, as where the system gives none.
//! [`in_threads`] does the work then on the calling thread.
//!
//! A mutex whose holder panicked is locked as any other. Each user keeps what it guards valid at
//! every step, so the value is as good as before the panic.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{LockResult, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

use crate::ended::TellsTime;

/// The stack of a thread that reads, builds or proves rules, whose terms may nest deeply.
const DEEP_STACK_BYTES: usize = 64 << 20;

/// Whether there can be threads beside the first.
pub const HAS_THREADS: bool = !cfg!(target_family = "wasm");

/// Locks a mutex, whether or not an earlier holder has panicked.
#[inline]
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}

/// What a lock, or a wait for a condition, gives, whether or not an earlier holder has panicked.
#[inline]
pub fn unpoisoned<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

/// Starts a thread with a name, which the figures of the process are kept by.
///
/// # Errors
/// The system gives no thread; the work was dropped.
pub fn spawn<T: Send + 'static>(
    name: impl Into<String>,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new()
        .name(name.into())
        .spawn(of_thread(telling(work)))
}

/// The same with a stack for work that recurses as deep as terms nest.
///
/// # Errors
/// The system gives no thread; the work was dropped.
pub fn spawn_deep<T: Send + 'static>(
    name: impl Into<String>,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let thread = Builder::new().name(name.into());
    let thread = thread.stack_size(DEEP_STACK_BYTES);
    thread.spawn(of_thread(telling(work)))
}

/// The same as [`spawn`] for a thread that ends with a scope.
///
/// # Errors
/// The system gives no thread; the work was dropped.
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: impl Into<String>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    let thread = Builder::new().name(name.into());
    thread.spawn_scoped(scope, of_thread(work))
}

/// The work of a thread that is started: in the span that the calling thread is in, and with its
/// processor time told at the end.
fn of_thread<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let work = in_same_span(work);
    move || {
        let _tells = TellsTime;
        work()
    }
}

/// Work whose begin and end are events, where it is in a span: for threads that live for long.
fn telling<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    || {
        if tracing::Span::current().is_none() {
            return work();
        }
        tracing::debug!("the thread begins");
        let outcome = work();
        tracing::debug!("the thread ends");
        outcome
    }
}

/// Does pieces of work at the same time, each on a thread with this name, and returns their results
/// in order. The first is done on the calling thread, and so is each for which there is no thread.
///
/// # Panics
/// Some work panicked.
pub fn in_threads<T: Send, W: FnOnce() -> T + Send>(
    name: &str,
    works: impl IntoIterator<Item = W>,
) -> Vec<T> {
    let works = works.into_iter().map(|work| Mutex::new(Some(work)));
    let works: Vec<Mutex<Option<W>>> = works.collect();
    let take = |at: usize| lock(&works[at]).take();
    std::thread::scope(|scope| {
        let threads = (1..works.len()).map(|at| {
            let work = move || take(at).map(|work| work());
            (at, spawn_scoped(scope, name, work).ok())
        });
        let threads: Vec<_> = threads.collect();
        let first = works.first().and_then(|_| take(0)).map(|work| work());
        let others = threads.into_iter().map(|(at, thread)| match thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            None => take(at).map(|work| work()),
        });
        first.into_iter().chain(others.flatten()).collect()
    })
}

/// The work of another thread, in the span that the calling thread is in.
pub fn in_same_span<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let span = tracing::Span::current();
    move || span.in_scope(work)
}

/// Runs something that may panic. What it has changed may be half done after a panic: the caller
/// drops it, or can use it as it is.
///
/// # Errors
/// The text of the panic.
pub fn catch_panic<T>(action: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(action)).map_err(|panic| panic_text(&*panic))
}

/// The text that a panic carries.
fn panic_text(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_string()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without a text".to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_gives_its_text() {
        assert_eq!(catch_panic(|| 3), Ok(3));
        let caught = |panic: Box<dyn Any + Send>| catch_panic(|| resume_unwind(panic));
        assert_eq!(caught(Box::new("fixed")), Err("fixed".to_string()));
        assert_eq!(
            caught(Box::new("made".to_string())),
            Err("made".to_string())
        );
        assert_eq!(
            caught(Box::new(3)),
            Err("a panic without a text".to_string())
        );
    }

    #[test]
    fn a_mutex_is_locked_after_its_holder_has_panicked() {
        let mutex = Mutex::new(1);
        let panicked = catch_panic(|| {
            let mut held = lock(&mutex);
            *held = 2;
            resume_unwind(Box::new("it ends here"))
        });
        assert_eq!(panicked, Err::<(), _>("it ends here".to_string()));
        assert!(mutex.is_poisoned());
        assert_eq!(*lock(&mutex), 2);
        assert_eq!(unpoisoned(mutex.into_inner()), 2);
    }

    #[test]
    fn a_thread_has_its_name() {
        let name = || std::thread::current().name().map(str::to_string);
        let plain = spawn("plain", name).unwrap().join().unwrap();
        let deep = spawn_deep("deep", name).unwrap().join().unwrap();
        let scoped = std::thread::scope(|scope| {
            let thread = spawn_scoped(scope, "scoped", name).unwrap();
            thread.join().unwrap()
        });
        let names = [plain, deep, scoped].map(Option::unwrap);
        assert_eq!(names, ["plain", "deep", "scoped"]);
    }

    #[test]
    fn work_in_threads_gives_its_results_in_order_and_its_panics() {
        let mut numbers = [1, 2, 3];
        let doubled = |number: &mut i32| {
            *number *= 2;
            *number
        };
        let works = numbers.iter_mut().map(|number| move || doubled(number));
        assert_eq!(in_threads("double", works), [2, 4, 6]);
        assert_eq!(numbers, [2, 4, 6]);
        assert!(in_threads("nothing", std::iter::empty::<fn()>()).is_empty());
        let second = || in_threads("panic", [0, 1].map(|it| move || assert_eq!(it, 0)));
        assert!(catch_panic(second).is_err());
    }
}
