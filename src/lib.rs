//! Panza, a General Game Playing player: a GDL parser, a grounder, propositional networks, fast
//! state machines, a search, and a server that plays matches with them.
//!
//! ```text
//!  GDL text ──▶ gdl ──▶ ground ──▶ propnet ──▶ machine ──▶ search ──▶ player ◀──▶ server ◀── HTTP
//!               parse    atoms &    gates &     counter     graph &    match       GGP protocol
//!               check    rules      passes      & lanes     pipeline   clocks
//!                 │                    │           │           │          │
//!                 │                    └─ structure ┴─ build ──┴ metagame └──▶ telemetry
//!                 └──▶ prover (oracle, referee, fallback)
//! ```
//!
//! This library exports the crates of the project under one name, in reading order:
//!
//! | crate | modules |
//! |---|---|
//! | `panza_sync` | [`sync`] the ring between threads, stopping, pinning; [`budget`] deadlines, memory limits, flags |
//! | `panza_rules` | [`ids`] typed indices; [`gdl`] text to checked rules; [`prover`] the reference reasoner; [`ground`] rules without variables |
//! | `panza_machine` | [`propnet`] a game as a network of gates; [`machine`] engines that run it; [`structure`] what is found in a network; [`build`] rules to a game |
//! | `panza_search` | [`search`] Monte Carlo search with proofs; [`planner`] plans for games of one player; [`learning`] evaluations; [`statistics`] random games |
//! | `panza_player` | [`config`] settings; [`telemetry`] logs and figures; [`memory`] records between matches; [`metagame`] the study of a game; [`player`] one match |
//! | `panza_server` | [`gamemaster`] the messages of Gamemaster; [`games`] rulesheets inside the program; [`table`] games between people and Panza; [`preview`] a look at rules; [`server`] the GGP protocol, and pages |
//! | `panza_sokoban` | [`sokoban`] levels, solutions, solvers |
//! | `panza_lsp` | [`lsp`] the language server for rulesheets |
//! | `panza_arena` | [`arena`] the game manager, tournaments |
//!
//! [`commands`] has the subcommands of `panza`.
//!
//! From rules to a million playouts:
//!
//! ```
//! use std::time::{Duration, Instant};
//!
//! use panza::build::{self, BuildBudget};
//! use panza::machine::{PlayoutTotals, random::Random};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = std::fs::read_to_string("gdl-games/ticTacToe.gdl")?;
//! let (rules, diagnostics) = panza::gdl::load(&text);
//! assert!(diagnostics.is_empty());
//! let budget = BuildBudget {
//!     until: Instant::now() + Duration::from_secs(10),
//!     memory: 1 << 30,
//!     cancelled: Default::default(),
//! };
//! let game = build::build(&rules, &budget)?;
//!
//! let initial = game.machine.initial_state();
//! let lanes = game.machine.playouts(&mut Random::new(1), 1_000);
//! let mut lanes = lanes.expect("lanes are the fastest engine for tic-tac-toe");
//! lanes.submit(&initial, 1_000_000);
//! let mut tally = PlayoutTotals::default();
//! while lanes.take_finished(&mut tally).is_none() {
//!     lanes.advance();
//! }
//! assert_eq!(tally.playouts, 1_000_000);
//! let mean_goal = tally.totals[0] as f64 / 1_000_000.0;
//! assert!((50.0..100.0).contains(&mean_goal), "the first to move has an advantage");
//! # Ok(())
//! # }
//! ```
//!
//! More programs are in the folders `examples` of the crates: legal moves from rules, playouts of
//! any game, an analysis of a position, and here a player of one's own behind the server.

#![forbid(unsafe_code)]

pub use panza_arena as arena;
pub use panza_lsp as lsp;
pub use panza_machine::{build, machine, propnet, structure};
pub use panza_player::{config, memory, metagame, player, telemetry};
pub use panza_rules::{gdl, ground, ids, prover};
pub use panza_search::{learning, planner, search, statistics};
pub use panza_server::{gamemaster, games, preview, server, table};
pub use panza_sokoban as sokoban;
pub use panza_sync::{self as sync, budget};

pub mod commands;
