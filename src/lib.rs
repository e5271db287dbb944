//! Panza, a General Game Playing player server.
pub mod commands;
pub mod gdl;
pub mod ids;
pub mod machine;
pub mod prover;
