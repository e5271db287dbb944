//! A player server as a process, and what it holds.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use panza_arena::child::Child;
use serde::{Deserialize, Serialize};

/// Time for the threads of a match to end before what is left is noted.
const QUIET: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);
/// Threads that belong to no match, by the starts of their names.
const STANDING: [&str; 4] = ["panza", "player", "tokio", "tracing"];

/// What a process holds when no match is played.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Held {
    /// Resident memory.
    pub resident_kib: u64,
    /// Resident memory that belongs to no file.
    pub anonymous_kib: u64,
    /// The most resident memory so far.
    pub peak_kib: u64,
    /// All threads.
    pub threads: usize,
    /// Descriptors.
    pub descriptors: usize,
    /// From the end of the match until its last thread ended.
    pub quiet_seconds: f64,
    /// Threads of the match that had not ended then.
    pub left: BTreeMap<String, usize>,
}

/// A server; it ends when this is dropped.
pub struct ServerProcess {
    pub number: u16,
    /// Where it listens.
    pub address: String,
    child: Child,
    /// Held open, so that the server can write.
    _output: BufReader<ChildStdout>,
}

impl ServerProcess {
    /// Starts a server with log folder and memory in `folder`.
    pub fn start(program: &Path, number: u16, folder: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(folder)?;
        let messages = File::create(folder.join("messages.txt"))?;
        let logs = folder.join("logs");
        let mut command = Command::new(program);
        command
            .args(["--json", "serve", "--listen", "127.0.0.1:0"])
            .args([
                "--set",
                "server.log_listen=none",
                "--set",
                "logs.max_mib=64",
            ])
            .arg("--set")
            .arg(format!("logs.folder={}", logs.display()))
            .arg("--set")
            .arg(format!(
                "memory.path={}",
                folder.join("memory.sqlite").display()
            ))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(messages);
        let mut child = Child::start(command, None)?;
        let (_, output) = child.pipes().context("the server has no output")?;
        let mut output = BufReader::new(output);
        let mut line = String::new();
        output.read_line(&mut line)?;
        let listening: Listening = serde_json::from_str(&line)
            .with_context(|| format!("server {number} did not say where it listens: `{line}`"))?;
        Ok(Self {
            number,
            address: format!("http://{}", listening.listening),
            child,
            _output: output,
        })
    }

    /// How it ended; nothing while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.ended()
    }

    /// Waits until the threads of the match have ended, and says what is held then. All is zero
    /// when the process has ended.
    pub fn when_quiet(&self) -> Held {
        let ended = Instant::now();
        let mut left = BTreeMap::new();
        while ended.elapsed() < QUIET {
            left = thread_names(self.child.id()).unwrap_or_default();
            left.retain(|name, _| !STANDING.iter().any(|start| name.starts_with(start)));
            if left.is_empty() {
                break;
            }
            thread::sleep(LOOK);
        }
        let quiet_seconds = ended.elapsed().as_secs_f64();
        // The connection of the last message is closed by then.
        thread::sleep(5 * LOOK);
        Held {
            quiet_seconds,
            left,
            ..held(self.child.id()).unwrap_or_default()
        }
    }
}

#[derive(Deserialize)]
struct Listening {
    listening: String,
}

/// The names of the threads of a process, and how many have each.
fn thread_names(process: u32) -> anyhow::Result<BTreeMap<String, usize>> {
    let mut names = BTreeMap::new();
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread may have ended meanwhile.
        if let Ok(name) = fs::read_to_string(thread?.path().join("comm")) {
            *names.entry(name.trim().to_string()).or_default() += 1;
        }
    }
    Ok(names)
}

fn held(process: u32) -> anyhow::Result<Held> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let figure = |key: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(key));
        let value = value.and_then(|value| value.split_whitespace().next());
        value.and_then(|value| value.parse().ok()).unwrap_or(0)
    };
    Ok(Held {
        resident_kib: figure("VmRSS:"),
        anonymous_kib: figure("RssAnon:"),
        peak_kib: figure("VmHWM:"),
        threads: figure("Threads:") as usize,
        descriptors: fs::read_dir(format!("/proc/{process}/fd"))?.count(),
        ..Held::default()
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_process_are_read() {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let waiting = thread::Builder::new().name("waiting".to_string());
        let (ready, named) = std::sync::mpsc::channel();
        let waiting = waiting.spawn(move || {
            // A thread names itself before it runs this.
            ready.send(()).unwrap();
            receiver.recv()
        });
        let waiting = waiting.unwrap();
        named.recv().unwrap();
        let names = thread_names(std::process::id()).unwrap();
        assert_eq!(names.get("waiting"), Some(&1), "{names:?}");
        let held = held(std::process::id()).unwrap();
        assert!(held.threads >= 2 && held.descriptors >= 3, "{held:?}");
        assert!(
            held.resident_kib > 1000 && held.peak_kib >= held.resident_kib,
            "{held:?}"
        );
        drop(sender);
        waiting.join().unwrap().unwrap_err();
    }
}
