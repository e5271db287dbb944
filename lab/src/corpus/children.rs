//! A process of its own for each game, so that memory is counted per game and no game takes the
//! others with it.
//!
//! The child writes its findings, of whatever kind its command has, as JSON lines while it works.
//! It is killed when its time is up, and it ends by itself when its parent is gone: the parent
//! holds the other end of its standard input, and never writes there.

use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde::de::DeserializeOwned;

use panza::commands::interrupt;

/// What is read of a child's standard output, and kept of what it says on standard error.
const MAX_OUTPUT_BYTES: u64 = 16 << 20;
const MAX_MESSAGE_BYTES: u64 = 64 << 10;

/// What a child told, and why it did not tell all, if it did not.
#[derive(Clone, PartialEq, Debug)]
pub struct Told<T> {
    /// Its findings, in order.
    pub findings: Vec<T>,
    /// Why it ended early, in one line.
    pub failure: Option<String>,
}

/// Runs a child to its end, or kills it when it takes longer than `limit`.
pub fn run<T: DeserializeOwned>(command: &mut Command, limit: Duration) -> Told<T> {
    let mut findings = Vec::new();
    let failure = match start(command) {
        Ok(child) => watch(child, limit, &mut findings),
        Err(error) => Some(format!("no process: {error}")),
    };
    Told { findings, failure }
}

/// Runs a child for each key, `jobs` at the same time, and hands over what each told as soon as it
/// has ended, with the key's place. The bar counts them.
///
/// # Errors
/// What `on_told` fails with.
pub fn run_each<T: DeserializeOwned + Send>(
    keys: &[String],
    jobs: u16,
    limit: Duration,
    progress: &ProgressBar,
    command_for: impl Fn(&str) -> Command + Sync,
    mut on_told: impl FnMut(usize, Told<T>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let (sender, told) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..usize::from(jobs).min(keys.len()) {
            let (sender, next, command_for) = (sender.clone(), &next, &command_for);
            scope.spawn(move || {
                // The next one that nobody has taken.
                while let index = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(key) = keys.get(index)
                {
                    progress.set_message(key.clone());
                    let told = run(&mut command_for(key), limit);
                    if sender.send((index, told)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        while let Ok((index, told)) = told.recv() {
            progress.inc(1);
            on_told(index, told)?;
        }
        Ok(())
    })
}

/// Ends this process, a child, as soon as its parent has gone.
///
/// # Errors
/// No thread can be started.
pub fn end_with_parent() -> io::Result<()> {
    thread::Builder::new()
        .name("parent".to_string())
        .spawn(|| {
            // Whether it ended or failed: nobody is there any more.
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            std::process::exit(i32::from(interrupt::EXIT_STATUS));
        })?;
    Ok(())
}

struct Started {
    process: Child,
    output: ChildStdout,
    messages: ChildStderr,
}

fn start(command: &mut Command) -> io::Result<Started> {
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    match (process.stdout.take(), process.stderr.take()) {
        (Some(output), Some(messages)) => Ok(Started {
            process,
            output,
            messages,
        }),
        _ => Err(io::Error::other("its output cannot be read")),
    }
}

/// Collects findings until the child ends; says why it did not end well.
fn watch<T: DeserializeOwned>(
    child: Started,
    limit: Duration,
    findings: &mut Vec<T>,
) -> Option<String> {
    let until = Instant::now() + limit;
    let Started {
        mut process,
        output,
        messages,
    } = child;
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output.take(MAX_OUTPUT_BYTES)).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let messages = thread::spawn(move || read_messages(messages));
    let mut failure = None;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match lines.recv_timeout(left) {
            Ok(line) => match serde_json::from_str(&line) {
                Ok(finding) => findings.push(finding),
                Err(_) => {
                    failure = Some(format!("told something else than findings: {line}"));
                    break;
                }
            },
            Err(RecvTimeoutError::Timeout) => {
                failure = Some(format!("not done after {:.0} s", limit.as_secs_f64()));
                break;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    if failure.is_some() {
        // A child that has just ended by itself cannot be killed, and need not be.
        let _ = process.kill();
    }
    let ended = process.wait();
    let said = messages.join().unwrap_or_default();
    failure.or_else(|| match ended {
        Ok(status) if status.success() => None,
        Ok(status) => Some(describe(status, &said)),
        Err(error) => Some(format!("its end is unknown: {error}")),
    })
}

/// The beginning of what a child says on standard error; all of it is read, so that the child never
/// waits.
fn read_messages(mut messages: ChildStderr) -> String {
    let mut kept = Vec::new();
    let _ = (&mut messages)
        .take(MAX_MESSAGE_BYTES)
        .read_to_end(&mut kept);
    let _ = io::copy(&mut messages, &mut io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}

/// How a child ended, with the first lines of what it said.
fn describe(status: ExitStatus, said: &str) -> String {
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take(3)
        .collect();
    match lines.as_slice() {
        [] => format!("ended with {status}"),
        lines => format!("ended with {status}: {}", lines.join(" ")),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::corpus::examine::Finding;

    const BUILT: &str = r#"{"built":{"machine":"prover","reason":"too large","gates_full":null,"gates_optimised":null,"gates_of_phases":[],"build_seconds":1.5,"processor_seconds":null,"peak_bytes":7}}"#;

    fn told(script: &str, limit: Duration) -> Told<Finding> {
        let script = script.replace("BUILT", &format!("echo '{BUILT}'"));
        run(Command::new("sh").args(["-c", &script]), limit)
    }

    #[test]
    fn findings_are_read_to_the_end() {
        let told = told("BUILT; BUILT; echo careful >&2", Duration::from_secs(60));
        assert_eq!(told.failure, None);
        let expected: Finding = serde_json::from_str(BUILT).unwrap();
        assert_eq!(told.findings, [expected.clone(), expected]);
    }

    #[test]
    fn a_child_that_dies_has_told_what_it_found_and_why_it_ended() {
        for (end, expected) in [
            (
                "echo out of luck >&2; exit 3",
                "exit status: 3: out of luck",
            ),
            ("kill -9 $$", "signal: 9"),
            ("echo not JSON; exec sleep 600", "something else"),
            ("exec sleep 600", "not done after"),
        ] {
            let started = Instant::now();
            let limit = match expected {
                "not done after" => Duration::from_millis(300),
                _ => Duration::from_secs(60),
            };
            let told = told(&format!("BUILT; {end}"), limit);
            let failure = told.failure.expect("it did not end well");
            assert!(failure.contains(expected), "{end}: {failure}");
            assert_eq!(told.findings.len(), 1, "{end}");
            assert!(started.elapsed() < Duration::from_secs(60), "{end}");
        }
    }

    #[test]
    fn what_cannot_be_started_is_told() {
        let told: Told<Finding> = run(
            &mut Command::new("/no/such/program"),
            Duration::from_secs(1),
        );
        assert!(told.failure.unwrap().starts_with("no process: "));
    }
}
