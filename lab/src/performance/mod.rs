//! `cargo lab performance`: playouts per second by engine and width beside outside programs, the
//! same with passes left out, and search iterations per second.
//!
//! All players of a game ([`measure::Player`]) make their runs in turn, so that a machine that
//! slows down for a while slows down all of them.

mod baseline;
mod measure;
mod search;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use panza_cli::arguments::parse_seconds;
use panza_cli::output::progress_bar;
use panza_cli::{Game, Outcome, Output, Rulesheet, engine_choice};
use panza_hrf::Dialect;
use panza_propnet::PassSet;
use tempfile::TempDir;

use crate::page::{Page, Table, check_place, count, or_dash};
use baseline::Baseline;
use measure::{GameReport, Measurement};
use search::SearchReport;

#[derive(Args, Debug)]
pub struct PerformanceArguments {
    /// Paths to rulesheets, or names of games.
    #[arg(required_unless_present_any = ["search_on", "without_passes_on"], value_name = "GAME")]
    games: Vec<String>,
    /// Write the page to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Seconds of each run.
    #[arg(long, default_value = "5", value_parser = parse_seconds, value_name = "S")]
    seconds: f64,
    /// Runs of each player on each game.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000), value_name = "R")]
    runs: u32,
    /// Seed of the first run; each further run has the next.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// An outside program to compare with; may be repeated.
    #[arg(long = "baseline", value_name = "NAME=COMMAND")]
    baselines: Vec<Baseline>,
    /// Seconds after which a run of a baseline is killed.
    #[arg(long, default_value = "300", value_parser = parse_seconds, value_name = "S")]
    baseline_timeout: f64,
    /// Widths of the lanes engine, of 256, 512 and 1024.
    #[arg(long, default_value = "256,512,1024", value_delimiter = ',', value_parser = engine_choice::parse_width, value_name = "WIDTH,...")]
    widths: Vec<usize>,
    /// Games to measure on the counter engine with each pass of the network left out.
    #[arg(long, value_delimiter = ',', value_name = "GAME,...")]
    without_passes_on: Vec<String>,
    /// Games to measure the search on.
    #[arg(long, value_delimiter = ',', value_name = "GAME,...")]
    search_on: Vec<String>,
    /// Threads of these searches: one grows the graph, the others make playouts.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256), value_name = "T")]
    search_threads: u16,
    /// Seconds to build a game; after that it is played with the prover.
    #[arg(long, default_value = "60", value_parser = parse_seconds, value_name = "S")]
    build_seconds: f64,
}

/// Runs the command. A baseline that fails is listed on the page and is no error.
pub fn run(arguments: &PerformanceArguments, output: Output) -> anyhow::Result<Outcome> {
    let baselines = arguments.baselines.iter();
    let names: BTreeSet<&str> = baselines.map(|baseline| baseline.name.as_str()).collect();
    if names.len() < arguments.baselines.len() {
        bail!("two baselines have the same name");
    }
    let games = load_all(&arguments.games)?;
    let pass_games = load_all(&arguments.without_passes_on)?;
    let search_games = load_all(&arguments.search_on)?;
    check_place(arguments.out.as_deref())?;
    let about = format!(
        "Medians of {} runs of {} s each; ± is the largest deviation of a run from the median. \
         Programs that are compared\nrun in turn.",
        arguments.runs, arguments.seconds
    );
    let mut page = Page::new("Performance", &about);
    let plan = Measurement {
        seconds: arguments.seconds,
        runs: arguments.runs,
        seed: arguments.seed,
        build_seconds: arguments.build_seconds,
        widths: arguments.widths.clone(),
        baseline_limit: Duration::from_secs_f64(arguments.baseline_timeout),
    };
    let n_players = 1 + plan.widths.len() + arguments.baselines.len();
    let n_turns = games.len() * n_players
        + pass_games.len() * (1 + PassSet::default().iter().count())
        + search_games.len();
    let bar = progress_bar((n_turns * plan.runs as usize) as u64, "runs");
    let on_run = |game: &Game, player: &str| {
        bar.set_message(format!("{}: {player}", game.sheet.name));
        bar.inc(1);
    };
    let complain = |text: &str| bar.suspend(|| output.complaint(text));

    let folder = tempfile::tempdir().context("no folder for the baselines' rulesheets")?;
    let show = |report: GameReport| {
        output.object(&report)?;
        anyhow::Ok(report)
    };
    let playouts = |game: &Game| {
        let rulesheet = rulesheet_file(&game.sheet, &folder)?;
        let baselines = &arguments.baselines;
        let players = measure::engines_and_baselines(&plan, game, baselines, &rulesheet);
        show(measure::compare(&plan, game, players, on_run, complain)?)
    };
    let reports: Vec<GameReport> = games.iter().map(playouts).collect::<Result<_, _>>()?;
    if !games.is_empty() {
        page.section(
            "Playouts",
            ABOUT_PLAYOUTS,
            &playouts_table(arguments, &reports),
        );
        page.list(&failures(&reports));
    }
    let passes = |game: &Game| {
        let players = measure::passes_left_out(&plan, game);
        show(measure::compare(&plan, game, players, on_run, complain)?)
    };
    let reports: Vec<GameReport> = pass_games.iter().map(passes).collect::<Result<_, _>>()?;
    if !pass_games.is_empty() {
        page.section("Passes left out", ABOUT_PASSES, &passes_table(&reports));
        page.list(&failures(&reports));
    }
    let mut reports = Vec::new();
    for game in &search_games {
        let threads = usize::from(arguments.search_threads);
        let report = search::measure(&plan, game, threads, || on_run(game, "search"))?;
        output.object(&report)?;
        reports.push(report);
    }
    if !search_games.is_empty() {
        page.section("Search", ABOUT_SEARCH, &SearchReport::table(&reports));
    }
    bar.finish_and_clear();
    page.write(arguments.out.as_deref(), output)?;
    Ok(Outcome::Holds)
}

const ABOUT_PLAYOUTS: &str = "Uniformly random playouts from the initial state per second of \
    processor time, on one thread: the counter engine, the lanes\nengine by width, and baselines. \
    Ratios are those of the fastest engine.";
const ABOUT_PASSES: &str = "The same on the counter engine with one pass of the network left out. \
    Gates are those of the whole game's network.";
const ABOUT_SEARCH: &str = "The search from the initial state with default settings, per second of \
    wall-clock time. The writer's rate is per second\nof its processor time. Select to back up are \
    means of the writer's time per iteration, in ns.";

/// The games, each name once, since the page identifies them by name.
fn load_all(arguments: &[String]) -> anyhow::Result<Vec<Game>> {
    let mut games: Vec<Game> = Vec::new();
    for argument in arguments {
        let game = Game::as_played(Rulesheet::find(argument)?)?;
        let is_same = |other: &Game| other.sheet.name == game.sheet.name;
        if games.iter().any(is_same) {
            bail!("two games are called `{}`", game.sheet.name);
        }
        games.push(game);
    }
    Ok(games)
}

/// A file with the rulesheet in KIF, by a path that is valid in any folder.
pub(crate) fn rulesheet_file(sheet: &Rulesheet, folder: &TempDir) -> anyhow::Result<PathBuf> {
    let dialect = sheet.dialect();
    if let Some(file) = sheet.file.as_ref().filter(|_| dialect == Dialect::Kif) {
        let shown = file.display();
        return fs::canonicalize(file).with_context(|| format!("cannot find `{shown}` again"));
    }
    let file = folder.path().join(format!("{}.gdl", sheet.name));
    let game = Game::as_played(sheet.clone())?;
    fs::write(&file, &*game.kif_text())
        .with_context(|| format!("cannot write `{}`", file.display()))?;
    Ok(file)
}

fn failures(reports: &[GameReport]) -> Vec<String> {
    let mut failures = Vec::new();
    for GameReport { game, players, .. } in reports {
        failures.extend(players.iter().filter_map(|player| {
            let failure = player.failure.as_ref()?;
            Some(format!("{game}, {}: {failure}", player.name))
        }));
    }
    failures
}

fn playouts_table(arguments: &PerformanceArguments, reports: &[GameReport]) -> Table {
    let engines = measure::engine_names(&arguments.widths);
    let baselines: Vec<&String> = arguments.baselines.iter().map(|b| &b.name).collect();
    let mut heads = ["game", "build s", "length"].map(str::to_string).to_vec();
    heads.extend(engines.iter().cloned());
    for name in &baselines {
        heads.extend([
            name.to_string(),
            "length".to_string(),
            format!("ratio to {name}"),
        ]);
    }
    let mut table = Table::new(heads);
    for report in reports {
        let player = |name: &str| report.players.iter().find(|player| player.name == name);
        let rate = |name: &str| player(name)?.rate.as_ref();
        let length = |name: &str| {
            let length = player(name).and_then(|player| player.mean_length);
            or_dash(length.map(|length| format!("{length:.2}")))
        };
        let medians = engines.iter().filter_map(|name| Some(rate(name)?.median));
        let best = medians.max_by(f64::total_cmp);
        let mut row = vec![
            report.game.clone(),
            or_dash(report.build_seconds.map(|seconds| format!("{seconds:.4}"))),
            length(measure::COUNTER),
        ];
        row.extend(engines.iter().map(|name| or_dash(rate(name))));
        for name in &baselines {
            let ratio = best.zip(rate(name)).map(|(best, rate)| best / rate.median);
            let ratio = or_dash(ratio.map(|ratio| format!("{ratio:.2}")));
            row.extend([or_dash(rate(name)), length(name), ratio]);
        }
        table.push(row);
    }
    table
}

fn passes_table(reports: &[GameReport]) -> Table {
    let heads = ["game", "left out", "gates", "playouts / s", "change"];
    let mut table = Table::new(heads).with_text_columns(&[0, 1]);
    for report in reports {
        let all = report
            .players
            .first()
            .and_then(|player| player.rate.as_ref());
        for player in &report.players {
            let rate = player.rate.as_ref();
            let change = all
                .zip(rate)
                .map(|(all, rate)| (rate.median / all.median - 1.0) * 100.0);
            table.push(vec![
                report.game.clone(),
                player.name.clone(),
                or_dash(player.gates.map(count)),
                or_dash(rate),
                or_dash(change.map(|change| format!("{change:+.1} %"))),
            ]);
        }
    }
    table
}
