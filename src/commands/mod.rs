//! The command line: one module per subcommand, and what they share.
//!
//! A subcommand's module reads its arguments, calls what does the work, and shows the result; work
//! that is worth testing stands in modules of its own (`playouts`, `replay`, `game_manager`).
//!
//! Invariants: with `--json` standard output carries JSON objects only; a command that fails has
//! said why in one line that names what and where.

pub mod analyse;
pub mod arguments;
pub mod bench;
pub mod check;
pub mod child;
pub mod engine_choice;
pub mod format;
pub mod game_manager;
pub mod game_source;
pub mod games;
pub mod interrupt;
pub mod match_games;
pub mod outcome;
pub mod output;
pub mod perft;
pub mod players;
pub mod playouts;
pub mod provenance;
pub mod replay;
pub mod scores;
pub mod search;
pub mod serve;
pub mod stats;
pub mod tournament;
pub mod trace;
pub mod verify;

use clap::{Parser, Subcommand};

use crate::telemetry;
pub use arguments::parse_seconds;
pub use outcome::{Outcome, UNUSABLE, exit_code};
use output::Output;

/// The whole command line.
#[derive(Parser, Debug)]
#[command(
    name = "panza",
    version,
    about = "A General Game Playing player: serve it, test it, measure it",
    after_help = "GAME is a path to a rulesheet, or the name of a game that `panza games` lists.\n\
        Exit status: 0 done and holds, 1 done and does not hold, 2 unusable arguments or input, 130 interrupted.\n\n\
        Examples:\n  \
        panza serve                                        wait for a game manager on port 9147\n  \
        panza match ticTacToe --player panza --player random\n  \
        panza check my-game.gdl                            look for faults in rules\n  \
        panza verify ticTacToe --trace playouts.jsonl.gz   compare with recorded playouts\n  \
        panza bench connectFour breakthrough               measure random playouts"
)]
pub struct Arguments {
    /// Write JSON objects on standard output, one per line, and nothing else.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Run the player server until Ctrl-C.
    #[command(
        after_help = "The first line of output says where it listens. Ctrl-C and SIGTERM end it with status 0.\n\n\
            Examples:\n  panza serve\n  panza serve --listen 0.0.0.0:9147 --name Ada\n  \
            panza serve --config tournament.toml --set search.threads=7"
    )]
    Serve(serve::ServeArguments),
    /// Play matches as a game manager.
    #[command(
        after_help = "SPEC: panza (a server of our own on a loopback port), random, legal (the first legal move), or http://HOST:PORT.\n\
            Players are given roles in the order of the rules. Missing, late and illegal moves are replaced by random ones.\n\
            Status 1: a player of ours made an error, or a match had no proper end. Ctrl-C aborts the match at all players.\n\
            Settings are those of the players that are panza; without a file they write no logs, and remember nothing.\n\n\
            Examples:\n  panza match ticTacToe --player panza --player random\n  \
            panza match breakthrough --player panza --player http://127.0.0.1:9148 --start-clock 30 --play-clock 10\n  \
            panza match connectFour --player legal --player random --games 10 --swap --seed 7 --json\n  \
            panza match breakthrough --player panza --player random --set memory.enabled=true"
    )]
    Match(match_games::MatchArguments),
    /// List the games that are known by name, with their roles.
    #[command(
        after_help = "The games are those that come with the program and those in gdl-games beside the working directory.\n\n\
            Examples:\n  panza games\n  panza games --json"
    )]
    Games(games::GamesArguments),
    /// Check rulesheets and show what is wrong with them, with lines.
    #[command(
        after_help = "Examples:\n  panza check my-game.gdl\n  panza check --json ticTacToe hex"
    )]
    Check(check::CheckArguments),
    /// Lay out a rulesheet in one canonical way, comments kept.
    #[command(
        after_help = "Status 1: the parentheses do not match, and nothing is written.\n\n\
            Examples:\n  panza format my-game.gdl\n  panza format my-game.gdl --write"
    )]
    Format(format::FormatArguments),
    /// Replay recorded playouts and compare legal moves, next states, terminality and goals.
    #[command(
        after_help = "A trace has one JSON object per line and state: playout, step, state, terminal, legal, moves, goal.\n\n\
            Examples:\n  panza verify ticTacToe --trace tests/traces/ticTacToe.jsonl.gz\n  \
            panza verify my-game.gdl --trace a.jsonl b.jsonl --machine prover"
    )]
    Verify(verify::VerifyArguments),
    /// Count the paths of joint moves from the initial state.
    #[command(
        after_help = "`nodes` are paths of exactly this many joint moves, `terminal` those of them that end the game.\n\n\
            Example:\n  panza perft ticTacToe --depth 9"
    )]
    Perft(perft::PerftArguments),
    /// Show the sizes of a game's network and how long building it takes.
    #[command(after_help = "Example:\n  panza stats breakthrough --json")]
    Stats(stats::StatsArguments),
    /// Find out what a game is like, as the player does before it plays.
    #[command(
        after_help = "What is told of games and states was so in those seen, and how many those were is told too; what is not known is null in\n\
            JSON.\n\n\
            Examples:\n  panza analyse connectFour\n  panza analyse my-game.gdl --seconds 20 --json"
    )]
    Analyse(analyse::AnalyseArguments),
    /// Search one position and show what is known about each move.
    #[command(
        after_help = "FILE holds one list of facts: ((cell 1 1 x) (cell 1 2 b) ... (control o)).\n\
            With --iterations, --seed and one thread the search repeats exactly.\n\n\
            Examples:\n  panza search connectFour --seconds 10 --threads 2\n  \
            panza search ticTacToe --state position.txt --role oplayer --iterations 10000 --seed 1"
    )]
    Search(search::SearchArguments),
    /// Measure uniformly random playouts from the initial state.
    #[command(after_help = "Examples:\n  panza bench ticTacToe connectFour\n  \
            panza bench hex --engine prover --seconds 20 --threads 2 --json")]
    Bench(bench::BenchArguments),
    /// Play a tournament between players that a file names, go on where it was broken off, and show
    /// what it came to.
    #[command(
        after_help = "FILE is TOML; config/example-tournament.toml explains every key. The least of it:\n\n  \
            games = [\"ticTacToe\", \"connectFour\"]\n  games_a_side = 10\n  start_clock = 10\n  play_clock = 1\n  \
            cores = [0, 1]\n  [[players]]\n  name = \"new\"\n  \
            command = [\"target/release/panza\", \"serve\", \"--listen\", \"127.0.0.1:{port}\"]\n  \
            [[players]]\n  name = \"chance\"\n  builtin = \"random\"\n\n\
            Each finished match is a line of the results file. A match is known by its players and their versions, game, clocks,\n\
            round and side; what is there is not played again. A match whose player does not start does not count.\n\
            Shares and intervals (Wilson, 95 %) are those of the first player of a pair; games that it lost come first.\n\
            Status 1: matches could not be played, or had no end. Ctrl-C aborts the matches under way and ends all players.\n\n\
            Examples:\n  panza tournament spring.toml\n  panza tournament spring.toml --limit 1 --json\n  \
            panza tournament --show spring.toml summer.toml"
    )]
    Tournament(tournament::TournamentArguments),
}

/// Runs a command.
///
/// # Errors
/// Arguments or input that cannot be used; the message says what and where.
pub fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let output = Output::new(arguments.json);
    let command = &arguments.command;
    // The server takes its level from its settings.
    let _console = match command {
        Command::Serve(_) => None,
        _ => Some(telemetry::init(tracing::Level::WARN)?),
    };
    // These have leave to take.
    if !matches!(
        command,
        Command::Serve(_) | Command::Match(_) | Command::Tournament(_)
    ) {
        interrupt::exit_on_ctrl_c()?;
    }
    match command {
        Command::Serve(arguments) => serve::run(arguments, output),
        Command::Match(arguments) => match_games::run(arguments, output),
        Command::Games(arguments) => games::run(arguments, output),
        Command::Check(arguments) => check::run(arguments, output),
        Command::Format(arguments) => format::run(arguments, output),
        Command::Verify(arguments) => verify::run(arguments, output),
        Command::Perft(arguments) => perft::run(arguments, output),
        Command::Stats(arguments) => stats::run(arguments, output),
        Command::Analyse(arguments) => analyse::run(arguments, output),
        Command::Search(arguments) => search::run(arguments, output),
        Command::Bench(arguments) => bench::run(arguments, output),
        Command::Tournament(arguments) => tournament::run(arguments, output),
    }
}
