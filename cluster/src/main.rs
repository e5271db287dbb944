//! `panza-mpi`: the work of Panza spread over the processes of an MPI job.
//!
//! Rank 0 runs a command of `panza` or of the lab, and hands its parts to the other ranks: whole
//! matches, pairs of a duel, self-play. [`wire`] carries messages, [`pool`] is rank 0's view of the
//! other ranks, [`worker`] theirs; each command has a module.
//!
//! Invariants: only the first thread of a process calls MPI; a rank that waits sleeps; a message is
//! never longer than [`wire::MAX_BYTES`]; all that a command keeps is written by rank 0.
//!
//! Never uses: a thread of its own for each message, unsafe code.

#![forbid(unsafe_code)]

mod wire;
mod pool;
mod worker;
mod tournament;
mod train;
mod duel;
mod serve;

use std::io::{self, Write};
use std::thread;

use anyhow::anyhow;
use clap::{Parser, Subcommand};
use mpi::Threading;
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator;
use panza::commands::serve::{ServeArguments, companion};
use panza::commands::train::{TrainArguments, join};
use panza_cli::arguments::with_negative_numbers;
use panza_cli::{Outcome, Output, interrupt};
use panza_lab::duel::{Duel, DuelArguments};
use panza_referee::TournamentArguments;

use pool::Pool;

/// The whole command line.
#[derive(Parser, Debug)]
#[command(
    name = "panza-mpi",
    mut_subcommands = with_negative_numbers,
    about = "Panza on many machines: rank 0 hands out work, the other ranks play",
    after_help = "Start it with mpirun or srun, with at least two ranks. Exit status: 0 done and holds, 1 done and does not\n\
        hold, 2 unusable arguments or input, 130 interrupted. docs/cluster.md explains how it behaves.\n\n\
        Examples:\n  mpirun -n 4 panza-mpi tournament config/example-tournament.toml\n  \
        srun panza-mpi tournament spring.toml --results spring.results.jsonl"
)]
struct Arguments {
    /// Write JSON objects on standard output, one per line, and nothing else.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Play the tournament of a file, each match on another rank: `panza tournament`.
    Tournament(TournamentArguments),
    /// Train an evaluation of a game, with self-play and tests on the other ranks: `panza train`.
    Train(TrainArguments),
    /// Find out whether engine A is stronger than engine B, each pair on another rank: `cargo lab
    /// duel`.
    Duel(DuelArguments),
    /// Run the player server, whose matches all ranks search: `panza serve`.
    Serve(ServeArguments),
}

/// The exit status for unusable arguments or input.
const UNUSABLE: i32 = 2;

fn main() {
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
        eprintln!("MPI cannot be started");
        std::process::exit(UNUSABLE);
    };
    let world = universe.world();
    let is_first = world.rank() == 0;
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            if is_first {
                // A closed standard error is no error.
                let _ = error.print();
            }
            drop(universe);
            std::process::exit(error.exit_code());
        }
    };
    if world.size() < 2 {
        eprintln!("expected at least 2 ranks, found 1; start it as in: mpirun -n 4 panza-mpi ...");
        drop(universe);
        std::process::exit(UNUSABLE);
    }
    if is_first {
        let status = lead(&world, arguments);
        drop(universe);
        std::process::exit(status);
    }
    if let Err(error) = work(&world, &arguments.command) {
        eprintln!("rank {}: {error:#}", world.rank());
        world.abort(UNUSABLE);
    }
}

/// Works for rank 0 until there is no more work.
fn work(world: &SimpleCommunicator, command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Tournament(arguments) => worker::run(world, || tournament::Worker::new(arguments)),
        Command::Train(arguments) => join(arguments, |member| worker::run(world, || Ok(member))),
        Command::Duel(arguments) => worker::run(world, || Duel::start(arguments)),
        Command::Serve(arguments) => {
            let number = u64::from(world.rank().unsigned_abs());
            worker::run(world, || {
                Ok(serve::Worker::new(companion(arguments, number)?))
            })
        }
    }
}

/// Runs the command with all other ranks, and ends them. Returns the exit status.
fn lead(world: &SimpleCommunicator, arguments: Arguments) -> i32 {
    let (pool, calls) = Pool::new(world);
    let output = Output::new(arguments.json);
    let ended = thread::scope(|scope| {
        let leader = scope.spawn(move || {
            // The server takes its level from its settings.
            let _console = match &arguments.command {
                Command::Serve(_) => None,
                _ => Some(panza_telemetry::init(tracing::Level::WARN)?),
            };
            match &arguments.command {
                Command::Tournament(arguments) => tournament::lead(arguments, output, &pool),
                Command::Train(arguments) => train::lead(arguments, output, &pool),
                Command::Duel(arguments) => duel::lead(arguments, output, &pool),
                Command::Serve(arguments) => serve::lead(arguments, output, &pool),
            }
        });
        calls.serve(world);
        leader.join()
    });
    let status = match ended.unwrap_or_else(|_| Err(anyhow!("a panic"))) {
        Ok(Outcome::Holds) => 0,
        Ok(Outcome::DoesNotHold) => 1,
        Ok(Outcome::Interrupted) => i32::from(interrupt::EXIT_STATUS),
        Err(error) => {
            // A closed standard error is no error.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            UNUSABLE
        }
    };
    if !calls.are_all_idle() {
        // A rank that still plays would be waited for.
        world.abort(status);
    }
    calls.end(world);
    status
}
