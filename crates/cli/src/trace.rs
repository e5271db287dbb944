//! Recorded playouts of independent reasoners: one JSON object per line and state.
//!
//! Large traces have `state` at some steps only.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use flate2::read::MultiGzDecoder;
use serde::Deserialize;

use super::arguments::{STANDARD_INPUT, is_standard_input, read_limited};
use panza_gdl::sexpr;

/// Longer lines are refused, so that a damaged or hostile file cannot fill the memory.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// A longer trace on standard input is refused.
const MAX_HELD_BYTES: u64 = 1 << 30;
/// What compressed files begin with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// One recorded state.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct TraceState {
    /// Number of the playout, from 0.
    pub playout: u64,
    /// Number of the state in the playout, from 0; 0 is the initial state.
    pub step: u64,
    /// The facts that hold, if recorded.
    pub state: Option<Vec<String>>,
    /// Whether the game is over.
    pub terminal: bool,
    /// Each role's legal moves, where the game is not over.
    pub legal: Option<BTreeMap<String, Vec<String>>>,
    /// The joint move that leads to the next line of the same playout.
    pub moves: Option<BTreeMap<String, String>>,
    /// The goals of roles that have exactly one.
    pub goal: Option<BTreeMap<String, i64>>,
    /// The goal values of roles that have none or several.
    pub goal_values: Option<BTreeMap<String, Vec<String>>>,
    /// What went wrong for the recorder, several faults separated by `; `.
    pub error: Option<String>,
}

impl TraceState {
    /// Whether the recorder failed at this part: `legal`, `terminal`, `goal` or `next`.
    pub fn recorder_failed_at(&self, part: &str) -> bool {
        let faults = self.error.as_deref().unwrap_or_default();
        faults.split("; ").any(|fault| {
            fault.split_once(':').is_some_and(|(of, _)| of == part)
                || part == "next" && fault == "next state has a non-ground fact"
        })
    }
}

/// GDL text in [canonical form](panza_gdl::Sexpr::canonical). Text that is not one expression stays
/// as it is.
pub fn canonical(text: &str) -> String {
    sexpr::parse_one(text).map_or_else(|| text.to_string(), |it| it.canonical())
}

/// A trace that can be read more than once.
#[derive(Clone, Debug)]
pub enum Trace {
    /// A file, compressed where its name ends in `.gz`.
    File(PathBuf),
    /// What standard input had, compressed where it begins like gzip.
    Held(Arc<[u8]>),
}

impl Trace {
    /// The trace of a path; for `-` standard input is read.
    ///
    /// # Errors
    /// Standard input cannot be read or is too long.
    pub fn at(path: &Path) -> anyhow::Result<Self> {
        Ok(match is_standard_input(path) {
            true => Self::Held(read_limited(path, MAX_HELD_BYTES)?.into()),
            false => Self::File(path.to_path_buf()),
        })
    }

    /// Begins to read it.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn read(&self) -> anyhow::Result<TraceReader> {
        match self {
            Self::File(path) => TraceReader::open(path),
            Self::Held(bytes) => Ok(TraceReader {
                shown: STANDARD_INPUT.to_string(),
                lines: match bytes.starts_with(&GZIP) {
                    true => Box::new(BufReader::new(MultiGzDecoder::new(Cursor::new(
                        Arc::clone(bytes),
                    )))),
                    false => Box::new(Cursor::new(Arc::clone(bytes))),
                },
                line: 0,
                buffer: Vec::new(),
            }),
        }
    }
}

/// Reads a trace line by line.
pub struct TraceReader {
    /// Its name in messages.
    shown: String,
    lines: Box<dyn BufRead>,
    line: u64,
    buffer: Vec<u8>,
}

impl TraceReader {
    /// Opens a trace, and unpacks it where its name ends in `.gz`.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let file = File::open(path).with_context(|| format!("cannot read trace `{shown}`"))?;
        let is_packed = path.extension().is_some_and(|extension| extension == "gz");
        let lines: Box<dyn BufRead> = match is_packed {
            true => Box::new(BufReader::new(MultiGzDecoder::new(file))),
            false => Box::new(BufReader::new(file)),
        };
        Ok(Self {
            shown: shown.to_string(),
            lines,
            line: 0,
            buffer: Vec::new(),
        })
    }

    /// The name of the trace in messages.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// The number of the line read last, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The next state; nothing at the end. Empty lines are skipped.
    pub fn next_state(&mut self) -> anyhow::Result<Option<TraceState>> {
        loop {
            self.line += 1;
            let place = || format!("{}:{}", self.shown, self.line);
            self.buffer.clear();
            (&mut self.lines)
                .take(MAX_LINE_BYTES)
                .read_until(b'\n', &mut self.buffer)
                .with_context(|| format!("{}: cannot be read", place()))?;
            if self.buffer.is_empty() {
                return Ok(None);
            }
            if self.buffer.len() as u64 == MAX_LINE_BYTES {
                bail!("{}: longer than {MAX_LINE_BYTES} bytes", place());
            }
            if self.buffer.trim_ascii().is_empty() {
                continue;
            }
            return serde_json::from_slice(&self.buffer)
                .map(Some)
                .with_context(|| format!("{}: not a recorded state", place()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn plain_and_packed_files_are_read_line_by_line() {
        let text = "{\"playout\":0,\"step\":0,\"terminal\":true}\n\n{\"playout\":1,\"step\":0,\"terminal\":false,\"error\":\"no legal move for r; legal: too deep\"}\n{}\n";
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("t.jsonl");
        let packed = folder.path().join("t.jsonl.gz");
        std::fs::write(&plain, text).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(
            File::create(&packed).unwrap(),
            flate2::Compression::default(),
        );
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap();
        for path in [plain, packed] {
            let mut reader = TraceReader::open(&path).unwrap();
            assert!(reader.next_state().unwrap().unwrap().terminal);
            let second = reader.next_state().unwrap().unwrap();
            assert!(second.recorder_failed_at("legal") && !second.recorder_failed_at("goal"));
            assert_eq!(reader.line(), 3);
            let message = format!("{:#}", reader.next_state().unwrap_err());
            assert!(
                message.contains(":4: not a recorded state: missing field `playout`"),
                "{message}"
            );
            assert!(reader.next_state().unwrap().is_none());
            // The bytes alone say whether they are compressed.
            let held = Trace::Held(std::fs::read(&path).unwrap().into());
            for _ in 0..2 {
                let mut reader = held.read().unwrap();
                assert_eq!(reader.shown(), "standard input");
                assert!(reader.next_state().unwrap().unwrap().terminal);
            }
        }
    }
}
