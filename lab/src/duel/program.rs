//! An outside program as an engine: it obeys the same commands over pipes.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command as Process, Stdio};

use anyhow::{Context, bail};
use panza_cli::Child;
use serde_json::Value;

use super::protocol::{Command, Engine};

pub(super) struct Program {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Ends the process when dropped.
    _process: Child,
}

impl Program {
    /// Starts a program with its arguments, divided at spaces.
    pub fn start(command: &str) -> anyhow::Result<Self> {
        let mut words = command.split_whitespace();
        let program = words.next().context("no program to start")?;
        let mut process = Process::new(program);
        process
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = Child::start(process, None)?;
        let (input, output) = process.pipes().context("no pipes to the program")?;
        Ok(Self {
            input,
            output: BufReader::new(output),
            _process: process,
        })
    }
}

impl Engine for Program {
    fn ask(&mut self, command: &Command) -> anyhow::Result<Value> {
        let sent = writeln!(self.input, "{command}").and_then(|()| self.input.flush());
        let mut reply = String::new();
        let read = sent.and_then(|()| self.output.read_line(&mut reply));
        if read.is_err() || reply.is_empty() {
            bail!("the program ended at `{command}`");
        }
        let reply = reply.trim();
        match reply.strip_prefix("error ") {
            Some(reason) => bail!("{reason} (at `{command}`)"),
            None => serde_json::from_str(reply)
                .with_context(|| format!("`{reply}` is no reply to `{command}`")),
        }
    }
}
