//! Panza, a General Game Playing player server: rules in, good moves out, in time.
//!
//! Data flows one way:
//!
//! ```text
//! GDL text ─▶ gdl ─▶ ground ─▶ propnet ─▶ machine ─▶ search ─▶ player ◀─▶ server ◀─ HTTP
//!               └──▶ prover (oracle, referee, last resort)
//! ```
//!
//! `ARCHITECTURE.md` says what each module holds, what it may import and what it never knows.

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
