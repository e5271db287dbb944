//! Ctrl-C and SIGTERM.
//!
//! Commands that only compute exit at once. Commands that talk to players ([`runtime`]) end their
//! matches first, those with results to save ([`stop_on_ctrl_c`]) save them, those that search
//! ([`stop_what_has_begun`]) print what they found, and a second signal ends them at once. The exit
//! status is [`EXIT_STATUS`].

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

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

/// Ends the program at the next signal, after a call of `clean_up`.
pub fn exit_on_ctrl_c_after(clean_up: impl Fn() + Send + 'static) -> io::Result<()> {
    after_signal(move |_, _| exit(&clean_up))
}

/// Until `has_begun`, the next signal ends the program. After that it sets `stop`, and the signal
/// after it ends the program.
pub fn stop_what_has_begun(has_begun: Arc<AtomicBool>, stop: Arc<AtomicBool>) -> io::Result<()> {
    after_signal(move |runtime, signals| {
        if has_begun.load(Ordering::Relaxed) {
            stop.store(true, Ordering::Relaxed);
            runtime.block_on(signals.next());
        }
        exit(&|| {})
    })
}

/// Sets a flag at the next signal. The signal after it ends the program.
pub fn stop_on_ctrl_c(stop: Arc<AtomicBool>) -> io::Result<()> {
    after_signal(move |runtime, signals| {
        stop.store(true, Ordering::Relaxed);
        runtime.block_on(signals.next());
        exit(&|| {})
    })
}

/// Calls `act` on a thread of its own after the next signal.
fn after_signal(act: impl FnOnce(&Runtime, &mut Signals) + Send + 'static) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut signals = {
        let _on_runtime = runtime.enter();
        Signals::listen()?
    };
    let thread = std::thread::Builder::new().name("ctrl-c".to_string());
    thread.spawn(move || {
        runtime.block_on(signals.next());
        eprintln!("interrupted");
        act(&runtime, &mut signals);
    })?;
    Ok(())
}

fn exit(clean_up: &impl Fn()) -> ! {
    clean_up();
    std::process::exit(i32::from(EXIT_STATUS))
}

/// Ends at the next signal from now on; never where the system delivers none. Must be called on a
/// runtime.
pub fn ended() -> impl Future<Output = ()> {
    let signals = Signals::listen();
    async {
        match signals {
            Ok(mut signals) => signals.next().await,
            Err(_) => std::future::pending().await,
        }
    }
}

/// A runtime with two threads, and a flag that becomes true at the next signal. The signal after it
/// ends the program after a call of `clean_up`.
pub fn runtime(
    clean_up: impl Fn() + Send + 'static,
) -> io::Result<(Runtime, watch::Receiver<bool>)> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let on_runtime = runtime.enter();
    let (sender, receiver) = watch::channel(false);
    // Without signals the system ends the program.
    if let Ok(mut signals) = Signals::listen() {
        tokio::spawn(async move {
            signals.next().await;
            eprintln!("interrupted");
            sender.send_replace(true);
            signals.next().await;
            exit(&clean_up)
        });
    }
    drop(on_runtime);
    Ok((runtime, receiver))
}
