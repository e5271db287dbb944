//! Ctrl-C and SIGTERM.
//!
//! A signal ends the program, and the processes that it started. A command that has something to
//! end or to save first says so once it has: [`stop`] sets a flag instead, [`runtime`] tells the
//! tasks of a runtime, and [`ended`] leaves signals to a server. After the first two the next
//! signal ends the program. The exit status is [`EXIT_STATUS`].

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use panza_sync::lock;
use panza_sync::spawn;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use super::child;

/// The exit status of an interrupted command: 128 plus the number of SIGINT, as in shells.
pub const EXIT_STATUS: u8 = 130;

/// The signals, from the moment this is made: one that comes before anything waits is not lost.
struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(windows)]
    interrupt: tokio::signal::windows::CtrlC,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
            })
        }
        #[cfg(windows)]
        tokio::signal::windows::ctrl_c().map(|interrupt| Self { interrupt })
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
        #[cfg(windows)]
        self.interrupt.recv().await;
    }
}

/// What the next signal does.
enum AtSignal {
    /// It ends the program. So does a signal before anything is said here, once [`listen`] was
    /// called.
    Exit,
    /// It calls this, and the signal after it ends the program.
    Call(Box<dyn FnOnce() + Send>),
    /// Nothing: [`ended`] waits for it.
    Nothing,
}

struct Listener {
    is_listening: bool,
    next: AtSignal,
}

static LISTENER: Mutex<Listener> = Mutex::new(Listener {
    is_listening: false,
    next: AtSignal::Exit,
});

/// From now on a signal ends the program.
pub fn listen() -> io::Result<()> {
    at_signal(AtSignal::Exit)
}

/// The next signal sets `flag` instead of ending the program.
pub fn stop(flag: &Arc<AtomicBool>) -> io::Result<()> {
    let flag = Arc::clone(flag);
    let set = move || flag.store(true, Ordering::Relaxed);
    at_signal(AtSignal::Call(Box::new(set)))
}

/// Says what the next signal does. The thread that waits for signals starts with the first call.
fn at_signal(next: AtSignal) -> io::Result<()> {
    let mut listener = lock(&LISTENER);
    if !listener.is_listening {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let signals = {
            let _on_runtime = runtime.enter();
            Signals::listen()?
        };
        spawn("ctrl-c", move || runtime.block_on(obey(signals)))?;
        listener.is_listening = true;
    }
    listener.next = next;
    Ok(())
}

/// Does what each signal shall do.
async fn obey(mut signals: Signals) {
    let mut is_first = true;
    loop {
        signals.next().await;
        let mut listener = lock(&LISTENER);
        let next = match listener.next {
            AtSignal::Nothing => continue,
            AtSignal::Exit | AtSignal::Call(_) => {
                std::mem::replace(&mut listener.next, AtSignal::Exit)
            }
        };
        drop(listener);
        if std::mem::take(&mut is_first) {
            eprintln!("interrupted");
        }
        match next {
            AtSignal::Call(call) => call(),
            AtSignal::Exit | AtSignal::Nothing => {
                child::end_all();
                std::process::exit(i32::from(EXIT_STATUS))
            }
        }
    }
}

/// Ends at the next signal from now on; never where the system delivers none. Later signals do
/// nothing. Must be called on a runtime.
pub fn ended() -> impl Future<Output = ()> {
    let signals = at_signal(AtSignal::Nothing).and_then(|()| Signals::listen());
    async {
        match signals {
            Ok(mut signals) => signals.next().await,
            Err(_) => std::future::pending().await,
        }
    }
}

/// A runtime with two threads, and a flag that becomes true at the next signal instead of the end
/// of the program.
pub fn runtime() -> io::Result<(Runtime, watch::Receiver<bool>)> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let (sender, receiver) = watch::channel(false);
    let tell = move || {
        sender.send_replace(true);
    };
    // Without signals the system ends the program.
    let _ = at_signal(AtSignal::Call(Box::new(tell)));
    Ok((runtime, receiver))
}
