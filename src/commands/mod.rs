//! The command line: a module per subcommand. What they share is in the crate `cli`.
//! A signal ends a command unless it says otherwise ([`interrupt`]).
//!
//! Invariants: with `--json` standard output has JSON objects only. A command that fails says why
//! in one line on standard error.

mod analyse;
mod bench;
mod check;
mod convert;
mod equal;
mod format;
mod games;
mod lsp;
mod manual;
mod match_games;
mod memory;
mod perft;
mod replay;
mod search;
pub mod serve;
mod sokoban;
mod solve;
mod stats;
mod study;
pub mod train;
mod verify;

use std::sync::LazyLock;

use clap::{CommandFactory, Parser, Subcommand};

use panza_cli::arguments::with_negative_numbers;
use panza_cli::{Outcome, Output, interrupt};
use panza_referee::tournament;

/// The version of the program, with the commit where the build knows it.
fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| match panza_telemetry::COMMIT {
        Some(commit) => format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
        None => env!("CARGO_PKG_VERSION").to_string(),
    });
    &VERSION
}

/// The whole command line. `-h` is a summary that fits a screen, `--help` has notes and examples.
#[derive(Parser, Debug)]
#[command(
    name = "panza",
    mut_subcommands = with_negative_numbers,
    version = version(),
    about = "A General Game Playing player: serve it, test it, measure it",
    after_long_help = "GAME is a path to a rulesheet, - for standard input, or the name of a game that `panza games`\n\
        lists. Names are looked up in the folders of the environment variable PANZA_GAMES too. Files that\n\
        end in .hrf are in the dialect of Gamemaster, those in .gdl or .kif in KIF; of others the text decides.\n\
        Exit status: 0 done, 1 done with a finding (rules have errors, a trace disagrees, a match has\n\
        no result), 2 unusable arguments or input, 130 interrupted.\n\n\
        Examples:\n  \
        panza match ticTacToe --player panza --player random\n  \
        panza serve                                        wait for a game manager on port 9147\n  \
        panza check my-game.gdl                            look for errors in rules\n  \
        panza help match                                   explain a command"
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
        after_long_help = "The first line of output is the address. Ctrl-C and SIGTERM end the server with status 0.\n\
            A browser shows its matches at that address.\n\n\
            Example:\n  panza serve --listen 0.0.0.0:9147 --name Ada --set search.threads=7"
    )]
    Serve(serve::ServeArguments),
    /// Play matches as a game manager and show them.
    #[command(
        after_long_help = "SPEC: panza (a server inside this process), random (random legal moves), legal (the first\n\
            legal move), or http://HOST:PORT. Players have roles in the order of the rules.\n\
            A missing, late or illegal move is replaced by a random legal one. On a terminal, and with\n\
            --stay, the page of the matches is there until Ctrl-C. Settings are those of the\n\
            players panza; without --config they keep no memory, and logs only while this command runs.\n\
            With --opening the players get the rules as they are and are asked as always; their answers in\n\
            the first turns are put aside, and the next message tells the moves of the file instead.\n\
            Status 1: panza, random or legal made a fault, or a match has no result.\n\n\
            Examples:\n  \
            panza match connectFour --player panza --player random --games 10 --swap --play-clock 2\n  \
            panza match hex --player panza --player http://127.0.0.1:9148 --opening moves.txt --games 2 --swap"
    )]
    Match(match_games::MatchArguments),
    /// Study a game or a match in a browser, or name the blunders of a match.
    #[command(
        after_long_help = "The page shows any position of any line, what Panza thinks of it, and the moves that lost value.\n\
            GAME|LOG is a rulesheet, the name of a game, or the log of a match: its folder under logs, its\n\
            events.jsonl, or the bundle that the page of a match offers for download; or the JSON of a match\n\
            of ggp-base or Tiltyard, whose game is found by name. The server is this\n\
            program, on this machine only, until Ctrl-C. Its pages are those of panza serve.\n\
            --blunders searches every position of the match on all processors and grades the moves after\n\
            which the value of the role that made them was lower: inaccuracy, mistake and blunder, by a\n\
            third, two thirds and all of --threshold. Doubtful ones are searched again, most of all for a\n\
            proof. Every fall from a proven value is named; a loss that is not proven has to be greater.\n\
            The effort is in iterations, so the same log gives the same result each time.\n\n\
            Examples:\n  panza study connectFour\n  panza study logs/MATCH --turn 12\n  \
            panza study logs/MATCH --blunders --ms 500 --json"
    )]
    Study(study::StudyArguments),
    /// List the games that are known by name, with their roles.
    #[command(
        after_long_help = "A name is looked up in the folders of the setting games.folders (by commands that read settings),\n\
            in those of the environment variable PANZA_GAMES, which is written like PATH, in the folder gdl-games of the working\n\
            directory, and among the games of the program. The first place that has it counts. A folder\n\
            holds rulesheets, or is a checkout of ggp-org/ggp-repository.\n\n\
            Examples:\n  panza games --json\n  PANZA_GAMES=../ggp-repository panza games"
    )]
    Games(games::GamesArguments),
    /// Check rulesheets and show errors and warnings with their lines.
    #[command(
        after_long_help = "Rules without errors are played for up to a second in random games. Found are states without a\n\
            legal move, ends without a goal or with two, games that do not end, goals that no game reached,\n\
            roles without a choice, and what `input` and `base` leave out. Each has a position that shows\n\
            it, as panza search --state reads it, and the joint moves that lead there.\n\
            Status 1: a rulesheet has errors.\n\nExample:\n  panza check my-game.gdl"
    )]
    Check(check::CheckArguments),
    /// Say whether two rulesheets describe the same game, and show the first difference.
    #[command(
        after_long_help = "Rules that differ in names and order alone are the same game. Others are played side by side,\n\
            state by state from the start and then in random games, until legal moves, facts, an end or a\n\
            goal differ. Facts are compared where both rulesheets have the same kinds of facts. Shown are\n\
            the position, the joint moves that lead there, and the statements that make the difference\n\
            where these can be told.\n\
            Status 0: no difference was seen; 1: they differ; 2: they cannot be compared.\n\n\
            Examples:\n  panza equal ticTacToe my-game.gdl\n  panza equal a.gdl b.hrf --seconds 30 --json"
    )]
    Equal(equal::EqualArguments),
    /// Print a rulesheet in one canonical layout, with its comments.
    #[command(
        after_long_help = "Status 1: the parentheses do not match, and nothing is written.\n\n\
            Example:\n  panza format my-game.gdl --write"
    )]
    Format(format::FormatArguments),
    /// Write a rulesheet in the other dialect: KIF as HRF, or HRF as KIF.
    #[command(
        after_long_help = "HRF is the dialect of Gamemaster, of files that end in .hrf; .gdl and .kif are KIF, and of other\n\
            files the beginning of the text decides. Every game of HRF can be written in KIF, where roles\n\
            that are not in control have the move noop$. In HRF one role moves in every state: games with\n\
            moves at the same time are refused. How roles take turns is seen in random games.\n\
            Status 1: the game cannot be written in this dialect.\n\n\
            Examples:\n  panza convert my-game.hrf > my-game.kif\n  panza convert ticTacToe --to hrf"
    )]
    Convert(convert::ConvertArguments),
    /// Serve an editor that writes rulesheets, by the Language Server Protocol on standard input.
    #[command(
        after_long_help = "Editors start it: diagnostics as you type, layout, completion, hover, definitions, references,\n\
            renaming, fixes. docs/editing.md says how in VS Code, Neovim, Helix and Emacs.\n\
            Status 1: the editor did not say goodbye.\n\nExample:\n  panza lsp --stdio"
    )]
    Lsp(lsp::LspArguments),
    /// Compare recorded playouts with the engines: legal moves, next states, terminality, goals.
    #[command(
        after_long_help = "A trace has one JSON object per line and state: playout, step, state, terminal, legal, moves,\n\
            goal. Status 1: an engine disagrees with a trace.\n\n\
            Example:\n  panza verify my-game.gdl --trace a.jsonl b.jsonl --engine prover"
    )]
    Verify(verify::VerifyArguments),
    /// Check the record of a match of ggp-base or Tiltyard against the rules.
    #[command(
        after_long_help = "FILE is the JSON of a match: states (lists of facts as text), moves (lists of joint moves),\n\
            goalValues, isCompleted, gameRolesByIndex or roles, gameMetaURL or gameName. The rules are\n\
            those of --game, those in the record, or those of the game that it names.\n\
            Status 1: a state, a move or a goal is not what the rules say.\n\n\
            Example:\n  panza replay match.json --game my-game.gdl"
    )]
    Replay(replay::ReplayArguments),
    /// Count the paths of joint moves from the initial state.
    #[command(
        after_long_help = "`nodes` is the number of paths of exactly this many joint moves, `terminal` how many of them\n\
            end the game.\n\nExample:\n  panza perft ticTacToe --depth 9"
    )]
    Perft(perft::PerftArguments),
    /// Show the sizes of a game's network and its build times.
    #[command(after_long_help = "Example:\n  panza stats breakthrough --json")]
    Stats(stats::StatsArguments),
    /// Analyse games as the metagame of a match does.
    #[command(
        after_long_help = "Shown are the structure of the rules, statistics of random games, and the evaluation learned\n\
            by self-play. Distances are the transitions before a goal or the end at which a fact or\n\
            move matters, 0 where it is read directly. What is unknown is null in JSON.\n\n\
            Example:\n  panza analyse connectFour --seconds 20"
    )]
    Analyse(analyse::AnalyseArguments),
    /// Search one position and show visits and value of each move.
    #[command(
        after_long_help = "FILE has one list of facts: ((cell 1 1 x) (cell 1 2 b) ... (control o)).\n\
            Without --seconds and --iterations the search takes 5 seconds. With --iterations, --seed and\n\
            one thread its result is always the same, unless the game is studied. With --method\n\
            alpha-beta an iteration is a node.\n\n\
            Examples:\n  panza search connectFour --seconds 10 --threads 2\n  \
            panza search breakthrough --method alpha-beta --study 20"
    )]
    Search(search::SearchArguments),
    /// Train an evaluation of a game by self-play, for hours if you like, and keep it for matches.
    #[command(
        after_long_help = "Each round plays games of the evaluation against itself and trains on them, then plays the\n\
            newest evaluation against the best one. A sequential test (SPRT) decides when it is the next\n\
            generation; generation 0 is the search without an evaluation. After each round all is kept\n\
            in the memory (setting memory.path), under the signature of the game: another run goes on\n\
            from there, and a match of the game, under any names, plays with the best generation.\n\
            Ctrl-C ends the round and keeps it.\n\n\
            Examples:\n  panza train connectFour --hours 2\n  \
            panza train my-game.gdl --until-elo 200 --json"
    )]
    Train(train::TrainArguments),
    /// Show what is kept of games between matches, and carry it to another machine.
    #[command(
        after_long_help = "A game is known by its signature, which is the same under all names. Its file holds the rules\n\
            in canonical names, the evaluation, settings, training and the best plan, and no matches.\n\
            import checks that the rules have the signature and that the notes fit the game.\n\n\
            Examples:\n  panza memory list\n  panza memory export connectFour --out connectFour.json\n  \
            panza memory import connectFour.json\n  panza memory forget connectFour"
    )]
    Memory(memory::MemoryArguments),
    /// Find a plan for a single-player game.
    #[command(
        after_long_help = "The search ends after --seconds, or once the best goal is proven. --solver names one way to\n\
            search:\n\n  \
            layers            breadth-first: the shortest plan, and the proof that no goal is higher\n  \
            layers-masked     the same for states without step counters; proves nothing\n  \
            guided            best-first, nearest to the goal and new facts first\n  \
            fixing            constraints, where moves only fix facts: sudokus, queens\n  \
            rollouts          nested rollout policy adaptation\n\n\
            --improve shortens the plan in what is left of --seconds. JSON then has improved_from, the moves\n\
            before, and proven_shortest: no plan reaches this goal in fewer moves.\n\n\
            Status 1: no plan was found.\n\n\
            Example:\n  panza solve eightPuzzle --seconds 10"
    )]
    Solve(solve::SolveArguments),
    /// Solve, optimise and check Sokoban levels, and write them as rulesheets.
    #[command(
        after_long_help = "FILE has levels in XSB, with run lengths or without, titles, keys, comments and solutions (.sok);\n\
            - is standard input. `panza sokoban solve --help` and the like explain each action.\n\n\
            Examples:\n  \
            panza sokoban solve sokoban-levels/twelve.sok --out solved.sok\n  \
            panza sokoban check solved.sok"
    )]
    Sokoban(sokoban::SokobanArguments),
    /// Measure uniformly random playouts from the initial state.
    #[command(after_long_help = "Example:\n  panza bench hex --engine prover --seconds 20")]
    Bench(bench::BenchArguments),
    /// Play a tournament from a file and show scores with intervals.
    #[command(
        after_long_help = "FILE is TOML; config/example-tournament.toml explains every key and runs as it stands. The\n\
            shortest file:\n\n  \
            games = [\"ticTacToe\", \"connectFour\"]\n  \
            [[players]]\n  name = \"panza\"\n  builtin = \"panza\"\n  \
            [[players]]\n  name = \"chance\"\n  builtin = \"random\"\n\n\
            An opening of a game (`openings` in its table) is played from both sides: the game manager makes\n\
            its moves whatever the players answer.\n\
            Each finished match is appended to a file of results. The same command continues an\n\
            interrupted tournament. Shares count wins and half of draws, with Wilson intervals (95 %), of the\n\
            first player of a pair; the game with its lowest share comes first.\n\
            Status 1: matches could not be played, or have no result.\n\n\
            Example:\n  panza tournament config/example-tournament.toml --limit 1"
    )]
    Tournament(tournament::TournamentArguments),
    /// Write the completions of a shell, or the manual page.
    #[command(after_long_help = "Examples:\n  panza manual man > panza.1\n  \
            panza manual bash > ~/.local/share/bash-completion/completions/panza")]
    Manual(manual::ManualArguments),
}

/// Runs a command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let output = Output::new(arguments.json);
    let command = &arguments.command;
    // The server takes its level from its settings.
    let _console = match command {
        Command::Serve(_) => None,
        _ => Some(panza_telemetry::init(tracing::Level::WARN)?),
    };
    interrupt::listen()?;
    match command {
        Command::Serve(arguments) => serve::run(arguments, output),
        Command::Match(arguments) => match_games::run(arguments, output),
        Command::Study(arguments) => study::run(arguments, output),
        Command::Games(arguments) => games::run(arguments, output),
        Command::Check(arguments) => check::run(arguments, output),
        Command::Convert(arguments) => convert::run(arguments, output),
        Command::Replay(arguments) => replay::run(arguments, output),
        Command::Equal(arguments) => equal::run(arguments, output),
        Command::Format(arguments) => format::run(arguments, output),
        Command::Lsp(arguments) => lsp::run(arguments),
        Command::Verify(arguments) => verify::run(arguments, output),
        Command::Perft(arguments) => perft::run(arguments, output),
        Command::Stats(arguments) => stats::run(arguments, output),
        Command::Analyse(arguments) => analyse::run(arguments, output),
        Command::Search(arguments) => search::run(arguments, output),
        Command::Train(arguments) => train::run(arguments, output),
        Command::Memory(arguments) => memory::run(arguments, output),
        Command::Solve(arguments) => solve::run(arguments, output),
        Command::Sokoban(arguments) => sokoban::run(arguments, output),
        Command::Bench(arguments) => bench::run(arguments, output),
        Command::Tournament(arguments) => tournament::run(arguments, output),
        Command::Manual(arguments) => manual::run(arguments, Arguments::command(), output),
    }
}
