//! The file of a duel: a line of JSON for each pair, with the terms that it was played under.
//!
//! A duel whose file exists goes on after the pairs in it. A line that was not finished is dropped.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

/// What makes pairs comparable.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Terms {
    /// The engines: name, commit and settings.
    pub a: String,
    pub b: String,
    /// The budget of a move.
    pub budget: String,
    /// Seconds of a study and number of studies; empty for none.
    pub study: String,
    pub seed: u64,
    /// The number of openings of the book and a number for what they are; none without a book.
    pub book: Option<(usize, u64)>,
}

/// One opening, played twice with sides swapped.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PairRecord {
    pub(super) terms: Terms,
    pub(super) game: String,
    /// From 0.
    pub(super) pair: u32,
    /// Joint moves.
    pub(super) opening: Vec<String>,
    /// The roles' values in the reference search.
    pub(super) opening_values: Vec<f64>,
    /// The study that the pair was played with; without studies that of the pair alone.
    pub(super) study: u32,
    /// A's wins in the two games: 1, a half for a draw, or 0.
    pub(super) won: [f64; 2],
    /// A's points in them: the mean goals of its roles, divided by 100.
    pub(super) points: [f64; 2],
    /// The games' joint moves, with those of the opening.
    pub(super) lengths: [u32; 2],
    pub(super) a: Usage,
    pub(super) b: Usage,
}

/// What an engine did in a pair.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Usage {
    pub iterations: u64,
    /// Processor time.
    pub seconds: f64,
    /// Visits of the played moves that were not proven.
    pub visits: Vec<u64>,
    /// The study in use, one for each pair; none without studies.
    pub studies: Vec<Prepared>,
}

/// What an engine says of a study.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Prepared {
    /// Training games.
    pub games: u64,
    /// The weight of the evaluation.
    pub evaluation_share: f64,
}

impl Usage {
    pub fn merge(&mut self, other: &Self) {
        self.iterations += other.iterations;
        self.seconds += other.seconds;
        self.visits.extend(&other.visits);
        self.studies.extend(&other.studies);
    }
}

/// Opens a file for further lines, and gives the pairs in it. Fails if they have other terms.
pub(super) fn open(path: &Path, terms: &Terms) -> anyhow::Result<(File, Vec<PairRecord>)> {
    let shown = path.display();
    let mut pairs = Vec::new();
    if path.is_file() {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read `{shown}`"))?;
        let complete = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        for (index, line) in complete.lines().enumerate() {
            let pair: PairRecord = serde_json::from_str(line)
                .with_context(|| format!("`{shown}` line {}: no pair of a duel", index + 1))?;
            if pair.terms != *terms {
                bail!(
                    "`{shown}` has pairs of another duel: {:?}; this one is {terms:?}",
                    pair.terms
                );
            }
            pairs.push(pair);
        }
        if complete.len() < text.len() {
            fs::write(path, complete).with_context(|| format!("cannot write `{shown}`"))?;
        }
    }
    let file = OpenOptions::new().append(true).create(true).open(path);
    let file = file.with_context(|| format!("cannot write `{shown}`"))?;
    Ok((file, pairs))
}

pub(super) fn append(file: &mut File, pair: &PairRecord) -> anyhow::Result<()> {
    let line = format!("{}\n", serde_json::to_string(pair)?);
    file.write_all(line.as_bytes())
        .context("a pair cannot be written to its file")
}
