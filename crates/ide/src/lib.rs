#![doc = include_str!("../README.md")]
//!
//! [`language`] analyses a text as a whole: diagnostics with their fixes, names with their places,
//! completion, an outline. [`lsp`] puts its answers into the words of the Language Server Protocol;
//! the page `/edit` asks [`language`] itself.
//!
//! Invariants: any text gives an analysis, never a panic; its cost is bounded by the text's length.
//!
//! Never uses: files, the network, the meaning of a game.

#![cfg_attr(test, allow(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

pub mod language;
#[cfg(not(target_family = "wasm"))]
pub mod lsp;

pub use language::Sheet;
#[cfg(not(target_family = "wasm"))]
pub use lsp::serve;
