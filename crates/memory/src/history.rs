//! What the memory holds about a game, in the names of the match at hand.
//!
//! Facts, moves and roles within notes are strings made by [`term`]. They are stored in canonical
//! names, so that the same game is found under other names.
//!
//! Never uses: what notes mean, files.

use std::time::Duration;

use serde_json::Value;

use crate::{GameRecord, Kind, PastMatch};
use panza_analysis::signature::Canonical;
use panza_analysis::{Signature, signature};
use panza_gdl::Rules;
use panza_sync::{SystemTime, UNIX_EPOCH};

/// The prefix of strings that are terms.
const TERM: &str = "gdl:";

/// A fact, move or role as a string of a note, or as the name of one of its fields.
pub fn term(text: &str) -> String {
    format!("{TERM}{text}")
}

/// The text of a term made by [`term`]; `None` for another string.
pub fn term_text(string: &str) -> Option<&str> {
    string.strip_prefix(TERM)
}

/// Notes and results of earlier matches of a game.
#[derive(Clone, Debug, Default)]
pub struct GameHistory {
    /// Whether each symbol has its canonical name. Otherwise notes with terms and roles of matches
    /// are left out.
    pub is_exact: bool,
    /// The latest note of each kind.
    pub notes: Vec<(Kind, Value)>,
    /// The matches played, the latest first.
    pub matches: Vec<PastMatch>,
}

impl GameHistory {
    /// The note of a kind, if there is one.
    pub fn note(&self, kind: Kind) -> Option<&Value> {
        let found = self.notes.iter().find(|(other, _)| *other == kind);
        found.map(|(_, value)| value)
    }
}

/// How a match ended.
pub struct MatchResult {
    /// The match's name.
    pub match_id: String,
    /// Our role's name.
    pub role: String,
    /// How it ended, in words of the log.
    pub ending: String,
    /// Each role with its goal; empty when the game was not over.
    pub goals: Vec<(String, Option<u8>)>,
    /// Joint moves that were made.
    pub steps: usize,
    /// From START to the end.
    pub duration: Duration,
}

/// The translation between the names of a match and the stored names of its game.
#[derive(Debug)]
pub struct StoredNames {
    canonical: Option<Canonical>,
    /// Whether `canonical` gives the stored names.
    is_exact: bool,
}

impl StoredNames {
    /// The names of a game with this signature, given what is stored of it.
    pub fn new(
        rules: &Rules,
        signature: Signature,
        canonical: Option<Canonical>,
        stored: Option<&GameRecord>,
    ) -> Self {
        let Some(stored) = stored else {
            let is_exact = canonical.is_some();
            return Self {
                canonical,
                is_exact,
            };
        };
        let is_same = |canonical: &Canonical| {
            canonical.signature() == signature && canonical.text() == stored.text
        };
        if canonical.as_ref().is_some_and(is_same) {
            return Self {
                canonical,
                is_exact: true,
            };
        }
        let other = match canonical.is_some() {
            true => Canonical::matching(rules, &stored.text, signature::WORK),
            false => None,
        };
        Self {
            is_exact: other.is_some(),
            canonical: other.or(canonical),
        }
    }

    /// The canonical text of the rules; empty where it is not known.
    pub fn text(&self) -> &str {
        self.canonical.as_ref().map_or("", Canonical::text)
    }

    fn exact(&self) -> Option<&Canonical> {
        self.canonical.as_ref().filter(|_| self.is_exact)
    }

    fn to_stored(&self, name: &str) -> Option<String> {
        self.exact()?.to_canonical(name)
    }

    /// A value in stored names. `None` when a term in it has none.
    pub fn value_to_stored(&self, value: &Value) -> Option<Value> {
        renamed(value, &|term| self.to_stored(term))
    }

    /// What is stored, in the names of the match.
    pub fn history(&self, stored: GameRecord) -> GameHistory {
        let from_stored = |term: &str| self.exact()?.from_canonical(term);
        let notes = stored.notes.into_iter();
        let notes = notes.filter_map(|(kind, value)| Some((kind, renamed(&value, &from_stored)?)));
        let matches = stored.matches.into_iter().map(|past| {
            let roles: Option<Vec<String>> =
                past.roles.iter().map(|role| from_stored(role)).collect();
            PastMatch {
                roles: roles.unwrap_or_default(),
                our_role: from_stored(&past.our_role).unwrap_or_default(),
                ..past
            }
        });
        GameHistory {
            is_exact: self.is_exact && self.canonical.is_some(),
            notes: notes.collect(),
            matches: matches.collect(),
        }
    }

    /// The result of a match in stored names.
    pub fn past_match(&self, result: MatchResult) -> PastMatch {
        let goals = &result.goals;
        let roles: Option<Vec<String>> =
            goals.iter().map(|(role, _)| self.to_stored(role)).collect();
        PastMatch {
            roles: roles.unwrap_or_default(),
            our_role: self.to_stored(&result.role).unwrap_or_default(),
            goals: goals.iter().map(|(_, goal)| *goal).collect(),
            match_id: result.match_id,
            steps: u32::try_from(result.steps).unwrap_or(u32::MAX),
            seconds: result.duration.as_secs_f64(),
            ending: result.ending,
            time: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |time| time.as_secs()),
        }
    }
}

/// A value with its terms renamed. `None` when one of them has no other name.
fn renamed(value: &Value, rename: &impl Fn(&str) -> Option<String>) -> Option<Value> {
    let string = |text: &String| match term_text(text) {
        Some(inner) => rename(inner).map(|inner| term(&inner)),
        None => Some(text.clone()),
    };
    Some(match value {
        Value::String(text) => Value::String(string(text)?),
        Value::Array(items) => {
            let items: Option<Vec<Value>> =
                items.iter().map(|item| renamed(item, rename)).collect();
            Value::Array(items?)
        }
        Value::Object(fields) => {
            let fields: Option<serde_json::Map<String, Value>> = fields
                .iter()
                .map(|(name, value)| Some((string(name)?, renamed(value, rename)?)))
                .collect();
            Value::Object(fields?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}
