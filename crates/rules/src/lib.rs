//! GDL: text to checked rules, a reasoner straight from the rules, and grounding.
//!
//! [`gdl`] reads text and returns rules without variables out of range, or says what is wrong and
//! where. [`prover`] answers questions about a state directly from the rules. [`ground`] computes
//! every atom that can hold and every instance of a rule, for the crates that make networks of
//! them.
//!
//! Invariants: input of any kind gives rules or diagnostics, never a panic; every loop whose
//! length follows from the rules asks a [`panza_sync::budget`] or has a limit.
//!
//! Never uses: networks, machines, files, HTTP.

#![cfg_attr(test, allow(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

pub mod ids;
pub mod gdl;
pub mod prover;
pub mod ground;
