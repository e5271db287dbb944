//! Counters and figures of the process, and whether logs can be written.
//!
//! They belong to the process, since all players in it share the disk and the processors.
//!
//! Invariant: no call waits for more than a short lock.

use panza_sync::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::SearchSample;

static COUNTERS: [AtomicU64; 7] = [const { AtomicU64::new(0) }; 7];
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
    let total = |counter: Count| COUNTERS[counter as usize].load(Ordering::Relaxed);
    Health {
        matches_started: total(Count::MatchStarted),
        matches_ended: total(Count::MatchEnded),
        moves_answered: total(Count::MoveAnswered),
        errors: total(Count::Error),
        lost_lines: total(Count::LostLine),
        iterations: total(Count::Iteration),
        playouts: total(Count::Playout),
        latest: *lock(&LATEST),
        problem: lock(&PROBLEM).clone(),
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
    /// A line of a match log was lost.
    LostLine,
    /// A search made an iteration.
    Iteration,
    /// A search made a playout.
    Playout,
}

/// Increments a counter.
pub fn count(what: Count) {
    if what == Count::MatchEnded {
        *lock(&LATEST) = None;
    }
    add(what, 1);
}

fn add(what: Count, n: u64) {
    COUNTERS[what as usize].fetch_add(n, Ordering::Relaxed);
}

/// Records the figures of the last `seconds` of search.
pub fn searched(sample: &SearchSample, seconds: f64) {
    let done = |rate: f64| (rate * seconds).max(0.0) as u64;
    add(Count::Iteration, done(sample.iterations_per_second));
    add(Count::Playout, done(sample.playouts_per_second));
    *lock(&LATEST) = Some(Latest {
        iterations_per_second: sample.iterations_per_second,
        playouts_per_second: sample.playouts_per_second,
        nodes: sample.nodes,
        pool_used: sample.pool_used,
    });
}

/// Lines of a match log were lost, and why.
pub(super) fn lost(lines: usize, problem: &str) {
    add(Count::LostLine, lines as u64);
    *lock(&PROBLEM) = Some(problem.to_string());
}

/// Lines of a match log were dropped because they came faster than they were written.
pub(super) fn dropped(lines: usize) {
    add(Count::LostLine, lines as u64);
}

/// Logs can be written again.
pub(super) fn recovered() {
    *lock(&PROBLEM) = None;
}
