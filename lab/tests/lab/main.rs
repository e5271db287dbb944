//! The tests of the lab, and those that compare Panza with published games.

mod cli;
mod corpus;
mod duel;
mod fingerprints;
mod forced;
mod oracle;
mod performance;
mod program;
mod prover_corpus;
mod published;

/// The root folder of the workspace.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
