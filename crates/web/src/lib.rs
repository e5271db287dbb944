//! What a browser is told: games between people and Panza, games that people study, a look at rules
//! that are being written, the messages of Gamemaster.
//!
//! Invariants: nothing that a client sends panics, delays a match or allocates without a bound.
//!
//! Never uses: sockets, HTTP, nodes of a search, gates.

#![forbid(unsafe_code)]

pub mod gamemaster;
pub mod pages;
pub mod preview;
pub mod table;
