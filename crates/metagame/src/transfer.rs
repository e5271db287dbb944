//! What is remembered of a game as one file, to carry it to another machine.
//!
//! The file has the canonical text of the rules and the notes in canonical names. A file is taken
//! only if its text is that of a game with its signature, and its notes fit that game.
//!
//! Invariant: whatever a file holds, reading it is bounded, and a file with a fault changes
//! nothing.
//!
//! Never uses: the memory file.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use super::notes::{read_alpha_beta, read_evaluation};
use super::parameters::Parameters;
use super::preparation::find_prospects;
use super::training::Progress;
use panza_analysis::signature;
use panza_game::{BuildError, build};
use panza_gdl::{Rules, Severity};
use panza_memory::PlanNote;
use panza_memory::StoredNames;
use panza_memory::{GameRecord, Kind, MOST_NOTE_BYTES};
use panza_sync::Budget;

/// The version of the format.
const VERSION: u32 = 1;
/// Limit on a file, in bytes.
pub const MOST_FILE_BYTES: u64 = 64 << 20;
/// Limit on the text of the rules, in bytes.
const MOST_TEXT_BYTES: usize = 4 << 20;
/// What building the game may take, to see whether its notes fit.
const BUILD_TIME: Duration = Duration::from_secs(60);
const BUILD_MEMORY: usize = 1 << 30;

/// The file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GameFile {
    panza_memory: u32,
    signature: String,
    text: String,
    notes: Map<String, Value>,
}

/// The file of a record; matches are left out, since they say who played.
///
/// # Errors
/// It cannot be written as JSON.
pub fn export(signature: &str, record: &GameRecord) -> serde_json::Result<String> {
    let notes = record.notes.iter();
    serde_json::to_string(&GameFile {
        panza_memory: VERSION,
        signature: signature.to_string(),
        text: record.text.clone(),
        notes: notes
            .map(|(kind, value)| (kind.name().to_string(), value.clone()))
            .collect(),
    })
}

/// What a file holds.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The rules, in canonical names.
    pub rules: Rules,
    /// The notes in the names of these rules.
    pub notes: Vec<(Kind, Value)>,
}

/// Why a file is not taken.
#[derive(Debug, Error)]
pub enum ImportError {
    /// It is not JSON, or has other keys.
    #[error("it is no file of `panza memory export`: {0}")]
    NoFile(#[from] serde_json::Error),
    /// Another version of the format.
    #[error("it has version {0}; this program reads version {VERSION}")]
    Version(u32),
    /// More bytes of rules than are read.
    #[error("its rules have {0} bytes; expected at most {MOST_TEXT_BYTES}")]
    LongRules(usize),
    /// A kind of note that is not known.
    #[error(
        "it has a note on `{0}`; \
         expected parameters, evaluation, depth_evaluation, plan or training"
    )]
    UnknownNote(String),
    /// More bytes of a note than are read.
    #[error("its note on {} has {bytes} bytes; expected at most {MOST_NOTE_BYTES}", kind.name())]
    LongNote {
        /// What the note is on.
        kind: Kind,
        /// Its bytes.
        bytes: usize,
    },
    /// The rules have an error.
    #[error("its rules are damaged: {0}")]
    DamagedRules(String),
    /// The rules are not those that the file names.
    #[error("its rules have the signature {found}; it says {claimed}")]
    OtherRules {
        /// The signature of its rules.
        found: String,
        /// The signature it names.
        claimed: String,
    },
    /// The rules give no game.
    #[error("its game cannot be built: {0}")]
    Unbuilt(#[from] BuildError),
    /// A note of another game, or a damaged one.
    #[error("its note on {} does not fit the game", .0.name())]
    UnfitNote(Kind),
}

/// Reads a file and checks it.
///
/// # Errors
/// What is wrong with it.
pub fn import(text: &str) -> Result<Imported, ImportError> {
    let file: GameFile = serde_json::from_str(text)?;
    if file.panza_memory != VERSION {
        return Err(ImportError::Version(file.panza_memory));
    }
    if file.text.len() > MOST_TEXT_BYTES {
        return Err(ImportError::LongRules(file.text.len()));
    }
    let mut notes = Vec::new();
    for (name, value) in file.notes {
        let Some(kind) = Kind::from_name(&name) else {
            return Err(ImportError::UnknownNote(name));
        };
        let bytes = value.to_string().len();
        if bytes > MOST_NOTE_BYTES {
            return Err(ImportError::LongNote { kind, bytes });
        }
        notes.push((kind, value));
    }
    let record = GameRecord {
        text: file.text,
        notes,
        matches: Vec::new(),
    };
    check(&file.signature, record)
}

/// Whether the text is that of a game with this signature, and the notes fit the game.
fn check(claimed: &str, record: GameRecord) -> Result<Imported, ImportError> {
    let (rules, diagnostics) = panza_gdl::load(&record.text);
    if let Some(fault) = diagnostics
        .iter()
        .find(|fault| fault.severity == Severity::Error)
    {
        return Err(ImportError::DamagedRules(fault.message.clone()));
    }
    let (signature, canonical) = signature::identify(&rules, signature::WORK);
    let found = signature.to_string();
    if found != claimed {
        let claimed = claimed.to_string();
        return Err(ImportError::OtherRules { found, claimed });
    }
    let kinds: Vec<Kind> = record.notes.iter().map(|(kind, _)| *kind).collect();
    let names = StoredNames::new(&rules, signature, canonical, Some(&record));
    let history = names.history(record);
    let budget = Budget::within(BUILD_TIME, BUILD_MEMORY);
    let game = build(&rules, &budget)?;
    let is_evaluation =
        |note: &Value| read_evaluation(game.info(), note, || find_prospects(&game)).is_some();
    for kind in kinds {
        let note = history.note(kind);
        let fits = note.is_some_and(|note| match kind {
            Kind::Parameters => Parameters::from_note(&note["parameters"]).is_some(),
            Kind::Evaluation => is_evaluation(note),
            Kind::AlphaBetaEvaluation => {
                read_alpha_beta(game.info(), note, || find_prospects(&game)).is_some()
            }
            Kind::Plan => PlanNote::from_json(note).is_some(),
            Kind::Training => Progress::from_note(note).is_some() && is_evaluation(&note["newest"]),
        });
        if !fits {
            return Err(ImportError::UnfitNote(kind));
        }
    }
    Ok(Imported {
        notes: history.notes,
        rules,
    })
}
