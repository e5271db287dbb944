//! The `panza` program.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use panza::commands;

fn main() -> ExitCode {
    panza_cli::outcome::exit_code(commands::run(&commands::Arguments::parse()))
}
