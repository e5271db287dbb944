#![doc = include_str!("../README.md")]
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

pub use game_manager::{
    Clocks, Ending, Fault, FaultKind, MatchError, MatchPlan, MatchRecord, Opening, Patience,
    Request, RoleTurn, Seat, SeatPlayer, Spectator, match_id, play_match,
};
pub use players::{Player, PlayerSpec};
pub use tournament::{TournamentArguments, Venue};
