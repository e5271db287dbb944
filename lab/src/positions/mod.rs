//! `cargo lab positions`: positions of which it is proven what is good in them, made, proven and put to
//! the search.
//!
//! * `file`: how they are written down;
//! * `prove`: proofs without chance; `lookahead`: how deep a position is;
//! * `make`, `verify`, `check`: the commands.
//!
//! Invariant: proofs and search share nothing but the machine, so that a fault of either shows.

pub mod check;
pub mod file;
pub mod lookahead;
pub mod make;
pub mod prove;
pub mod verify;

use clap::{Args, Subcommand};

use panza::commands::Outcome;
use panza::commands::output::Output;

/// Arguments of `cargo lab positions`.
#[derive(Args, Debug)]
pub struct PositionsArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Search positions, and show whether and when a good move is found.
    #[command(
        after_help = "`settled s` is the earliest moment from which the search would have played good moves only.\n\
            With --iterations, --seed and one thread the search repeats exactly.\n\
            Status 1: no good move was found in some position.\n\n\
            Examples:\n  cargo lab positions check tests/positions --seconds 2 --threads 2\n  \
            cargo lab positions check mine.toml --iterations 20000 --json"
    )]
    Check(check::CheckArguments),
    /// Prove anew what files of positions claim.
    #[command(
        after_help = "Proofs take as long as they take; --states bounds the memory they need, about 100 bytes for each.\n\
            Status 1: a claim is wrong, or could not be proven.\n\n\
            Example:\n  cargo lab positions verify tests/positions"
    )]
    Verify(verify::VerifyArguments),
    /// Play games and make a file of positions near their ends, with what is proven to be good in
    /// them.
    #[command(
        after_help = "A position is deeper, and proven farther from the end, with more --states. --lines takes the positions on the\n\
            way to those of another file: what is claimed there does not matter.\n\
            Status 1: fewer positions were found than wanted.\n\n\
            Examples:\n  cargo lab positions make connectFour --count 5 --out tests/positions/connectFour.toml\n  \
            cargo lab positions make hanoi --lines solution.toml --lookahead 7"
    )]
    Make(make::MakeArguments),
}

/// Runs the command.
///
/// # Errors
/// As [`check::run`], [`verify::run`] and [`make::run`].
pub fn run(arguments: &PositionsArguments, output: Output) -> anyhow::Result<Outcome> {
    match &arguments.command {
        Command::Check(arguments) => check::run(arguments, output),
        Command::Verify(arguments) => verify::run(arguments, output),
        Command::Make(arguments) => make::run(arguments, output),
    }
}
