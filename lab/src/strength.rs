//! `cargo lab strength`: a page with the results of tournaments.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use panza_cli::{Outcome, Output};
use panza_referee::tournament::page::{HEADS, TEXT_COLUMNS, rows, title, void_lines};
use panza_referee::tournament::results::{self, MatchResult};
use panza_referee::tournament::tally::{PairTally, tally};

use crate::page::{Page, Table, check_place};

#[derive(Args, Debug)]
pub struct StrengthArguments {
    /// Files of tournaments, or of their results (.jsonl).
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write the page to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn run(arguments: &StrengthArguments, output: Output) -> anyhow::Result<Outcome> {
    check_place(arguments.out.as_deref())?;
    let mut all = Vec::new();
    for file in &arguments.files {
        let path = results::beside(file);
        if !path.is_file() {
            bail!("no results `{}`", path.display());
        }
        all.extend(results::load(&path)?);
    }
    let mut page = Page::new("Matches", ABOUT);
    for tallies in &tally(&all) {
        write_pair(&mut page, &all, tallies);
    }
    page.write(arguments.out.as_deref(), output)?;
    Ok(Outcome::Holds)
}

/// Writes the section of a pair, which is one of those in `all`.
pub(crate) fn write_pair(page: &mut Page, all: &[MatchResult], tallies: &PairTally) {
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
    let void = match void_lines(tallies) {
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
    let mut table = Table::new(HEADS).with_text_columns(&TEXT_COLUMNS);
    rows(tallies)
        .into_iter()
        .for_each(|row| table.push(row.into()));
    page.section(&title(pair), &about, &table);
}

const ABOUT: &str = "Matches between two players over HTTP, each side of a game equally often. \
    Points are goals / 100, of the first player : of\nthe second. W D L are the first player's, by \
    higher points; its share counts a draw as half a win, with Wilson's interval\n(95 %). Clocks are \
    start / play clocks in seconds; steps are joint moves, seconds the time of a match, both \
    means.\nA fault (late, missing or illegal answer) is replaced by a random legal move.";
