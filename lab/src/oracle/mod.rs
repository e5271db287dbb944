//! `cargo lab oracle`: positions with proven claims about their moves, and how well the search
//! chooses in them.
//!
//! An oracle has either the exact value of every legal move of a position, or the goal that its
//! role can force and all moves that keep it. `verify` proves claims by proof-number search,
//! `score` counts how often the search loses value, `check` shows whether and when it finds a good
//! move, and `blunders` whether the look for blunders names the real ones. The files are in
//! `lab/oracles`.
//!
//! Invariants: claims and search share nothing but machines, so that a fault of either shows; a
//! file names no folder of this machine.

mod blunders;
pub mod check;
pub mod file;
mod prove;
pub mod score;
mod states;
mod values;
pub mod verify;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use clap::{Args, Subcommand};
use panza_cli::{Game, Outcome, Output};
use panza_machine::Machine;

use file::{OracleFile, OracleSetup};
pub use prove::Verdict;
pub use values::ValueTable;

/// Where oracles are, from the root of the workspace.
const FOLDER: &str = "lab/oracles";
const EXTENSION: &str = "jsonl";

#[derive(Args, Debug)]
pub(crate) struct OracleArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Search the positions of oracles, and show how often the choice loses value.
    #[command(
        after_help = "NAME is an oracle of lab/oracles, or a path to a file or folder. Without NAME: all whose rulesheets are there.\n\
            Each position is searched by itself, on one thread, as a player on one core does. A choice loses value when it is\n\
            worth at least a point less than the position. Where both roles choose at once, that is the exploitability of\n\
            the mixed strategy: the value lost against the best reply.\n\
            --iterations repeat exactly: they use lanes of a fixed width, whatever is faster here. --ms is processor time, on\n\
            the machine of a match. With --study each game is studied first, and all budgets use the machine of a match.\n\n\
            Examples:\n  cargo lab oracle score --iterations 1000,10000 --ms 100\n  \
            cargo lab oracle score connectFour hexFive --ms 30,100,300 --study 5\n  \
            cargo lab oracle score reversi --set search.exploration=0.6 --positions 100 --json"
    )]
    Score(score::ScoreArguments),
    /// Search positions, and show whether and when a good move is found.
    #[command(
        after_help = "A good move keeps the goal, or loses less than a point. `settled s` is the time from which the search's best move\n\
            stays good. With --iterations, --seed and one thread the search repeats exactly.\n\
            Status 1: no good move was found in some position.\n\n\
            Examples:\n  cargo lab oracle check lab/oracles/forced --seconds 2 --threads 2\n  \
            cargo lab oracle check mine.jsonl --iterations 20000 --json"
    )]
    Check(check::CheckArguments),
    /// Prove the claims of some positions again, by proof-number search.
    #[command(
        after_help = "Where both roles choose at once, a value must lie between the goal that the role forces when it moves first and\n\
            the one it forces when it moves last.\n\
            Status 1: a claim is wrong, or could not be proven within the budget.\n\n\
            Examples:\n  cargo lab oracle verify connectFour --positions 10 --states 5000000\n  \
            cargo lab oracle verify lab/oracles/forced"
    )]
    Verify(verify::VerifyArguments),
    /// Compare the look for blunders with proofs, in matches of weak players.
    #[command(
        after_help = "A real blunder gives up a goal that the role could force, as proof-number search proves. Turns before the players\n\
            begin, and those whose positions are not proven, are left out. --iterations repeat exactly.\n\
            Status 1: fewer than 9 of 10 real blunders were named, or more than 1 of 10 wrongly.\n\n\
            Examples:\n  cargo lab oracle blunders --iterations 50000\n  \
            cargo lab oracle blunders reversi --opening 50 --matches 10 --players 30 --show"
    )]
    Blunders(blunders::BlundersArguments),
}

pub(crate) fn run(arguments: &OracleArguments, output: Output) -> anyhow::Result<Outcome> {
    match &arguments.command {
        Command::Score(arguments) => score::run(arguments, output),
        Command::Check(arguments) => check::run(arguments, output),
        Command::Verify(arguments) => verify::run(arguments, output),
        Command::Blunders(arguments) => blunders::run(arguments, output),
    }
}

/// An oracle and its game.
pub struct Oracle {
    /// The file's name without its extension.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// What is in it.
    pub file: OracleFile,
    /// The game.
    pub game: Game,
}

impl Oracle {
    /// Reads an oracle and its game.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let file = OracleFile::read(path)?;
        let shown = path.display();
        let game = Game::load(&file.head.game).with_context(|| format!("{shown}:1"))?;
        let name = path.file_stem().unwrap_or(path.as_os_str());
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            path: path.to_path_buf(),
            file,
            game,
        })
    }

    /// Positions on a machine: all, or `count` of them at equal distances in the file.
    pub fn set_up(
        &self,
        machine: &Arc<dyn Machine>,
        count: Option<usize>,
    ) -> anyhow::Result<Vec<(usize, OracleSetup)>> {
        let all = self.file.positions.len();
        ensure!(all > 0, "{}: no positions", self.path.display());
        let count = count.unwrap_or(all).min(all);
        let indices = (0..count).map(|index| index * all / count);
        indices
            .map(|index| {
                let line = OracleFile::line_of(index);
                let setup = self.file.positions[index].set_up(machine);
                let setup = setup.with_context(|| format!("{}:{line}", self.path.display()))?;
                Ok((line, setup))
            })
            .collect()
    }
}

/// The named oracles; without names all of `lab/oracles`. Of a folder those whose games are there;
/// a complaint names each other.
pub fn open_all(names: &[String], output: Output) -> anyhow::Result<Vec<Oracle>> {
    let all = [FOLDER.to_string()];
    let mut oracles = Vec::new();
    for name in if names.is_empty() { &all } else { names } {
        let folder = Path::new(name);
        if !folder.is_dir() {
            oracles.push(Oracle::open(&path_of(name))?);
            continue;
        }
        let entries = fs::read_dir(folder).with_context(|| format!("cannot read `{name}`"))?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut paths: Vec<PathBuf> = paths
            .filter(|path| path.extension().is_some_and(|it| it == EXTENSION))
            .collect();
        paths.sort();
        for path in paths {
            let file = OracleFile::read(&path)?;
            match Game::load(&file.head.game) {
                Ok(_) => oracles.push(Oracle::open(&path)?),
                Err(error) => {
                    output.complaint(format_args!("{} is left out: {error:#}", path.display()))
                }
            }
        }
    }
    ensure!(!oracles.is_empty(), "no oracles there");
    Ok(oracles)
}

/// The oracle of a name in `FOLDER`, or the path itself.
fn path_of(name: &str) -> PathBuf {
    let path = Path::new(name);
    match path.is_file() || path.extension().is_some() {
        true => path.to_path_buf(),
        false => Path::new(FOLDER).join(format!("{name}.{EXTENSION}")),
    }
}
