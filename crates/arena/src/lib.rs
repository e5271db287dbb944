//! Matches and tournaments between players, and what the commands that run them share.
//!
//! [`game_manager`] plays a match by the GGP protocol and judges it by the prover. [`tournament`]
//! plays many. The rest is what every command needs: arguments, games by name, child processes,
//! output, interruption, and how the roles of a game take turns.
//!
//! Invariants: with `--json` standard output has JSON objects only; a process that was started
//! here is ended here.
//!
//! Never uses: a subcommand.

#![forbid(unsafe_code)]

pub mod arguments;
pub mod child;
pub mod engine_choice;
pub mod analyse;
pub mod game_manager;
pub mod game_source;
pub mod interrupt;
pub mod outcome;
pub mod output;
pub mod players;
pub mod playouts;
pub mod provenance;
pub mod replay;
pub mod scores;
pub mod tournament;
pub mod trace;
pub mod turns;
