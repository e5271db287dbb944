#![doc = include_str!("../README.md")]
//!
//! A host, such as the HTTP server, makes a [`PageRequest`] of what a browser asks, decides what
//! the [`Client`](pages::Client) may do, and sends the [`PageReply`].
//!
//! Invariants: nothing that a client sends panics, delays a match or allocates without a bound.
//!
//! Never uses: sockets, HTTP, nodes of a search, gates.

#![forbid(unsafe_code)]

pub mod gamemaster;
pub mod pages;
pub mod preview;
pub mod table;

pub use gamemaster::Gamemaster;
pub use pages::{PageReply, PageRequest, Pages};
pub use preview::{Preview, PreviewError, preview};
pub use table::{TableError, Tables};
