//! `panza match`: plays matches as a game manager and shows them.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::Args;
use indicatif::ProgressBar;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::watch;

use panza_analysis::{BoardPainter, board};
use panza_cli::arguments::parse_clock;
use panza_cli::output::{countdown, counted, wrapped};
use panza_cli::scores::Scores;
use panza_cli::{Game, Outcome, Output, SettingsChoice, interrupt};
use panza_game::ProverMachine;
use panza_gdl::CHANCE_ROLE;
use panza_machine::Machine;
use panza_referee::game_manager::MAX_STEPS;
use panza_referee::game_manager::messages::rules_on_one_line;
use panza_referee::{
    Clocks, Ending, Fault, MatchError, MatchPlan, MatchRecord, Opening, Patience, Player,
    PlayerSpec, Request, RoleTurn, SeatPlayer, Spectator, match_id, play_match,
};
use panza_sync::Random;

/// Limits of the sample of states in which boards are found.
const BOARD_SAMPLE_TIME: Duration = Duration::from_millis(300);
const BOARD_SAMPLE_STATES: usize = 200;
/// Facts of a state without a board that are shown at most.
const MAX_FACTS_SHOWN: usize = 200;

#[derive(Args, Debug)]
pub struct MatchArguments {
    /// Path to a rulesheet, or the name of a game.
    game: String,
    /// A player, once per role: panza, random, legal or http://HOST:PORT. The role random, which
    /// stands for chance, may be left out: it makes random moves.
    #[arg(long, required = true, value_name = "SPEC", value_parser = PlayerSpec::parse)]
    player: Vec<PlayerSpec>,
    /// Seconds from the rules to the first move.
    #[arg(long, default_value_t = 10, value_name = "S", value_parser = parse_clock)]
    start_clock: u32,
    /// Seconds for each move.
    #[arg(long, default_value_t = 5, value_name = "S", value_parser = parse_clock)]
    play_clock: u32,
    /// An opening: joint moves that are made whatever the players answer, one a line, such as
    /// ((mark 1 1) noop). Empty lines and comments after ; are skipped.
    #[arg(long, value_name = "FILE")]
    opening: Option<PathBuf>,
    /// Seconds for each move of the opening. [default: the play clock]
    #[arg(long, requires = "opening", value_name = "S", value_parser = parse_clock)]
    opening_clock: Option<u32>,
    /// Number of matches.
    #[arg(short = 'n', long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    games: u32,
    /// Give each player the next role in each further match.
    #[arg(long)]
    swap: bool,
    /// Seed of the players in this process and of the moves that replace missing ones.
    /// [default: another one each time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Keep the page of the matches until Ctrl-C after they have ended, as on a terminal.
    #[arg(long)]
    stay: bool,
    // Those of the players `panza`.
    #[command(flatten)]
    settings: SettingsChoice,
}

/// Runs the command. It is [`Outcome::DoesNotHold`] when a player of this process made a fault, or
/// a match has no result.
pub fn run(arguments: &MatchArguments, output: Output) -> anyhow::Result<Outcome> {
    let game = arguments.settings.game(&arguments.game)?;
    let roles = game.role_names();
    let chance = roles.iter().position(|role| role == CHANCE_ROLE);
    let mut specs = arguments.player.clone();
    if let Some(chance) = chance
        && specs.len() + 1 == roles.len()
    {
        specs.insert(chance, PlayerSpec::Random);
    }
    if specs.len() != roles.len() {
        bail!(
            "{} has {} ({}); expected --player once for each, found {}",
            game.sheet.name,
            counted(roles.len() as u64, "role"),
            roles.join(", "),
            specs.len()
        );
    }
    let opening = arguments.opening.as_deref();
    let opening = opening.map(|file| Opening::read(file, &game.rules));
    let opening = Opening {
        clock: arguments.opening_clock,
        ..opening.transpose()?.unwrap_or_default()
    };
    for spec in &specs {
        spec.reach()?;
    }
    if arguments.stay && !specs.contains(&PlayerSpec::Panza) {
        bail!("--stay keeps the page of a player panza, and none plays");
    }
    let seed = arguments.seed.unwrap_or_else(any_seed);
    let (runtime, cancelled) = interrupt::runtime()?;
    let handle = runtime.handle();
    let mut players = Vec::new();
    for (number, spec) in (1..).zip(&specs) {
        let seed = seed.wrapping_add(number);
        let player = Player::start(spec, &arguments.settings, true, seed, handle)?;
        if let Some(page) = player.page() {
            // A closed standard error is no error.
            let _ = writeln!(
                io::stderr(),
                "player {number} ({spec}): watch its matches at {page} while this runs"
            );
        }
        players.push(player);
    }
    let series = Series {
        arguments,
        painter: match output.is_json() {
            true => BoardPainter::default(),
            false => find_boards(&game, seed)?,
        },
        game: &game,
        specs: &specs,
        chance,
        rules_text: rules_on_one_line(&game.kif_text()),
        opening,
        roles,
        players: &players,
        seed,
        output,
    };
    let outcome = series.play(handle, &cancelled);
    // People may read the page of a match that has ended. Scripts wait for the end of the command.
    let page = players.iter().find_map(Player::page);
    let is_for_people = !output.is_json() && io::stdout().is_terminal();
    if let Some(page) = page
        && matches!(outcome, Ok(Outcome::Holds | Outcome::DoesNotHold))
        && (arguments.stay || is_for_people)
    {
        // Standard output may be a file. A closed standard error is no error.
        let _ = writeln!(io::stderr(), "\n{page} shows this until Ctrl-C");
        let mut cancelled = cancelled.clone();
        // It cannot fail: the sender waits for signals as long as the runtime lives.
        let _ = handle.block_on(cancelled.wait_for(|&is_cancelled| is_cancelled));
    }
    for player in players {
        player.shut_down(handle);
    }
    // A connection that hangs must not keep the program running.
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

/// The player of each role after so many swaps among all roles but that of chance.
fn seated(n_roles: usize, chance: Option<usize>, swaps: usize) -> Vec<usize> {
    let mut seated: Vec<usize> = (0..n_roles).filter(|&role| chance != Some(role)).collect();
    let n_players = seated.len();
    seated.rotate_left(swaps % n_players.max(1));
    if let Some(chance) = chance {
        seated.insert(chance, chance);
    }
    seated
}

/// An unpredictable seed; the standard library draws it for its hash tables.
fn any_seed() -> u64 {
    // Short enough to be typed.
    RandomState::new().build_hasher().finish() & 0xFFFF_FFFF
}

fn find_boards(game: &Game, seed: u64) -> anyhow::Result<BoardPainter> {
    let machine: Arc<dyn Machine> = Arc::new(ProverMachine::new(&game.rules)?);
    let started = Instant::now();
    let go_on = || started.elapsed() < BOARD_SAMPLE_TIME;
    let random = &mut Random::new(seed);
    let samples = board::sample_states(&machine, random, BOARD_SAMPLE_STATES, go_on);
    Ok(BoardPainter::learn(&samples, &game.rules))
}

struct Series<'a> {
    arguments: &'a MatchArguments,
    game: &'a Game,
    /// The player that begins with each role.
    specs: &'a [PlayerSpec],
    /// The chance role, whose player stays.
    chance: Option<usize>,
    rules_text: String,
    opening: Opening,
    roles: Vec<String>,
    players: &'a [Player],
    painter: BoardPainter,
    seed: u64,
    output: Output,
}

impl Series<'_> {
    fn play(&self, runtime: &Handle, cancelled: &watch::Receiver<bool>) -> anyhow::Result<Outcome> {
        let mut outcome = Outcome::Holds;
        let mut scores = Scores::new(self.players.len());
        for number in 0..self.arguments.games {
            let swaps = if self.arguments.swap {
                number as usize
            } else {
                0
            };
            let seated = seated(self.players.len(), self.chance, swaps);
            let plan = MatchPlan {
                id: match_id(&self.game.sheet.name, number),
                rules: &self.game.rules,
                rules_text: &self.rules_text,
                seats: seated
                    .iter()
                    .map(|&player| self.players[player].seat().clone())
                    .collect(),
                clocks: Clocks {
                    start: self.arguments.start_clock,
                    play: self.arguments.play_clock,
                },
                patience: Patience::default(),
                opening: self.opening.clone(),
                max_steps: MAX_STEPS,
                seed: self.seed.wrapping_add(u64::from(number)),
            };
            self.announce(&plan.id, &seated, number)?;
            let mut display = Display {
                series: self,
                result: Ok(()),
                progress: ProgressBar::hidden(),
            };
            let played = play_match(&plan, runtime, cancelled, &mut display);
            display.progress.finish_and_clear();
            let record = match played {
                Ok(record) => record,
                Err(MatchError::Interrupted) => return Ok(Outcome::Interrupted),
                Err(error) => return Err(error.into()),
            };
            display.result?;
            self.report(&plan.id, &seated, &record)?;
            scores.add(&seated, &record.goals);
            let is_our_fault = |fault: &Fault| self.specs[seated[fault.role]].is_ours();
            let has_result =
                record.ending == Ending::Terminal && record.goals.iter().all(Option::is_some);
            if !has_result || record.faults.iter().any(is_our_fault) {
                outcome = Outcome::DoesNotHold;
            }
        }
        if self.arguments.games > 1 {
            let names = self.specs.iter().map(ToString::to_string);
            let table = scores.table(&names.collect::<Vec<_>>());
            self.output.line(format_args!("\n{table}"))?;
        }
        Ok(outcome)
    }

    fn announce(&self, id: &str, seated: &[usize], number: u32) -> io::Result<()> {
        let (games, specs) = (self.arguments.games, self.specs);
        let (start_clock, play_clock) = (self.arguments.start_clock, self.arguments.play_clock);
        if number > 0 {
            self.output.line("")?;
        }
        self.output.line(format_args!(
            "match {} of {games}: {id}, start clock {start_clock} s, play clock {play_clock} s, seed {}",
            number + 1,
            self.seed
        ))?;
        let Opening { name, moves, .. } = &self.opening;
        if !moves.is_empty() {
            let moves = counted(moves.len() as u64, "joint move");
            self.output
                .line(format_args!("  opening: {name}, {moves}"))?;
        }
        for (role, &player) in self.roles.iter().zip(seated) {
            let place = match &self.players[player].seat().player {
                SeatPlayer::Remote(address) => format!(" at {address}"),
                SeatPlayer::Random(_) | SeatPlayer::FirstLegal => String::new(),
            };
            self.output
                .line(format_args!("  {role}: {}{place}", specs[player]))?;
        }
        Ok(())
    }

    fn report(&self, id: &str, seated: &[usize], record: &MatchRecord) -> io::Result<()> {
        let specs = self.specs;
        let seconds = record.time.as_secs_f64();
        let stuck = record.stuck.iter().map(|&role| self.roles[role].as_str());
        let stuck: Vec<&str> = stuck.collect();
        let steps = record.moves.len();
        let length = format!("after {} in {seconds:.1} s", counted(steps as u64, "step"));
        let without_move = stuck.join(", ");
        self.output.line(match record.ending {
            Ending::Terminal => format!("\nended {length}"),
            Ending::Stuck => format!("\nstuck {length}: no legal move for {without_move}"),
            Ending::Endless => format!("\naborted {length}: no end in sight"),
        })?;
        for ((role, goal), &player) in self.roles.iter().zip(&record.goals).zip(seated) {
            let goal = goal.map_or("no goal".to_string(), |goal| goal.to_string());
            self.output
                .line(format_args!("  {role} ({}): {goal}", specs[player]))?;
        }
        let by_role = |value: &dyn Fn(usize) -> Value| {
            let roles = self.roles.iter().enumerate();
            let values = roles.map(|(role, name)| (name.clone(), value(role)));
            Value::Object(values.collect())
        };
        let errors = |role| {
            let own = record.faults.iter().filter(|fault| fault.role == role);
            json!(own.map(|fault| fault.kind).collect::<Vec<_>>())
        };
        let faults = record.faults.iter().map(|fault| {
            let mut object = json!(fault);
            object["role"] = self.roles[fault.role].as_str().into();
            object
        });
        let players = seated.iter().map(|&player| specs[player].to_string());
        self.output.object(&json!({
            "game": self.game.sheet.name,
            "match_id": id,
            "roles": self.roles,
            "players": players.collect::<Vec<_>>(),
            "goals": by_role(&|role| json!(record.goals[role])),
            "moves": record.moves,
            "opening": self.arguments.opening.as_ref().map(|_| &self.opening.name),
            "forced_steps": record.forced_steps,
            "errors": by_role(&errors),
            "faults": faults.collect::<Vec<_>>(),
            "ending": record.ending,
            "stuck": stuck,
            "steps": steps,
            "seconds": seconds,
            "start_clock": self.arguments.start_clock,
            "play_clock": self.arguments.play_clock,
            "seed": self.seed,
        }))
    }
}

struct Display<'a> {
    series: &'a Series<'a>,
    /// The first error in writing; nothing is shown after it.
    result: io::Result<()>,
    progress: ProgressBar,
}

impl Display<'_> {
    fn show(&mut self, text: &str) {
        if self.result.is_ok() {
            self.result = self.series.output.line(text);
        }
    }

    /// Shows the boards of a state or, in a game without boards, its facts.
    fn show_state(&mut self, facts: &[String]) {
        match self.series.painter.draw(facts) {
            Some(board) => self.show(board.trim_end_matches('\n')),
            None => {
                let (shown, more) = facts.split_at(facts.len().min(MAX_FACTS_SHOWN));
                self.show(&wrapped(shown, "  "));
                if !more.is_empty() {
                    self.show(&format!("  and {} more facts", more.len()));
                }
            }
        }
    }
}

impl Spectator for Display<'_> {
    fn waiting(&mut self, request: Request, step: u32, clock: Duration) {
        self.progress = countdown(request.clock_name(step), Some(clock));
    }

    fn started(&mut self, faults: &[Fault], facts: &[String]) {
        self.progress.finish_and_clear();
        if self.series.output.is_json() {
            return;
        }
        for fault in faults {
            let role = &self.series.roles[fault.role];
            let (kind, detail) = (fault.kind.as_str(), &fault.detail);
            self.show(&format!("  {role}: {kind} at START, {detail}"));
        }
        self.show_state(facts);
    }

    fn moved(&mut self, step: u32, turns: &[RoleTurn], facts: &[String]) {
        self.progress.finish_and_clear();
        if self.series.output.is_json() {
            return;
        }
        let roles = &self.series.roles;
        let width = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
        let role_width = width(&mut roles.iter().map(String::len));
        let move_width = width(&mut turns.iter().map(|turn| turn.mv.len()));
        let is_forced = step as usize <= self.series.opening.moves.len();
        let (of_opening, instead) = match is_forced {
            true => (", of the opening", ""),
            false => ("", ": a random legal move instead"),
        };
        let mut text = format!("\nstep {step}{of_opening}");
        for (role, turn) in roles.iter().zip(turns) {
            let seconds = turn.time.as_secs_f64();
            let mv = &turn.mv;
            text.push_str(&format!(
                "\n  {role:<role_width$}  {mv:<move_width$}  {seconds:>7.3} s"
            ));
            if let Some(fault) = &turn.fault {
                let (kind, detail) = (fault.kind.as_str(), &fault.detail);
                text.push_str(&format!("  {kind}, {detail}{instead}"));
            }
        }
        self.show(&text);
        self.show_state(facts);
    }
}
