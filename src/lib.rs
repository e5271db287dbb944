//! Panza, a General Game Playing player: a GDL parser, a grounder, propositional networks, fast
//! state machines, a search, and a server that plays matches with them.
//!
//! ```text
//!  GDL text ─▶ gdl ─▶ ground ─▶ propnet ─▶ machine ─▶ game ─▶ search ─▶ player ◀─▶ server ◀── HTTP
//!  HRF         hrf    atoms &   gates &     counter    rules   tree or   match      GGP protocol
//!              ide    rules     passes      + lanes    to a    alpha-    clocks
//!               │                  │                   game    beta      │
//!               └▶ prover          └▶ analysis ─▶ learning ─▶ metagame   └▶ web ─▶ pages
//!                  (oracle, fallback)             memory      planner    telemetry
//! ```
//!
//! This library exports the crates of the project under one name, in reading order:
//!
//! | crate | holds |
//! |---|---|
//! | [`sync`] | the ring between threads, stopping, pinning, deadlines and memory limits |
//! | [`gdl`], [`hrf`], [`ide`] | text to checked rules; the other dialect; what editors ask |
//! | [`prover`], [`ground`] | the reference reasoner; rules without variables |
//! | [`propnet`], [`machine`] | a game as a network of gates; engines that run it |
//! | [`analysis`], [`game`] | what is found in a network; rules to a game |
//! | [`search`], [`planner`], [`learning`] | tree search with proofs, and alpha-beta; plans for games of one player; evaluations |
//! | [`memory`], [`metagame`] | records between matches; the study of a game |
//! | [`player`], [`telemetry`] | one match; logs and figures |
//! | [`web`], [`server`] | pages and tables for browsers; HTTP and the GGP protocol |
//! | [`cli`], [`referee`] | what commands share; the game manager, tournaments |
//! | [`config`], [`gdl_games`], [`log_viewer`] | settings; rulesheets and pages inside the program |
//! | [`sokoban`] | levels, solutions, solvers |
//!
//! [`commands`] has the subcommands of `panza`.
//!
//! From rules to a million playouts:
//!
//! ```
//! use std::time::Duration;
//!
//! use panza::game;
//! use panza::machine::PlayoutTotals;
//! use panza::sync::Budget;
//! use panza::sync::random::Random;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = panza::gdl_games::rulesheet("ticTacToe").expect("it is inside the program");
//! let (rules, diagnostics) = panza::gdl::load(text);
//! assert!(diagnostics.is_empty());
//! let budget = Budget::within(Duration::from_secs(10), 1 << 30);
//! let built = game::build(&rules, &budget)?;
//!
//! let initial = built.machine.initial_state();
//! let lanes = built.machine.playouts(&mut Random::new(1), 1_000);
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

pub use panza_analysis as analysis;
pub use panza_cli as cli;
pub use panza_config as config;
pub use panza_game as game;
pub use panza_gdl as gdl;
pub use panza_gdl_games as gdl_games;
pub use panza_ground as ground;
pub use panza_hrf as hrf;
pub use panza_ide as ide;
pub use panza_learning as learning;
pub use panza_log_viewer as log_viewer;
pub use panza_machine as machine;
pub use panza_memory as memory;
pub use panza_metagame as metagame;
pub use panza_planner as planner;
pub use panza_player as player;
pub use panza_propnet as propnet;
pub use panza_prover as prover;
pub use panza_referee as referee;
pub use panza_search as search;
pub use panza_server as server;
pub use panza_sokoban as sokoban;
pub use panza_sync as sync;
pub use panza_telemetry as telemetry;
pub use panza_web as web;

pub mod commands;
