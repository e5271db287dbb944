//! `panza lsp`: the language server for rulesheets.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;

use panza_cli::Outcome;
use panza_cli::child::is_running;
use panza_game::BuildError;
use panza_game::trial;
use panza_gdl::{Diagnostic, Rules};
use panza_sync::{Budget, allocator};

/// Time for building and playing a game in the background. Building takes half of it at most.
const PLAY_TIME: Duration = Duration::from_secs(2);
/// Memory for building it.
const PLAY_BYTES: usize = 256 << 20;

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
    let was_shut_down = panza_ide::serve(input, io::stdout().lock(), play, is_running)?;
    Ok(match was_shut_down {
        true => Outcome::Holds,
        false => Outcome::DoesNotHold,
    })
}

/// What random games of some rules show, until `stop` is set.
fn play(rules: &Rules, stop: &Arc<AtomicBool>) -> Vec<Diagnostic> {
    let budget = Budget::within(PLAY_TIME, PLAY_BYTES).stopped_by(stop);
    let found = trial::diagnostics(rules, &budget);
    allocator::give_back();
    found.unwrap_or_else(|why| {
        if why != BuildError::Stopped {
            tracing::debug!("no random games: {why}");
        }
        Vec::new()
    })
}
