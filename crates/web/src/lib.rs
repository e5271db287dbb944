#![doc = include_str!("../README.md")]
//!
//! Invariants: nothing that a client sends panics, delays a match or allocates without a bound.
//!
//! Never uses: sockets, HTTP, nodes of a search, gates.

#![forbid(unsafe_code)]

pub mod gamemaster;
pub mod preview;
pub mod table;

pub use gamemaster::Gamemaster;
pub use preview::{Preview, PreviewError, preview};
pub use table::{TableError, Tables};
