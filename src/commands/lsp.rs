//! `panza lsp`: the language server for rulesheets.

use std::io;

use clap::Args;

use panza_cli::Outcome;

#[derive(Args, Debug)]
pub struct LspArguments {
    /// Speak on standard input and output; editors add it, and nothing else is possible.
    #[arg(long)]
    stdio: bool,
}

/// Runs the command. A client that goes without `shutdown` makes it [`Outcome::DoesNotHold`].
pub fn run(arguments: &LspArguments) -> anyhow::Result<Outcome> {
    let LspArguments { stdio: _ } = arguments;
    let input = io::BufReader::new(io::stdin());
    let was_shut_down = panza_ide::serve(input, io::stdout().lock())?;
    Ok(match was_shut_down {
        true => Outcome::Holds,
        false => Outcome::DoesNotHold,
    })
}
