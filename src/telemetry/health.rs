//! Counters and figures of the process, and whether logs can be written.
//!
//! They belong to the process, since all players in it share the disk and the processors.
//!
//! Invariant: no call waits for more than a short lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::SearchSample;

static MATCHES_STARTED: AtomicU64 = AtomicU64::new(0);
static MATCHES_ENDED: AtomicU64 = AtomicU64::new(0);
static MOVES_ANSWERED: AtomicU64 = AtomicU64::new(0);
static ERRORS: AtomicU64 = AtomicU64::new(0);
static LOST_LINES: AtomicU64 = AtomicU64::new(0);
static ITERATIONS: AtomicU64 = AtomicU64::new(0);
static PLAYOUTS: AtomicU64 = AtomicU64::new(0);
static LATEST: Mutex<Option<Latest>> = Mutex::new(None);
static PROBLEM: Mutex<Option<String>> = Mutex::new(None);

/// Figures of the running search in the latest second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latest {
    /// Iterations a second.
    pub iterations_per_second: f64,
    /// Playouts a second.
    pub playouts_per_second: f64,
    /// Nodes in the game graph.
    pub nodes: u64,
    /// Used share of the node pool.
    pub pool_used: f64,
}

/// Counters of the process since its start, and its present state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    /// Matches begun.
    pub matches_started: u64,
    /// Matches ended.
    pub matches_ended: u64,
    /// Moves answered.
    pub moves_answered: u64,
    /// Errors and warnings of matches.
    pub errors: u64,
    /// Lines of match logs that were lost.
    pub lost_lines: u64,
    /// Iterations of all searches, as far as they were noted.
    pub iterations: u64,
    /// Playouts of all searches, as far as they were noted.
    pub playouts: u64,
    /// The running search, if any.
    pub latest: Option<Latest>,
    /// Why logs cannot be written, if they cannot.
    pub problem: Option<String>,
}

/// The present figures of the process.
pub fn health() -> Health {
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    Health {
        matches_started: count(&MATCHES_STARTED),
        matches_ended: count(&MATCHES_ENDED),
        moves_answered: count(&MOVES_ANSWERED),
        errors: count(&ERRORS),
        lost_lines: count(&LOST_LINES),
        iterations: count(&ITERATIONS),
        playouts: count(&PLAYOUTS),
        latest: *LATEST.lock().unwrap_or_else(PoisonError::into_inner),
        problem: PROBLEM
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone(),
    }
}

/// A counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// A match began.
    MatchStarted,
    /// A match ended; no search is the latest any more.
    MatchEnded,
    /// A move was answered.
    MoveAnswered,
    /// An error or a warning was logged.
    Error,
}

/// Increments a counter.
pub fn count(what: Count) {
    let counter = match what {
        Count::MatchStarted => &MATCHES_STARTED,
        Count::MatchEnded => {
            *LATEST.lock().unwrap_or_else(PoisonError::into_inner) = None;
            &MATCHES_ENDED
        }
        Count::MoveAnswered => &MOVES_ANSWERED,
        Count::Error => &ERRORS,
    };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Records the figures of the last `seconds` of search.
pub fn searched(sample: &SearchSample, seconds: f64) {
    let done = |rate: f64| (rate * seconds).max(0.0) as u64;
    ITERATIONS.fetch_add(done(sample.iterations_per_second), Ordering::Relaxed);
    PLAYOUTS.fetch_add(done(sample.playouts_per_second), Ordering::Relaxed);
    *LATEST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Latest {
        iterations_per_second: sample.iterations_per_second,
        playouts_per_second: sample.playouts_per_second,
        nodes: sample.nodes,
        pool_used: sample.pool_used,
    });
}

/// Lines of a match log were lost, and why.
pub(super) fn lost(lines: usize, problem: &str) {
    LOST_LINES.fetch_add(lines as u64, Ordering::Relaxed);
    *PROBLEM.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem.to_string());
}

/// Lines of a match log were dropped because they came faster than they were written.
pub(super) fn dropped(lines: usize) {
    LOST_LINES.fetch_add(lines as u64, Ordering::Relaxed);
}

/// Logs can be written again.
pub(super) fn recovered() {
    *PROBLEM.lock().unwrap_or_else(PoisonError::into_inner) = None;
}
