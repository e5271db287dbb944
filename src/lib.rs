//! Panza, a General Game Playing player server.

pub mod config;
pub mod sync;
pub mod telemetry;
