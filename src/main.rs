//! The `panza` program: reads the command line and hands over.

use std::io;
use std::process::ExitCode;

use clap::Parser;
use panza::commands;

fn main() -> ExitCode {
    let arguments = commands::Arguments::parse();
    match commands::run(&arguments) {
        Ok(outcome) => outcome.into(),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(commands::UNUSABLE)
        }
    }
}

/// Whether the reader of our output has gone, as `head` does: it has seen what it wanted.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
