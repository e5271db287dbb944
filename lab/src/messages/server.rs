//! The server that is tested: a process of its own, and its figures.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use anyhow::{Context, bail};
use panza_arena::child::Child;
use serde::Serialize;
use serde_json::Value;
use tempfile::TempDir;

/// A running server; it ends when this is dropped.
pub struct Server {
    pub address: SocketAddr,
    child: Child,
    folder: TempDir,
    /// Open as long as the process runs.
    _pipes: (ChildStdin, BufReader<ChildStdout>),
}

/// What the process holds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Figures {
    /// Resident memory, in MiB.
    pub memory_mib: f64,
    /// The most resident memory so far, in MiB.
    pub peak_mib: f64,
    pub threads: usize,
    pub descriptors: usize,
}

impl Server {
    /// Starts a server on a free port of this machine. Its logs and its standard error go to a
    /// temporary folder.
    pub fn start(program: &Path, settings: &[String]) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let logs = folder.path().join("logs");
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        let first = [
            format!("logs.folder={}", logs.display()),
            "logs.level=error".to_string(),
            "server.log_listen=none".to_string(),
            "memory.enabled=false".to_string(),
            format!(
                "memory.path={}",
                folder.path().join("memory.sqlite").display()
            ),
        ];
        for item in first.iter().chain(settings) {
            command.args(["--set", item]);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(folder.path().join("stderr"))?);
        let mut child = Child::start(command, None)?;
        let Some((input, output)) = child.pipes() else {
            bail!("the server has no pipes");
        };
        let mut output = BufReader::new(output);
        let mut line = String::new();
        output.read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.and_then(|address| address.parse().ok());
        let address = address.with_context(|| format!("the server does not listen: {line}"))?;
        Ok(Self {
            address,
            child,
            folder,
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
        bail!("only Linux limits the address space of a process, not to {bytes}")
    }

    /// What the process holds now. Only Linux says so.
    pub fn figures(&self) -> anyhow::Result<Figures> {
        let process = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = fs::read_to_string(process.join("status"));
        let status = status.context("the server has ended, or this is not Linux")?;
        let number = |name: &str| -> Option<f64> {
            let line = status.lines().find(|line| line.starts_with(name))?;
            line.split_whitespace().nth(1)?.parse().ok()
        };
        Ok(Figures {
            memory_mib: number("VmRSS:").unwrap_or_default() / 1024.0,
            peak_mib: number("VmHWM:").unwrap_or_default() / 1024.0,
            threads: number("Threads:").unwrap_or_default() as usize,
            descriptors: fs::read_dir(process.join("fd"))?.count(),
        })
    }

    /// The latest answer by the logs of the matches: seconds from its deadline until the player
    /// had given it.
    pub fn latest(&self) -> anyhow::Result<f64> {
        let mut latest = 0.0f64;
        for entry in fs::read_dir(self.folder.path().join("logs"))?.flatten() {
            let events = fs::read_to_string(entry.path().join("events.jsonl"))?;
            for line in events
                .lines()
                .filter(|line| line.contains("\"kind\":\"move\""))
            {
                let event: Value = serde_json::from_str(line)?;
                let number = |name: &str| event["data"][name].as_f64().unwrap_or_default();
                latest = latest.max(number("seconds") - number("due_seconds"));
            }
        }
        Ok(latest)
    }

    /// The first line on standard error that says why the process was aborted.
    pub fn reason(&self) -> Option<String> {
        let bytes = fs::read(self.folder.path().join("stderr")).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let is_reason =
            |line: &&str| line.contains("memory allocation") || line.contains("overflow");
        text.lines().find(is_reason).map(String::from)
    }

    /// Lines about panics on standard error and in the logs of matches, as far as there are any.
    pub fn panics(&self) -> anyhow::Result<Vec<String>> {
        let mut texts = vec![fs::read(self.folder.path().join("stderr"))?];
        // The folder is there once a match was logged.
        let logs = fs::read_dir(self.folder.path().join("logs"));
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
