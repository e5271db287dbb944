//! The bounds of one search: a deadline, a number of nodes, bytes of memory and a stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use panza_sync::is_past;

/// What a search may use. Clones share the stop.
#[derive(Clone, Debug)]
pub struct Limits {
    /// When the search has to end.
    pub until: Option<Instant>,
    /// The most positions to search.
    pub nodes: u64,
    /// Bytes for stored positions.
    pub memory: usize,
    /// Ends the search when it is set.
    pub stop: Arc<AtomicBool>,
    /// Set when a search beside this one has found what both look for.
    pub found: Arc<AtomicBool>,
}

impl Default for Limits {
    /// No deadline, no bound of nodes, one gibibyte.
    fn default() -> Self {
        Self {
            until: None,
            nodes: u64::MAX,
            memory: 1 << 30,
            stop: Arc::default(),
            found: Arc::default(),
        }
    }
}

impl Limits {
    /// Whether a search that has used this many nodes has to end. Reads the clock.
    pub fn is_spent(&self, nodes: u64) -> bool {
        nodes >= self.nodes || self.is_over()
    }

    /// Whether every search with these limits has to end, whatever its nodes; never false again.
    /// Reads the clock.
    pub fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
            || self.found.load(Ordering::Relaxed)
            || self.until.is_some_and(is_past)
    }
}
