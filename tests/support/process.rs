//! A player server as a process of its own, seen from outside.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, getrlimit, prlimit};
use serde_json::Value;

use super::client::{Answer, PATIENCE, ggp_base, read_to_end};

/// Threads that belong to no match, by the starts of their names.
const STANDING: [&str; 5] = ["ctrl-c", "panza", "player", "tokio", "tracing"];

/// A player server; it is killed when this is dropped.
pub struct PlayerProcess {
    process: Child,
    pub address: String,
    /// Its standard error so far.
    messages: Arc<Mutex<String>>,
}

impl PlayerProcess {
    /// Starts a server with match logs in `logs` of this folder, and its memory beside them.
    pub fn start(folder: &Path, settings: &[&str]) -> Self {
        Self::spawn(Command::new(env!("CARGO_BIN_EXE_panza")), folder, settings)
    }

    /// As [`start`](Self::start), with a write beyond a limit on files as an error: such a write
    /// otherwise ends a process.
    pub fn start_with_limited_files(folder: &Path, settings: &[&str]) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]);
        command.arg(env!("CARGO_BIN_EXE_panza"));
        Self::spawn(command, folder, settings)
    }

    /// As [`start`](Self::start), with a library that is loaded before all others.
    pub fn start_with_library(folder: &Path, settings: &[&str], library: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_panza"));
        command.env("LD_PRELOAD", library);
        Self::spawn(command, folder, settings)
    }

    fn spawn(mut command: Command, folder: &Path, settings: &[&str]) -> Self {
        let path = |key: &str, name: &str| format!("{key}={}", folder.join(name).display());
        command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(["--set", "server.log_listen=none"])
            .args(["--set", &path("logs.folder", "logs")])
            .args(["--set", &path("memory.path", "memory.sqlite")])
            .env_remove("RUST_LOG")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for setting in settings {
            command.args(["--set", setting]);
        }
        let mut process = command.spawn().unwrap();
        let messages = Arc::new(Mutex::new(String::new()));
        let mut lines = BufReader::new(process.stderr.take().unwrap());
        let kept = Arc::clone(&messages);
        std::thread::spawn(move || {
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
                kept.lock().unwrap().push_str(&line);
                line.clear();
            }
        });
        let mut line = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let address = line.trim().rsplit('/').next().unwrap().to_string();
        // The rest of its output is read and dropped.
        std::thread::spawn(move || output.read_to_end(&mut Vec::new()));
        Self {
            process,
            address,
            messages,
        }
    }

    /// Ends the process at once, with SIGKILL.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// What it has written on standard error.
    pub fn messages(&self) -> String {
        self.messages.lock().unwrap().clone()
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends a message without waiting for its answer.
    pub fn send(&self, message: &str) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(ggp_base(message).as_bytes()).unwrap();
        stream
    }

    pub fn ask(&self, message: &str) -> String {
        read_to_end(self.send(message)).body
    }

    /// A page.
    pub fn get(&self, target: &str) -> Answer {
        let mut stream = self.connect();
        let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        read_to_end(stream)
    }

    /// A page of JSON.
    pub fn json(&self, target: &str) -> Value {
        let answer = self.get(target);
        assert_eq!(answer.code(), "200", "{target}: {answer:?}");
        serde_json::from_str(&answer.body).unwrap()
    }

    /// The folder of the process in `/proc`.
    pub fn proc(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}", self.process.id()))
    }

    /// A figure of memory in `/proc/PID/status`.
    pub fn kibibytes(&self, field: &str) -> u64 {
        let status = fs::read_to_string(self.proc().join("status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        line.unwrap()
            .trim()
            .trim_end_matches(" kB")
            .parse()
            .unwrap()
    }

    /// Sets a soft limit of the process; without a number to that of this process.
    pub fn limit(&self, resource: Resource, most: Option<u64>) {
        let mut limit = getrlimit(resource);
        limit.current = most.or(limit.current);
        let process = Pid::from_raw(self.process.id() as i32);
        prlimit(process, resource, limit).unwrap();
    }

    /// Processor time of the threads whose names begin like this.
    pub fn processor_time(&self, name: &str) -> Duration {
        let mut ticks = 0;
        for thread in fs::read_dir(self.proc().join("task")).unwrap() {
            let Ok(stat) = fs::read_to_string(thread.unwrap().path().join("stat")) else {
                continue;
            };
            let (before, after) = stat.rsplit_once(") ").unwrap();
            if before.split_once('(').unwrap().1.starts_with(name) {
                let fields: Vec<&str> = after.split(' ').collect();
                ticks += fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
            }
        }
        // A tick of /proc is a hundredth of a second on every Linux.
        Duration::from_millis(10 * ticks)
    }

    /// The names of threads that belong to a match.
    pub fn threads_of_matches(&self) -> Vec<String> {
        let tasks = fs::read_dir(self.proc().join("task")).unwrap();
        let names = tasks.filter_map(|task| {
            let name = fs::read_to_string(task.ok()?.path().join("comm")).ok()?;
            Some(name.trim().to_string())
        });
        let is_of_match = |name: &String| !STANDING.iter().any(|start| name.starts_with(start));
        names.filter(is_of_match).collect()
    }

    /// Waits until no thread of a match is left. That takes less than a second on an idle machine.
    pub fn wait_for_end(&self, place: &str) {
        let begin = Instant::now();
        loop {
            let left = self.threads_of_matches();
            if left.is_empty() {
                return;
            }
            let waited = begin.elapsed();
            assert!(waited < PATIENCE, "{place}: {left:?} after {waited:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for PlayerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}
