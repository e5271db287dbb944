#![doc = include_str!("../README.md")]
//!
//! Invariants: with `--json` standard output has JSON objects only; a process that was started
//! here is ended here.
//!
//! Never uses: a subcommand, running matches.

#![forbid(unsafe_code)]

pub mod arguments;
pub mod child;
pub mod engine_choice;
pub mod game_folders;
pub mod game_source;
pub mod interrupt;
pub mod outcome;
pub mod output;
pub mod playouts;
pub mod provenance;
pub mod replay;
pub mod scores;
pub mod trace;

pub use arguments::{SearchChoice, SettingsChoice};
pub use child::Child;
pub use engine_choice::{EngineChoice, EngineKind};
pub use game_source::{Game, Rulesheet};
pub use outcome::Outcome;
pub use output::Output;
pub use replay::Replay;
