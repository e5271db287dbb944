//! Tests of the program as its users meet it: the command line, the server, and whole matches
//! against a clock.
//!
//! They are not in one binary with the tests of the library, so that those do not take processor
//! time from a clock that runs here.

mod support;

mod access;
mod cli;
mod cli_names;
mod edit;
mod field_rules;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod hostile;
mod lsp;
mod match_e2e;
mod matches;
mod odd_rules;
mod openings;
mod pages;
mod player;
mod protocol;
mod protocol_extremes;
mod remembered_plans;
mod sokoban_program;
mod tables;
mod tournament;
mod trained_games;

const PROGRAM: &str = env!("CARGO_BIN_EXE_panza");
const ROOT: &str = env!("CARGO_MANIFEST_DIR");
