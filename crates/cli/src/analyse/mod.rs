//! The study of a game outside a match, and the report on it.
//!
//! Never uses: arguments of a command line.

pub mod examine;
pub mod report;
