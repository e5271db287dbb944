//! `cargo lab soak`: whole matches with player servers that run for as long as the command does.
//!
//! Each server is a process with log folder and memory of its own, and plays one match after the
//! other; the opponents are random. Other threads keep the processors busy, and a witness measures
//! how long the machine lets a thread wait. Each match is a line in a file, with the slowest
//! answers and what the process holds after the match. The summary is made of that file alone, and
//! an interrupted run can go on from it.
//!
//! A sweep plays every game once and each match for a few steps only (`--rounds 1 --steps N`).

mod process;
mod record;
mod schedule;
mod summary;
mod witness;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use panza_cli::arguments::parse_seconds;
use panza_cli::{Outcome, Output, SettingsChoice, interrupt};
use panza_referee::game_manager::MAX_STEPS;
use panza_referee::game_manager::messages::rules_on_one_line;
use panza_referee::{
    Clocks, Ending, Fault, MatchError, MatchPlan, Opening, Patience, Player, PlayerSpec, Request,
    RoleTurn, Seat, Spectator, match_id, play_match,
};
use panza_sync::lock;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::server::{Server, program};
use process::when_quiet;
use record::{Answers, MatchLine};
use schedule::{Schedule, Turn};
use summary::Summary;
use witness::Witness;

/// The file of results in the folder of a run.
const RESULTS: &str = "matches.jsonl";
/// When no match begins any more, unless the arguments say otherwise.
const MINUTES: f64 = 100.0;
/// One match in so many has clocks of twice the length.
const LONGER_CLOCKS_EVERY: usize = 5;

#[derive(Args, Debug)]
pub(crate) struct SoakArguments {
    /// The folder of the run: results, and the logs, memory and messages of each server.
    folder: PathBuf,
    /// Show the summary of an earlier run, or of one under way.
    #[arg(long)]
    show: bool,
    /// Go on with an interrupted run: rounds leave out the matches that it has played.
    #[arg(long, conflicts_with = "show")]
    resume: bool,
    /// A folder of rulesheets (.gdl, .kif, .hrf) to play beside the games that come with the
    /// program, and instead of those with the same name.
    #[arg(long, value_name = "FOLDER")]
    games: Option<PathBuf>,
    /// Begin no match after this time. [default: 100, or no limit with --rounds]
    #[arg(long, value_parser = parse_seconds, value_name = "N")]
    minutes: Option<f64>,
    /// Rounds to play: each game is played once a round. [default: until the time is up]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..), value_name = "N")]
    rounds: Option<u16>,
    /// Abort every match after this number of joint moves. All matches then have the same clocks.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    steps: Option<u32>,
    /// Servers, each with a match of its own.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=64), value_name = "N")]
    servers: u16,
    /// Threads that do nothing but take processor time.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(0..=256), value_name = "N")]
    busy: u16,
    /// Seconds from the rules to the first move.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=3600), value_name = "S")]
    start_clock: u32,
    /// Seconds for each move.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=3600), value_name = "S")]
    play_clock: u32,
    /// Abort a match after this time, and play its game no more.
    #[arg(long, default_value = "60", value_parser = parse_seconds, value_name = "S")]
    seconds: f64,
    /// Seed of the order of the games and of the opponents.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// The player. [default: the `panza` beside this program]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Runs the command. It is [`Outcome::DoesNotHold`] when an answer was late, missing or illegal, or
/// a server held more at the end than before.
pub(crate) fn run(arguments: &SoakArguments, output: Output) -> anyhow::Result<Outcome> {
    let results = arguments.folder.join(RESULTS);
    let is_interrupted = match arguments.show {
        true => false,
        false => play_all(arguments, &results)?,
    };
    let summary = Summary::of(&record::load(&results)?);
    output.text(&summary.to_string())?;
    output.object(&summary)?;
    Ok(match is_interrupted {
        true => Outcome::Interrupted,
        false => Outcome::holds_if(summary.holds()),
    })
}

/// Plays until the time is over, and says whether it was interrupted before.
fn play_all(arguments: &SoakArguments, results: &Path) -> anyhow::Result<bool> {
    let shown = results.display();
    let earlier = match results.exists() {
        true if arguments.resume => record::load_to_append(results)?,
        true => bail!("`{shown}` exists; --show summarises it, --resume goes on with it"),
        false => Vec::new(),
    };
    let program = program(arguments.program.as_deref())?;
    let schedule = Schedule::new(
        arguments.games.as_deref(),
        arguments.seed,
        arguments.rounds.map(usize::from),
        &earlier,
    )?;
    fs::create_dir_all(&arguments.folder)
        .with_context(|| format!("cannot make `{}`", arguments.folder.display()))?;
    let file = OpenOptions::new().create(true).append(true).open(results);
    let file = file.with_context(|| format!("cannot write `{shown}`"))?;
    let (runtime, cancelled) = interrupt::runtime()?;
    let run = Run {
        arguments,
        runtime: runtime.handle(),
        cancelled: &cancelled,
        program,
        schedule: Mutex::new(schedule),
        witness: Witness::default(),
        file: Mutex::new(file),
        // Servers of an earlier part of the run keep their numbers.
        n_servers: AtomicU16::new(
            earlier
                .iter()
                .map(|line| line.server + 1)
                .max()
                .unwrap_or(0),
        ),
        until: match (arguments.minutes, arguments.rounds) {
            (None, Some(_)) => None,
            (minutes, _) => {
                let seconds = 60.0 * minutes.unwrap_or(MINUTES);
                Some(Instant::now() + Duration::from_secs_f64(seconds))
            }
        },
        started: Instant::now(),
    };
    let servers: Vec<(u16, Server)> = (0..arguments.servers)
        .map(|_| run.start_server())
        .collect::<anyhow::Result<_>>()?;
    let is_over = AtomicBool::new(false);
    let played: anyhow::Result<()> = thread::scope(|scope| {
        for _ in 0..arguments.busy {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        scope.spawn(|| run.witness.watch(|| is_over.load(Ordering::Relaxed)));
        let managers: Vec<_> = servers
            .into_iter()
            .map(|server| scope.spawn(|| run.manage(server)))
            .collect();
        let ends: Vec<_> = managers.into_iter().map(|manager| manager.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        for end in ends {
            match end {
                Ok(end) => end?,
                Err(_) => bail!("a manager panicked"),
            }
        }
        Ok(())
    });
    let is_interrupted = *cancelled.borrow();
    runtime.shutdown_timeout(Duration::from_secs(1));
    played.map(|()| is_interrupted)
}

struct Run<'a> {
    arguments: &'a SoakArguments,
    runtime: &'a Handle,
    cancelled: &'a watch::Receiver<bool>,
    program: PathBuf,
    schedule: Mutex<Schedule>,
    witness: Witness,
    file: Mutex<File>,
    /// Servers started so far; the number of the next one.
    n_servers: AtomicU16,
    until: Option<Instant>,
    started: Instant,
}

impl Run<'_> {
    /// A server with its number.
    fn start_server(&self) -> anyhow::Result<(u16, Server)> {
        let number = self.n_servers.fetch_add(1, Ordering::Relaxed);
        let folder = self.arguments.folder.join(format!("server-{number}"));
        let settings = ["logs.max_mib=64".to_string()];
        let server = Server::start(&self.program, &folder, &settings)?;
        Ok((number, server))
    }

    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until) || *self.cancelled.borrow()
    }

    /// Plays matches with one server. One that ends during a match is replaced by another.
    fn manage(&self, mut server: (u16, Server)) -> anyhow::Result<()> {
        let mut number = 0;
        let mut panza = self.seat(
            &PlayerSpec::parse(&format!("http://{}", server.1.address)),
            0,
        )?;
        while !self.is_over() {
            let Some(turn) = self.schedule().next() else {
                return Ok(());
            };
            number += 1;
            let Some(mut line) = self.play(&server, &panza, &turn, number)? else {
                continue;
            };
            line.crash = server.1.ended().map(|status| status.to_string());
            if !line.is_whole() {
                self.schedule().leave_out(&turn.game.sheet.name);
            }
            let text = format!("{}\n", serde_json::to_string(&line)?);
            {
                let mut file = lock(&self.file);
                file.write_all(text.as_bytes())?;
            }
            if line.crash.is_some() {
                server = self.start_server()?;
                panza = self.seat(
                    &PlayerSpec::parse(&format!("http://{}", server.1.address)),
                    0,
                )?;
                number = 0;
            }
        }
        Ok(())
    }

    fn schedule(&self) -> std::sync::MutexGuard<'_, Schedule> {
        lock(&self.schedule)
    }

    fn seat(&self, spec: &Result<PlayerSpec, String>, seed: u64) -> anyhow::Result<Seat> {
        let spec = spec.as_ref().map_err(|why| anyhow::anyhow!(why.clone()))?;
        let settings = SettingsChoice {
            config: None,
            set: Vec::new(),
        };
        let player = Player::start(spec, &settings, false, seed, self.runtime)?;
        Ok(player.seat().clone())
    }

    /// Plays one match; nothing when it was interrupted.
    fn play(
        &self,
        (number_of_server, server): &(u16, Server),
        panza: &Seat,
        turn: &Turn,
        number: usize,
    ) -> anyhow::Result<Option<MatchLine>> {
        let game = &turn.game;
        let roles = game.role_names();
        let role = turn.round % roles.len();
        let is_longer =
            self.arguments.steps.is_none() && number.is_multiple_of(LONGER_CLOCKS_EVERY);
        let factor = if is_longer { 2 } else { 1 };
        let seed = self.arguments.seed.wrapping_add(turn.number as u64);
        let seats: Vec<Seat> = (0..roles.len())
            .map(|position| match position == role {
                true => Ok(panza.clone()),
                false => self.seat(&Ok(PlayerSpec::Random), seed.wrapping_add(position as u64)),
            })
            .collect::<anyhow::Result<_>>()?;
        let plan = MatchPlan {
            id: match_id(&game.sheet.name, turn.number),
            rules: &game.rules,
            rules_text: &rules_on_one_line(&game.kif_text()),
            seats,
            clocks: Clocks {
                start: factor * self.arguments.start_clock,
                play: factor * self.arguments.play_clock,
            },
            patience: Patience::default(),
            opening: Opening::default(),
            max_steps: self.arguments.steps.unwrap_or(MAX_STEPS),
            seed,
        };
        let (cancel, is_cancelled) = watch::channel(false);
        let started = Instant::now();
        let mut observer = Observer {
            role,
            clocks: plan.clocks,
            answers: Answers::default(),
            faults: Vec::new(),
            asked: started,
            until: started + Duration::from_secs_f64(self.arguments.seconds),
            interrupted: self.cancelled,
            witness: &self.witness,
            cancel,
        };
        let played = play_match(&plan, self.runtime, &is_cancelled, &mut observer);
        let seconds = started.elapsed().as_secs_f64();
        let (ending, goal, faults) = match played {
            Ok(record) => {
                let ending = match record.ending {
                    Ending::Terminal => record::TERMINAL.to_string(),
                    Ending::Stuck => "stuck".to_string(),
                    Ending::Endless if self.arguments.steps.is_some() => record::STEPS.to_string(),
                    Ending::Endless => "cut".to_string(),
                };
                (ending, record.goals[role], record.faults)
            }
            Err(MatchError::Interrupted) if *self.cancelled.borrow() => return Ok(None),
            Err(MatchError::Interrupted) => ("cut".to_string(), None, observer.faults),
            Err(error) => (format!("referee: {error}"), None, observer.faults),
        };
        let held = when_quiet(server);
        Ok(Some(MatchLine {
            server: *number_of_server,
            number,
            at_seconds: self.started.elapsed().as_secs_f64(),
            game: game.sheet.name.clone(),
            match_id: plan.id,
            role: roles[role].clone(),
            n_roles: roles.len(),
            start_clock: plan.clocks.start,
            play_clock: plan.clocks.play,
            ending,
            goal,
            seconds,
            answers: observer.answers,
            faults,
            held,
            crash: None,
        }))
    }
}

/// Measures the answers of the player, and cancels a match that takes too long.
struct Observer<'a> {
    role: usize,
    clocks: Clocks,
    answers: Answers,
    faults: Vec<Fault>,
    asked: Instant,
    until: Instant,
    interrupted: &'a watch::Receiver<bool>,
    witness: &'a Witness,
    cancel: watch::Sender<bool>,
}

impl Spectator for Observer<'_> {
    fn waiting(&mut self, _request: Request, _step: u32, _clock: Duration) {
        if *self.interrupted.borrow() || Instant::now() >= self.until {
            self.cancel.send_replace(true);
        }
        self.asked = Instant::now();
    }

    fn started(&mut self, faults: &[Fault], _facts: &[String]) {
        let time = self.asked.elapsed();
        self.faults.extend_from_slice(faults);
        let witness = self.witness.since(self.asked);
        self.answers.start(time, self.clocks.start, witness);
    }

    fn moved(&mut self, step: u32, turns: &[RoleTurn], _facts: &[String]) {
        let turn = &turns[self.role];
        self.faults.extend(turn.fault.clone());
        let witness = self.witness.since(self.asked);
        self.answers
            .play(step, turn.time, self.clocks.play, witness);
    }
}
