//! A server of Panza as a process of its own, and what it holds.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use anyhow::{Context, ensure};
use panza_cli::Child;
use serde::Serialize;
use serde_json::Value;

/// The program of a server: the one that is named, else the one beside this program.
pub fn program(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let program = match named {
        Some(program) => program.to_path_buf(),
        None => std::env::current_exe()?.with_file_name("panza"),
    };
    let shown = program.display();
    ensure!(
        program.is_file(),
        "no program `{shown}`; build it, or name it with --program"
    );
    Ok(program)
}

/// A running server; it ends when this is dropped.
pub struct Server {
    pub address: SocketAddr,
    child: Child,
    folder: PathBuf,
    /// Open as long as the process runs.
    _pipes: (ChildStdin, BufReader<ChildStdout>),
}

/// What the process holds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Figures {
    /// Resident memory, in MiB.
    pub memory_mib: f64,
    /// Resident memory that belongs to no file, in MiB.
    pub anonymous_mib: f64,
    /// The most resident memory so far, in MiB.
    pub peak_mib: f64,
    pub threads: usize,
    pub descriptors: usize,
}

impl Server {
    /// Starts a server on a free port of this machine. Its logs, its memory and its standard error
    /// go to `folder`.
    pub fn start(program: &Path, folder: &Path, settings: &[String]) -> anyhow::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        let first = [
            "server.log_listen=none".to_string(),
            format!("logs.folder={}", folder.join("logs").display()),
            format!("memory.path={}", folder.join("memory.sqlite").display()),
        ];
        for item in first.iter().chain(settings) {
            command.args(["--set", item]);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(folder.join("messages.txt"))?);
        let mut child = Child::start(command, None)?;
        let (input, output) = child.pipes().context("the server has no pipes")?;
        let mut output = BufReader::new(output);
        let mut line = String::new();
        output.read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.and_then(|address| address.parse().ok());
        let address = address.with_context(|| format!("the server does not listen: {line}"))?;
        Ok(Self {
            address,
            child,
            folder: folder.to_path_buf(),
            _pipes: (input, output),
        })
    }

    /// How it ended; nothing while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.ended()
    }

    /// Limits the address space of the process, in bytes. Only Linux can.
    pub fn limit_address_space(&self, bytes: u64) -> anyhow::Result<()> {
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{Pid, Resource, Rlimit, prlimit};
            let process = Pid::from_raw(i32::try_from(self.child.id())?);
            let (current, maximum) = (Some(bytes), Some(bytes));
            prlimit(process, Resource::As, Rlimit { current, maximum })?;
            Ok(())
        }
        #[cfg(not(target_os = "linux"))]
        anyhow::bail!("only Linux limits the address space of a process, not to {bytes}")
    }

    /// What the process holds now. Only Linux says so.
    pub fn figures(&self) -> anyhow::Result<Figures> {
        figures(self.child.id())
    }

    /// The names of its threads, and how many have each.
    pub fn threads(&self) -> anyhow::Result<BTreeMap<String, usize>> {
        thread_names(self.child.id())
    }

    /// The latest answer by the logs of the matches: seconds from its deadline until the player
    /// had given it.
    pub fn latest(&self) -> anyhow::Result<f64> {
        let mut latest = 0.0f64;
        for entry in fs::read_dir(self.folder.join("logs"))?.flatten() {
            let events = fs::read_to_string(entry.path().join("events.jsonl"))?;
            for line in events.lines() {
                let event: Value = serde_json::from_str(line)?;
                if event["kind"] != "move" {
                    continue;
                }
                let number = |name: &str| event["data"][name].as_f64().unwrap_or_default();
                latest = latest.max(number("seconds") - number("due_seconds"));
            }
        }
        Ok(latest)
    }

    /// The first line on standard error that says why the process was aborted.
    pub fn reason(&self) -> Option<String> {
        let bytes = fs::read(self.folder.join("messages.txt")).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let is_reason =
            |line: &&str| line.contains("memory allocation") || line.contains("overflow");
        text.lines().find(is_reason).map(String::from)
    }

    /// Lines about panics on standard error and in the logs of matches, as far as there are any.
    pub fn panics(&self) -> anyhow::Result<Vec<String>> {
        let mut texts = vec![fs::read(self.folder.join("messages.txt"))?];
        // The folder is there once a match was logged.
        let logs = fs::read_dir(self.folder.join("logs"));
        for entry in logs.into_iter().flatten().flatten() {
            texts.extend(fs::read(entry.path().join("match.log")));
        }
        let texts = texts.iter().map(|text| String::from_utf8_lossy(text));
        let mut found = Vec::new();
        for text in texts {
            let lines = text.lines().filter(|line| line.contains("panic"));
            found.extend(lines.map(String::from));
        }
        Ok(found)
    }
}

fn figures(process: u32) -> anyhow::Result<Figures> {
    let process = PathBuf::from(format!("/proc/{process}"));
    let status = fs::read_to_string(process.join("status"));
    let status = status.context("the server has ended, or this is not Linux")?;
    let number = |name: &str| -> Option<f64> {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    let mib = |name| number(name).unwrap_or_default() / 1024.0;
    Ok(Figures {
        memory_mib: mib("VmRSS:"),
        anonymous_mib: mib("RssAnon:"),
        peak_mib: mib("VmHWM:"),
        threads: number("Threads:").unwrap_or_default() as usize,
        descriptors: fs::read_dir(process.join("fd"))?.count(),
    })
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use panza_sync::spawn;

    #[test]
    fn figures_of_a_process_are_read() {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let (ready, named) = std::sync::mpsc::channel();
        let waiting = spawn("waiting", move || {
            // A thread names itself before it runs this.
            ready.send(()).unwrap();
            receiver.recv()
        });
        let waiting = waiting.unwrap();
        named.recv().unwrap();
        let names = thread_names(std::process::id()).unwrap();
        assert_eq!(names.get("waiting"), Some(&1), "{names:?}");
        let held = figures(std::process::id()).unwrap();
        assert!(held.threads >= 2 && held.descriptors >= 3, "{held:?}");
        assert!(
            held.memory_mib > 1.0 && held.peak_mib >= held.memory_mib,
            "{held:?}"
        );
        drop(sender);
        waiting.join().unwrap().unwrap_err();
    }
}
