//! What a server holds when no match is played.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::server::Server;

/// Time for the threads of a match to end before what is left is noted.
const QUIET: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);
/// Threads that belong to no match, by the starts of their names.
const STANDING: [&str; 5] = ["ctrl-c", "panza", "player", "tokio", "tracing"];

/// What a process holds when no match is played.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ServerUsage {
    /// Resident memory.
    pub resident_kib: u64,
    /// Resident memory that belongs to no file.
    pub anonymous_kib: u64,
    /// The most resident memory so far.
    pub peak_kib: u64,
    /// All threads.
    pub threads: usize,
    /// Descriptors.
    pub descriptors: usize,
    /// From the end of the match until its last thread ended.
    pub quiet_seconds: f64,
    /// Threads of the match that had not ended then.
    pub left: BTreeMap<String, usize>,
}

/// Waits until the threads of a match have ended, and says what a server holds then. All is zero
/// when the process has ended.
pub fn when_quiet(server: &Server) -> ServerUsage {
    let ended = Instant::now();
    let mut left = BTreeMap::new();
    while ended.elapsed() < QUIET {
        left = server.threads().unwrap_or_default();
        left.retain(|name, _| !STANDING.iter().any(|start| name.starts_with(start)));
        if left.is_empty() {
            break;
        }
        thread::sleep(LOOK);
    }
    let quiet_seconds = ended.elapsed().as_secs_f64();
    // The connection of the last message is closed by then.
    thread::sleep(5 * LOOK);
    let figures = server.figures().unwrap_or_default();
    let kib = |mib: f64| (1024.0 * mib) as u64;
    ServerUsage {
        resident_kib: kib(figures.memory_mib),
        anonymous_kib: kib(figures.anonymous_mib),
        peak_kib: kib(figures.peak_mib),
        threads: figures.threads,
        descriptors: figures.descriptors,
        quiet_seconds,
        left,
    }
}
