//! Panza, a General Game Playing player server.

pub mod analysis;
pub mod build;
pub mod commands;
pub mod config;
pub mod gdl;
pub mod ground;
pub mod ids;
pub mod machine;
pub mod memory;
pub mod player;
pub mod propnet;
pub mod prover;
pub mod search;
pub mod server;
pub mod sync;
pub mod telemetry;
