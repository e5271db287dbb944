//! The match thread and its helpers, from START to the end of a match.
//!
//! `match_thread` takes orders, searches without pause and publishes advice. Its `engines` are a
//! build with a search each, in order of preference. `builds` are made on threads of their own, as
//! are other `tasks`: learning before the match, remembered plans, boards. A `follower` of each
//! build finds a legal move of each position. `plan_memory` writes plans for later matches, and
//! `sampling` says when the search is measured.
//!
//! Invariants: one thread owns the search; a panic of game code costs an engine or a follower, not
//! the match; no task outlives its budget by much.
//!
//! Never uses: phases, margins, who asked, so that nothing here can delay or lose an answer.

mod tasks;
mod engine;
mod engines;
mod follower;
mod builds;
mod sampling;
mod plan_memory;
mod match_thread;

pub use match_thread::Thoughts;
pub(crate) use match_thread::{MatchFactory, OwnMatch};
