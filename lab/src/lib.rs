//! The laboratory: measures and tests Panza itself.
//!
//! Everything here serves the people who work on Panza, and nothing of it is part of a user's
//! program: speed beside other programs, strength of one build against another, positions
//! with proven claims about their moves, the quality of trained evaluations, published games,
//! fingerprints, and the pages in `docs` that are made of their results.

#![forbid(unsafe_code)]

mod anchors;
mod book;
mod children;
pub mod corpus;
mod curve;
pub mod duel;
pub mod fingerprint;
pub mod gamemaster;
mod hostile;
mod levels;
mod messages;
pub mod oracle;
mod page;
mod performance;
pub mod pool;
mod puzzles;
mod server;
mod soak;
mod trained;

use clap::{Parser, Subcommand};
use panza_cli::arguments::with_negative_numbers;
use panza_cli::{Outcome, Output, interrupt};

/// The whole command line.
#[derive(Parser, Debug)]
#[command(
    name = "cargo lab",
    mut_subcommands = with_negative_numbers,
    about = "Measures and tests Panza itself",
    after_help = "Exit status: 0 done and holds, 1 done and does not hold, 2 unusable arguments or input, 130 interrupted."
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
    /// Build every game of a corpus of published games and verify its recorded playouts on each
    /// machine.
    #[command(
        after_help = "FOLDER holds games.csv (a key in the first column), games/KEY.kif, traces/KEY.jsonl.gz and perhaps traces-clingo.\n\
            Each game is built and verified in a process of its own. The result is a page of Markdown.\n\
            Status 1: a machine disagrees with a trace beyond the known defects, or a game failed.\n\n\
            Examples:\n  cargo lab corpus ../shared/corpus --out docs/corpus.md\n  \
            cargo lab corpus ../shared/corpus --game chess --game hex --seconds 120 --json"
    )]
    Corpus(corpus::CorpusArguments),
    /// Compare the rulesheets of Gamemaster with their recorded playouts, and measure them.
    #[command(after_help = "Status 1: a sheet differs from its playouts.\n\n\
            Example:\n  cargo lab gamemaster ../shared/gamemaster --out docs/gamemaster-games.md")]
    Gamemaster(gamemaster::GamemasterArguments),
    /// Verify positions with proven claims about their moves, and search them.
    #[command(
        after_help = "An oracle is a file of positions: NAME stands for lab/oracles/NAME.jsonl. `score` measures how often the search\n\
            chooses a move that loses value: its figures show smaller changes of strength than matches do, and in less time.\n\
            `check` shows whether and when it finds a move that keeps the goal that the role can force.\n\n\
            Examples:\n  cargo lab oracle score --iterations 1000,10000 --ms 100\n  \
            cargo lab oracle score reversi --set search.exploration=0.6 --positions 100\n  \
            cargo lab oracle check lab/oracles/forced --seconds 2 --threads 2\n  \
            cargo lab oracle verify connectFour"
    )]
    Oracle(oracle::OracleArguments),
    /// Measure playouts by engine and width beside outside programs, and searches.
    #[command(
        after_help = "COMMAND is run by sh for each run. {rulesheet} in it stands for the rulesheet's path and {seconds} for --seconds; it\n\
            prints a line with playouts_per_cpu_s=NUMBER and perhaps mean_length=NUMBER. One that fails or takes longer than\n\
            --baseline-timeout gives a dash and a footnote. Programs play in turn, so that a change of the machine's speed meets all of them.\n\n\
            Examples:\n  cargo lab performance --out docs/performance.md ticTacToe connectFour breakthrough\n  \
            cargo lab performance hex --baseline 'other=other-player bench {rulesheet} {seconds}' --runs 9"
    )]
    Performance(performance::PerformanceArguments),
    /// Write fingerprints of games (network size, playout statistics) to a file, or compare them.
    #[command(
        after_help = "Without GAME: all games that come with the program. Status 1: --against found differences.\n\n\
            Examples:\n  cargo lab fingerprint --out tests/fingerprints.json\n  \
            cargo lab fingerprint --against tests/fingerprints.json\n  cargo lab fingerprint connectFour --playouts 1000 --json"
    )]
    Fingerprint(fingerprint::FingerprintArguments),
    /// Find out by pairs of games whether engine A is stronger than engine B.
    #[command(
        after_help = "Both engines are the current build unless a program is given, which must obey the commands of `cargo lab engine`.\n\
            Openings are those of a book, or random and called open by a reference search; each is played twice with sides\n\
            swapped, which is a pair. A sequential test with 5 % errors ends the duel: `A stronger` (--elo1 and more), or `not stronger` (--elo0 and less).\n\
            Status 1: A was not found to be stronger.\n\n\
            Examples:\n  cargo lab duel --game connectFour --a exploration=0.6\n  \
            cargo lab duel --pool --book book.jsonl --share-studies studies --studies 3 --a amaf=false --out amaf.jsonl\n  \
            cargo lab duel --game connectFour breakthrough ../shared/corpus/games/amazons_8x8.kif --ms 30 --study 20 --studies 10 \\\n    \
            --b-program '../older/target/release/panza-lab engine' --out older.jsonl\n  \
            cargo lab duel --game hex --iterations 1000 --a first_play_visits=0 --pairs 100 --elo0 -20 --elo1 20 --json"
    )]
    Duel(duel::DuelArguments),
    /// Measure the levels of `/play` against each other.
    #[command(
        after_help = "It takes an hour on one core, most of it for the level that thinks for a time.\n\n\
            Example:\n  cargo lab levels --matches 40 --timed 2 --out docs/levels.md"
    )]
    Levels(levels::LevelsArguments),
    /// Make a book: balanced openings of games, for duels, matches and tournaments.
    #[command(
        after_help = "The book has a line of JSON for each opening: the moves, the facts of the position, and the values by both searches.\n\
            It takes some minutes for each game at 10 s, one core. Status 1: balanced openings were not found for some numbers.\n\n\
            Examples:\n  cargo lab book --pool --out book.jsonl\n  \
            cargo lab book --game hex reversi --out two.jsonl --openings 4 --seconds 1 --moves /tmp/openings"
    )]
    Book(book::BookArguments),
    /// Play matches against a foreign player from the openings of a book.
    #[command(
        after_help = "The game manager makes the moves of an opening, whatever the players answer; both get the game's own rules.\n\
            Beside FILE.jsonl stand the file of the tournament, the openings, and the output of the players.\n\
            Void matches are listed apart. Needs two cores, and `cargo build --release` for Panza. Status 1: matches were not played.\n\n\
            Example:\n  cargo lab anchors --pool --book book.jsonl --opponent '../shared/peers/sancho {port}' \\\n    \
            --void-check 'grep -q Ready {log}' --out sancho.jsonl --page anchors.md"
    )]
    Anchors(anchors::AnchorsArguments),
    /// Play as an engine of a duel: commands on standard input, replies on standard output.
    #[command(after_help = duel::protocol::help())]
    Engine,
    /// Fire fuzzed messages at a server while a match is played on it.
    #[command(
        after_help = "The server is a process of its own; its settings are few and can be added to. Status 1: a panic, an answer that took\n\
            longer than a second or is missing, or a missing, late or illegal move of the match; and with --flood more than a GiB.\n\n\
            Examples:\n  cargo lab messages --count 1000000 --set search.threads=1\n  \
            cargo lab messages --dribbling 1000\n  cargo lab messages --flood plays --seconds 60"
    )]
    Messages(messages::MessagesArguments),
    /// Send hostile rulesheets to servers, as START and as a table, and measure what they leave.
    #[command(
        after_help = "Each sheet gets a server of its own. Status 1: a server that ended or panicked, a missing answer, or more than 2\n\
            threads or 50 MiB more, a second after ABORT, than before. Needs Linux.\n\n\
            Examples:\n  cargo lab hostile --json > hostile.jsonl\n  cargo lab hostile --address-space-gib 4\n  \
            cargo lab hostile --seed 7 --print > seven.gdl"
    )]
    Hostile(hostile::HostileArguments),
    /// Train alpha-beta's evaluation of games for different times and with different seeds, and
    /// compare each with positions that deep searches have valued.
    #[command(
        after_help = "Loss is the cross-entropy of the values of positions; tau is Kendall's of the order of moves; regret is what the\n\
            best move by the evaluation loses, in points; r is the correlation of the values. Each is a mean over the\n\
            seeds with its standard error.\n\n\
            Examples:\n  cargo lab curve breakthrough reversi --at 1,4,15 --seeds 8\n  \
            cargo lab curve checkers --at 2 --seeds 20 --references /tmp/references --json"
    )]
    Curve(curve::CurveArguments),
    /// Play single-player games with match clocks, and show which are planned and how well.
    #[command(
        after_help = "Example:\n  cargo lab puzzles eightPuzzle hanoi knightsTour sudoku4 --out docs/puzzles.md"
    )]
    Puzzles(puzzles::PuzzlesArguments),
    /// Play whole matches with player servers for hours, beside busy threads, and measure answers
    /// and what the servers hold.
    #[command(
        after_help = "FOLDER gets matches.jsonl, a line for each match, which can be summarised while the run goes on, and what each\n\
            server writes. Ctrl-C ends the run with its summary. Needs Linux, and `cargo build --release` for the player.\n\
            Status 1: a late, illegal or missing answer, a server that ended, or one that holds more at the end than after\n\
            50 matches.\n\n\
            Examples:\n  cargo lab soak /tmp/soak --games ../shared/corpus/games --minutes 100\n  \
            cargo lab soak /tmp/soak --show\n  \
            cargo lab soak /tmp/sweep --games ../shared/corpus/games --servers 1 --busy 0 --start-clock 5 --play-clock 1 \\\n    \
            --steps 12 --rounds 1"
    )]
    Soak(soak::SoakArguments),
}

/// Runs a command. Fails for arguments or input that cannot be used.
pub fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let output = Output::new(arguments.json);
    let _console = panza_telemetry::init(tracing::Level::WARN)?;
    interrupt::listen()?;
    match &arguments.command {
        Command::Corpus(arguments) => corpus::run(arguments, output),
        Command::Gamemaster(arguments) => gamemaster::run(arguments, output),
        Command::Oracle(arguments) => oracle::run(arguments, output),
        Command::Performance(arguments) => performance::run(arguments, output),
        Command::Fingerprint(arguments) => fingerprint::run(arguments, output),
        Command::Levels(arguments) => levels::run(arguments, output),
        Command::Duel(arguments) => duel::run(arguments, output),
        Command::Book(arguments) => book::run(arguments, output),
        Command::Anchors(arguments) => anchors::run(arguments, output),
        Command::Engine => duel::protocol::serve(&mut duel::LocalEngine::new()?),
        Command::Messages(arguments) => messages::run(arguments, output),
        Command::Hostile(arguments) => hostile::run(arguments, output),
        Command::Curve(arguments) => curve::run(arguments, output),
        Command::Puzzles(arguments) => puzzles::run(arguments, output),
        Command::Soak(arguments) => soak::run(arguments, output),
    }
}
