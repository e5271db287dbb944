//! `cargo lab analysis`: analyses many games and writes a page with a row for each.
//!
//! Each game has a process of its own, which prints what `panza analyse --json` prints. The page
//! reads the keys of that output.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use panza_cli::analyse::examine;
use panza_cli::analyse::examine::Limits;
use panza_cli::arguments::parse_seconds;
use panza_cli::{Game, Outcome, Output, Rulesheet};
use serde_json::Value;

use crate::children::{self, Findings};
use crate::page::{Page, Table, check_place, count, or_dash, quantity};
use panza_testing::corpus::Corpus;

/// Time for a game beyond its limits: for compilation and for analyses that check the clock seldom.
const LEEWAY: Duration = Duration::from_secs(30);

#[derive(Args, Debug)]
pub struct AnalysisArguments {
    /// Paths to rulesheets, or names of games.
    #[arg(required_unless_present = "corpus", value_name = "GAME")]
    games: Vec<String>,
    /// Analyse the games of a corpus; GAME are its keys then, all without any.
    #[arg(long, value_name = "FOLDER")]
    corpus: Option<PathBuf>,
    /// Write the page to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Seconds to analyse a game, after it was built.
    #[arg(long, default_value_t = 5.0, value_parser = parse_seconds, allow_negative_numbers = true, value_name = "S")]
    seconds: f64,
    /// Seconds to build a game; after that it is analysed on the prover.
    #[arg(long, default_value_t = 60.0, value_parser = parse_seconds, allow_negative_numbers = true, value_name = "S")]
    build_seconds: f64,
    /// Games analysed at the same time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), value_name = "N")]
    jobs: u16,
    /// Seed of the random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Analyse the games in this process and print the reports.
    #[arg(long, hide = true, conflicts_with_all = ["out", "corpus"])]
    child: bool,
}

/// Runs the command. A game that failed makes it [`Outcome::DoesNotHold`].
pub fn run(arguments: &AnalysisArguments, output: Output) -> anyhow::Result<Outcome> {
    let limits = Limits {
        build: Duration::from_secs_f64(arguments.build_seconds),
        study: Duration::from_secs_f64(arguments.seconds),
        seed: arguments.seed,
    };
    if arguments.child {
        for sheet in &arguments.games {
            let game = Game::as_played(Rulesheet::find(sheet)?)?;
            Output::new(true)
                .object(&examine::examine(&game, limits, &Arc::default(), |_, _| {})?.json())?;
        }
        return Ok(Outcome::Holds);
    }
    check_place(arguments.out.as_deref())?;
    let mut page = Page::new("Analyses of games", ABOUT);
    let (names, sheets) = names_and_sheets(arguments)?;
    let mut rows: Vec<Option<Vec<String>>> = vec![None; names.len()];
    let mut failures = Vec::new();
    children::run_each(
        &sheets,
        arguments.jobs,
        limits.build + limits.study + LEEWAY,
        |sheet| {
            [
                "analysis",
                "--child",
                "--seconds",
                &arguments.seconds.to_string(),
                "--build-seconds",
                &arguments.build_seconds.to_string(),
                "--seed",
                &arguments.seed.to_string(),
                "--",
                sheet,
            ]
            .map(str::to_string)
            .to_vec()
        },
        |index, Findings { found, failure }: Findings<Value>| {
            let name = &names[index];
            if let Some(report) = found.first() {
                output.object(report)?;
                rows[index] = Some(row(name, report));
            }
            if let Some(failure) = failure {
                let failure = format!("{name}: {failure}");
                output.complaint(&failure);
                failures.push(failure);
            }
            Ok(())
        },
    )?;
    let mut table = Table::new(HEADS);
    rows.into_iter().flatten().for_each(|row| table.push(row));
    page.section("Games", ABOUT_TABLE, &table);
    failures.sort();
    page.list(&failures);
    page.write(arguments.out.as_deref(), output)?;
    Ok(Outcome::holds_if(failures.is_empty()))
}

fn names_and_sheets(arguments: &AnalysisArguments) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    let Some(folder) = &arguments.corpus else {
        let games = arguments.games.iter();
        let names = games.map(|game| Ok(Rulesheet::find(game)?.name));
        let names = names.collect::<anyhow::Result<_>>()?;
        return Ok((names, arguments.games.clone()));
    };
    let corpus = Corpus::open(folder)?;
    let keys = corpus.select(&arguments.games)?;
    let sheets = keys
        .iter()
        .map(|key| corpus.rulesheet(key).to_string_lossy().into_owned())
        .collect();
    Ok((keys, sheets))
}

const ABOUT: &str = "Each game is built in a process of its own and analysed for a short time, as \
    before a match.\n`panza analyse GAME` shows more about one game.";

const ABOUT_TABLE: &str = "Length (joint moves) and branching (legal joint moves) are means over \
    random games; the fixed sum is that of the goals.\nFactors are listed by their numbers of \
    facts, latches as facts that stay true / false. A dash is an unknown value.";

const HEADS: [&str; 11] = [
    "game",
    "roles",
    "simultaneous",
    "length",
    "branching",
    "fixed sum",
    "factors",
    "latches",
    "symmetries",
    "build s",
    "analysis s",
];

fn row(name: &str, report: &Value) -> Vec<String> {
    let number = |key: &str| report[key].as_f64();
    let integer = |value: &Value| value.as_u64().map(count);
    let latches = &report["latches"];
    let simultaneous = report["simultaneous"].as_bool();
    let simultaneous = simultaneous.map(|yes| if yes { "yes" } else { "no" });
    let symmetries = report["symmetries"]["order"].as_u64();
    let factors = report["factors"].as_array().map(|factors| {
        let sizes = factors
            .iter()
            .map(|factor| or_dash(integer(&factor["bases"])));
        sizes.collect::<Vec<_>>().join(" + ")
    });
    let seconds = |key| or_dash(number(key).map(|seconds| format!("{seconds:.2}")));
    vec![
        name.to_string(),
        or_dash(integer(&report["roles"])),
        or_dash(simultaneous),
        or_dash(number("mean_length").map(quantity)),
        or_dash(number("branching").map(quantity)),
        or_dash(integer(&report["fixed_sum"])),
        or_dash(factors),
        match (integer(&latches["positive"]), integer(&latches["negative"])) {
            (Some(positive), Some(negative)) => format!("{positive} / {negative}"),
            _ => "-".to_string(),
        },
        or_dash(symmetries.map(|order| count(order.saturating_sub(1)))),
        seconds("build_seconds"),
        seconds("seconds"),
    ]
}
