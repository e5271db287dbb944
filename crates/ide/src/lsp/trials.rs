//! Trials: random games of documents, played in the background.
//!
//! What playing a game is comes from outside, as a [`Play`]. It runs on a thread of its own and
//! sends what it has found over a channel, so no message waits for it.
//!
//! Invariants: at most one trial runs at a time, one that was stopped included; a trial that was
//! stopped finds nothing.
//!
//! Never uses: the protocol, the documents.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam::channel::Sender;
use panza_gdl::{Diagnostic, Rules};
use panza_sync::{catch_panic, spawn_deep};

/// Plays random games of rules and says what is wrong with them. It ends within some seconds, and
/// soon after the flag is set.
pub type Play = dyn Fn(&Rules, &Arc<AtomicBool>) -> Vec<Diagnostic> + Send + Sync;

/// What a trial is of: the address of a document, and the revision of its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// The address.
    pub address: String,
    /// The revision.
    pub revision: u64,
}

/// The trials of a client's documents.
pub struct Trials {
    play: Arc<Play>,
    running: Option<(Subject, Arc<AtomicBool>)>,
    /// Takes what a trial has found, once for each trial.
    found: Sender<Vec<Diagnostic>>,
}

impl Trials {
    /// No trial runs yet.
    pub fn new(play: Arc<Play>, found: Sender<Vec<Diagnostic>>) -> Self {
        Self {
            play,
            running: None,
            found,
        }
    }

    /// Whether a trial runs, perhaps one that was stopped.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Begins a trial, unless one runs.
    pub fn begin(&mut self, subject: Subject, rules: Arc<Rules>) {
        if self.is_running() {
            return;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (play, found) = (Arc::clone(&self.play), self.found.clone());
        let of_thread = Arc::clone(&stop);
        let spawned = spawn_deep("trial", move || {
            let seen = catch_panic(|| play(&rules, &of_thread));
            drop(rules);
            let seen = seen.unwrap_or_else(|why| {
                tracing::error!("playing a rulesheet failed: {why}");
                Vec::new()
            });
            // The client may be gone.
            drop(found.send(seen));
        });
        match spawned {
            Ok(_) => self.running = Some((subject, stop)),
            Err(why) => tracing::warn!("no random games: {why}"),
        }
    }

    /// Stops the trial of a document, whose text has changed.
    pub fn stop(&self, address: &str) {
        let running = self.running.as_ref();
        if let Some((_, stop)) = running.filter(|(subject, _)| subject.address == address) {
            stop.store(true, Ordering::Relaxed);
        }
    }

    /// The trial that ran has ended. Returns what it was of, unless it was stopped.
    pub fn end(&mut self) -> Option<Subject> {
        let (subject, stop) = self.running.take()?;
        (!stop.load(Ordering::Relaxed)).then_some(subject)
    }
}

impl Drop for Trials {
    fn drop(&mut self) {
        if let Some((_, stop)) = &self.running {
            stop.store(true, Ordering::Relaxed);
        }
    }
}
