//! `cargo lab performance`: how fast games are played, beside outside programs, and what each pass does
//! for it, as a page.
//!
//! Each game is measured in turn with the baselines ([`baseline`], [`measure`]) and by lanes
//! ([`lanes`]); networks are followed through the passes ([`networks`]); searches are measured by
//! themselves ([`searching`]); [`page`] shows it all, [`page_lanes`] what lanes came to, and keeps
//! the notes of the page that stood there before.

pub mod baseline;
pub mod caches;
pub mod lanes;
pub mod measure;
pub mod networks;
pub mod page;
pub mod page_lanes;
pub mod searching;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use indicatif::ProgressBar;
use serde::Serialize;
use tempfile::TempDir;

use crate::corpus::report::commit;
use baseline::Baseline;
use caches::Caches;
use lanes::{ProfileReport, ThreadsReport, Widths};
use measure::{GameReport, PassReport, Plan};
use page::{Conditions, Reports};
use panza::commands::game_source::{Game, Rulesheet};
use panza::commands::output::{Output, progress_bar};
use panza::commands::provenance::{processor, today};
use panza::commands::{Outcome, interrupt, parse_seconds};
use panza::gdl::{self, Severity};
use panza::propnet::passes::PassSet;
use searching::SearchReport;

/// Games of several kinds, on which the passes have been measured from the start.
const PASS_GAMES: [&str; 6] = [
    "connectFour",
    "breakthrough",
    "checkers",
    "reversi",
    "speedChess",
    "skirmish",
];

/// The widths that are measured unless others are named.
const ALL_WIDTHS: [usize; 3] = [256, 512, 1024];
/// Games of several kinds for a closer look at lanes.
const PROFILE_GAMES: [&str; 6] = [
    "ticTacToe",
    "connectFour",
    "breakthrough",
    "reversi",
    "hex",
    "skirmish",
];
/// A small, a middling and a large game.
const THREAD_GAMES: [&str; 3] = ["ticTacToe", "breakthrough", "skirmish"];

/// Arguments of `cargo lab performance`.
#[derive(Args, Debug)]
pub struct PerformanceArguments {
    /// Paths to rulesheets, or names of games.
    #[arg(required_unless_present = "search_on", value_name = "GAME")]
    games: Vec<String>,
    /// Write the page to this file instead of standard output, and keep the notes that stand in it.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Seconds of each run.
    #[arg(long, default_value = "5", value_parser = parse_seconds, value_name = "S")]
    seconds: f64,
    /// Runs of each program on each game.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000), value_name = "R")]
    runs: u32,
    /// Fixes the random numbers of the first run; each further run has the next seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// An outside program to compare with; may be given several times.
    #[arg(long = "baseline", value_name = "NAME=COMMAND")]
    baselines: Vec<Baseline>,
    /// Seconds that a run of a baseline may take before it is ended.
    #[arg(long, default_value = "300", value_parser = parse_seconds, value_name = "S")]
    baseline_timeout: f64,
    /// Games to follow through the passes and to measure with each pass left out, '' for none;
    /// names are looked for among the GAMEs first [default: those of connectFour, breakthrough,
    /// checkers, reversi, speedChess, skirmish that are found]
    #[arg(long, value_delimiter = ',', value_name = "GAME,...")]
    without_passes_on: Option<Vec<String>>,
    /// Widths to measure lanes at, of 256, 512 and 1024; '' leaves them out.
    #[arg(long, default_value = "256,512,1024", value_parser = lanes::parse_widths, value_name = "WIDTH,...")]
    widths: Widths,
    /// Games on which the pieces of a pass of lanes are measured, '' for none; names are looked for
    /// among the GAMEs first [default: those of ticTacToe, connectFour, breakthrough, reversi, hex,
    /// skirmish that are among the GAMEs]
    #[arg(long, value_delimiter = ',', value_name = "GAME,...")]
    profile_of: Option<Vec<String>>,
    /// Games on which lanes are measured on one thread and on two, '' for none; names are looked
    /// for among the GAMEs first [default: those of ticTacToe, breakthrough, skirmish that are
    /// among the GAMEs]
    #[arg(long, value_delimiter = ',', value_name = "GAME,...")]
    threads_on: Option<Vec<String>>,
    /// Games on which searches are measured; without other GAMEs, only this section of the page is
    /// written anew.
    #[arg(long, value_delimiter = ',', value_name = "GAME,...")]
    search_on: Vec<String>,
    /// Threads of these searches: one that grows the graph, the others for playouts.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256), value_name = "T")]
    search_threads: u16,
    /// Seconds that building a game may take; after that it is played with the prover.
    #[arg(long, default_value = "60", value_parser = parse_seconds, value_name = "S")]
    build_seconds: f64,
}

/// One object of the output for scripts.
#[derive(Serialize)]
#[serde(tag = "table", rename_all = "lowercase")]
enum Line<'a> {
    Conditions(&'a Conditions),
    Game(&'a GameReport),
    Passes(&'a PassReport),
    Profile(&'a ProfileReport),
    Threads(&'a ThreadsReport),
    Search(&'a SearchReport),
}

/// The games that are measured, and those among them or beside them that are looked at more
/// closely.
struct Chosen {
    games: Vec<Game>,
    passes: Vec<Game>,
    profiles: Vec<Game>,
    threads: Vec<Game>,
    searches: Vec<Game>,
}

/// Runs the command. A baseline that fails is shown on the page and is no error.
///
/// # Errors
/// A game that cannot be read, or a page that cannot be written.
pub fn run(arguments: &PerformanceArguments, output: Output) -> anyhow::Result<Outcome> {
    interrupt::exit_on_ctrl_c_after(baseline::end_running)?;
    let names: BTreeSet<&str> = arguments
        .baselines
        .iter()
        .map(|b| b.name.as_str())
        .collect();
    if names.len() < arguments.baselines.len() {
        bail!("two baselines have the same name");
    }
    let chosen = chosen(arguments)?;
    if let Some(out) = &arguments.out {
        // Better now than after all the work.
        kept_notes(out)?;
    }
    // The source may have moved on when all is done.
    let conditions = conditions(arguments, &chosen);
    output.object(&Line::Conditions(&conditions))?;

    let plan = Plan {
        seconds: arguments.seconds,
        runs: arguments.runs,
        seed: arguments.seed,
        build_seconds: arguments.build_seconds,
        widths: arguments.widths.0.clone(),
        baselines: arguments.baselines.clone(),
        baseline_limit: Duration::from_secs_f64(arguments.baseline_timeout),
    };
    let n_programs = 1 + plan.widths.len() + plan.baselines.len();
    let n_sets = 1 + PassSet::default().iter().count();
    let n_turns = chosen.games.len() * n_programs + chosen.passes.len() * n_sets;
    let n_turns = n_turns + 2 * chosen.threads.len() + chosen.searches.len();
    let n_runs = plan.runs as usize * n_turns + chosen.profiles.len();
    let bar = progress_bar(n_runs as u64, "runs");
    let on_run = |bar: &ProgressBar, game: &Game, what: &str| {
        bar.set_message(format!("{}: {what}", game.sheet.name));
        bar.inc(1);
    };

    let folder = tempfile::tempdir().context("no folder for the baselines' rulesheets")?;
    let mut reports = Reports::default();
    for game in &chosen.games {
        bar.set_message(format!("{}: building", game.sheet.name));
        let rulesheet = rulesheet_file(&game.sheet, &folder)?;
        let complain = |baseline: &Baseline, failure: &str, said: &str| {
            let said = match said {
                "" => String::new(),
                said => format!(": {said}"),
            };
            let (name, game) = (&baseline.name, &game.sheet.name);
            bar.suspend(|| eprintln!("{name} on {game}: {failure}{said}"));
        };
        let report = measure::game(
            &plan,
            game,
            &rulesheet,
            |what| on_run(&bar, game, what),
            complain,
        )?;
        output.object(&Line::Game(&report))?;
        reports.games.push(report);
    }
    for game in &chosen.profiles {
        on_run(&bar, game, "pieces of a pass");
        let report = lanes::profile(&plan, game, reports.best_width(game));
        output.object(&Line::Profile(&report))?;
        reports.profiles.push(report);
    }
    for game in &chosen.threads {
        let width = reports.best_width(game);
        let report = lanes::threads(&plan, game, width, |what| on_run(&bar, game, what))?;
        output.object(&Line::Threads(&report))?;
        reports.threads.push(report);
    }
    for game in &chosen.passes {
        bar.set_message(format!("{}: following the passes", game.sheet.name));
        let report = measure::passes(&plan, game, |what| on_run(&bar, game, what))?;
        output.object(&Line::Passes(&report))?;
        reports.passes.push(report);
    }
    for game in &chosen.searches {
        let report = searching::measure(
            game,
            usize::from(arguments.search_threads),
            arguments.runs,
            arguments.seconds,
            arguments.seed,
            || on_run(&bar, game, "searching"),
        )?;
        output.object(&Line::Search(&report))?;
        reports.searches.push(report);
    }
    bar.finish_and_clear();

    let section = searching::section(
        &conditions,
        &search_command(arguments, &chosen),
        &reports.searches,
    );
    if chosen.games.is_empty() {
        match &arguments.out {
            Some(out) => {
                let shown = out.display();
                let page = fs::read_to_string(out)
                    .with_context(|| format!("cannot read `{shown}`, whose other sections stay"))?;
                let page = searching::put_into(&page, &section)
                    .with_context(|| format!("cannot write `{shown}` anew"))?;
                fs::write(out, page).with_context(|| format!("cannot write `{shown}`"))?;
            }
            None => output.text(&section)?,
        }
        return Ok(Outcome::Holds);
    }
    reports.search_section = match (&arguments.out, section.is_empty()) {
        (Some(out), true) => kept_search_section(out)?,
        _ => section,
    };
    match &arguments.out {
        Some(out) => {
            // The notes may have been written on meanwhile.
            let notes = kept_notes(out)?;
            let page = page::markdown(&conditions, &reports, notes.as_deref());
            fs::write(out, page).with_context(|| format!("cannot write `{}`", out.display()))?;
            output.line(page::summary_line(&reports))?;
        }
        None => {
            output.text(&page::markdown(&conditions, &reports, None))?;
        }
    }
    Ok(Outcome::Holds)
}

/// The games, each name once, for the page knows them by name alone.
fn load_all(arguments: &[String]) -> anyhow::Result<Vec<Game>> {
    let mut games: Vec<Game> = Vec::new();
    for argument in arguments {
        let game = load(argument)?;
        if games
            .iter()
            .any(|other| other.sheet.name == game.sheet.name)
        {
            bail!(
                "two games are called `{}`; the page could not tell them apart",
                game.sheet.name
            );
        }
        games.push(game);
    }
    Ok(games)
}

/// A game as the player takes it: published games have faults, and what is left of them is played.
fn load(argument: &str) -> anyhow::Result<Game> {
    let sheet = Rulesheet::find(argument)?;
    let (rules, diagnostics) = gdl::load(&sheet.text);
    if gdl::is_playable(&rules, &diagnostics) {
        return Ok(Game { sheet, rules });
    }
    let is_error = |diagnostic: &&gdl::Diagnostic| diagnostic.severity == Severity::Error;
    match diagnostics.iter().find(is_error) {
        Some(first) => bail!("{}", first.one_line(&sheet.origin, &sheet.text)),
        None => bail!("{} cannot be played", sheet.origin),
    }
}

/// The games that are named, and by default for the passes those of [`PASS_GAMES`] that are found,
/// for lanes of their lists those that are measured anyway.
fn chosen(arguments: &PerformanceArguments) -> anyhow::Result<Chosen> {
    let games = load_all(&arguments.games)?;
    let here = |name: &str| games.iter().find(|game| game.sheet.name == name).cloned();
    let named = |named: &[String]| -> anyhow::Result<Vec<Game>> {
        let mut found: Vec<Game> = Vec::new();
        for name in named.iter().filter(|name| !name.is_empty()) {
            let game = match here(name) {
                Some(game) => game,
                None => load(name)?,
            };
            if !found
                .iter()
                .any(|other| other.sheet.name == game.sheet.name)
            {
                found.push(game);
            }
        }
        Ok(found)
    };
    let measured = |names: &[&str]| -> Vec<Game> {
        let names = match arguments.widths.0.is_empty() {
            true => &[],
            false => names,
        };
        names.iter().filter_map(|name| here(name)).collect()
    };
    let passes = match &arguments.without_passes_on {
        Some(names) => named(names)?,
        None if games.is_empty() => Vec::new(),
        None => PASS_GAMES
            .into_iter()
            .filter_map(|name| match here(name) {
                Some(game) => Some(Ok(game)),
                None => Rulesheet::find(name).ok().map(|_| load(name)),
            })
            .collect::<anyhow::Result<_>>()?,
    };
    let profiles = match &arguments.profile_of {
        Some(names) => named(names)?,
        None => measured(&PROFILE_GAMES),
    };
    let threads = match &arguments.threads_on {
        Some(names) => named(names)?,
        None => measured(&THREAD_GAMES),
    };
    let searches = named(&arguments.search_on)?;
    Ok(Chosen {
        games,
        passes,
        profiles,
        threads,
        searches,
    })
}

/// The notes of the page that stands there; nothing when there is none.
///
/// # Errors
/// The page could not be written, or its notes not be kept.
pub fn kept_notes(out: &Path) -> anyhow::Result<Option<String>> {
    let shown = out.display();
    let folder = match out.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() || out.is_dir() {
        bail!("cannot write `{shown}`: expected a file in a folder that exists");
    }
    if !out.exists() {
        return Ok(None);
    }
    let page = fs::read_to_string(out).with_context(|| format!("cannot read `{shown}`"))?;
    let notes =
        page::notes(&page).with_context(|| format!("cannot keep the notes of `{shown}`"))?;
    Ok(notes.map(str::to_string))
}

/// The section on searching of the page that stands there; empty when there is none.
fn kept_search_section(out: &Path) -> anyhow::Result<String> {
    if !out.exists() {
        return Ok(String::new());
    }
    let shown = out.display();
    let page = fs::read_to_string(out).with_context(|| format!("cannot read `{shown}`"))?;
    let section = searching::section_of(&page)
        .with_context(|| format!("cannot keep the section on searching of `{shown}`"))?;
    Ok(section.unwrap_or_default().to_string())
}

/// The command line that measures the searches alone.
fn search_command(arguments: &PerformanceArguments, chosen: &Chosen) -> String {
    let games: Vec<&str> = chosen
        .searches
        .iter()
        .map(|game| game.sheet.name.as_str())
        .collect();
    format!(
        "cargo lab performance --seconds {} --runs {} --search-threads {} --search-on {}",
        arguments.seconds,
        arguments.runs,
        arguments.search_threads,
        games.join(",")
    )
}

/// A file with the rulesheet for outside programs, by a path that holds in any folder.
fn rulesheet_file(sheet: &Rulesheet, folder: &TempDir) -> anyhow::Result<PathBuf> {
    if let Some(file) = &sheet.file {
        let shown = file.display();
        return fs::canonicalize(file).with_context(|| format!("cannot find `{shown}` again"));
    }
    let file = folder.path().join(format!("{}.gdl", sheet.name));
    fs::write(&file, &sheet.text).with_context(|| format!("cannot write `{}`", file.display()))?;
    Ok(file)
}

fn conditions(arguments: &PerformanceArguments, chosen: &Chosen) -> Conditions {
    let mut command = "cargo lab performance".to_string();
    if let Some(out) = &arguments.out {
        command.push_str(&format!(" --out {}", without_folders(out)));
    }
    command.push_str(&format!(
        " --seconds {} --runs {}",
        arguments.seconds, arguments.runs
    ));
    let baselines: Vec<String> = arguments.baselines.iter().map(|b| b.name.clone()).collect();
    for name in &baselines {
        command.push_str(&format!(" --baseline '{name}=...'"));
    }
    let names = |games: &[Game]| -> Vec<String> {
        games.iter().map(|game| game.sheet.name.clone()).collect()
    };
    let widths = &arguments.widths.0;
    if *widths != ALL_WIDTHS {
        let widths: Vec<String> = widths.iter().map(usize::to_string).collect();
        command.push_str(&format!(" --widths '{}'", widths.join(",")));
    }
    for (option, named, games) in [
        (
            "without-passes-on",
            &arguments.without_passes_on,
            &chosen.passes,
        ),
        ("profile-of", &arguments.profile_of, &chosen.profiles),
        ("threads-on", &arguments.threads_on, &chosen.threads),
    ] {
        if named.is_some() {
            command.push_str(&format!(" --{option} '{}'", names(games).join(",")));
        }
    }
    for name in names(&chosen.games) {
        command.push_str(&format!(" {name}"));
    }
    Conditions {
        version: env!("CARGO_PKG_VERSION"),
        commit: commit(),
        build: match cfg!(debug_assertions) {
            true => "for debugging: rates mean nothing",
            false => "release",
        },
        date: today(),
        processor: processor(),
        caches: Caches::detect(),
        threads: 1,
        runs: arguments.runs,
        seconds: arguments.seconds,
        command,
        baselines,
        widths: widths.clone(),
    }
}

/// A path below the working directory as it is, of any other path the file's name.
pub fn without_folders(path: &Path) -> String {
    let is_inside = path
        .components()
        .all(|component| matches!(component, Component::Normal(_)));
    match path.file_name() {
        Some(name) if !is_inside => name.to_string_lossy().into_owned(),
        _ => path.display().to_string(),
    }
}
