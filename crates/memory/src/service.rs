//! The memory of a match: a thread that reads what earlier matches of the game have left, and
//! writes what this one leaves.
//!
//! Beside the build the thread identifies the game, whatever its names, and reads its record from
//! the [store](crate). It then writes the notes it is sent, and the result at the end.
//! [`MatchMemory::history`] waits [`READING_TIME`] from START at most; nothing else waits for the
//! disk.
//!
//! Never uses: what notes mean.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crossbeam::channel::{Receiver, Sender, unbounded};
use serde_json::Value;
use tracing::Level;

use super::history::{GameHistory, MatchResult, StoredNames};
use crate::{Kind, MemoryError, Store};
use panza_analysis::{Signature, signature};
use panza_gdl::Rules;
use panza_sync::{Instant, catch_panic, lock, spawn, unpoisoned};

/// Games of more rules are not identified, which would take seconds. Published games have some
/// thousand.
const MAX_RULES: usize = 50_000;
/// How long after START a history is waited for.
const READING_TIME: Duration = Duration::from_millis(200);
/// Time between checks whether a history is still waited for.
const CHECK_EVERY: Duration = Duration::from_millis(50);
/// How long reading waits for another program that writes; it must leave time to read.
const READING_LOCK_TIME: Duration = Duration::from_millis(100);
/// How long writing waits for another program.
const WRITING_LOCK_TIME: Duration = Duration::from_secs(2);

/// Writes a line of a match's log.
pub type LogLine = Box<dyn Fn(Level, &str) + Send>;

/// A match with a memory.
pub struct RememberedMatch {
    /// The match's name.
    pub match_id: String,
    /// The rules of its game.
    pub rules: Arc<Rules>,
    /// Our role's name.
    pub role: String,
    /// The match's log.
    pub log: LogLine,
}

/// Starts the memories of matches.
pub struct MemoryService {
    path: PathBuf,
    max_games: usize,
    /// Whether a missing memory was reported; once is enough.
    has_warned: Arc<AtomicBool>,
}

/// The memory of a game outside matches, for long training.
#[derive(Debug)]
pub struct GameMemory {
    store: Store,
    key: String,
    names: StoredNames,
}

impl GameMemory {
    /// Opens the memory file at `path`, which keeps at most `max_games` games, for the game with
    /// these rules. Also returns its history; `None` for a new game.
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn open(
        path: &Path,
        max_games: usize,
        rules: &Rules,
    ) -> Result<(Self, Option<GameHistory>), MemoryError> {
        let (signature, canonical) = signature::identify(rules, signature::WORK);
        let mut store = Store::open(path, max_games, WRITING_LOCK_TIME)?;
        let key = signature.to_string();
        let stored = store.read(&key)?;
        let names = StoredNames::new(rules, signature, canonical, stored.as_ref());
        let history = stored.map(|stored| names.history(stored));
        Ok((Self { store, key, names }, history))
    }

    /// The signature of the game, as 32 hexadecimal digits.
    pub fn signature(&self) -> &str {
        &self.key
    }

    /// Stores notes, each in place of the one of its kind; all of them or none.
    ///
    /// # Errors
    /// A note is too long or has names that the rules do not have, or the file cannot be written.
    pub fn write(&mut self, notes: &[(Kind, Value)]) -> Result<(), MemoryError> {
        let stored = notes.iter().map(|(kind, value)| {
            let value = self.names.value_to_stored(value);
            let value = value.ok_or(MemoryError::Unnamed { kind: kind.name() })?;
            Ok((*kind, value))
        });
        let stored = stored.collect::<Result<Vec<_>, MemoryError>>()?;
        self.store
            .write(&self.key, self.names.text(), &stored, None)
    }
}

/// The memory of one match; clones share it.
#[derive(Clone, Debug, Default)]
pub struct MatchMemory {
    /// `None` where nothing is remembered.
    thread: Option<(Arc<HistorySlot>, Sender<Request>)>,
}

/// Where the thread puts the history.
#[derive(Debug)]
struct HistorySlot {
    waits_until: Instant,
    reading: Mutex<Reading>,
    changed: Condvar,
}

#[derive(Clone, Debug)]
enum Reading {
    Running,
    /// `None` where the game is new, or nothing could be read.
    Done(Option<Arc<GameHistory>>),
}

/// A request to the thread.
#[derive(Debug)]
enum Request {
    Remember(Kind, Value),
    End {
        ending: String,
        goals: Vec<(String, Option<u8>)>,
        steps: usize,
    },
}

impl HistorySlot {
    /// Publishes the history, unless one was published.
    fn put(&self, found: Option<Arc<GameHistory>>) {
        let mut reading = lock(&self.reading);
        if matches!(*reading, Reading::Running) {
            *reading = Reading::Done(found);
        }
        self.changed.notify_all();
    }
}

impl MatchMemory {
    /// What is known about the game; `None` when it is new. Waits until `READING_TIME` after
    /// START at most, and afterwards not at all.
    pub fn history(&self) -> Option<Arc<GameHistory>> {
        let (slot, _) = self.thread.as_ref()?;
        let reading = lock(&slot.reading);
        let wait = slot.waits_until.saturating_duration_since(Instant::now());
        let is_running = |reading: &mut Reading| matches!(reading, Reading::Running);
        let (reading, _) = unpoisoned(slot.changed.wait_timeout_while(reading, wait, is_running));
        match &*reading {
            Reading::Running => None,
            Reading::Done(found) => found.clone(),
        }
    }

    /// Whether anything is remembered.
    pub fn is_on(&self) -> bool {
        self.thread.is_some()
    }

    /// The same as [`history`](Self::history), however long reading takes. For threads without
    /// deadlines; `None` once `stop` is set.
    pub fn history_when_read(&self, stop: &AtomicBool) -> Option<Arc<GameHistory>> {
        let (slot, _) = self.thread.as_ref()?;
        let mut reading = lock(&slot.reading);
        while matches!(*reading, Reading::Running) {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let waited = slot.changed.wait_timeout(reading, CHECK_EVERY);
            (reading, _) = unpoisoned(waited);
        }
        drop(reading);
        self.history()
    }

    /// Stores a note in place of the last one of its kind. Terms in it are made by
    /// [`term`](super::term). Returns at once; errors are logged.
    pub fn remember(&self, kind: Kind, value: Value) {
        self.send(Request::Remember(kind, value));
    }

    /// Stores the result of the match. `goals` are empty when the game was not over.
    pub fn end(&self, ending: &str, goals: &[(String, Option<u8>)], steps: usize) {
        self.send(Request::End {
            ending: ending.to_string(),
            goals: goals.to_vec(),
            steps,
        });
    }

    fn send(&self, request: Request) {
        if let Some((_, sender)) = &self.thread {
            // A thread that has ended has logged why.
            let _ = sender.send(request);
        }
    }
}

impl MemoryService {
    /// A memory in this file, of so many games.
    pub fn new(path: &Path, max_games: usize) -> Self {
        Self {
            path: path.to_path_buf(),
            max_games,
            has_warned: Arc::default(),
        }
    }

    /// Starts the memory of a match that begins now. `alive` is dropped when its thread has ended.
    pub fn start(&self, game: RememberedMatch, alive: Sender<()>) -> MatchMemory {
        let started = Instant::now();
        let slot = Arc::new(HistorySlot {
            waits_until: started + READING_TIME,
            reading: Mutex::new(Reading::Running),
            changed: Condvar::new(),
        });
        let (sender, requests) = unbounded();
        let thread = MemoryThread {
            slot: Arc::clone(&slot),
            path: self.path.clone(),
            max_games: self.max_games,
            has_warned: Arc::clone(&self.has_warned),
            started,
            game,
        };
        let spawned = spawn("memory", move || {
            let outcome = catch_panic(|| thread.run(&requests));
            thread.slot.put(None);
            match outcome {
                Ok(Ok(())) => {}
                Ok(Err(error)) => thread.warn_once(&error),
                Err(panic) => {
                    let text = format!("the memory panicked: {panic}");
                    (thread.game.log)(Level::ERROR, &text);
                }
            }
            // The log of the match ends before the thread does.
            drop(thread);
            drop(alive);
        });
        match spawned {
            Ok(_) => MatchMemory {
                thread: Some((slot, sender)),
            },
            Err(error) => {
                tracing::warn!("nothing is remembered: no thread: {error}");
                MatchMemory::default()
            }
        }
    }
}

struct MemoryThread {
    slot: Arc<HistorySlot>,
    path: PathBuf,
    max_games: usize,
    has_warned: Arc<AtomicBool>,
    started: Instant,
    game: RememberedMatch,
}

impl MemoryThread {
    fn warn(&self, text: &str) {
        (self.game.log)(Level::WARN, text);
    }

    fn warn_once(&self, error: &MemoryError) {
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            self.warn(&format!("nothing is remembered: {error}"));
        }
    }

    /// Reads the history, then writes what is requested until the match ends.
    fn run(&self, requests: &Receiver<Request>) -> Result<(), MemoryError> {
        let rules = &self.game.rules;
        if rules.rules.len() > MAX_RULES {
            self.warn("the game has too many rules to be remembered");
            return Ok(());
        }
        let (signature, canonical) = signature::identify(rules, signature::WORK);
        let mut store = Store::open(&self.path, self.max_games, READING_LOCK_TIME)?;
        let key = signature.to_string();
        let stored = store.read(&key)?;
        let names = StoredNames::new(rules, signature, canonical, stored.as_ref());
        let found = stored.map(|stored| {
            let kinds: Vec<Kind> = stored.notes.iter().map(|(kind, _)| *kind).collect();
            let history = names.history(stored);
            let is_damaged = |kind: &Kind| history.is_exact && history.note(*kind).is_none();
            for kind in kinds.into_iter().filter(is_damaged) {
                self.warn(&format!(
                    "the note on {} has names that the rules do not have; it is ignored",
                    kind.name()
                ));
            }
            Arc::new(history)
        });
        self.log_history(signature, found.as_deref());
        self.slot.put(found);
        store.set_timeout(WRITING_LOCK_TIME);
        while let Ok(first) = requests.recv() {
            let requests = std::iter::once(first).chain(requests.try_iter());
            if self.write(requests, &mut store, &key, &names)? {
                break;
            }
        }
        Ok(())
    }

    /// Writes what the requests hold, in one transaction; whether the match has ended.
    fn write(
        &self,
        requests: impl Iterator<Item = Request>,
        store: &mut Store,
        key: &str,
        names: &StoredNames,
    ) -> Result<bool, MemoryError> {
        let mut notes = Vec::new();
        let mut result = None;
        for request in requests {
            match request {
                Request::Remember(kind, value) => match names.value_to_stored(&value) {
                    Some(value) => notes.push((kind, value)),
                    None => self.warn(&format!(
                        "the note on {} has names that the rules do not have; it is dropped",
                        kind.name()
                    )),
                },
                Request::End {
                    ending,
                    goals,
                    steps,
                } => {
                    result = Some(names.past_match(MatchResult {
                        match_id: self.game.match_id.clone(),
                        role: self.game.role.clone(),
                        ending,
                        goals,
                        steps,
                        duration: self.started.elapsed(),
                    }));
                    break;
                }
            }
        }
        match store.write(key, names.text(), &notes, result.as_ref()) {
            Err(error @ MemoryError::TooLong { .. }) if result.is_none() => {
                self.warn(&format!("{error}, and it is dropped"));
            }
            Err(MemoryError::TooLong { .. }) => {
                store.write(key, names.text(), &[], result.as_ref())?;
            }
            outcome => outcome?,
        }
        Ok(result.is_some())
    }

    fn log_history(&self, signature: Signature, found: Option<&GameHistory>) {
        let took = self.started.elapsed().as_secs_f64();
        let what = match found {
            None => "is new".to_string(),
            Some(found) => {
                let kinds: Vec<&str> = found.notes.iter().map(|(kind, _)| kind.name()).collect();
                format!(
                    "is known{}; matches played: {}, notes: {}",
                    if found.is_exact { "" } else { " without names" },
                    found.matches.len(),
                    match kinds.is_empty() {
                        true => "none".to_string(),
                        false => kinds.join(", "),
                    }
                )
            }
        };
        let text = format!("game {signature} {what}, after {took:.3} s");
        (self.game.log)(Level::INFO, &text);
    }
}

#[cfg(test)]
mod tests;
