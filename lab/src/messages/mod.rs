//! `cargo lab messages`: fuzzed messages fired at a server, while a match is played on it.
//!
//! The server is a process of its own on this machine. Threads of this program send the messages,
//! one connection dribbles bytes, and a small game manager plays one match after the other. Shown
//! are panics, the slowest answers, what the match suffered, and what the process held before and
//! after.

pub mod client;
mod dribble;
mod flood;
mod matches;
#[path = "../../../fuzz/src/mutate.rs"]
mod mutate;
pub mod storm;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use clap::builder::ArgPredicate;
use panza_cli::arguments::parse_seconds;
use panza_cli::output::{grouped, progress_bar};
use panza_cli::{Game, Outcome, Output, Rulesheet};
use panza_referee::Clocks;
use serde::Serialize;

use crate::server::{Figures, Server, program};
use flood::Flood;
use matches::{Busy, Played};
use storm::Answers;

/// No answer may take longer.
const SLOW: Duration = Duration::from_secs(1);
/// Time for the server to come to rest before its figures are read.
const REST: Duration = Duration::from_secs(3);
/// Time between two INFOs while connections dribble.
const ASK_EVERY: Duration = Duration::from_millis(100);
/// Connections that dribble while messages are fired.
const BESIDE: usize = 16;

#[derive(Args, Debug)]
pub struct MessagesArguments {
    /// Fuzzed messages to send.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    count: u64,
    /// Instead, keep N connections that send a byte now and then, while matches are played.
    #[arg(long, value_name = "N", conflicts_with = "count")]
    dribbling: Option<usize>,
    /// Instead, post messages of 16 MB over four connections without pause, or begin them over 256
    /// and do not end them, while matches are played.
    #[arg(long, value_name = "KIND", conflicts_with_all = ["count", "dribbling"])]
    flood: Option<Flood>,
    /// How long connections dribble, or flood the server; the last match is played to its end.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = parse_seconds)]
    seconds: f64,
    /// Threads that send messages.
    #[arg(long, value_name = "N", default_value_t = 4)]
    threads: u64,
    /// The game of the match.
    #[arg(long, value_name = "GAME", default_value = "connectFour")]
    game: String,
    /// The start clock of the match in seconds. With --flood it is 2 by default.
    #[arg(long, value_name = "SECONDS", default_value_t = 3)]
    #[arg(default_value_if("flood", ArgPredicate::IsPresent, "2"))]
    start_clock: u32,
    /// The play clock of the match in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 1)]
    play_clock: u32,
    /// The program `panza`. [default: the one beside this program]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Settings of the server.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Seed of the messages.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// What a run came to.
#[derive(Serialize)]
struct Report {
    seconds: f64,
    messages: u64,
    dribbled_bytes: u64,
    dribbling_closed: u64,
    dribbling_answers: u64,
    unanswered: u64,
    statuses: Vec<(u16, u64)>,
    median_ms: f64,
    most_ms_of_999: f64,
    slowest_ms: f64,
    slowest: String,
    faults: Vec<String>,
    panics: Vec<String>,
    played: Played,
    /// From the deadline of an answer until the player had given it, at most.
    latest_answer_ms: f64,
    before: Figures,
    after: Figures,
}

pub fn run(arguments: &MessagesArguments, output: Output) -> anyhow::Result<Outcome> {
    #[cfg(unix)]
    raise_descriptors();
    let program = program(arguments.program.as_deref())?;
    let game = Game::as_played(Rulesheet::find(&arguments.game)?)?;
    let folder = tempfile::tempdir()?;
    let quiet = ["logs.level=error", "memory.enabled=false"].map(String::from);
    let settings = [&quiet[..], &arguments.set].concat();
    let server = Server::start(&program, folder.path(), &settings)?;
    let clocks = Clocks {
        start: arguments.start_clock,
        play: arguments.play_clock,
    };
    if let Some(flood) = arguments.flood {
        let time = Duration::from_secs_f64(arguments.seconds);
        return flood::run(flood, &server, &game, clocks, time, output);
    }
    // One match first, so that `before` is the state after matches.
    let busy = Busy::default();
    let once = AtomicBool::new(true);
    let alone = matches::play(server.address, &game, clocks, &busy, &once)?;
    for fault in &alone.faults {
        output.complaint(format_args!("the match before has a fault: {fault}"));
    }
    thread::sleep(REST);
    let before = server.figures()?;
    let begin = Instant::now();
    let (played, mut answers, dribbled) = match arguments.dribbling {
        Some(count) => {
            let time = Duration::from_secs_f64(arguments.seconds);
            dribbling(&server, &game, clocks, count, time)?
        }
        None => firing(&server, &game, clocks, arguments)?,
    };
    let seconds = begin.elapsed().as_secs_f64();
    thread::sleep(REST);
    let after = server.figures()?;
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    let report = Report {
        seconds,
        messages: answers.micros.len() as u64 + answers.unanswered,
        dribbled_bytes: dribbled.bytes,
        dribbling_closed: dribbled.closed,
        dribbling_answers: dribbled.answers,
        unanswered: answers.unanswered,
        median_ms: milliseconds(answers.quantile(0.5)),
        most_ms_of_999: milliseconds(answers.quantile(0.999)),
        slowest_ms: milliseconds(answers.slowest.0),
        slowest: answers.slowest.1,
        statuses: answers.statuses.into_iter().collect(),
        faults: answers.faults,
        panics: server.panics()?,
        latest_answer_ms: server.latest()? * 1000.0,
        played,
        before,
        after,
    };
    output.object(&report)?;
    output.text(&text(&report))?;
    let holds = report.faults.is_empty()
        && report.panics.is_empty()
        && report.played.faults.is_empty()
        && report.slowest_ms <= milliseconds(SLOW);
    Ok(Outcome::holds_if(holds))
}

/// Fires fuzzed messages while matches are played.
fn firing(
    server: &Server,
    game: &Game,
    clocks: Clocks,
    arguments: &MessagesArguments,
) -> anyhow::Result<(Played, Answers, dribble::Dribbled)> {
    let address = server.address;
    let (left, stop, busy) = (
        AtomicU64::new(arguments.count),
        AtomicBool::new(false),
        Busy::default(),
    );
    let progress = progress_bar(arguments.count, "messages");
    thread::scope(|scope| {
        let playing = scope.spawn(|| matches::play(address, game, clocks, &busy, &stop));
        let dribbling = scope.spawn(|| dribble::dribble(address, BESIDE, &stop));
        let threads: Vec<_> = (0..arguments.threads)
            .map(|thread| {
                let (left, busy) = (&left, &busy);
                let seed = arguments.seed.wrapping_mul(1000).wrapping_add(thread);
                scope.spawn(move || storm::storm(address, seed, left, busy))
            })
            .collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            thread::sleep(ASK_EVERY);
            progress.set_position(arguments.count - left.load(Ordering::Relaxed));
        }
        progress.finish_and_clear();
        stop.store(true, Ordering::Relaxed);
        let mut answers = Answers::default();
        for thread in threads {
            answers.add(thread.join().ok().context("a sender has panicked")?);
        }
        let played = playing
            .join()
            .ok()
            .context("the game manager has panicked")??;
        let dribbled = dribbling.join().ok().context("the dribbler has panicked")?;
        Ok((played, answers, dribbled))
    })
}

/// Plays matches while connections dribble, and asks INFO meanwhile.
fn dribbling(
    server: &Server,
    game: &Game,
    clocks: Clocks,
    count: usize,
    time: Duration,
) -> anyhow::Result<(Played, Answers, dribble::Dribbled)> {
    let address = server.address;
    let until = Instant::now() + time;
    let (is_last, stop, busy) = (
        AtomicBool::new(false),
        AtomicBool::new(false),
        Busy::default(),
    );
    thread::scope(|scope| {
        let dribbling = scope.spawn(|| dribble::dribble(address, count, &stop));
        let playing = scope.spawn(|| matches::play(address, game, clocks, &busy, &is_last));
        let look = || is_last.store(Instant::now() >= until, Ordering::Relaxed);
        let answers = storm::ask_info(address, || playing.is_finished(), look);
        stop.store(true, Ordering::Relaxed);
        let played = playing
            .join()
            .ok()
            .context("the game manager has panicked")??;
        let dribbled = dribbling.join().ok().context("the dribbler has panicked")?;
        Ok((played, answers, dribbled))
    })
}

/// As many descriptors as the system gives, for a thousand connections and more.
#[cfg(unix)]
fn raise_descriptors() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Without it some connections are refused, which shows.
    let _ = setrlimit(Resource::Nofile, limit);
}

fn text(report: &Report) -> String {
    let figures = |figures: &Figures| {
        format!(
            "{:.0} MiB, {} threads, {} descriptors",
            figures.memory_mib, figures.threads, figures.descriptors
        )
    };
    let list = |items: &[String]| {
        let shown: Vec<&str> = items.iter().take(10).map(String::as_str).collect();
        match shown.is_empty() {
            true => "none".to_string(),
            false => format!("{}\n  {}", items.len(), shown.join("\n  ")),
        }
    };
    let statuses: Vec<String> = (report.statuses.iter())
        .map(|(status, count)| format!("{status}: {}", grouped(*count)))
        .collect();
    format!(
        "messages: {} in {:.0} s, {} of them without an answer by design\n\
         answers by status: {}\n\
         time of an answer: median {:.2} ms, 99.9 % below {:.1} ms, slowest {:.0} ms ({})\n\
         dribbled: {} bytes, {} answers, {} connections closed by the server\n\
         messages not answered as they should: {}\n\
         matches: {} with {} moves, the latest {:.0} ms after its deadline; faults: {}\n\
         panics: {}\n\
         before: {}\nafter: {}\n",
        grouped(report.messages),
        report.seconds,
        grouped(report.unanswered),
        statuses.join(", "),
        report.median_ms,
        report.most_ms_of_999,
        report.slowest_ms,
        report.slowest,
        grouped(report.dribbled_bytes),
        grouped(report.dribbling_answers),
        grouped(report.dribbling_closed),
        list(&report.faults),
        report.played.matches,
        report.played.moves,
        report.latest_answer_ms,
        list(&report.played.faults),
        list(&report.panics),
        figures(&report.before),
        figures(&report.after),
    )
}
