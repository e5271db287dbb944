//! `cargo lab anchors`: matches against a foreign player from the openings of a book.
//!
//! A foreign player is an anchor: it does not change when Panza does. The game manager makes the
//! moves of each opening and tells them, so both players get the game's own rules, each confined to
//! a core. The matches are those of a tournament, whose file, openings, results and logs stand
//! beside the file of results, so that a series that was interrupted goes on.
//!
//! A match says nothing if the foreign player was not fit for it. It is void if the player left
//! START unanswered or could not be reached, and if the command of `--void-check` says so.
//!
//! Never uses: engines in this process.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use panza_cli::arguments::parse_clock;
use panza_cli::output::write_whole;
use panza_cli::{Game, Outcome, Output, Rulesheet, interrupt};
use panza_referee::game_manager::{Fault, FaultKind, Request, Spectator};
use panza_referee::tournament::plan::{Fixture, Schedule};
use panza_referee::tournament::results::MatchResult;
use panza_referee::tournament::tally::{PairTally, tally};
use panza_referee::tournament::{Attempt, LocalVenue, Venue, load_plan, page, play_missing};
use panza_sync::pinning;

use crate::book::write_openings;
use crate::duel::book::Book;
use crate::page::{Page, Table, check_place};
use crate::pool::{GameChoice, is_held_out};

/// The name of the foreign player in results and logs.
const OPPONENT: &str = "opponent";
/// The placeholder for the foreign player's output in a check.
const LOG: &str = "{log}";
/// Numbers of rounds for each game held out, whose tables are one.
const ROUNDS: u32 = 1_000;

#[derive(Args, Debug)]
pub struct AnchorsArguments {
    #[command(flatten)]
    games: GameChoice,
    /// The book; of its games only those of two roles are played.
    #[arg(long, value_name = "FILE")]
    book: PathBuf,
    /// Starts the foreign player for a match; {port} stands for its port, {seed} for a seed.
    #[arg(long, value_name = "COMMAND")]
    opponent: String,
    /// Its version, for the tables.
    #[arg(long, value_name = "TEXT", default_value = "")]
    opponent_version: String,
    /// Seconds until the foreign player listens.
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = parse_clock)]
    ready: u32,
    /// Starts Panza likewise. [default: the `panza` beside this program, without memory and logs]
    #[arg(long, value_name = "COMMAND")]
    player: Option<String>,
    /// Seconds from the rules to the first move, of both.
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = parse_clock)]
    start_clock: u32,
    /// Seconds for each move, of both.
    #[arg(long, value_name = "S", default_value_t = 2, value_parser = parse_clock)]
    play_clock: u32,
    /// Seconds for each move of an opening. [default: the play clock]
    #[arg(long, value_name = "S", value_parser = parse_clock)]
    opening_clock: Option<u32>,
    /// A match is void if this command fails; {log} stands for the output of the foreign player.
    #[arg(long, value_name = "COMMAND")]
    void_check: Option<String>,
    /// Append each match to this file; go on after the matches in it.
    #[arg(long, value_name = "FILE.jsonl")]
    out: PathBuf,
    /// Write the page to this file instead of standard output.
    #[arg(long, value_name = "FILE.md")]
    page: Option<PathBuf>,
    /// Play at most N matches now; 0 only shows those that are there.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// Runs the command. [`Outcome::DoesNotHold`] where matches could not be played.
pub fn run(arguments: &AnchorsArguments, output: Output) -> anyhow::Result<Outcome> {
    check_place(Some(&arguments.out))?;
    check_place(arguments.page.as_deref())?;
    let logs = arguments.out.with_extension("logs");
    fs::create_dir_all(&logs).with_context(|| format!("no folder `{}`", logs.display()))?;
    let file = arguments.out.with_extension("toml");
    write_whole(&file, &tournament(arguments, &logs)?)?;
    let plan = load_plan(&file, output)?;

    let (runtime, cancelled) = interrupt::runtime()?;
    let venue = CheckedVenue {
        venue: LocalVenue::new(runtime.handle(), &cancelled),
        check: arguments.void_check.as_deref(),
        logs: &logs,
    };
    let limit = arguments.limit.unwrap_or(usize::MAX);
    let played = play_missing(&plan, &arguments.out, limit, &venue, &cancelled);
    // A connection that hangs must not keep the program running.
    runtime.shutdown_timeout(Duration::from_secs(1));
    let (played, results) = played?;

    let results: Vec<MatchResult> = results.into_iter().map(as_shown).collect();
    let tallies = tally(&results);
    let mut shown = Page::new("Anchors", ABOUT);
    for tallies in &tallies {
        write_pair(&mut shown, &results, tallies);
    }
    shown.write(arguments.page.as_deref(), output)?;
    output.object(&page::report(&tallies))?;
    Ok(match played.is_interrupted {
        true => Outcome::Interrupted,
        false => Outcome::holds_if(played.failed + played.left_out == 0),
    })
}

const ABOUT: &str = "Matches from the openings of a book, each played from both sides over HTTP. \
    Games held out are shown only\ntogether. W D L and shares are the first player's.";

/// Writes the section of a pair, which is one of those in `all`.
fn write_pair(shown: &mut Page, all: &[MatchResult], tallies: &PairTally) {
    let pair = &tallies.pair;
    let of_pair = all.iter().filter(|result| {
        let key = &result.key;
        (&key.a, &key.a_version, &key.b, &key.b_version)
            == (&pair.a, &pair.a_version, &pair.b, &pair.b_version)
    });
    let dates = of_pair.clone().map(|result| result.date.as_str());
    let is_confined = of_pair
        .clone()
        .all(|result| result.cores.iter().all(Option::is_some));
    let void = match page::void_lines(tallies) {
        lines if lines.is_empty() => String::new(),
        lines => format!("\n\nVoid, not counted: {}.", lines.join("; ")),
    };
    let about = format!(
        "Played {} to {}; {}.{void}",
        dates.clone().min().unwrap_or("-"),
        dates.max().unwrap_or("-"),
        match is_confined {
            true => "each player was confined to a core of its own",
            false => "players shared cores",
        }
    );
    let mut table = Table::new(page::HEADS).with_text_columns(&page::TEXT_COLUMNS);
    page::rows(tallies)
        .into_iter()
        .for_each(|row| table.push(row.into()));
    shown.section(&page::title(pair), &about, &table);
}

/// The file of the tournament.
fn tournament(arguments: &AnchorsArguments, logs: &Path) -> anyhow::Result<String> {
    let book = Book::load(&arguments.book)?;
    let sheets = arguments.games.sheets()?;
    let mut two_roles: Vec<Rulesheet> = Vec::new();
    for sheet in sheets {
        if Game::as_played(sheet.clone())?.role_names().len() == 2 {
            two_roles.push(sheet);
        }
    }
    let folder = arguments.out.with_extension("openings");
    let openings = write_openings(&book, &two_roles, &folder)?;
    if openings.is_empty() {
        bail!("the book has no opening of a game of two roles that was asked for");
    }
    let cores = pinning::available_cores();
    let cores = match cores.len() {
        0 | 1 => bail!("two cores are needed, one for each player"),
        _ => [cores[0].id, cores[1].id],
    };
    let panza = match &arguments.player {
        Some(command) => command.clone(),
        None => {
            let panza = std::env::current_exe()?.with_file_name("panza");
            if !panza.is_file() {
                let panza = panza.display();
                bail!("no player `{panza}`; `cargo build --release` makes it, or name a --player");
            }
            format!(
                "'{}' serve --listen 127.0.0.1:{{port}} --set search.seed={{seed}} --set search.threads=1 \
                 --set memory.enabled=false --set logs.match_logs=false",
                panza.display()
            )
        }
    };
    let mut text = format!(
        "start_clock = {}\nplay_clock = {}\ncores = {cores:?}\nlog_folder = {}\n",
        arguments.start_clock,
        arguments.play_clock,
        serde_json::to_string(logs)?
    );
    if let Some(clock) = arguments.opening_clock {
        writeln!(text, "opening_clock = {clock}")?;
    }
    text.push_str("games = [\n");
    for (sheet, openings) in openings {
        // A name may be that of a folder, which a path would lose.
        let is_named = |file: &&PathBuf| file.file_stem() == Some(sheet.name.as_ref());
        let file = sheet.file.as_ref().filter(is_named);
        let game = file.map_or(sheet.name.clone().into(), PathBuf::clone);
        let game = serde_json::to_string(&game)?;
        let openings = serde_json::to_string(&openings)?;
        writeln!(text, "  {{ game = {game}, openings = {openings} }},")?;
    }
    text.push_str("]\n");
    // Another build may have another commit.
    let own = panza_telemetry::COMMIT.filter(|_| arguments.player.is_none());
    let version = own.unwrap_or("").to_string();
    for (name, command, version) in [
        ("panza", &panza, &version),
        (OPPONENT, &arguments.opponent, &arguments.opponent_version),
    ] {
        let argv = [
            "sh".to_string(),
            "-c".to_string(),
            format!("exec {command}"),
        ];
        write!(
            text,
            "[[players]]\nname = \"{name}\"\ncommand = {}\nversion = {}\nready_seconds = {}\n",
            serde_json::to_string(&argv)?,
            serde_json::to_string(version)?,
            arguments.ready
        )?;
    }
    Ok(text)
}

/// A match as it is shown: one of a game held out only as that, with a round of its own.
fn as_shown(mut result: MatchResult) -> MatchResult {
    let key = &mut result.key;
    if is_held_out(&key.game) {
        let place = crate::pool::names()
            .iter()
            .position(|name| *name == key.game);
        key.round += ROUNDS * place.unwrap_or(0) as u32;
        key.game = "held out".to_string();
    }
    result
}

/// Plays in this process, and asks a command whether the foreign player was fit.
struct CheckedVenue<'a> {
    venue: LocalVenue<'a>,
    check: Option<&'a str>,
    logs: &'a Path,
}

impl Venue for CheckedVenue<'_> {
    fn parallel(&self, plan: &Schedule) -> usize {
        self.venue.parallel(plan)
    }

    fn play(
        &self,
        plan: &Schedule,
        fixture: &Fixture,
        place: usize,
        clock: &mut dyn Spectator,
    ) -> anyhow::Result<Attempt> {
        let mut attempt = self.venue.play(plan, fixture, place, clock)?;
        if let (Attempt::Finished(result), Some(check)) = (&mut attempt, self.check)
            && let Some(detail) = unfit(check, self.logs)?
        {
            let role = result.players.iter().position(|name| name == OPPONENT);
            result.faults.push(Fault {
                role: role.unwrap_or(0),
                request: Request::Start,
                step: 0,
                kind: FaultKind::Unfit,
                detail,
            });
        }
        Ok(attempt)
    }
}

/// What the check of a match says, where it fails: how it ended, and its last line.
fn unfit(check: &str, logs: &Path) -> anyhow::Result<Option<String>> {
    let log = newest_log(logs)?;
    let log = log.context("the foreign player has no file of output")?;
    let command = check.replace(LOG, &format!("'{}'", log.display()));
    let mut process = Command::new("sh");
    process.args(["-c", &command]).stdin(Stdio::null());
    let done = process
        .output()
        .with_context(|| format!("cannot run `{command}`"))?;
    if done.status.success() {
        return Ok(None);
    }
    let said = String::from_utf8_lossy(&done.stdout);
    let last = said.lines().last().unwrap_or("").chars().take(200);
    let last: String = last.collect();
    Ok(Some(format!("{}: {last}", done.status)))
}

/// The output of the foreign player in the match that has just ended.
fn newest_log(logs: &Path) -> anyhow::Result<Option<PathBuf>> {
    let ending = format!(".{OPPONENT}.log");
    let mut newest = None;
    for entry in fs::read_dir(logs)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().ends_with(&ending) {
            let changed = entry.metadata()?.modified()?;
            newest = newest.max(Some((changed, entry.path())));
        }
    }
    Ok(newest.map(|(_, path)| path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_fails_calls_the_newest_match_unfit() {
        let folder = tempfile::tempdir().unwrap();
        let logs = folder.path();
        assert!(newest_log(logs).unwrap().is_none());
        fs::write(logs.join("hex.0.panza.log"), "fine").unwrap();
        fs::write(logs.join("hex.1.opponent.log"), "LATE\n").unwrap();
        assert_eq!(unfit("grep -q LATE {log}", logs).unwrap(), None);
        let detail = unfit("cat {log}; exit 3", logs).unwrap().unwrap();
        assert!(detail.ends_with("3: LATE"), "{detail}");
    }

    #[test]
    fn a_pair_has_a_table() {
        let result = |side: u32| {
            let day = side + 1;
            format!(
                r#"{{"a":"ada","a_version":"2","b":"bob","b_version":"","game":"hex","start_clock":10,"play_clock":1,"round":0,"side":{side},"roles":["x","o"],"players":["ada","bob"],"goals":[100,0],"ending":"terminal","steps":30,"seconds":20.5,"faults":[],"moves":[],"seed":1,"cores":[0,1],"processor":null,"date":"2026-01-0{day}"}}"#
            )
        };
        let results = [0, 1].map(|side| serde_json::from_str(&result(side)).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("page.md");
        let mut shown = Page::new("Anchors", ABOUT);
        write_pair(&mut shown, &results, &tally(&results)[0]);
        shown.write(Some(&file), Output::new(false)).unwrap();
        let shown = fs::read_to_string(file).unwrap();
        for expected in [
            "# Anchors\n",
            "\n## ada (2) against bob\n\nPlayed 2026-01-01 to 2026-01-02; each player was confined to a core of its own.\n",
            "\n| hex | 10/1 | 2 | 1 : 1 | 1 0 1 | 50.0 % | ",
        ] {
            assert!(shown.contains(expected), "no `{expected}` in\n{shown}");
        }
    }
}
