//! What the program tells about itself: messages on standard error, and a
//! folder of logs and figures for each match.
//!
//! [`init`] sets up `tracing` for the program as a whole. A [`MatchLog`] holds
//! what belongs to one match: a text to read, events and one-second figures to
//! draw. Both hand their lines to a thread that writes them, so that a full
//! disk or a stalled terminal costs lines and never time; lost lines are counted
//! and reported.
//!
//! Invariants: no call here waits for a disk, except those that open and close;
//! a log that cannot be written never ends a match.
//!
//! This module never knows what a figure means or how a match goes: it is handed
//! texts, JSON values and numbers.

mod console;
mod match_log;
mod memory;
mod sample;
mod sink;

pub use console::{ConsoleGuard, InitError, init};
pub use match_log::{MatchLog, folder_name};
pub use memory::{peak_resident_bytes, resident_bytes};
pub use sample::{RootMove, SearchSample};
