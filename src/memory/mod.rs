//! What is known of games from matches that were played: an SQLite file with a record for each
//! game.
//!
//! A game is known by a signature, a text that whoever asks works out. Its record holds notes, one
//! JSON value for each [`Kind`], and the results of matches. Several programs may use one file at
//! once: each call is one transaction.
//!
//! ```text
//!  games    signature, canonical text, first and last time seen
//!  notes    signature, kind, JSON, time            (one for each kind)
//!  matches  signature, match, roles, our role, goals, steps, seconds, how it ended, time
//! ```
//!
//! Invariants: the file is whole after every crash (write-ahead log, transactions); a file that is
//! broken is put aside under another name and a new one begun ([`aside`]); a file that belongs to
//! another program or to a later version of this one is left as it is; no more games are kept than
//! was asked for, those that were seen last.
//!
//! Never knows: rules, names, players. It waits for the disk, so whoever has a clock asks from a
//! thread apart.

mod aside;
mod schema;
mod store;

use std::path::PathBuf;

pub use store::{MOST_MATCHES, MOST_NOTE_BYTES, Store};

/// What a note is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// What holds in the game: its length, whether goals are fixed in sum, and the like.
    Facts,
    /// The parts that it falls into.
    Factors,
    /// How it is searched best.
    Parameters,
    /// How positions are judged.
    Evaluation,
    /// Moves that lead to the best goal.
    Plan,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 5] = [
        Kind::Facts,
        Kind::Factors,
        Kind::Parameters,
        Kind::Evaluation,
        Kind::Plan,
    ];

    /// The name, as it stands in the file.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Facts => "facts",
            Kind::Factors => "factors",
            Kind::Parameters => "parameters",
            Kind::Evaluation => "evaluation",
            Kind::Plan => "plan",
        }
    }

    fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A match that was played.
#[derive(Clone, PartialEq, Debug)]
pub struct PastMatch {
    /// What the game manager called it.
    pub match_id: String,
    /// The roles, in the order of the goals.
    pub roles: Vec<String>,
    /// The one that we played.
    pub our_role: String,
    /// Each role's goal, 0 to 100, where the game was over and the goal is defined; empty when it
    /// was not.
    pub goals: Vec<Option<u8>>,
    /// Joint moves that were made.
    pub steps: u32,
    /// From its start to its end.
    pub seconds: f64,
    /// How it ended: stopped, aborted, or why it was given up.
    pub ending: String,
    /// When it ended, in seconds since 1970.
    pub time: u64,
}

/// All that is known of a game.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GameRecord {
    /// The canonical text of its rules, which says whether it is this very game.
    pub text: String,
    /// What was noted.
    pub notes: Vec<(Kind, serde_json::Value)>,
    /// The matches that were played, the last one first; at most [`MOST_MATCHES`].
    pub matches: Vec<PastMatch>,
}

/// Why nothing is remembered.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The file or its folder cannot be made, or not be put aside.
    #[error("{path}: {source}")]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is a database of another program.
    #[error("{0} is a database of another program")]
    Foreign(PathBuf),
    /// It was written by a later version.
    #[error("{path} has version {found}; this program knows versions up to {known}")]
    Newer {
        /// Which file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The last one that is known here.
        known: i64,
    },
    /// A note is too long to be kept.
    #[error("a note on {kind} has {bytes} bytes; at most {MOST_NOTE_BYTES} are kept")]
    TooLong {
        /// What it is about.
        kind: &'static str,
        /// Its length as JSON.
        bytes: usize,
    },
    /// The database failed.
    #[error("{path}: {source}")]
    Database {
        /// Which file.
        path: PathBuf,
        /// What it says.
        source: rusqlite::Error,
    },
}

#[cfg(test)]
mod tests;
