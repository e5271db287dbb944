//! Threads and their panics: spawning by name, locks whose holder has panicked, and the texts of
//! panics.
//!
//! A thread takes over the `tracing` span that the thread which starts it is in, so that what it
//! reports is known to belong to the same match.
//!
//! A mutex whose holder panicked is locked as any other. Each user keeps what it guards valid at
//! every step, so the value is as good as before the panic.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{LockResult, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

/// The stack of a thread that reads, builds or proves rules, whose terms may nest deeply.
const DEEP_STACK_BYTES: usize = 64 << 20;

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
    Builder::new().name(name.into()).spawn(in_same_span(work))
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
    thread.spawn(in_same_span(work))
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
    thread.spawn_scoped(scope, in_same_span(work))
}

/// The work of another thread, in the span that the calling thread is in. In a span, its begin and
/// its end are events.
pub fn in_same_span<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let span = tracing::Span::current();
    move || {
        if span.is_none() {
            return work();
        }
        span.in_scope(|| {
            tracing::debug!("the thread begins");
            let outcome = work();
            tracing::debug!("the thread ends");
            outcome
        })
    }
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
    use std::panic::resume_unwind;

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
}
