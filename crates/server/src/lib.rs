//! A player behind HTTP: the GGP protocol, games between people and Panza, and pages for browsers.
//!
//! [`server`] reads messages and serves pages, [`table`] has the games that people play in a
//! browser, [`preview`] a look at rules that are being written, [`games`] the rulesheets that come
//! with the program, [`gamemaster`] the messages of Gamemaster.
//!
//! Invariants: nothing that a client sends panics, delays a match or allocates without a bound.
//!
//! Never uses: nodes of a search, gates.

#![forbid(unsafe_code)]

pub mod games;
pub mod gamemaster;
pub mod preview;
pub mod table;
pub mod server;
