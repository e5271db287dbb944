//! Tests of built games: all engines give the answers of the prover, and find what the rules have.

#![allow(clippy::disallowed_methods, reason = "tests measure time")]

mod chances;
mod decisive;
mod engines;
mod hrf;
mod open_helpers;
mod properties;
mod reduced;
mod relaxation;
