#![doc = include_str!("../README.md")]
//!
//! A game is identified by its signature. Its record holds notes, one JSON value for each [`Kind`],
//! and the results of matches. Several programs may use one file at once: each call is one
//! transaction.
//!
//! ```text
//!  games    signature, canonical text, first and last time seen
//!  notes    signature, kind, JSON, time            (one for each kind)
//!  matches  signature, match, roles, our role, goals, steps, seconds, how it ended, time
//! ```
//!
//! # Games under other names
//!
//! While the machine is built, another thread identifies the game. `panza_analysis::signature`
//! refines a colouring of the symbols by where they stand in the rules and hashes the coloured
//! rules; the signature is the same under all names and orders. Symbols of one colour are
//! distinguished by individualising one after another, which gives each a canonical name and the
//! game a canonical text. `memory` keeps a record for each signature: notes in canonical names,
//! and results. If the texts are equal, the match gets the record in its own names, at the latest
//! 200 ms after START. The same thread writes notes when they are made and the result after the
//! match; nothing of the match waits for it.
//!
//! Notes are the evaluation, the chosen settings, and the best plan of a single-player game. A plan
//! is replayed on the machine when both machine and record are there. If it reaches its goal and
//! no move was made yet, the planner starts with it; a plan proven best is followed without a
//! planner. A better plan replaces it: a higher goal, a new proof, or fewer moves
//! (`panza_player`). Notes of long training hold its progress, the newest evaluation and the book.
//! `panza_metagame::transfer` writes the record of a game as one file and checks such files before
//! they are taken over.
//!
//! # What holds
//!
//! Invariants: the file survives crashes (write-ahead log, transactions); a broken file is renamed
//! and a new one started (`quarantine`); a file of another program or of a later version is not
//! changed; the games seen last are kept, up to a limit.
//!
//! WebAssembly has no files and no SQLite: opening a store is an error there (`no_store`), so that
//! nothing is remembered.
//!
//! Never uses: machines, searches, players, so that a record is read without its game. Calls wait
//! for the disk, so they are made on a thread without deadlines.

#![forbid(unsafe_code)]

mod history;
mod plan_note;
#[cfg(not(target_family = "wasm"))]
mod quarantine;
#[cfg(not(target_family = "wasm"))]
mod schema;
mod service;
#[cfg_attr(target_family = "wasm", path = "no_store.rs")]
mod store;

use std::path::PathBuf;

pub use history::{GameHistory, MatchResult, StoredNames, term, term_text};
pub use plan_note::PlanNote;
pub use service::{GameMemory, MatchMemory, MemoryService, RememberedMatch};
pub use store::{DatabaseError, Store};

/// Limit on the matches kept of one game.
pub const MOST_MATCHES: usize = 200;
/// Limit on a note as JSON, in bytes.
pub const MOST_NOTE_BYTES: usize = 16 << 20;

/// The subject of a note.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Search settings that were chosen for the game.
    Parameters,
    /// The trained evaluation.
    Evaluation,
    /// The evaluation that alpha-beta searches with.
    AlphaBetaEvaluation,
    /// The best plan of a single-player game.
    Plan,
    /// Long training: its progress, the newest evaluation, and opening positions.
    Training,
}

impl Kind {
    /// The name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Parameters => "parameters",
            Kind::Evaluation => "evaluation",
            Kind::AlphaBetaEvaluation => "depth_evaluation",
            Kind::Plan => "plan",
            Kind::Training => "training",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Kind> {
        let kinds = [
            Kind::Parameters,
            Kind::Evaluation,
            Kind::AlphaBetaEvaluation,
            Kind::Plan,
            Kind::Training,
        ];
        kinds.into_iter().find(|kind| kind.name() == name)
    }
}

/// A match that was played.
#[derive(Clone, PartialEq, Debug)]
pub struct PastMatch {
    /// The match id.
    pub match_id: String,
    /// The roles, in the order of the goals.
    pub roles: Vec<String>,
    /// Our role.
    pub our_role: String,
    /// Each role's goal, 0 to 100, where the game was over and the goal is defined; empty when it
    /// was not.
    pub goals: Vec<Option<u8>>,
    /// Joint moves that were made.
    pub steps: u32,
    /// Duration.
    pub seconds: f64,
    /// How it ended: stopped, aborted, or why it was given up.
    pub ending: String,
    /// When it ended, in seconds since 1970.
    pub time: u64,
}

/// The record of a game.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GameRecord {
    /// The canonical text of its rules, compared to exclude signature collisions.
    pub text: String,
    /// The notes.
    pub notes: Vec<(Kind, serde_json::Value)>,
    /// Matches, newest first; at most [`MOST_MATCHES`].
    pub matches: Vec<PastMatch>,
}

/// What a list of games shows.
#[derive(Clone, PartialEq, Debug)]
pub struct GameSummary {
    /// The signature, as 32 hexadecimal digits.
    pub signature: String,
    /// When it was played or trained last, in seconds since 1970.
    pub last_seen: u64,
    /// The number of matches kept.
    pub matches: u64,
    /// The kinds of its notes, and their size as JSON in bytes.
    pub kinds: Vec<Kind>,
    /// See `kinds`.
    pub note_bytes: u64,
}

/// Why the memory cannot be used.
#[allow(missing_docs)]
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The file or its folder cannot be created or renamed.
    #[error("{path}: {reason}")]
    File {
        path: PathBuf,
        reason: std::io::Error,
    },
    /// It is a database of another program.
    #[error("{0} is a database of another program")]
    Foreign(PathBuf),
    /// It was written by a later version.
    #[error("{path} has version {found}; this program knows versions up to {known}")]
    Newer {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    /// A note is too long to be kept.
    #[error("a note on {kind} has {bytes} bytes; at most {MOST_NOTE_BYTES} are kept")]
    TooLong { kind: &'static str, bytes: usize },
    /// Its symbols have no canonical names, so that it cannot be found under others.
    #[error("a note on {kind} cannot be kept: the symbols of the game cannot be told apart")]
    Unnamed { kind: &'static str },
    /// The database failed.
    #[error("{path}: {reason}")]
    Database {
        path: PathBuf,
        reason: DatabaseError,
    },
}

#[cfg(test)]
mod tests;
