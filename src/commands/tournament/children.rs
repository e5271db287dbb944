//! Players that are started as processes: each in a process group of its own, on one core where
//! that is asked for, and ended for certain.
//!
//! A process takes over the cores of the thread that starts it, so it is started from a thread that
//! was confined just before. The group gets a moment to end by itself and is then killed, with
//! whatever the player started itself.
//!
//! Invariant: every group that was started and not yet ended is known to [`end_all`], which is what
//! a second Ctrl-C calls.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::sync::pinning::{self, CoreId};

/// How long a player may take to end by itself.
const LEAVE: Duration = Duration::from_secs(3);
/// Between two looks at a process that is about to end.
const LOOK: Duration = Duration::from_millis(10);

/// The process groups under way.
static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// The set stays whole when a holder panics.
fn running() -> MutexGuard<'static, BTreeSet<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A port that is free now.
///
/// # Errors
/// None could be had.
pub fn free_port() -> io::Result<u16> {
    // Until the player listens somebody else could take it; the system hands out others first.
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port())
}

/// A player's process; it ends when this is dropped.
#[derive(Debug)]
pub struct Child {
    process: std::process::Child,
}

impl Child {
    /// Starts a program with `environment` beside the variables of this process, confined to
    /// `core`, its output going to `log`.
    ///
    /// # Errors
    /// The program cannot be started or confined.
    pub fn start(
        argv: &[String],
        environment: &BTreeMap<String, String>,
        core: Option<CoreId>,
        log: Option<File>,
    ) -> anyhow::Result<Self> {
        let Some((program, arguments)) = argv.split_first() else {
            bail!("no program to start");
        };
        let (output, messages) = match log {
            Some(log) => (Stdio::from(log.try_clone()?), Stdio::from(log)),
            None => (Stdio::null(), Stdio::null()),
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(environment)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(messages);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let starting = thread::spawn(move || {
            if let Some(core) = core
                && !pinning::pin_current(core)
            {
                bail!("cannot be confined to core {}", core.id);
            }
            // Held while it starts, so that no group is missed by who ends all of them.
            let mut running = running();
            let process = command.spawn()?;
            running.insert(process.id());
            Ok(process)
        });
        let process = match starting.join() {
            Ok(started) => started.with_context(|| format!("cannot start `{program}`"))?,
            Err(_) => bail!("cannot start `{program}`"),
        };
        Ok(Self { process })
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().ok().flatten()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let id = self.process.id();
        if ask_to_end(id) {
            let until = Instant::now() + LEAVE;
            while self.ended().is_none() && Instant::now() < until {
                thread::sleep(LOOK);
            }
        }
        end_group(id);
        // Where there are no groups; an error means that it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
        running().remove(&id);
    }
}

/// Ends all processes that were started, at once.
pub fn end_all() {
    for &id in running().iter() {
        end_group(id);
    }
}

/// Whether it could be asked.
fn ask_to_end(id: u32) -> bool {
    #[cfg(unix)]
    return signal(id, rustix::process::Signal::TERM);
    #[cfg(not(unix))]
    {
        let _ = id;
        false
    }
}

fn end_group(id: u32) {
    #[cfg(unix)]
    signal(id, rustix::process::Signal::KILL);
    #[cfg(not(unix))]
    let _ = id;
}

/// Whether there was somebody to hear it.
#[cfg(unix)]
fn signal(id: u32, signal: rustix::process::Signal) -> bool {
    let group = i32::try_from(id)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    group.is_some_and(|group| rustix::process::kill_process_group(group, signal).is_ok())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    const LONG: Duration = Duration::from_secs(60);

    fn start(script: &str, core: Option<CoreId>, log: Option<File>) -> Child {
        let argv = ["sh", "-c", script].map(str::to_string);
        let environment = BTreeMap::from([("GREETING".to_string(), "hello".to_string())]);
        Child::start(&argv, &environment, core, log).unwrap()
    }

    fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
        let until = Instant::now() + LONG;
        while !is_so() {
            assert!(Instant::now() < until, "{what}");
            thread::yield_now();
        }
    }

    fn line(path: &Path) -> Option<String> {
        let text = fs::read_to_string(path).ok()?;
        Some(text.strip_suffix('\n')?.to_string())
    }

    fn is_alive(id: &str) -> bool {
        let stat = fs::read_to_string(format!("/proc/{id}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[test]
    fn one_that_will_not_leave_ends_with_all_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("id");
        // The shell and its own child are deaf to a polite end.
        let script = format!(
            "trap '' TERM; sleep 600 & echo $! > {}; wait",
            file.display()
        );
        let child = start(&script, None, None);
        wait_for("it starts", || line(&file).is_some());
        let id = line(&file).unwrap();
        assert!(is_alive(&id));
        let started = Instant::now();
        drop(child);
        assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
        wait_for("its own child lives on", || !is_alive(&id));
    }

    #[test]
    fn one_that_leaves_when_asked_is_not_waited_for_longer() {
        let mut child = start("exec sleep 600", None, None);
        assert_eq!(child.ended(), None);
        let id = child.process.id();
        assert!(running().contains(&id));
        let started = Instant::now();
        drop(child);
        assert!(started.elapsed() < LEAVE, "{:?}", started.elapsed());
        assert!(!running().contains(&id));
    }

    #[test]
    fn output_environment_and_core_are_as_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        let core = *pinning::available_cores().last().unwrap();
        let log = Some(File::create(&file).unwrap());
        let script = "grep Cpus_allowed_list /proc/self/status; echo $GREETING >&2";
        let mut child = start(script, Some(core), log);
        wait_for("it ends", || child.ended().is_some());
        let said = fs::read_to_string(&file).unwrap();
        let expected = format!("Cpus_allowed_list:\t{}\nhello\n", core.id);
        assert_eq!(said, expected);
    }

    #[test]
    fn what_cannot_be_started_is_named() {
        let none = BTreeMap::new();
        let argv = ["/nonexistent/player".to_string()];
        let error = Child::start(&argv, &none, None, None).unwrap_err();
        let message = format!("{error:#}");
        assert!(
            message.starts_with("cannot start `/nonexistent/player`: "),
            "{message}"
        );
    }
}
