//! A game as a network of gates, and the engines that run it.
//!
//! [`propnet`] makes gates of ground rules and shrinks them. [`machine`] lays them out: counters
//! in a flat array of bytes for one state at a time, and machine code over vectors of bits for
//! many. [`structure`] is what is found in a network: sets, ranges, symmetries, factors, boards.
//! [`build`] goes from rules to a game that is ready to be played.
//!
//! Invariants: all engines of a game agree with the prover in every state; a build ends by its
//! budget and leaves what is ready by then.
//!
//! Never uses: trees, settings, files, HTTP.

#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod propnet;
pub mod machine;
pub mod structure;
pub mod build;
