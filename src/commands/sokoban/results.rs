//! A file of solutions that grows by one level at a time.
//!
//! Invariants: a level is written with at least one solution, in one write; levels with a verified
//! solution in the file are known by their rows.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::levels::{self, NumberedLevel, listed};
use panza_sokoban::{Board, Entry, Solution};

/// Where solutions go, and those of earlier runs.
pub(super) struct Results {
    path: PathBuf,
    file: File,
    /// What the next level begins with: line ends that leave one line free.
    gap: &'static str,
    known: HashMap<Vec<String>, Solution>,
}

impl Results {
    /// Opens or makes the file and verifies what it has. `input` must be another file.
    pub fn open(path: &Path, input: &str) -> anyhow::Result<Self> {
        let shown = path.display();
        let mut known = HashMap::new();
        let is_there = path.exists();
        if is_there {
            if std::fs::canonicalize(input).ok() == std::fs::canonicalize(path).ok() {
                bail!("`{shown}` is the file of levels; --out needs another one");
            }
            for entry in levels::read(&path.to_string_lossy())?.entries() {
                if let Some(solution) = verified(entry) {
                    known.insert(entry.rows().to_vec(), solution);
                }
            }
        }
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).open(path);
        let file = file.with_context(|| format!("cannot write `{shown}`"))?;
        let text = std::fs::read(path).with_context(|| format!("cannot read `{shown}`"))?;
        let gap = match text.last() {
            None => "",
            Some(b'\n') => "\n",
            Some(_) => "\n\n",
        };
        Ok(Self {
            path: path.to_path_buf(),
            file,
            gap,
            known,
        })
    }

    /// Whether there is a file and it has a solution of the level.
    pub fn has(results: Option<&Self>, level: &NumberedLevel) -> bool {
        results.is_some_and(|results| results.known(&level.entry).is_some())
    }

    /// The solution of a level that the file has.
    pub fn known(&self, entry: &Entry) -> Option<&Solution> {
        self.known.get(entry.rows())
    }

    /// Appends a level with its title, its notes and this solution, whose name has all metrics.
    pub fn append(&mut self, level: &NumberedLevel, solution: &Solution) -> anyhow::Result<()> {
        let mut entry = level.entry.without_solutions();
        let name = format!("Solution ({})", listed(&solution.metrics()));
        entry.add_solution(&name, &solution.to_string());
        let text = format!("{}{}", self.gap, entry.numbered(level.number));
        let written = self.file.write_all(text.as_bytes());
        written.with_context(|| format!("cannot write `{}`", self.path.display()))?;
        self.gap = "\n";
        self.known.insert(entry.rows().to_vec(), solution.clone());
        Ok(())
    }
}

/// The first solution of a level that holds.
fn verified(entry: &Entry) -> Option<Solution> {
    let board = Board::new(entry.level()?).ok()?;
    let mut solutions = entry.solutions().iter();
    solutions.find_map(|named| Solution::from_text(&board, named.moves()).ok())
}
