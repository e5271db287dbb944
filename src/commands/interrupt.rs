//! Ctrl-C.
//!
//! Commands that compute hold nothing that must be put in order, so they end at once; commands that
//! talk to others ([`watch()`]) are told and take their leave first. Either way the exit status is
//! [`EXIT_STATUS`].

use tokio::sync::watch;

/// The exit status of a command that was interrupted: 128 plus the number of the signal, as shells
/// have it.
pub const EXIT_STATUS: u8 = 130;

/// Ctrl-C, listened to from the moment this is made: a key pressed before anybody waits for it is
/// not lost.
struct CtrlC(
    #[cfg(unix)] tokio::signal::unix::Signal,
    #[cfg(windows)] tokio::signal::windows::CtrlC,
);

impl CtrlC {
    /// Must be called on a runtime.
    fn listen() -> std::io::Result<Self> {
        #[cfg(unix)]
        return tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()).map(Self);
        #[cfg(windows)]
        return tokio::signal::windows::ctrl_c().map(Self);
    }

    /// The next time; false when there will be none.
    async fn pressed(&mut self) -> bool {
        self.0.recv().await.is_some()
    }
}

/// Ends the program on Ctrl-C from now on.
///
/// # Errors
/// The signal cannot be listened to.
pub fn exit_on_ctrl_c() -> std::io::Result<()> {
    exit_on_ctrl_c_after(|| {})
}

/// Ends the program on Ctrl-C from now on, after `leave` has put in order what must not be left
/// behind.
///
/// # Errors
/// The signal cannot be listened to.
pub fn exit_on_ctrl_c_after(leave: impl Fn() + Send + 'static) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut ctrl_c = {
        let _on_runtime = runtime.enter();
        CtrlC::listen()?
    };
    std::thread::Builder::new()
        .name("ctrl-c".to_string())
        .spawn(move || {
            if runtime.block_on(ctrl_c.pressed()) {
                leave();
                eprintln!("interrupted");
                std::process::exit(i32::from(EXIT_STATUS));
            }
        })?;
    Ok(())
}

/// Ends on Ctrl-C, and where there are such signals on SIGTERM: what a service is stopped with.
pub async fn ended() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminated.recv() => {}
            }
            return;
        }
    }
    // An error means that the signal cannot be listened to; then the system's own way of ending
    // must do.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Becomes true on Ctrl-C; a second Ctrl-C ends the program at once. Must be called on a runtime.
pub fn watch() -> watch::Receiver<bool> {
    let (sender, receiver) = watch::channel(false);
    // Where it cannot be listened to, the system's own way of ending must do.
    let Ok(mut ctrl_c) = CtrlC::listen() else {
        return receiver;
    };
    tokio::spawn(async move {
        if !ctrl_c.pressed().await {
            return;
        }
        eprintln!("interrupted");
        sender.send_replace(true);
        if ctrl_c.pressed().await {
            std::process::exit(i32::from(EXIT_STATUS));
        }
    });
    receiver
}

/// Becomes true on Ctrl-C and, where there is such a signal, on SIGTERM; a second time ends the
/// program at once, after `leave` has put in order what must not be left behind. Must be called on
/// a runtime.
pub fn watch_ending(leave: impl Fn() + Send + 'static) -> watch::Receiver<bool> {
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        ended().await;
        eprintln!("interrupted");
        sender.send_replace(true);
        ended().await;
        leave();
        std::process::exit(i32::from(EXIT_STATUS));
    });
    receiver
}
