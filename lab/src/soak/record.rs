//! One match as a line of the file of results.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use panza_referee::{Fault, FaultKind, Request};
use serde::{Deserialize, Serialize};

use super::process::ServerUsage;

/// The ending of a match in a terminal state.
pub const TERMINAL: &str = "terminal";
/// The ending of a match that was aborted after the number of steps to play.
pub const STEPS: &str = "steps";

/// A match, and what its server held after it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MatchLine {
    pub server: u16,
    /// Matches of this server so far.
    pub number: usize,
    /// When it had ended, from the start of the run.
    pub at_seconds: f64,
    pub game: String,
    pub match_id: String,
    /// The player's role.
    pub role: String,
    pub n_roles: usize,
    pub start_clock: u32,
    pub play_clock: u32,
    /// [`TERMINAL`], [`STEPS`], `stuck`, `cut` after the time for a match, or `referee: ` and why
    /// the legal moves of a state could not be found. All answers before were judged.
    pub ending: String,
    /// The player's goal.
    pub goal: Option<u8>,
    pub seconds: f64,
    pub answers: Answers,
    pub faults: Vec<Fault>,
    pub held: ServerUsage,
    /// How the server's process ended, where it did not outlive the match.
    #[serde(default)]
    pub crash: Option<String>,
}

impl MatchLine {
    /// Whether it was played as long as it should be.
    pub fn is_whole(&self) -> bool {
        self.ending == TERMINAL || self.ending == STEPS
    }

    /// What should not have been, one line for each.
    pub fn findings(&self) -> Vec<String> {
        let mut found = Vec::new();
        let late = |late: &Late| match late.step {
            0 => format!("READY after {:.2} s", late.seconds),
            step => format!("the answer of step {step} after {:.2} s", late.seconds),
        };
        found.extend(self.answers.late.iter().map(late));
        let fault = |fault: &Fault| match fault.kind {
            FaultKind::Illegal if fault.detail == "`noop`" => {
                format!("`noop` in step {} is not legal", fault.step + 1)
            }
            FaultKind::Illegal => {
                format!("{} in step {} is not legal", fault.detail, fault.step + 1)
            }
            FaultKind::Unfit => format!("not fit for the match: {}", fault.detail),
            FaultKind::Timeout | FaultKind::Connection | FaultKind::Failed => {
                let request = match fault.request {
                    Request::Start => "START",
                    Request::Play => "PLAY",
                    Request::Stop => "STOP",
                };
                let (step, detail) = (fault.step + 1, &fault.detail);
                format!("no answer to {request} in step {step}: {detail}")
            }
        };
        found.extend(self.faults.iter().map(fault));
        if !self.is_whole() {
            found.push(format!(
                "ended after {} steps: {}",
                self.answers.plays, self.ending
            ));
        }
        if !self.held.left.is_empty() {
            found.push(format!("threads were left: {:?}", self.held.left));
        }
        if let Some(status) = &self.crash {
            found.push(format!("the server ended with {status}"));
        }
        found
    }
}

/// The times of the answers of a match, from the request to the whole answer, as its manager sees
/// them.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Answers {
    /// Until READY.
    pub start_seconds: f64,
    /// PLAYs.
    pub plays: u32,
    /// The slowest answer to PLAY.
    pub slowest_seconds: f64,
    /// Answers after the clock.
    pub late: Vec<Late>,
    /// The most that the witness woke up late during the match.
    pub witness_seconds: f64,
}

/// An answer after the clock.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Late {
    /// Joint moves made with it; 0 for START.
    pub step: u32,
    /// From the request to the answer.
    pub seconds: f64,
    /// The most that the witness woke up late in that time.
    pub witness_seconds: f64,
}

impl Answers {
    /// START was answered.
    pub fn start(&mut self, time: Duration, clock: u32, witness: Duration) {
        self.start_seconds = time.as_secs_f64();
        self.count(0, time, clock, witness);
    }

    /// PLAY was answered.
    pub fn play(&mut self, step: u32, time: Duration, clock: u32, witness: Duration) {
        self.plays += 1;
        self.slowest_seconds = self.slowest_seconds.max(time.as_secs_f64());
        self.count(step, time, clock, witness);
    }

    fn count(&mut self, step: u32, time: Duration, clock: u32, witness: Duration) {
        let (seconds, witness_seconds) = (time.as_secs_f64(), witness.as_secs_f64());
        self.witness_seconds = self.witness_seconds.max(witness_seconds);
        if time > Duration::from_secs(clock.into()) {
            self.late.push(Late {
                step,
                seconds,
                witness_seconds,
            });
        }
    }
}

/// The matches of a file. A last line that is half written is left out.
pub fn load(path: &Path) -> anyhow::Result<Vec<MatchLine>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    (1..)
        .zip(whole.lines())
        .map(|(number, line)| {
            let place = || format!("{}:{number}", path.display());
            serde_json::from_str(line).with_context(place)
        })
        .collect()
}

/// The matches of a file that others are appended to. A last line that is half written is cut off.
pub fn load_to_append(path: &Path) -> anyhow::Result<Vec<MatchLine>> {
    let lines = load(path)?;
    let length = fs::read(path)?.iter().rposition(|&byte| byte == b'\n');
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(length.map_or(0, |end| end as u64 + 1))?;
    Ok(lines)
}
