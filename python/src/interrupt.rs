//! Long work that Ctrl-C ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use panza_sync::spawn_scoped;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// Time between two looks at whether a signal has come.
const LOOK: Duration = Duration::from_millis(50);

/// Does the work without the interpreter lock, on a thread of its own, while this one handles
/// signals. The flag that the work gets is set once a handler has raised an exception; the work
/// should then end soon.
///
/// # Errors
/// The exception that a signal handler has raised.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Arc<AtomicBool>) -> T + Send,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    py.detach(|| {
        thread::scope(|scope| {
            let (alive, ended) = channel::<()>();
            let stop = &stop;
            let worker = spawn_scoped(scope, "panza-ggp", move || {
                let result = work(stop);
                drop(alive);
                result
            })?;
            let mut interrupt = None;
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if interrupt.is_none()
                    && let Err(error) = Python::attach(|py| py.check_signals())
                {
                    stop.store(true, Ordering::Relaxed);
                    interrupt = Some(error);
                }
            }
            let result = worker.join();
            let result = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match interrupt {
                None => Ok(Ok(result)),
                Some(error) => Ok(Err(error)),
            }
        })
    })
    .unwrap_or_else(|error: std::io::Error| {
        Err(PyOSError::new_err(format!(
            "no thread could be started: {error}"
        )))
    })
}
