//! `cargo lab positions`: makes positions with proven good moves, verifies the proofs, and checks
//! the search against them.
//!
//! Invariant: proofs and search share nothing but the machine, so that a fault of either shows.

pub mod check;
pub mod file;
mod lookahead;
mod make;
pub(crate) mod prove;
pub mod verify;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, Subcommand};
use panza_arena::game_source::Game;
use panza_arena::outcome::Outcome;
use panza_arena::output::{Output, progress_bar};
use panza_machine::machine::Machine;
use panza_rules::gdl::Rules;

use file::{Position, PositionFile, PositionSetup};

#[derive(Args, Debug)]
pub(crate) struct PositionsArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Search positions, and show whether and when a good move is found.
    #[command(
        after_help = "`settled s` is the time from which the search's best move stays good.\n\
            With --iterations, --seed and one thread the search repeats exactly.\n\
            Status 1: no good move was found in some position.\n\n\
            Examples:\n  cargo lab positions check tests/positions --seconds 2 --threads 2\n  \
            cargo lab positions check mine.toml --iterations 20000 --json"
    )]
    Check(check::CheckArguments),
    /// Prove the claims of files of positions again.
    #[command(
        after_help = "--states bounds the memory of a proof, about 100 bytes per state.\n\
            Status 1: a claim is wrong, or could not be proven.\n\n\
            Example:\n  cargo lab positions verify tests/positions"
    )]
    Verify(verify::VerifyArguments),
    /// Play games and write a file of positions near their ends with proven good moves.
    #[command(
        after_help = "More --states prove positions farther from the end of the game. --lines takes the positions on the way to\n\
            those of another file.\n\
            Status 1: fewer positions were found than wanted.\n\n\
            Examples:\n  cargo lab positions make connectFour --count 5 --out tests/positions/connectFour.toml\n  \
            cargo lab positions make hanoi --lines solution.toml --lookahead 7"
    )]
    Make(make::MakeArguments),
}

pub(crate) fn run(arguments: &PositionsArguments, output: Output) -> anyhow::Result<Outcome> {
    match &arguments.command {
        Command::Check(arguments) => check::run(arguments, output),
        Command::Verify(arguments) => verify::run(arguments, output),
        Command::Make(arguments) => make::run(arguments, output),
    }
}

/// One position of a file.
struct NumberedPosition<'a> {
    game: &'a str,
    /// From 1.
    number: usize,
    position: &'a Position,
    machine: &'a Arc<dyn Machine>,
    setup: PositionSetup,
    /// The game and the number.
    name: String,
}

/// All files of positions under these paths. Fails for one that cannot be read.
pub fn read_all(paths: &[PathBuf]) -> anyhow::Result<Vec<(PathBuf, PositionFile)>> {
    let files: Vec<_> = paths
        .iter()
        .map(|path| file::files(path))
        .collect::<Result<_, _>>()?;
    let read = |path: PathBuf| PositionFile::read(&path).map(|file| (path, file));
    files.into_iter().flatten().map(read).collect()
}

/// Calls `examine` for each position under these paths; counts those for which it is true, and all.
fn examine_all(
    paths: &[PathBuf],
    build: impl Fn(&Rules) -> anyhow::Result<Arc<dyn Machine>>,
    mut examine: impl FnMut(&NumberedPosition<'_>) -> anyhow::Result<bool>,
) -> anyhow::Result<(usize, usize)> {
    let read = read_all(paths)?;
    let count = read.iter().map(|(_, file)| file.positions.len()).sum();
    let bar = progress_bar(count as u64, "positions");
    let mut holding = 0;
    for (path, file) in &read {
        let shown = path.display();
        let game = Game::load(&file.game).with_context(|| format!("{shown}"))?;
        let name = &game.sheet.name;
        let machine = build(&game.rules).with_context(|| format!("{shown}: {name}"))?;
        bar.set_message(name.clone());
        for (index, position) in file.positions.iter().enumerate() {
            let setup = position
                .set_up(&machine)
                .with_context(|| format!("{shown}: position {}", index + 1))?;
            let position = NumberedPosition {
                game: name,
                number: index + 1,
                position,
                machine: &machine,
                setup,
                name: format!("{name} {}", index + 1),
            };
            holding += usize::from(bar.suspend(|| examine(&position))?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok((holding, count))
}
