//! The `panza-lab` program, run as `cargo lab`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use panza_cli::outcome;

fn main() -> ExitCode {
    outcome::exit_code(panza_lab::run(&panza_lab::Arguments::parse()))
}
