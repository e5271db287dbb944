//! Matches and tournaments between players.
//!
//! [`game_manager`] plays a match by the GGP protocol and judges it by the prover. [`tournament`]
//! plays many.
//!
//! Invariants: a move counts only if the prover finds it legal; a process that was started here is
//! ended here.
//!
//! Never uses: a subcommand.

#![forbid(unsafe_code)]

pub mod game_manager;
pub mod players;
pub mod tournament;
