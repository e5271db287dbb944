//! Baselines: outside programs that play the same random playouts, to be measured in turn with our
//! own.
//!
//! A baseline is a shell command with the places `{rulesheet}` and `{seconds}`, which prints a line
//! with `playouts_per_cpu_s=NUMBER` and perhaps `mean_length=NUMBER`. It has a process group of its
//! own, so that one that takes too long ends with everything it started. What it prints is read to
//! its end and kept up to a limit.
//!
//! Invariant: a [`Failure`] shows nothing that the command printed, for that may name folders of
//! this machine.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// What is kept of a baseline's standard output, and of what it says on standard error.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;
const MAX_MESSAGE_BYTES: u64 = 64 << 10;
/// A longer name would be no head of a column.
const MAX_NAME_CHARS: usize = 40;

/// The process group of the baseline under way; 0 when there is none.
static RUNNING: AtomicI32 = AtomicI32::new(0);

/// An outside program to compare with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Baseline {
    /// What the page calls it.
    pub name: String,
    /// The shell command, places not filled in.
    pub command: String,
}

/// What one run of a baseline came to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// Playouts per second of processor time.
    pub playouts_per_cpu_s: f64,
    /// Mean joint moves of a playout, where it tells.
    pub mean_length: Option<f64>,
}

/// Why a run of a baseline gave no figure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The shell could not be started.
    NotStarted(String),
    /// It took longer than this and was ended.
    TimedOut(Duration),
    /// It ended with this status.
    Status(String),
    /// It printed no rate.
    NoRate,
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NotStarted(why) => write!(out, "could not be started: {why}"),
            Failure::TimedOut(limit) => write!(out, "not done after {} s", limit.as_secs_f64()),
            Failure::Status(status) => write!(out, "ended with {status}"),
            Failure::NoRate => write!(out, "printed no line with playouts_per_cpu_s=NUMBER"),
        }
    }
}

impl FromStr for Baseline {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, command) = text.split_once('=').ok_or("expected NAME=COMMAND")?;
        let is_plain = |c: char| c.is_alphanumeric() || " -_.+".contains(c);
        let length = name.chars().count();
        if name.trim() != name
            || !(1..=MAX_NAME_CHARS).contains(&length)
            || !name.chars().all(is_plain)
        {
            return Err(format!(
                "expected NAME=COMMAND, the name of 1 to {MAX_NAME_CHARS} letters, digits, spaces and -_.+"
            ));
        }
        if command.trim().is_empty() {
            return Err("expected NAME=COMMAND with a shell command".to_string());
        }
        Ok(Self {
            name: name.to_string(),
            command: command.to_string(),
        })
    }
}

impl Baseline {
    /// Runs it once on a rulesheet, for at most `limit`.
    ///
    /// # Errors
    /// It gave no figure; beside the reason stands what it said on standard error, in one line.
    pub fn run(
        &self,
        rulesheet: &Path,
        seconds: f64,
        limit: Duration,
    ) -> Result<Measured, (Failure, String)> {
        let silent = |failure| (failure, String::new());
        let not_started = |error: io::Error| silent(Failure::NotStarted(error.to_string()));
        let until = Instant::now() + limit;
        let mut child = self.start(rulesheet, seconds).map_err(not_started)?;
        let group = Group::of(&child);
        let output = read_aside(child.stdout.take(), MAX_OUTPUT_BYTES);
        let messages = read_aside(child.stderr.take(), MAX_MESSAGE_BYTES);
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || {
            // Nobody waits for it any more once its time is up.
            let _ = sender.send(child.wait());
        });
        let ended = receive(&ended, until);
        let output = receive(&output, until);
        if ended.is_none() || output.is_none() {
            group.end();
        }
        // Whoever has ended has said all; of others a moment is waited for the end that they were
        // just brought.
        let messages = receive(
            &messages,
            until.max(Instant::now() + Duration::from_secs(1)),
        );
        let messages = one_line(&messages.unwrap_or_default());
        drop(group);
        let (ended, output) = match (ended, output) {
            (Some(ended), Some(output)) => (ended, output),
            _ => return Err((Failure::TimedOut(limit), messages)),
        };
        match ended {
            Ok(status) if status.success() => parse(&output).ok_or((Failure::NoRate, messages)),
            Ok(status) => Err((Failure::Status(status.to_string()), messages)),
            Err(error) => Err((Failure::Status(error.to_string()), messages)),
        }
    }

    fn start(&self, rulesheet: &Path, seconds: f64) -> io::Result<Child> {
        let command = self
            .command
            .replace("{rulesheet}", &quoted(&rulesheet.to_string_lossy()))
            .replace("{seconds}", &seconds.to_string());
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        shell.spawn()
    }
}

/// Ends the baseline under way, if there is one, with all it started.
pub fn end_running() {
    end_group(RUNNING.load(Ordering::Relaxed));
}

/// The process group of a baseline under way, known to [`end_running`] while this lives.
struct Group(i32);

impl Group {
    fn of(child: &Child) -> Self {
        let id = i32::try_from(child.id()).unwrap_or(0);
        RUNNING.store(id, Ordering::Relaxed);
        Self(id)
    }

    fn end(&self) {
        end_group(self.0);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        RUNNING.store(0, Ordering::Relaxed);
    }
}

/// Without process groups a baseline that takes too long goes on, and is heard no more.
fn end_group(id: i32) {
    #[cfg(unix)]
    if id > 1
        && let Some(group) = rustix::process::Pid::from_raw(id)
    {
        // A group that has just ended by itself cannot be ended, and need not be.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = id;
}

/// Reads a stream to its end on a thread of its own, so that its writer never waits, and keeps its
/// beginning.
fn read_aside(stream: Option<impl Read + Send + 'static>, most: u64) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let Some(mut stream) = stream else { return };
        let mut kept = Vec::new();
        let _ = (&mut stream).take(most).read_to_end(&mut kept);
        let _ = io::copy(&mut stream, &mut io::sink());
        let _ = sender.send(String::from_utf8_lossy(&kept).into_owned());
    });
    receiver
}

fn receive<T>(receiver: &Receiver<T>, until: Instant) -> Option<T> {
    let left = until.saturating_duration_since(Instant::now());
    receiver.recv_timeout(left).ok()
}

/// The last line that tells a rate.
fn parse(output: &str) -> Option<Measured> {
    output.lines().rev().find_map(|line| {
        Some(Measured {
            playouts_per_cpu_s: value(line, "playouts_per_cpu_s")?,
            mean_length: value(line, "mean_length"),
        })
    })
}

/// The positive number of `key=number` in a line.
fn value(line: &str, key: &str) -> Option<f64> {
    let items = line.split(|c: char| c.is_whitespace() || c == ',' || c == ';');
    items
        .filter_map(|item| item.split_once('='))
        .filter(|(found, _)| *found == key)
        .find_map(|(_, number)| number.parse().ok())
        .filter(|number: &f64| number.is_finite() && *number > 0.0)
}

/// A path as one word of a shell command, quoted only where it must be, so that it may stand inside
/// quotes as well.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    match path.chars().all(is_plain) {
        true => path.to_string(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.take(3).collect::<Vec<_>>().join(" ")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn run(command: &str, limit: Duration) -> Result<Measured, (Failure, String)> {
        let baseline: Baseline = format!("fake={command}").parse().unwrap();
        baseline.run(Path::new("/games/o'hara 2.gdl"), 2.5, limit)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn places_are_filled_in_and_the_last_rate_counts() {
        let told = run(
            r#"test {rulesheet} = "/games/o'hara 2.gdl" && echo playouts_per_cpu_s=1 &&
               echo "game=x playouts_per_cpu_s={seconds}, mean_length=7.6" && echo done"#,
            LONG,
        );
        let expected = Measured {
            playouts_per_cpu_s: 2.5,
            mean_length: Some(7.6),
        };
        assert_eq!(told, Ok(expected));
    }

    #[test]
    fn what_goes_wrong_is_told_without_what_was_printed() {
        for (command, expected, said) in [
            (
                "echo out of luck >&2; exit 3",
                "ended with exit status: 3",
                "out of luck",
            ),
            ("kill -9 $$", "ended with signal: 9 (SIGKILL)", ""),
            (
                "echo no figures",
                "printed no line with playouts_per_cpu_s=NUMBER",
                "",
            ),
            (
                "echo playouts_per_cpu_s=NaN",
                "printed no line with playouts_per_cpu_s=NUMBER",
                "",
            ),
            (
                "echo playouts_per_cpu_s=-3",
                "printed no line with playouts_per_cpu_s=NUMBER",
                "",
            ),
        ] {
            let (failure, messages) = run(command, LONG).unwrap_err();
            assert_eq!(failure.to_string(), expected, "{command}");
            assert_eq!(messages, said, "{command}");
        }
    }

    #[test]
    fn one_that_takes_too_long_ends_with_all_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("id");
        // The shell's own child holds the pipes; it is the one that must not live on.
        let command = format!("sleep 600 & echo $! > {}; wait", file.display());
        let started = Instant::now();
        let (failure, _) = run(&command, Duration::from_secs(2)).unwrap_err();
        assert_eq!(failure, Failure::TimedOut(Duration::from_secs(2)));
        assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
        let id: i32 = std::fs::read_to_string(file)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let id = rustix::process::Pid::from_raw(id).unwrap();
        let until = Instant::now() + LONG;
        let is_alive = || {
            let state = std::fs::read_to_string(format!("/proc/{}/stat", id.as_raw_nonzero()));
            let is_zombie = state.is_ok_and(|state| state.contains(") Z "));
            rustix::process::test_kill_process(id).is_ok() && !is_zombie
        };
        while is_alive() {
            assert!(Instant::now() < until, "the child lives on");
            thread::yield_now();
        }
    }

    #[test]
    fn a_flood_is_read_to_its_end_and_kept_up_to_a_limit() {
        let told = run("echo playouts_per_cpu_s=5; yes | head -c 5000000", LONG);
        assert_eq!(told.unwrap().playouts_per_cpu_s, 5.0);
    }

    #[test]
    fn names_head_columns() {
        for text in ["fake", "=run", "a|b=run", " a=run", "a=", "a= "] {
            assert!(text.parse::<Baseline>().is_err(), "{text}");
        }
        let baseline: Baseline = "Some Player 1.6=run --x=1".parse().unwrap();
        assert_eq!(baseline.name, "Some Player 1.6");
        assert_eq!(baseline.command, "run --x=1");
    }
}
