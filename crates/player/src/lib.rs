//! One match of a general game player from START to STOP.
//!
//! [`player`] keeps the clocks and answers, whatever happens to the search. [`metagame`] studies
//! the game before the first move, [`memory`] keeps what was learned for later matches, [`review`]
//! looks back at a match and names its blunders, [`config`] has the settings, [`telemetry`] the
//! logs and figures.
//!
//! Invariants: at most one match at a time; every request is answered exactly once.
//!
//! Never uses: sockets, HTTP, async.

#![forbid(unsafe_code)]

pub mod config;
pub mod telemetry;
pub mod memory;
pub mod metagame;
pub mod player;
pub mod review;

#[cfg(test)]
mod testing;
