//! Panza, a General Game Playing player: a GDL parser, a grounder, propositional networks, fast
//! state machines, a search, and a server that plays matches with them.
//!
//! ```text
//!  GDL text ──▶ gdl ──▶ ground ──▶ propnet ──▶ machine ──▶ search ──▶ player ◀──▶ server ◀── HTTP
//!               parse    atoms &    gates &     counter     graph &    match       GGP protocol
//!               check    rules      passes      & lanes     pipeline   clocks
//!                 │                    │           │           │          │
//!                 │                    └─ analysis ┴── build ──┴ metagame └──▶ telemetry
//!                 └──▶ prover (oracle, referee, fallback)
//! ```
//!
//! The modules in reading order:
//!
//! | module | holds |
//! |---|---|
//! | [`ids`] | typed indices |
//! | [`budget`] | deadlines, memory limits, cancellation |
//! | [`sync`] | the ring between threads, stopping, pinning |
//! | [`config`] | settings |
//! | [`telemetry`] | logs and figures |
//! | [`memory`] | records of games between matches |
//! | [`gdl`] | text to checked rules |
//! | [`prover`] | the reference reasoner: a state straight from the rules |
//! | [`ground`] | rules with variables to rules without |
//! | [`propnet`] | a game as a network of gates, and the passes that shrink it |
//! | [`machine`] | engines that run a game: counters for one state, lanes for many |
//! | [`analysis`] | what is proven of a game and learned from random games |
//! | [`build`] | rules to a game that is ready to be played |
//! | [`search`] | Monte Carlo search of the game graph, with proofs |
//! | [`metagame`] | what is learned about a game, and chosen for its search |
//! | [`player`] | one match from START to STOP |
//! | [`server`] | the GGP protocol over HTTP, and pages for browsers |
//! | [`sokoban`] | Sokoban levels, solutions, and levels as rulesheets |
//! | [`commands`] | the subcommands of `panza`, and the game manager |
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
//! More programs are in `examples/`: playouts of any game, a player of one's own behind the server,
//! and an analysis of a position.

pub mod ids;
pub mod budget;
pub mod sync;
pub mod config;
pub mod telemetry;
pub mod memory;
pub mod gdl;
pub mod prover;
pub mod ground;
pub mod propnet;
pub mod machine;
pub mod analysis;
pub mod build;
pub mod search;
pub mod planner;
pub mod metagame;
pub mod player;
pub mod games;
pub mod table;
pub mod server;
pub mod sokoban;
pub mod commands;
