//! `panza sokoban`: solve, optimise and check Sokoban levels, and write them as rulesheets.
//!
//! Invariants: a solution counts only after its replay on the board; a file of `--out` is complete
//! after every level.

mod bench;
mod check;
mod gdl;
mod levels;
mod optimise;
mod results;
mod search;
mod solve;

use clap::{Args, Subcommand};

use panza_cli::{Outcome, Output};

#[derive(Args, Debug)]
pub struct SokobanArguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Find a solution of each level.
    #[command(
        after_long_help = "A level that --out has a verified solution of is skipped, so the same command continues an\n\
            interrupted one. Status 1: a level has no solution, or none was found.\n\n\
            Examples:\n  \
            panza sokoban solve sokoban-levels/twelve.sok --out solved.sok\n  \
            panza sokoban solve sokoban-levels/twelve.sok --level 9-12 --seconds 30 --json"
    )]
    Solve(solve::SolveArguments),
    /// Make the solutions in a file shorter.
    #[command(
        after_long_help = "Starts from the best verified solution of each level in FILE. Levels that --out has a verified\n\
            solution of are skipped. Ctrl-C keeps what was gained for the level at hand. With --json an object\n\
            with the progress goes to standard error once a second. Status 1: a level has no solution in\n\
            FILE.\n\n\
            Examples:\n  \
            panza sokoban optimise solved.sok --out short.sok\n  \
            panza sokoban optimise solved.sok --level 12 --by pushes,box-changes --seconds 300\n  \
            panza sokoban optimise solved.sok --methods vicinity --vicinity 30,15,5"
    )]
    Optimise(optimise::OptimiseArguments),
    /// Check levels, and replay the solutions in the file.
    #[command(
        after_long_help = "Shown of a solution: moves, pushes, box lines, box changes, pushing sessions, player lines.\n\
            Status 1: a level or a solution has a fault.\n\n\
            Examples:\n  \
            panza sokoban check sokoban-levels/twelve.sok\n  \
            panza sokoban check - --json < solved.sok"
    )]
    Check(check::CheckArguments),
    /// Write levels as rulesheets.
    #[command(
        after_long_help = "The game ends after --steps moves; without it, after twice the moves of the shortest solution\n\
            in FILE, or after 1000.\n\n\
            Examples:\n  \
            panza sokoban gdl sokoban-levels/twelve.sok --level 3 > shelves.gdl\n  \
            panza sokoban gdl sokoban-levels/twelve.sok --out rulesheets"
    )]
    Gdl(gdl::GdlArguments),
    /// Solve all levels of a file and write a Markdown table.
    #[command(
        after_long_help = "Nodes are positions whose pushes were generated. Status 1: a level was not solved. --ladder\n\
            shows what each part of Rolling Stone's search adds.\n\n\
            Examples:\n  \
            panza sokoban bench sokoban-levels/twelve.sok --seconds 10\n  \
            panza sokoban bench sokoban-levels/twelve.sok --nodes 100000 > table.md"
    )]
    Bench(bench::BenchArguments),
}

pub fn run(arguments: &SokobanArguments, output: Output) -> anyhow::Result<Outcome> {
    match &arguments.action {
        Action::Solve(arguments) => solve::run(arguments, output),
        Action::Optimise(arguments) => optimise::run(arguments, output),
        Action::Check(arguments) => check::run(arguments, output),
        Action::Gdl(arguments) => gdl::run(arguments, output),
        Action::Bench(arguments) => bench::run(arguments, output),
    }
}
