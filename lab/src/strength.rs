//! `cargo lab strength`: a page with the results of tournaments.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use panza::commands::Outcome;
use panza::commands::output::Output;
use panza::commands::tournament::page::{HEADS, TEXT_COLUMNS, rows, title};
use panza::commands::tournament::results::{self, MatchResult};
use panza::commands::tournament::tally::{Pair, PairTally, tally};

use crate::performance::page::{NOTES, NOTES_END};
use crate::performance::{kept_notes, without_folders};

/// Arguments of `cargo lab strength`.
#[derive(Args, Debug)]
pub struct StrengthArguments {
    /// Files of tournaments, or of their results (.jsonl).
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write the page to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// Results that cannot be read, or a page that cannot be written.
pub fn run(arguments: &StrengthArguments, output: Output) -> anyhow::Result<Outcome> {
    let mut all = Vec::new();
    for file in &arguments.files {
        let path = results::beside(file);
        if !path.is_file() {
            bail!("no results `{}`", path.display());
        }
        all.extend(results::load(&path)?);
    }
    let mut command = "cargo lab strength".to_string();
    for file in &arguments.files {
        let _ = write!(command, " {}", without_folders(file));
    }
    match &arguments.out {
        Some(path) => {
            let notes = kept_notes(path)?;
            let text = markdown(&tally(&all), &all, &command, notes.as_deref());
            fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
        }
        None => output.text(&markdown(&tally(&all), &all, &command, None))?,
    }
    Ok(Outcome::Holds)
}

/// The page of Markdown; `command` made it, `notes` stood in it before.
pub fn markdown(
    tallies: &[PairTally],
    results: &[MatchResult],
    command: &str,
    notes: Option<&str>,
) -> String {
    let mut out = String::from(
        "# Strength\n\n\
        Matches between players, over HTTP as in any competition, both sides of each game as often. `panza tournament`\n\
        writes this page; the notes at its end are written by hand and stay.\n\n",
    );
    let _ = writeln!(out, "- command: `{}`", command.replace('`', "'"));
    let dates: BTreeSet<&str> = results.iter().map(|result| result.date.as_str()).collect();
    match (dates.first(), dates.last()) {
        (Some(first), Some(last)) if first != last => {
            let _ = writeln!(out, "- played: {first} to {last}");
        }
        (Some(first), _) => {
            let _ = writeln!(out, "- played: {first}");
        }
        _ => {}
    }
    let processors: BTreeSet<&str> = results
        .iter()
        .filter_map(|result| result.processor.as_deref())
        .collect();
    if !processors.is_empty() {
        let names: Vec<&str> = processors.into_iter().collect();
        let _ = writeln!(out, "- processor: {}", names.join("; "));
    }
    out.push_str(
        "- points: goals / 100, of the first player : of the second; share, interval and W D L (won, drawn, lost) are the\n  \
        first player's. The interval is Wilson's for 95 %, with points in the place of wins: sound at the edges, a little\n  \
        too wide where goals lie between 0 and 100. The lowest share comes first.\n\
        - clocks: start clock / play clock in seconds. Steps are joint moves and seconds the time of a match, both means.\n\
        - faults: answers that came late, not at all, or were no legal move; a random legal move was played instead.\n",
    );
    for tallies in tallies {
        let _ = writeln!(out, "\n## {}\n", title(&tallies.pair));
        let _ = writeln!(out, "{}\n", cores_line(&tallies.pair, results));
        let _ = writeln!(out, "| {} |", HEADS.join(" | "));
        for column in 0..HEADS.len() {
            out.push_str(match TEXT_COLUMNS.contains(&column) {
                true => "|---",
                false => "|---:",
            });
        }
        out.push_str("|\n");
        for row in rows(tallies) {
            let cells = row.map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
    }
    let notes = notes.unwrap_or("\n");
    let _ = write!(out, "\n## Notes\n\n{NOTES}{notes}{NOTES_END}\n");
    out
}

/// Whether the players had a core each.
fn cores_line(pair: &Pair, results: &[MatchResult]) -> String {
    let is_of_pair = |result: &&MatchResult| {
        let key = &result.key;
        (&key.a, &key.a_version, &key.b, &key.b_version)
            == (&pair.a, &pair.a_version, &pair.b, &pair.b_version)
    };
    let mut confined = BTreeSet::new();
    let mut free = BTreeSet::new();
    for result in results.iter().filter(is_of_pair) {
        for (player, core) in result.players.iter().zip(&result.cores) {
            match core {
                Some(_) => confined.insert(player.as_str()),
                None => free.insert(player.as_str()),
            };
        }
    }
    let names = |players: BTreeSet<&str>| players.into_iter().collect::<Vec<_>>().join(" and ");
    match (confined.is_empty(), free.is_empty()) {
        (false, true) => "Each player was confined to a core of its own.".to_string(),
        (false, false) => format!(
            "Confined to a core of its own: {}; not confined: {}.",
            names(confined),
            names(free)
        ),
        _ => "The players were not confined to cores.".to_string(),
    }
}
