//! `cargo lab oracle`: positions with the exact value of every legal move, and how often the search
//! chooses a move that loses value.
//!
//! `make` finds positions by lines of play and solves them, `verify` proves values again by other
//! means, `score` searches. The files are in `lab/oracles`.
//!
//! Invariants: values and search share nothing but machines; a file names no folder of this
//! machine.

pub mod file;
mod make;
mod recipe;
pub mod score;
pub mod solve;
pub mod verify;
mod walk;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use clap::{Args, Subcommand};
use panza_arena::game_source::Game;
use panza_arena::outcome::Outcome;
use panza_arena::output::Output;
use panza_machine::machine::Machine;

use file::{OracleFile, OracleSetup};

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
        after_help = "NAME is an oracle of lab/oracles, or a path to a file. Without NAME: all whose rulesheets are there.\n\
            Each position is searched by itself, on one thread, as a player on one core does. A choice loses value when it is\n\
            worth at least a point less than the position. Where both roles choose at once, that is the exploitability of\n\
            the mixed strategy: the value lost against the best reply.\n\
            --iterations repeat exactly: they use lanes of a fixed width, whatever is faster here. --ms is processor time, on\n\
            the machine of a match. With --study each game is studied first, and all budgets use the machine of a match.\n\n\
            Examples:\n  cargo lab oracle score --iterations 1000,10000 --ms 100 --page score.md\n  \
            cargo lab oracle score connectFour hexFive --ms 30,100,300 --study 5\n  \
            cargo lab oracle score reversi --set search.exploration=0.6 --positions 100 --json"
    )]
    Score(score::ScoreArguments),
    /// Prove the values of some positions again, by proof-number search.
    #[command(
        after_help = "Where both roles choose at once, a value must lie between the goal that the role forces when it moves first and\n\
            the one it forces when it moves last.\n\
            Status 1: a value is wrong. Positions beyond the budget count neither way.\n\n\
            Example:\n  cargo lab oracle verify connectFour --positions 10 --states 5000000"
    )]
    Verify(verify::VerifyArguments),
    /// Play lines, solve the positions that they lead to, and write them as an oracle.
    #[command(
        after_help = "connectFour and reversi have solvers of their own. Others are solved by alpha-beta on a machine, or where both roles\n\
            choose at once by backward induction. They must have two roles with goals that add up to 100.\n\
            Equal arguments give equal files. Status 1: fewer positions were found than wanted.\n\n\
            Examples:\n  cargo lab oracle make connectFour --count 500 --seed 1 --out lab/oracles/connectFour.jsonl\n  \
            cargo lab oracle make reversi --hard --count 150 --out lab/oracles/reversiHard.jsonl\n  \
            cargo lab oracle make ../shared/corpus/games/quarto.kif --steps 16-20 --count 50"
    )]
    Make(make::MakeArguments),
}

pub(crate) fn run(arguments: &OracleArguments, output: Output) -> anyhow::Result<Outcome> {
    match &arguments.command {
        Command::Score(arguments) => score::run(arguments, output),
        Command::Verify(arguments) => verify::run(arguments, output),
        Command::Make(arguments) => make::run(arguments, output),
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

/// The named oracles; without names all whose games are there. A complaint names each other.
fn open_all(names: &[String], output: Output) -> anyhow::Result<Vec<Oracle>> {
    if !names.is_empty() {
        return names
            .iter()
            .map(|name| Oracle::open(&path_of(name)))
            .collect();
    }
    let entries = fs::read_dir(FOLDER)
        .with_context(|| format!("no folder `{FOLDER}`: run this in the root of the project"))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|it| it == EXTENSION))
        .collect();
    paths.sort();
    let mut oracles = Vec::new();
    for path in paths {
        let file = OracleFile::read(&path)?;
        match Game::load(&file.head.game) {
            Ok(_) => oracles.push(Oracle::open(&path)?),
            Err(error) => {
                output.complaint(format_args!("{} is left out: {error:#}", path.display()))
            }
        }
    }
    ensure!(!oracles.is_empty(), "no oracles in `{FOLDER}`");
    Ok(oracles)
}

fn path_of(name: &str) -> PathBuf {
    let path = Path::new(name);
    match path.is_file() || path.extension().is_some() {
        true => path.to_path_buf(),
        false => Path::new(FOLDER).join(format!("{name}.{EXTENSION}")),
    }
}
