//! Processes that this program starts: each in a process group of its own, confined to a core where
//! asked, and always ended.
//!
//! A process inherits the cores of the thread that starts it. Its group is killed `LEAVE` after
//! SIGTERM, with whatever the process started itself.
//!
//! Invariant: [`end_all`] ends every group that was started and has not ended. Interrupts call it.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use panza_sync::{CoreId, lock, pinning};

/// Time for a process to end after SIGTERM.
const LEAVE: Duration = Duration::from_secs(3);
/// Time for streams to close after their group was killed.
const CLOSE: Duration = Duration::from_secs(1);
/// Time between two looks at a process.
const LOOK: Duration = Duration::from_millis(5);
/// Bytes that [`capture`] keeps of a stream; it reads and drops the rest.
const MAX_STREAM_BYTES: u64 = 16 << 20;

static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// The set stays valid when a holder panics.
fn running() -> MutexGuard<'static, BTreeSet<u32>> {
    lock(&RUNNING)
}

/// A port that is free now.
pub fn free_port() -> io::Result<u16> {
    // Another process can take it before the player listens; the system offers other ports first.
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port())
}

/// A process; it ends when this is dropped.
#[derive(Debug)]
pub struct Child {
    process: std::process::Child,
}

impl Child {
    /// Starts a command, confined to `core`.
    pub fn start(mut command: Command, core: Option<CoreId>) -> anyhow::Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let starting = thread::spawn(move || {
            if let Some(core) = core
                && !pinning::pin_current(core)
            {
                bail!("cannot be confined to core {}", core.id);
            }
            // Held from before the start, so that `end_all` misses no group.
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

    /// The process's standard input and output, once, where the command has them piped.
    pub fn pipes(&mut self) -> Option<(ChildStdin, ChildStdout)> {
        self.process.stdin.take().zip(self.process.stdout.take())
    }

    /// The process's id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// How the process ended; nothing while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().ok().flatten()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let id = self.process.id();
        if self.ended().is_none() && signal(id, false) {
            let until = Instant::now() + LEAVE;
            while self.ended().is_none() && Instant::now() < until {
                thread::sleep(LOOK);
            }
        }
        kill(id);
        // For systems without groups; an error means that it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
        running().remove(&id);
    }
}

/// What a process wrote, and how it ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Captured {
    /// Its standard output.
    pub output: String,
    messages: String,
    /// Nothing when it was killed at its time limit.
    status: Option<ExitStatus>,
}

impl Captured {
    /// Why it did not succeed, without anything that it wrote.
    pub fn failure(&self, limit: Duration) -> Option<String> {
        match self.status {
            Some(status) if status.success() => None,
            Some(status) => Some(format!("ended with {status}")),
            None => Some(format!("not done after {} s", limit.as_secs_f64())),
        }
    }

    /// The first lines of its standard error, in one line.
    pub fn message_line(&self) -> String {
        let lines = self.messages.lines().map(str::trim);
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).take(3).collect();
        lines.join(" ")
    }
}

/// Runs a command until it and everything that holds its output has ended, or kills its group after
/// `limit`.
pub fn capture(mut command: Command, limit: Duration) -> anyhow::Result<Captured> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let until = Instant::now() + limit;
    let mut child = Child::start(command, None)?;
    let output = read_aside(child.process.stdout.take());
    let messages = read_aside(child.process.stderr.take());
    let is_read = || output.is_finished() && messages.is_finished();
    while !(is_read() && child.ended().is_some()) && Instant::now() < until {
        thread::sleep(LOOK);
    }
    let status = child.ended().filter(|_| is_read());
    if status.is_none() {
        kill(child.process.id());
        let closed = Instant::now() + CLOSE;
        while !is_read() && Instant::now() < closed {
            thread::sleep(LOOK);
        }
    }
    // A process that left the group may hold a stream open for ever.
    let text = |reader: JoinHandle<String>| match reader.is_finished() {
        true => reader.join().unwrap_or_default(),
        false => String::new(),
    };
    Ok(Captured {
        output: text(output),
        messages: text(messages),
        status,
    })
}

/// Reads a stream to its end on a thread of its own, so that its writer never blocks.
fn read_aside(stream: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut kept = Vec::new();
        if let Some(mut stream) = stream {
            let _ = (&mut stream).take(MAX_STREAM_BYTES).read_to_end(&mut kept);
            let _ = io::copy(&mut stream, &mut io::sink());
        }
        String::from_utf8_lossy(&kept).into_owned()
    })
}

/// Whether there is a process of this number, as far as the system tells.
pub fn is_running(id: u32) -> bool {
    #[cfg(unix)]
    if let Some(id) = i32::try_from(id)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    {
        return rustix::process::test_kill_process(id) != Err(rustix::io::Errno::SRCH);
    }
    id > 0
}

/// Kills all processes that were started.
pub fn end_all() {
    for &id in running().iter() {
        kill(id);
    }
}

fn kill(id: u32) {
    signal(id, true);
}

/// Sends SIGKILL or SIGTERM to a group; false where no process received it.
#[cfg(unix)]
fn signal(id: u32, is_kill: bool) -> bool {
    use rustix::process::{Pid, Signal, kill_process_group};
    let signal = if is_kill { Signal::KILL } else { Signal::TERM };
    let group = i32::try_from(id).ok().and_then(Pid::from_raw);
    group.is_some_and(|group| kill_process_group(group, signal).is_ok())
}

#[cfg(not(unix))]
fn signal(_: u32, _: bool) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::path::Path;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("GREETING", "hello");
        command
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
    fn a_process_that_ignores_sigterm_is_killed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("id");
        // The shell and its child ignore SIGTERM.
        let script = format!(
            "trap '' TERM; sleep 600 & echo $! > {}; wait",
            file.display()
        );
        let child = Child::start(shell(&script), None).unwrap();
        wait_for("it starts", || line(&file).is_some());
        let id = line(&file).unwrap();
        assert!(is_alive(&id));
        let started = Instant::now();
        drop(child);
        assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
        wait_for("its own child lives on", || !is_alive(&id));
    }

    #[test]
    fn a_process_that_obeys_sigterm_ends_early() {
        let mut child = Child::start(shell("exec sleep 600"), None).unwrap();
        assert_eq!(child.ended(), None);
        let id = child.process.id();
        assert!(running().contains(&id));
        let started = Instant::now();
        drop(child);
        assert!(started.elapsed() < LEAVE, "{:?}", started.elapsed());
        assert!(!running().contains(&id));
    }

    #[test]
    fn output_environment_and_core_are_as_requested() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        let core = *pinning::available_cores().last().unwrap();
        let log = File::create(&file).unwrap();
        let mut command = shell("grep Cpus_allowed_list /proc/self/status; echo $GREETING >&2");
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let mut child = Child::start(command, Some(core)).unwrap();
        wait_for("it ends", || child.ended().is_some());
        let found = fs::read_to_string(&file).unwrap();
        let expected = format!("Cpus_allowed_list:\t{}\nhello\n", core.id);
        assert_eq!(found, expected);
    }

    #[test]
    fn a_program_that_cannot_be_started_is_named() {
        let error = Child::start(Command::new("/nonexistent/player"), None).unwrap_err();
        let message = format!("{error:#}");
        assert!(
            message.starts_with("cannot start `/nonexistent/player`: "),
            "{message}"
        );
    }

    #[test]
    fn capture_keeps_output_messages_and_status() {
        let captured = capture(shell("echo $GREETING; echo no >&2; exit 3"), LONG).unwrap();
        assert_eq!(captured.output, "hello\n");
        assert_eq!(captured.message_line(), "no");
        let failure = captured.failure(LONG).unwrap();
        assert_eq!(failure, "ended with exit status: 3");
    }

    #[test]
    fn capture_kills_the_group_at_the_time_limit_and_keeps_its_output() {
        let limit = Duration::from_secs(1);
        let started = Instant::now();
        // The shell's child holds the streams.
        let captured = capture(shell("sleep 600 & echo $!"), limit).unwrap();
        assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
        assert_eq!(captured.status, None);
        assert_eq!(captured.failure(limit).unwrap(), "not done after 1 s");
        let id = captured.output.trim().to_string();
        wait_for("the shell's child lives on", || !is_alive(&id));
    }

    #[test]
    fn capture_reads_a_flood_to_its_end() {
        let captured = capture(shell("echo first; yes | head -c 20000000"), LONG).unwrap();
        assert!(captured.output.starts_with("first\n"));
        assert_eq!(captured.output.len() as u64, MAX_STREAM_BYTES);
        assert_eq!(captured.failure(LONG), None);
    }
}
