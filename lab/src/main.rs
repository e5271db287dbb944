//! The `panza-lab` program, run as `cargo lab`.

use std::process::ExitCode;

use clap::Parser;
use panza::commands;

fn main() -> ExitCode {
    commands::exit_code(panza_lab::run(&panza_lab::Arguments::parse()))
}
