//! Panza, a General Game Playing player server: rules in, good moves out, in time.
//!
//! Data flows one way:
//!
//! ```text
//! GDL text ─▶ gdl ─▶ ground ─▶ propnet ─▶ machine ─▶ search ─▶ player ◀─▶ server ◀─ HTTP
//!               └──▶ prover (oracle, referee, last resort)
//! ```
//!
//! The modules stand in the order in which a newcomer should read them.

pub mod config;
pub mod gdl;
pub mod ground;
pub mod ids;
pub mod machine;
pub mod player;
pub mod propnet;
pub mod prover;
pub mod search;
pub mod server;
pub mod sync;
pub mod telemetry;
