//! The results of a tournament: one JSON object per line and finished match.
//!
//! An interrupted tournament continues from this file, and tables are made from it. A last line
//! without a line end comes from a process that died while it wrote, and is dropped. Any other line
//! that cannot be parsed is an error, so that no result is lost silently.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use crate::game_manager::{Ending, Fault};
use panza_cli::arguments::{is_standard_input, read_limited, shown_path};

/// The ending of a results file, instead of that of the tournament's file.
const ENDING: &str = "results.jsonl";
const MAX_BYTES: u64 = 1 << 30;

/// The identity of a match.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Key {
    /// The pair's first player.
    pub a: String,
    /// Its version.
    pub a_version: String,
    /// The pair's second player.
    pub b: String,
    /// Its version.
    pub b_version: String,
    /// The name of the game.
    pub game: String,
    /// Seconds from the rules to the first move.
    pub start_clock: u32,
    /// Seconds for each move.
    pub play_clock: u32,
    /// The name of the opening; empty where it begins as the rules say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub opening: String,
    /// The round, from 0.
    pub round: u32,
    /// 0 where A has the first role, 1 where B has it.
    pub side: u32,
}

/// A finished match.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MatchResult {
    /// The match.
    #[serde(flatten)]
    pub key: Key,
    /// The names of the roles.
    pub roles: Vec<String>,
    /// The name of each role's player.
    pub players: Vec<String>,
    /// The goal of each role, where the rules define one.
    pub goals: Vec<Option<u8>>,
    /// How it ended.
    pub ending: Ending,
    /// Joint moves.
    pub steps: usize,
    /// Seconds it took.
    pub seconds: f64,
    /// The number of the first joint moves that the opening made.
    #[serde(default)]
    pub forced_steps: usize,
    /// Missing, late and illegal answers.
    pub faults: Vec<Fault>,
    /// Each joint move.
    pub moves: Vec<Vec<String>>,
    /// The seed of the random players.
    pub seed: u64,
    /// The core of each role's player, where it was confined.
    pub cores: Vec<Option<usize>>,
    /// The processor, where it is known.
    pub processor: Option<String>,
    /// The day it ended, as YYYY-MM-DD.
    pub date: String,
}

/// The results file of a tournament's file. A results file is its own.
pub fn beside(file: &Path) -> PathBuf {
    let is_results = file.extension().is_some_and(|ending| ending == "jsonl");
    if is_results || is_standard_input(file) {
        return file.to_path_buf();
    }
    file.with_extension(ENDING)
}

/// The results in a file; none where there is no file.
pub fn load(path: &Path) -> anyhow::Result<Vec<MatchResult>> {
    Ok(read(path)?.0)
}

/// The results, and the length of their lines in bytes.
fn read(path: &Path) -> anyhow::Result<(Vec<MatchResult>, u64)> {
    let shown = shown_path(path);
    if !path.exists() && !is_standard_input(path) {
        return Ok((Vec::new(), 0));
    }
    let bytes = read_limited(path, MAX_BYTES)?;
    let whole = bytes.iter().rposition(|&byte| byte == b'\n');
    let whole = &bytes[..whole.map_or(0, |end| end + 1)];
    let mut results = Vec::new();
    let lines = whole.split(|&byte| byte == b'\n');
    for (number, line) in (1..).zip(lines) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let parsed = serde_json::from_slice(line).map_err(anyhow::Error::from);
        let result = parsed.and_then(MatchResult::checked);
        results.push(result.with_context(|| format!("{shown}:{number}: not a result of a match"))?);
    }
    Ok((results, whole.len() as u64))
}

impl MatchResult {
    fn checked(self) -> anyhow::Result<Self> {
        let n_roles = self.roles.len();
        if n_roles == 0 || self.goals.len() != n_roles || self.players.len() != n_roles {
            bail!("expected a goal and a player for each role");
        }
        if self.goals.iter().flatten().any(|&goal| goal > 100) {
            bail!("expected goals of 0 to 100");
        }
        if self.key.side > 1 {
            bail!("expected side 0 or 1");
        }
        if self.faults.iter().any(|fault| fault.role >= n_roles) {
            bail!("expected the role of each fault by its number");
        }
        Ok(self)
    }
}

#[derive(Debug)]
pub(super) struct ResultsFile {
    path: PathBuf,
    file: File,
}

impl ResultsFile {
    pub fn open(path: &Path) -> anyhow::Result<(Self, Vec<MatchResult>)> {
        let (results, length) = read(path)?;
        let shown = path.display();
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .with_context(|| format!("cannot write `{shown}`"))?;
        file.set_len(length)
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .with_context(|| format!("cannot write `{shown}`"))?;
        let path = path.to_path_buf();
        Ok((Self { path, file }, results))
    }

    pub fn append(&mut self, result: &MatchResult) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(result)?;
        line.push(b'\n');
        self.file
            .write_all(&line)
            .and_then(|()| self.file.sync_data())
            .with_context(|| format!("cannot write `{}`", self.path.display()))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::game_manager::{FaultKind, Request};
    use std::fs;

    /// A match of two roles with these goals in role order.
    pub fn result(game: &str, round: u32, side: u32, goals: [u8; 2]) -> MatchResult {
        let mut players = vec!["ada".to_string(), "bob".to_string()];
        if side == 1 {
            players.reverse();
        }
        MatchResult {
            key: Key {
                a: "ada".into(),
                a_version: "2".into(),
                b: "bob".into(),
                b_version: String::new(),
                game: game.into(),
                start_clock: 10,
                play_clock: 1,
                opening: String::new(),
                round,
                side,
            },
            roles: vec!["white".into(), "black".into()],
            players,
            goals: goals.map(Some).to_vec(),
            ending: Ending::Terminal,
            steps: 30,
            forced_steps: 0,
            seconds: 20.5,
            faults: Vec::new(),
            moves: vec![vec!["noop".into(), "(mark 1 1)".into()]],
            seed: 7,
            cores: vec![Some(0), None],
            processor: Some("Some Processor".into()),
            date: "2026-01-02".into(),
        }
    }

    /// A fault at the fourth move.
    pub fn fault(role: usize, kind: FaultKind) -> Fault {
        Fault {
            role,
            request: Request::Play,
            step: 3,
            kind,
            detail: String::new(),
        }
    }

    #[test]
    fn what_was_appended_is_there_after_the_next_opening() {
        let folder = tempfile::tempdir().unwrap();
        let path = beside(&folder.path().join("spring.toml"));
        assert!(path.ends_with("spring.results.jsonl"));
        assert_eq!(beside(&path), path);
        assert_eq!(load(&path).unwrap(), []);

        let matches = [result("hex", 0, 0, [100, 0]), result("hex", 0, 1, [0, 100])];
        for (done, result) in matches.iter().enumerate() {
            let (mut file, before) = ResultsFile::open(&path).unwrap();
            assert_eq!(before, matches[..done]);
            file.append(result).unwrap();
        }
        assert_eq!(load(&path).unwrap(), matches);
    }

    #[test]
    fn a_line_that_was_cut_off_is_dropped_and_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.results.jsonl");
        let whole = serde_json::to_string(&result("hex", 0, 0, [100, 0])).unwrap();
        fs::write(&path, format!("{whole}\n{}", &whole[..40])).unwrap();
        let (mut file, before) = ResultsFile::open(&path).unwrap();
        assert_eq!(before.len(), 1);
        file.append(&result("hex", 1, 0, [50, 50])).unwrap();
        assert_eq!(load(&path).unwrap().len(), 2);
    }

    #[test]
    fn lines_that_are_no_results_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.results.jsonl");
        let good = result("hex", 0, 0, [100, 0]);
        let mut too_few = good.clone();
        too_few.goals.pop();
        let mut too_many = good.clone();
        too_many.goals[0] = Some(101);
        let mut stranger = good.clone();
        stranger.faults.push(fault(2, FaultKind::Timeout));
        let text = |result: &MatchResult| serde_json::to_string(result).unwrap();
        for (line, why) in [
            ("{}".to_string(), "missing field"),
            ("no".to_string(), "expected"),
            (text(&too_few), "a goal and a player for each role"),
            (text(&too_many), "goals of 0 to 100"),
            (text(&stranger), "the role of each fault"),
        ] {
            fs::write(&path, format!("{}\n{line}\n", text(&good))).unwrap();
            let message = format!("{:#}", load(&path).unwrap_err());
            assert!(
                message.contains("t.results.jsonl:2: not a result of a match"),
                "{message}"
            );
            assert!(message.contains(why), "{message}");
        }
    }
}
