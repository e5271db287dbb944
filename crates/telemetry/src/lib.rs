#![doc = include_str!("../README.md")]
//!
//! [`init`] sets up `tracing` for the program. A [`MatchLog`] writes the logs of one match; an
//! [`Archive`] reads the logs of all matches, live ones included. [`health()`] gives the figures of
//! the process. The events of all threads of a match go to a debug log in its folder, the messages
//! of the configured level to standard error. Threads of their own write all lines, so that a full
//! disk or a stalled terminal costs lines and never time; lost lines are counted and reported.
//!
//! # Logs
//!
//! Every line of a match log goes into a queue and is written by another thread, so the search
//! never waits for a disk; lines that meet a full queue are dropped and counted. The folder of a
//! match holds the readable log, events (settings, findings, boards, positions, plans, answers
//! with the statistics of every move), figures of each second, and a summary of a few hundred
//! bytes. The writer of a log holds a lock on it, which shows that the match is live. `archive`
//! reads logs again, and `panza_server` serves them on threads that may wait for the disk. Live
//! matches are served to the player's own machine only, unless `server.pages_for` says otherwise
//! or the client shows the secret.
//!
//! # What holds
//!
//! Invariants: no call waits for a disk, except those that open and close a log, and those of an
//! [`Archive`]; a log that cannot be written never ends a match.
//!
//! Never uses: machines, running searches, the state of a match. It is handed figures, so that a
//! slow disk delays no move.

#![forbid(unsafe_code)]

/// The commit that the program was built from, where that was known; builds for testing know none.
pub const COMMIT: Option<&str> = option_env!("PANZA_COMMIT");

mod archive;
mod console;
mod debug_log;
mod entry;
mod health;
mod live;
mod match_log;
mod memory;
#[cfg(target_family = "wasm")]
#[path = "no_queue.rs"]
mod queue;
#[cfg(not(target_family = "wasm"))]
use tracing_appender::non_blocking as queue;
mod sample;
mod sink;
mod summary;
mod system;
mod threads;

pub use archive::{Archive, Bundle, Entry, Event, Part};
pub use console::{ConsoleGuard, InitError, init};
pub use health::{Count, Health, Latest, count, health, searched};
pub use match_log::{MatchLog, folder_name};
pub use memory::{peak_resident_bytes, resident_bytes};
pub use sample::{SearchSample, StageTimes, move_cells, rounded};
pub use summary::Summary;
pub use system::{SystemCounts, SystemRates};
pub use threads::ThreadTimes;
