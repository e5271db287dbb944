//! The tests of the lab, and those that compare Panza with published games.

mod cli;
mod corpus;
mod duel;
mod fingerprints;
mod forced;
mod gamemaster;
mod oracle;
mod performance;
#[path = "../../../tests/support/program.rs"]
mod program;
mod prover_corpus;

const PROGRAM: &str = env!("CARGO_BIN_EXE_panza-lab");
/// The root folder of the workspace.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
