//! Panza, a General Game Playing player server.

pub mod config;
pub mod gdl;
pub mod ids;
pub mod machine;
pub mod search;
pub mod sync;
pub mod telemetry;
