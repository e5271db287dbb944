//! What earlier matches of the same game have left, and what this one leaves to those that come.
//!
//! Beside the build, a thread of its own works out which game it is, whatever its names, reads what
//! the [memory](crate::memory) has of it, and lays that down as a [`Recollection`], in the names of
//! this match. It then writes down what it is told to [`remember`](Notebook::remember), and the
//! result at the end. Nobody else waits for the disk: who asks for the recollection waits
//! [`READING`] from START at most, and goes on without it.
//!
//! Facts, moves and roles within notes are strings made by [`term`]. They are stored in canonical
//! names, and read in those of the match that reads them.
//!
//! Never knows: what notes say.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crossbeam::channel::{Receiver, Sender, unbounded};
use serde_json::Value;

use super::record::Record;
use super::worker::panic_text;
use crate::analysis::signature::{self, Canonical, Signature};
use crate::config::MemorySettings;
use crate::gdl::Rules;
use crate::memory::{GameRecord, Kind, MemoryError, PastMatch, Store};

/// How long after START a recollection is waited for.
pub const READING: Duration = Duration::from_millis(200);
/// How long reading waits for another program that writes; it has to leave time to read.
const READING_WAITS: Duration = Duration::from_millis(100);
/// How long writing does.
const WRITING_WAITS: Duration = Duration::from_secs(2);
/// What a string that is a term begins with.
const TERM: &str = "gdl:";

/// A fact, a move or a role as a string of a note, or as the name of one of its fields. It is read
/// back in the names of the match that reads it.
pub fn term(text: &str) -> String {
    format!("{TERM}{text}")
}

/// The text of a term that [`term`] has made; nothing for another string.
pub fn term_text(string: &str) -> Option<&str> {
    string.strip_prefix(TERM)
}

/// What earlier matches have left, in the names of this one.
#[derive(Clone, Debug, Default)]
pub struct Recollection {
    /// Whether it is certain which symbol is which. Otherwise notes that hold terms are left out,
    /// and roles of matches too.
    pub is_exact: bool,
    /// What was noted last of each kind.
    pub notes: Vec<(Kind, Value)>,
    /// The matches that were played, the last one first.
    pub matches: Vec<PastMatch>,
}

impl Recollection {
    /// The note of a kind, if there is one.
    pub fn note(&self, kind: Kind) -> Option<&Value> {
        let found = self.notes.iter().find(|(other, _)| *other == kind);
        found.map(|(_, value)| value)
    }
}

/// Lays recollections down, and takes in what is to be remembered: one for each match, and its
/// clones.
#[derive(Clone, Debug)]
pub struct Notebook {
    /// Nothing where nothing is remembered.
    desk: Option<(Arc<Slot>, Sender<Told>)>,
}

/// Where the recollection lies.
#[derive(Debug)]
struct Slot {
    waits_until: Instant,
    reading: Mutex<Reading>,
    changed: Condvar,
}

#[derive(Clone, Debug)]
enum Reading {
    UnderWay,
    /// Nothing where the game is new, or nothing could be read.
    Done(Option<Arc<Recollection>>),
}

impl Slot {
    fn lay_down(&self, found: Option<Arc<Recollection>>) {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*reading, Reading::UnderWay) {
            *reading = Reading::Done(found);
        }
        self.changed.notify_all();
    }
}

/// What the thread of a notebook is told.
#[derive(Debug)]
enum Told {
    Note(Kind, Value),
    Ended {
        ending: String,
        /// Each role with its goal; nothing when the game was not over.
        goals: Vec<(String, Option<u8>)>,
        steps: usize,
    },
}

impl Notebook {
    /// One that knows nothing and forgets everything.
    pub fn blank() -> Self {
        Self { desk: None }
    }

    /// What is known of the game; nothing when it is new. Waits until [`READING`] after START at
    /// most, and afterwards not at all: what comes later is there then.
    pub fn recollection(&self) -> Option<Arc<Recollection>> {
        let (slot, _) = self.desk.as_ref()?;
        let reading = slot.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = slot.waits_until.saturating_duration_since(Instant::now());
        let (reading, _) = slot
            .changed
            .wait_timeout_while(reading, wait, |reading| {
                matches!(reading, Reading::UnderWay)
            })
            .unwrap_or_else(PoisonError::into_inner);
        match &*reading {
            Reading::UnderWay => None,
            Reading::Done(found) => found.clone(),
        }
    }

    /// Notes something for matches to come, in place of the last note of its kind. Terms in it are
    /// made by [`term`], in the names of this match. Returns at once; what cannot be written is
    /// left out, with a word in the log.
    pub fn remember(&self, kind: Kind, value: Value) {
        self.tell(Told::Note(kind, value));
    }

    /// Writes down how the match ended.
    pub(super) fn ended(&self, ending: &str, goals: &[(String, Option<u8>)], steps: usize) {
        self.tell(Told::Ended {
            ending: ending.to_string(),
            goals: goals.to_vec(),
            steps,
        });
    }

    fn tell(&self, told: Told) {
        if let Some((_, tell)) = &self.desk {
            // When its thread has ended, there is no memory, and it has said so.
            let _ = tell.send(told);
        }
    }
}

/// A match that a notebook is for.
pub(super) struct Subject {
    pub match_id: String,
    pub rules: Arc<Rules>,
    /// Our role's name.
    pub role: String,
    pub record: Record,
}

/// Begins the notebooks of a player's matches.
pub(super) struct Shelf {
    settings: MemorySettings,
    /// Whether it was said that there is no memory: once is enough.
    has_warned: Arc<AtomicBool>,
}

impl Shelf {
    pub fn new(settings: &MemorySettings) -> Self {
        Self {
            settings: settings.clone(),
            has_warned: Arc::new(AtomicBool::new(false)),
        }
    }

    /// The notebook of a match that begins now. `alive` is dropped when its thread is gone.
    pub fn begin(&self, subject: Subject, alive: Sender<()>) -> Notebook {
        if !self.settings.enabled {
            return Notebook::blank();
        }
        let started = Instant::now();
        let slot = Arc::new(Slot {
            waits_until: started + READING,
            reading: Mutex::new(Reading::UnderWay),
            changed: Condvar::new(),
        });
        let (tell, told) = unbounded();
        let keeper = Keeper {
            slot: Arc::clone(&slot),
            path: self.settings.path.clone(),
            max_games: self.settings.max_games,
            has_warned: Arc::clone(&self.has_warned),
            started,
            record: subject.record.clone(),
        };
        let spawned = std::thread::Builder::new()
            .name("memory".into())
            .spawn(move || {
                let kept = catch_unwind(AssertUnwindSafe(|| keeper.keep(&subject, &told)));
                keeper.slot.lay_down(None);
                match kept {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => keeper.warn(&error),
                    Err(panic) => {
                        let text = panic_text(&*panic);
                        keeper
                            .record
                            .error(&format!("remembering panicked: {text}"));
                    }
                }
                // Both hold the match's notes.
                drop((keeper, subject));
                drop(alive);
            });
        match spawned {
            Ok(_) => Notebook {
                desk: Some((slot, tell)),
            },
            Err(error) => {
                tracing::warn!("nothing is remembered: no thread for it: {error}");
                Notebook::blank()
            }
        }
    }
}

/// The thread of a notebook.
struct Keeper {
    slot: Arc<Slot>,
    path: PathBuf,
    max_games: usize,
    has_warned: Arc<AtomicBool>,
    started: Instant,
    record: Record,
}

impl Keeper {
    fn warn(&self, error: &MemoryError) {
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            self.record
                .warning(&format!("nothing is remembered: {error}"));
        }
    }

    fn keep(&self, subject: &Subject, told: &Receiver<Told>) -> Result<(), MemoryError> {
        let (signature, canonical) = signature::identify(&subject.rules, signature::WORK);
        let mut store = Store::open(&self.path, self.max_games, READING_WAITS)?;
        let game = signature.to_string();
        let stored = store.read(&game)?;
        let names = Names::new(&subject.rules, signature, canonical, stored.as_ref());
        let found = stored.map(|stored| Arc::new(names.recollection(stored)));
        self.say(signature, found.as_deref());
        self.slot.lay_down(found);
        store.set_patience(WRITING_WAITS);
        while let Ok(first) = told.recv() {
            let mut notes = Vec::new();
            let mut played = None;
            for told in std::iter::once(first).chain(told.try_iter()) {
                match told {
                    Told::Note(kind, value) => match names.stored(&value) {
                        Some(value) => notes.push((kind, value)),
                        None => self.record.warning(&format!(
                            "a note on {} names what the rules do not, and is left out",
                            kind.name()
                        )),
                    },
                    Told::Ended {
                        ending,
                        goals,
                        steps,
                    } => {
                        played = Some(names.played(subject, self.started, ending, &goals, steps));
                        break;
                    }
                }
            }
            match store.write(&game, names.text(), &notes, played.as_ref()) {
                Err(error @ MemoryError::TooLong { .. }) if played.is_none() => {
                    self.record.warning(&format!("{error}, and it is left out"));
                }
                Err(MemoryError::TooLong { .. }) => {
                    store.write(&game, names.text(), &[], played.as_ref())?;
                }
                outcome => outcome?,
            }
            if played.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn say(&self, signature: Signature, found: Option<&Recollection>) {
        let took = self.started.elapsed().as_secs_f64();
        let what = match found {
            None => "is new".to_string(),
            Some(found) => {
                let kinds: Vec<&str> = found.notes.iter().map(|(kind, _)| kind.name()).collect();
                let exactly = if found.is_exact {
                    ""
                } else {
                    ", but not its names"
                };
                format!(
                    "is known{exactly}; matches played: {}, notes on {}",
                    found.matches.len(),
                    if kinds.is_empty() {
                        "nothing".to_string()
                    } else {
                        kinds.join(", ")
                    }
                )
            }
        };
        self.record
            .note(&format!("game {signature} {what}, after {took:.3} s"));
    }
}

/// The names under which a match's game is stored.
struct Names {
    canonical: Option<Canonical>,
    /// Whether what is stored is in these names.
    is_exact: bool,
}

impl Names {
    fn new(
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

    fn text(&self) -> &str {
        self.canonical.as_ref().map_or("", Canonical::text)
    }

    /// The names, if they are those that are stored.
    fn exact(&self) -> Option<&Canonical> {
        self.canonical.as_ref().filter(|_| self.is_exact)
    }

    /// A value as it is stored; nothing when a term in it cannot be.
    fn stored(&self, value: &Value) -> Option<Value> {
        renamed(value, &|term| self.exact()?.to_canonical(term))
    }

    /// What is stored, in the names of this match.
    fn recollection(&self, stored: GameRecord) -> Recollection {
        let names = self.exact();
        let own = |term: &str| names?.from_canonical(term);
        let notes = stored.notes.into_iter();
        let notes = notes.filter_map(|(kind, value)| Some((kind, renamed(&value, &own)?)));
        let matches = stored.matches.into_iter().map(|played| {
            let roles: Option<Vec<String>> = played.roles.iter().map(|role| own(role)).collect();
            PastMatch {
                roles: roles.unwrap_or_default(),
                our_role: own(&played.our_role).unwrap_or_default(),
                ..played
            }
        });
        Recollection {
            is_exact: names.is_some(),
            notes: notes.collect(),
            matches: matches.collect(),
        }
    }

    fn played(
        &self,
        subject: &Subject,
        started: Instant,
        ending: String,
        goals: &[(String, Option<u8>)],
        steps: usize,
    ) -> PastMatch {
        let name = |role: &str| self.exact()?.to_canonical(role);
        let roles: Option<Vec<String>> = goals.iter().map(|(role, _)| name(role)).collect();
        PastMatch {
            match_id: subject.match_id.clone(),
            roles: roles.unwrap_or_default(),
            our_role: name(&subject.role).unwrap_or_default(),
            goals: goals.iter().map(|(_, goal)| *goal).collect(),
            steps: u32::try_from(steps).unwrap_or(u32::MAX),
            seconds: started.elapsed().as_secs_f64(),
            ending,
            time: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |time| time.as_secs()),
        }
    }
}

/// A value with other terms; nothing when one of them has no other name.
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

#[cfg(test)]
mod tests;
