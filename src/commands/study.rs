//! `panza study`: opens the page on which a person studies a game, or names the blunders of a
//! match.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail, ensure};
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::serve;
use panza_cli::arguments::{is_standard_input, read_text};
use panza_cli::engine_choice::build_as_in_match;
use panza_cli::output::{Column, counted, progress_bar, spinner, table};
use panza_cli::{Game, Outcome, Output, Rulesheet, SettingsChoice, interrupt};
use panza_config::OptionValue;
use panza_gdl::{Encoding, MoveId};
use panza_machine::{GameInfo, Machine};
use panza_player::review::{Grade, GradedMove, RoleSummary, Worth};
use panza_player::{Position, Review, ReviewSettings, StoredMatch, search_config};
use panza_sync::allocator;
use panza_telemetry::Part;

/// Limit on the file that describes a board, in bytes.
const MAX_BOARD: u64 = 1 << 20;
/// Larger logs are refused.
const MAX_LOG: u64 = 128 << 20;
/// Time for building a game, and for the answers of the server.
const BUILD_TIME: Duration = Duration::from_secs(120);
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the page is thought about at each position.
const THINKING: f64 = 30.0;
/// Time between two updates of the progress.
const SHOW_EVERY: Duration = Duration::from_millis(200);

#[derive(Args, Debug)]
pub struct StudyArguments {
    /// A rulesheet, the name of a game, or the log of a match: its folder, its events.jsonl, or the
    /// bundle that its page offers for download. The JSON of a match of ggp-base or Tiltyard, too;
    /// - is a rulesheet or a log on standard input.
    #[arg(value_name = "GAME|LOG")]
    what: String,
    /// The turn of the match that is shown first. [default: the last]
    #[arg(long, value_name = "N")]
    turn: Option<usize>,
    /// Where to listen; port 0 picks a free one.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    listen: String,
    /// Print the address only, and open no browser.
    #[arg(long)]
    no_open: bool,
    /// Name the moves of the match that lost value and how well each role played, and open no page.
    #[arg(long)]
    blunders: bool,
    /// The effort for each position in milliseconds of 100 iterations. No clock is read: the result
    /// is the same each time, and games that are slow to play take longer.
    #[arg(long, value_name = "M", default_value_t = 300, requires = "blunders", value_parser = clap::value_parser!(u32).range(1..=600_000))]
    ms: u32,
    /// The effort for each position in iterations.
    #[arg(long, value_name = "N", requires = "blunders", conflicts_with = "ms", value_parser = clap::value_parser!(u64).range(1..=60_000_000))]
    iterations: Option<u64>,
    /// Points that a blunder loses; a mistake loses two thirds of them, an inaccuracy a third.
    #[arg(long, value_name = "P", default_value_t = ReviewSettings::THRESHOLD, requires = "blunders", value_parser = parse_points)]
    threshold: f64,
    #[command(flatten)]
    settings: SettingsChoice,
}

/// What is studied.
struct Subject {
    game: Game,
    /// The match, where a log was given.
    log: Option<StoredMatch>,
}

pub fn run(arguments: &StudyArguments, output: Output) -> anyhow::Result<Outcome> {
    let subject = Subject::load(arguments)?;
    match (&subject.log, arguments.blunders) {
        (Some(log), true) => blunders(arguments, &subject.game, log, output),
        (None, true) => bail!(
            "`{}` is a game; --blunders needs the log of a match",
            arguments.what
        ),
        (_, false) => show(arguments, &subject, output),
    }
}

impl Subject {
    fn load(arguments: &StudyArguments) -> anyhow::Result<Self> {
        let what = arguments.what.as_str();
        let settings = arguments.settings.load([])?;
        let Some(path) = log_at(Path::new(what)) else {
            let sheet = Rulesheet::find_in(what, &settings.games.folders)?;
            // A log is a list of objects; no rulesheet begins with a brace.
            if is_standard_input(Path::new(what)) && sheet.text.trim_start().starts_with('{') {
                return Self::from_log(&sheet.text, &sheet.origin, &settings.games.folders);
            }
            let game = Game::from_sheet(sheet)?;
            return Ok(Self { game, log: None });
        };
        let text = read_text(&path, MAX_LOG)?;
        Self::from_log(&text, &path.display().to_string(), &settings.games.folders)
    }

    /// The match of a log; `shown` is its name in messages. A record without rules has those of the
    /// game that it names, which may be in `folders`.
    fn from_log(text: &str, shown: &str, folders: &[PathBuf]) -> anyhow::Result<Self> {
        let log = StoredMatch::read(text).map_err(|why| anyhow!("`{shown}`: {why}"))?;
        let name = log.game.clone().unwrap_or_else(|| "rules".to_string());
        if log.rules.is_empty() {
            let found = Rulesheet::find_named(&name, folders)
                .and_then(Game::from_sheet)
                .with_context(|| format!("`{shown}` has no rules and names its game `{name}`"));
            let log = Some(log);
            return Ok(Self { game: found?, log });
        }
        let game = Game::from_sheet(Rulesheet {
            origin: format!("the rules in {shown}"),
            name,
            text: log.rules.clone(),
            encoding: Encoding::Utf8,
            file: None,
        })?;
        let log = Some(log);
        Ok(Self { game, log })
    }
}

/// The file of a log, if that is what a path names.
fn log_at(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.join(Part::Events.file_name()));
    }
    let ending = path.extension().and_then(|ending| ending.to_str());
    let is_log = path.is_file() && matches!(ending, Some("jsonl" | "json"));
    is_log.then(|| path.to_path_buf())
}

#[derive(Serialize)]
struct StudyAddresses {
    listening: String,
    study: String,
}

/// Serves the page until Ctrl-C.
fn show(arguments: &StudyArguments, subject: &Subject, output: Output) -> anyhow::Result<Outcome> {
    allocator::keep_little();
    let listen = OptionValue {
        option: "--listen",
        key: "server.listen",
        value: &arguments.listen,
    };
    let mut settings = arguments.settings.load([listen])?;
    settings.server.log_listen = None;
    let board = board_beside(&subject.game.sheet)?;
    let opening = opening(arguments, subject, board.as_deref());
    let failed: Arc<(Notify, Mutex<Option<anyhow::Error>>)> = Arc::default();
    let of_thread = Arc::clone(&failed);
    let opens = !arguments.no_open && !output.is_json();
    let secret = settings.server.pages_secret.word().map(str::to_string);
    let shutdown = || {
        let ended = interrupt::ended();
        async move {
            tokio::select! {
                () = ended => {}
                () = of_thread.0.notified() => {}
            }
        }
    };
    let of_callback = Arc::clone(&failed);
    serve::serve(&settings, shutdown, move |listens| {
        let address = listens.address;
        // The server answers once this returns.
        std::thread::spawn(move || {
            let opened = open_study(address, &opening, secret.as_deref());
            let shown = opened.and_then(|table| tell(address, &table, opens, output));
            if let Err(error) = shown {
                let (notify, slot) = &*of_callback;
                if let Ok(mut slot) = slot.lock() {
                    *slot = Some(error);
                }
                notify.notify_one();
            }
        });
    })?;
    let error = failed.1.lock().ok().and_then(|mut slot| slot.take());
    error.map_or(Ok(Outcome::Holds), Err)
}

/// The file beside a rulesheet that describes its board; `None` where there is none.
fn board_beside(sheet: &Rulesheet) -> anyhow::Result<Option<String>> {
    let path = sheet.file.as_ref();
    let path = path.map(|path| path.with_extension("board.toml"));
    let Some(path) = path.filter(|path| path.exists()) else {
        return Ok(None);
    };
    read_text(&path, MAX_BOARD).map(Some)
}

/// What is asked of the server.
fn opening(arguments: &StudyArguments, subject: &Subject, board: Option<&str>) -> String {
    let study = subject.log.as_ref().map_or(json!({}), |log| {
        json!({
            "line": log.moves,
            "turn": arguments.turn.unwrap_or(log.moves.len()),
            "role": log.role,
            "values": log.values,
            "players": log.players,
        })
    });
    let sheet = &subject.game.sheet;
    let asked = json!({
        "name": sheet.name,
        "rules": subject.game.kif_text(),
        "board": board,
        "seconds": THINKING,
        "study": study,
    });
    asked.to_string()
}

/// Opens a study at a server in this process, and returns the name of its table.
fn open_study(address: SocketAddr, body: &str, secret: Option<&str>) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(address).context("the server cannot be reached")?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let secret = secret.map_or(String::new(), |secret| {
        format!("Authorization: Bearer {secret}\r\n")
    });
    let length = body.len();
    let head = format!(
        "POST /api/tables HTTP/1.1\r\nHost: {address}\r\npanza-page: 1\r\n{secret}\
         Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let is_good = head.split(' ').nth(1) == Some("200");
    ensure!(is_good, "the study cannot be opened: {}", body.trim());
    let opened: Value = serde_json::from_str(body)?;
    let table = opened["table"].as_str();
    Ok(table.context("the server names no table")?.to_string())
}

fn tell(address: SocketAddr, table: &str, opens: bool, output: Output) -> anyhow::Result<()> {
    let study = format!("http://{address}/study#{table}");
    output.line(format_args!("study at {study}\nCtrl-C ends"))?;
    output.object(&StudyAddresses {
        listening: address.to_string(),
        study: study.clone(),
    })?;
    if opens {
        open_browser(&study);
    }
    Ok(())
}

/// Opens a page in the browser of the desktop, if there is one.
fn open_browser(address: &str) {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        // Without a screen an opener would take the terminal.
        let mut screens = ["DISPLAY", "WAYLAND_DISPLAY"].into_iter();
        if !screens.any(|name| std::env::var_os(name).is_some()) {
            return;
        }
        "xdg-open"
    };
    let child = Command::new(opener)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    // Where there is no opener, the address was printed.
    if let Ok(mut child) = child {
        drop(child.wait());
    }
}

/// Names the moves of a match that lost value.
fn blunders(
    arguments: &StudyArguments,
    game: &Game,
    log: &StoredMatch,
    output: Output,
) -> anyhow::Result<Outcome> {
    let stop: Arc<AtomicBool> = Arc::default();
    let settings = arguments.settings.load([])?;
    let progress = spinner(format!("{}: compiling", game.sheet.name));
    let (built, reason) = build_as_in_match(&game.rules, BUILD_TIME)?;
    progress.finish_and_clear();
    if let Some(reason) = reason {
        tracing::warn!("searching with the prover: {reason}");
    }
    interrupt::stop(&stop)?;
    let machine = &built.machine;
    let (moves, fault) = replay(machine, &log.moves);
    if let Some(fault) = fault {
        output.complaint(format_args!(
            "{}: {fault}; what follows is left out",
            arguments.what
        ));
    }
    ensure!(
        !moves.is_empty(),
        "`{}`: no moves were made",
        arguments.what
    );
    let of_ms = u64::from(arguments.ms) * ReviewSettings::ITERATIONS_PER_MS;
    let review = ReviewSettings {
        iterations: arguments.iterations.unwrap_or(of_ms),
        threshold: arguments.threshold,
        ..ReviewSettings::default()
    };
    let start = machine.initial_state();
    let config = search_config(&settings.search, settings.search.seed);
    let mut review = Review::new(machine, &start, &moves, config, review);
    let progress = progress_bar(moves.len() as u64 + 1, "positions and doubts");
    while !stop.load(Ordering::Relaxed) && !review.step(Instant::now() + SHOW_EVERY, &stop) {
        let (searched, positions) = review.progress();
        let (settled, doubts) = review.doubts();
        progress.set_length((positions + doubts) as u64);
        progress.set_position((searched + settled) as u64);
    }
    progress.finish_and_clear();
    report(game, log, machine, &review, output)?;
    Ok(match stop.load(Ordering::Relaxed) {
        true => Outcome::Interrupted,
        false => Outcome::Holds,
    })
}

/// The joint moves of a log as far as they are legal, and why they end there.
fn replay(machine: &Arc<dyn Machine>, moves: &[Vec<String>]) -> (Vec<Vec<MoveId>>, Option<String>) {
    let mut position = Position::new(machine);
    let mut made = Vec::new();
    for texts in moves {
        match position.legal_joint_move(texts) {
            Ok(joint_move) => {
                position.make(&joint_move);
                made.push(joint_move);
            }
            Err(why) => {
                let turn = made.len() + 1;
                return (made, Some(format!("turn {turn}: {why}")));
            }
        }
    }
    (made, None)
}

/// What is written of a review.
struct Findings<'a> {
    log: &'a StoredMatch,
    info: &'a dyn GameInfo,
    roles: Vec<String>,
    graded: Vec<GradedMove>,
    summary: Vec<RoleSummary>,
}

impl Findings<'_> {
    fn player(&self, role: usize) -> Option<&String> {
        let name = self.log.players.get(role);
        name.filter(|name| !name.is_empty())
    }

    fn moves(&self, is_wanted: impl Fn(Grade) -> bool) -> Vec<Value> {
        let wanted = self.graded.iter().filter(|found| is_wanted(found.grade));
        wanted.map(|found| self.graded_move(found)).collect()
    }

    fn graded_move(&self, found: &GradedMove) -> Value {
        let text = |&mv: &MoveId| self.info.move_text(mv);
        let line = found.line.iter();
        let line = line.map(|joint_move| joint_move.iter().map(text).collect());
        json!({
            "turn": found.turn + 1,
            "role": self.roles[found.role],
            "player": self.player(found.role),
            "grade": found.grade.name(),
            "played": text(&found.played),
            "better": text(&found.better),
            "value": rounded(found.value),
            "after": rounded(found.after),
            "proven": found.is_proven,
            "line": line.collect::<Vec<Vec<String>>>(),
        })
    }

    fn role(&self, role: usize) -> Value {
        let of = &self.summary[role];
        let [inaccuracies, mistakes, blunders] = of.grades;
        json!({
            "role": self.roles[role],
            "player": self.player(role),
            "moves": of.moves,
            "inaccuracies": inaccuracies,
            "mistakes": mistakes,
            "blunders": blunders,
            "mean_loss": of.mean_loss.map(rounded),
            "accuracy": of.accuracy.map(rounded),
        })
    }

    fn table_of_moves(&self) -> String {
        let mut columns = vec![Column::figure("turn")];
        columns.extend(["role", "grade", "played", "better"].map(Column::text));
        columns.extend(["before", "after"].map(Column::figure));
        columns.push(Column::text(""));
        let rows = self.graded.iter().map(|found| {
            vec![
                (found.turn + 1).to_string(),
                self.roles[found.role].clone(),
                found.grade.name().to_string(),
                self.info.move_text(found.played),
                self.info.move_text(found.better),
                format!("{:.0}", found.value),
                format!("{:.0}", found.after),
                if found.is_proven { "proven" } else { "" }.to_string(),
            ]
        });
        table(&columns, &rows.collect::<Vec<_>>())
    }

    /// How the roles played that had a choice.
    fn table_of_roles(&self) -> String {
        let mut columns = ["role", "player"].map(Column::text).to_vec();
        let figures = ["moves", "inaccuracies", "mistakes", "blunders"];
        columns.extend(figures.map(Column::figure));
        columns.extend(["points lost a move", "accuracy"].map(Column::figure));
        let roles = self.summary.iter().enumerate();
        let rows = roles.filter(|(_, of)| of.moves > 0).map(|(role, of)| {
            let name = self.player(role).cloned().unwrap_or_default();
            let mut row = vec![self.roles[role].clone(), name, of.moves.to_string()];
            row.extend(of.grades.map(|count| count.to_string()));
            row.push(of.mean_loss.map_or(String::new(), |it| format!("{it:.1}")));
            row.push(of.accuracy.map_or(String::new(), |it| format!("{it:.0} %")));
            row
        });
        table(&columns, &rows.collect::<Vec<_>>())
    }
}

fn report(
    game: &Game,
    log: &StoredMatch,
    machine: &Arc<dyn Machine>,
    review: &Review,
    output: Output,
) -> anyhow::Result<()> {
    let info = machine.info();
    let found = Findings {
        log,
        info,
        roles: info.roles(),
        graded: review.graded(),
        summary: review.summary(),
    };
    let n_roles = found.roles.len();
    let values = |worth: Option<&Worth>| {
        let of_role = |worth: &Worth, role| worth.of(role).map(rounded);
        worth.map(|worth| (0..n_roles).map(|role| of_role(worth, role)).collect())
    };
    let values: Vec<Option<Vec<Option<f64>>>> = review.worths().into_iter().map(values).collect();
    let blunders = found.moves(|grade| grade == Grade::Blunder);
    let count = match blunders.len() {
        0 => "no blunders".to_string(),
        n => counted(n as u64, "blunder"),
    };
    let (done, of) = review.progress();
    output.object(&json!({
        "game": game.sheet.name,
        "match": log.match_id,
        "roles": found.roles,
        "turns": of - 1,
        "searched": done,
        "blunders": blunders,
        "values": values,
        "graded": found.moves(|_| true),
        "summary": (0..n_roles).map(|role| found.role(role)).collect::<Vec<_>>(),
    }))?;
    let turns = counted(of as u64 - 1, "turn");
    output.line(format_args!("{}: {count} in {turns}", game.sheet.name))?;
    if !found.graded.is_empty() {
        output.line(found.table_of_moves())?;
    }
    output.line(found.table_of_roles())?;
    Ok(())
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn parse_points(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(points) if (1.0..=100.0).contains(&points) => Ok(points),
        _ => Err("expected points from 1 to 100".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_told_from_games() {
        let folder = tempfile::tempdir().unwrap();
        let events = folder.path().join("events.jsonl");
        std::fs::write(&events, "").unwrap();
        assert_eq!(log_at(folder.path()), Some(events.clone()));
        assert_eq!(log_at(&events), Some(events));
        assert_eq!(log_at(Path::new("ticTacToe")), None);
        assert_eq!(log_at(&folder.path().join("none.json")), None);
    }
}
