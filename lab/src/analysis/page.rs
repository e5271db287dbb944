//! The page that `panza analyse --markdown` writes: what was found, how often, and a row per game.

use std::fmt::Write;

use serde::Serialize;

use crate::corpus::children::Told;
use crate::corpus::report::{cell, one_line};
use panza::analysis::sample::{Spread, Turns};
use panza::commands::analyse::findings::Report;
use panza::commands::output::grouped;

/// A game's row.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// The game's key or name.
    pub game: String,
    /// What was found, if it was told.
    pub report: Option<Report>,
    /// Why there is no full answer, if there is none.
    pub failure: Option<String>,
}

/// Under what conditions the games were studied.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Seconds for studying a game.
    pub seconds: f64,
    /// Seconds for building a game.
    pub build_seconds: f64,
    /// Games studied at the same time.
    pub jobs: u16,
    /// What fixed the random numbers.
    pub seed: u64,
    /// Whether the games are those of a corpus.
    pub is_corpus: bool,
    /// The processor's name, if the system tells.
    pub processor: Option<String>,
    /// The commit of the source, if it is known.
    pub commit: Option<String>,
}

impl Row {
    /// Puts together what a child told.
    pub fn new(game: &str, told: Told<Report>) -> Self {
        let report = told.findings.into_iter().next();
        let silent = report.is_none().then(|| "told nothing".to_string());
        Self {
            game: game.to_string(),
            report,
            failure: told.failure.or(silent),
        }
    }
}

/// A property that the summary counts games by.
type Property = (&'static str, fn(&Report) -> bool);

const PROPERTIES: &[Property] = &[
    ("on a network", |report| report.study.network.is_some()),
    ("for one player", |report| {
        report.study.sampled.turns == Some(Turns::One)
    }),
    ("strictly in turn", |report| {
        report.study.sampled.turns == Some(Turns::Alternating)
    }),
    ("several choose at once", |report| {
        report.simultaneous == Some(true)
    }),
    ("of a fixed sum, for two or more roles", |report| {
        report.roles > 1 && report.fixed_sum.is_some()
    }),
    ("of a fixed length", |report| report.fixed_length.is_some()),
    ("that are several games", |report| {
        let factors = report.factors.as_deref();
        factors.is_some_and(|factors| factors.len() > 1)
    }),
    ("with a step counter", |report| {
        step_counter(report).is_some_and(|n| n > 0)
    }),
    ("with facts that stay", |report| {
        let latches = report.latches.as_ref();
        latches.is_some_and(|latches| latches.positive + latches.negative > 0)
    }),
    ("with symmetries", |report| {
        let found = report.symmetries.as_ref();
        found.is_some_and(|found| found.generators > 0)
    }),
];

/// What all games came to, in one line.
pub fn summary_line(rows: &[Row]) -> String {
    let failures = rows.iter().filter(|row| row.failure.is_some()).count();
    format!(
        "{} games, {} on a network, {failures} without a full answer",
        rows.len(),
        count(rows, |report| report.study.network.is_some())
    )
}

fn count(rows: &[Row], property: fn(&Report) -> bool) -> usize {
    let reports = rows.iter().filter_map(|row| row.report.as_ref());
    reports.filter(|report| property(report)).count()
}

/// The page.
pub fn markdown(rows: &[Row], conditions: &Conditions) -> String {
    let mut page = String::from(
        "# What games are like\n\n\
        Each game is built in a process of its own and studied for a short time, as the player does before it plays.\n",
    );
    let command = match conditions.is_corpus {
        true => "--corpus FOLDER",
        false => "GAME...",
    };
    let _ = writeln!(
        page,
        "`panza analyse {command} --seconds {} --build-seconds {} --markdown docs/analysis.md` writes this page; `panza analyse\n\
        GAME` says more about one game.",
        conditions.seconds, conditions.build_seconds
    );
    page.push_str(&summary(rows, conditions));
    page.push_str(&without(rows));
    page.push_str(&table(rows));
    page
}

fn summary(rows: &[Row], conditions: &Conditions) -> String {
    let unknown = || "unknown".to_string();
    let version = env!("CARGO_PKG_VERSION");
    let mut out = String::from("\n## Summary\n\n| | |\n|---|---:|\n");
    let mut row = |what: &str, value: String| {
        let _ = writeln!(out, "| {what} | {} |", cell(&value));
    };
    row("games", rows.len().to_string());
    for (what, property) in PROPERTIES {
        row(what, count(rows, *property).to_string());
    }
    let failures = rows.iter().filter(|row| row.failure.is_some()).count();
    row("games without a full answer", failures.to_string());
    row(
        "seconds for a game",
        format!(
            "{} to build it, {} to study it",
            conditions.build_seconds, conditions.seconds
        ),
    );
    row("games at the same time", conditions.jobs.to_string());
    row("seed", conditions.seed.to_string());
    row(
        "processor",
        conditions.processor.clone().unwrap_or_else(unknown),
    );
    row(
        "panza",
        match &conditions.commit {
            Some(commit) => format!("{version} ({commit})"),
            None => version.to_string(),
        },
    );
    out
}

fn without(rows: &[Row]) -> String {
    let mut out = String::new();
    for row in rows {
        let reason = row
            .report
            .as_ref()
            .and_then(|report| report.reason.as_ref());
        if let Some(why) = row.failure.as_ref().or(reason) {
            let _ = writeln!(out, "- {}: {}", row.game, one_line(why));
        }
    }
    match out.is_empty() {
        true => out,
        false => format!("\n## Games without a network or an answer\n\n{out}"),
    }
}

fn table(rows: &[Row]) -> String {
    let mut out = String::from(
        "\n## Games\n\n\
        Lengths are joint moves of random games and branching is the mean number of legal joint moves, both with the range seen in\n\
        parentheses. Factors are told with the facts of each. Latches are facts that stay true once they are true, and those that stay false; symmetries are permutations of\n\
        facts and moves that keep the roles and the rules, the identity left out; a step counter is told by its facts. A dash is what was not found, or not always the same; a question mark is what is not known.\n\n\
        | game | roles | turns | length | branching | fixed sum | factors | latches +/− | symmetries | step counter | games | build s | study s |\n\
        |---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let _ = match &row.report {
            Some(report) => writeln!(out, "{}", cells(&row.game, report)),
            None => writeln!(
                out,
                "| {} | no answer | | | | | | | | | | | |",
                cell(&row.game)
            ),
        };
    }
    out
}

fn cells(game: &str, report: &Report) -> String {
    let sampled = &report.study.sampled;
    let is_unknown = sampled.ends_seen == 0;
    let or_dash = |number: Option<u32>| match number {
        Some(number) => number.to_string(),
        None if is_unknown => "?".to_string(),
        None => "-".to_string(),
    };
    let games = u64::from(sampled.games)
        + sampled
            .played_out
            .as_ref()
            .map_or(0, |played| played.playouts);
    let cells = [
        cell(game),
        report.roles.to_string(),
        turns(sampled.turns).to_string(),
        range(sampled.length),
        range(sampled.branching),
        or_dash(report.fixed_sum),
        factors(report),
        latches(report),
        symmetries(report),
        count_or_dash(step_counter(report)),
        grouped(games),
        format!("{:.2}", report.build_seconds),
        format!("{:.2}", report.seconds),
    ];
    format!("| {} |", cells.join(" | "))
}

/// The facts of its step counter, where that is known.
fn step_counter(report: &Report) -> Option<usize> {
    let structure = report.study.structure.as_ref()?;
    Some(structure.autonomous.as_ref()?.step_counter.len())
}

fn count_or_dash(count: Option<usize>) -> String {
    match count {
        None => "?".to_string(),
        Some(0) => "-".to_string(),
        Some(count) => grouped(count as u64),
    }
}

/// The facts of each game that the game falls into.
fn factors(report: &Report) -> String {
    match report.factors.as_deref() {
        None => "?".to_string(),
        Some([] | [_]) => "-".to_string(),
        Some(factors) => {
            let sizes = factors.iter().map(|factor| factor.bases.to_string());
            format!(
                "{} ({})",
                factors.len(),
                sizes.collect::<Vec<_>>().join(" + ")
            )
        }
    }
}

fn latches(report: &Report) -> String {
    match &report.latches {
        None => "?".to_string(),
        Some(latches) => {
            let more = if latches.is_complete { "" } else { " ?" };
            let (positive, negative) = (latches.positive as u64, latches.negative as u64);
            match positive + negative {
                0 => format!("-{more}"),
                _ => format!("{} / {}{more}", grouped(positive), grouped(negative)),
            }
        }
    }
}

fn symmetries(report: &Report) -> String {
    match &report.symmetries {
        None => "?".to_string(),
        Some(found) => match found.order {
            Some(1) => "-".to_string(),
            Some(order) => grouped(order - 1),
            None => format!("{} generators", found.generators),
        },
    }
}

fn turns(turns: Option<Turns>) -> &'static str {
    match turns {
        None => "?",
        Some(Turns::Nobody) => "nobody",
        Some(Turns::One) => "one",
        Some(Turns::Alternating) => "in turn",
        Some(Turns::Varying) => "varying",
        Some(Turns::Simultaneous) => "at once",
    }
}

/// Mean and range.
fn range(spread: Option<Spread>) -> String {
    let Some(spread) = spread else {
        return "?".to_string();
    };
    match spread.least == spread.greatest {
        true => grouped(spread.least),
        false => format!(
            "{:.1} ({}–{})",
            spread.mean,
            grouped(spread.least),
            grouped(spread.greatest)
        ),
    }
}
