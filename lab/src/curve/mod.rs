//! `cargo lab curve`: how well alpha-beta's evaluation predicts after more and more training.
//!
//! Each time and each seed is a preparation of its own, as before a match. References are kept in
//! files, since deep searches make them. All times are processor time of one thread.

mod agreement;
mod reference;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use panza_cli::arguments::parse_seconds;
use panza_cli::{Game, Outcome, Output};
use panza_config::Settings;
use panza_game::BuiltGame;
use panza_metagame::{Preparation, PreparationBudget, prepare};
use panza_search::{Method, SearchConfig};
use panza_sync::Budget;
use serde::Serialize;

use agreement::{Agreement, Comparison};
use reference::{Reference, Size};

#[derive(Args, Debug)]
pub struct CurveArguments {
    /// Paths to rulesheets, or names of games.
    #[arg(required = true, value_name = "GAME")]
    games: Vec<String>,
    /// Seconds of preparation, the tree's evaluation included.
    #[arg(long, default_value = "1,2,4,8,15", value_delimiter = ',', value_parser = parse_seconds, value_name = "S,S...")]
    at: Vec<f64>,
    /// Preparations for each of these times.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1000), value_name = "N")]
    seeds: u64,
    /// The first seed; each further preparation has the next.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folder of references, one file a game. Missing ones are made.
    #[arg(long, default_value = "target/references", value_name = "FOLDER")]
    references: PathBuf,
    /// Positions of a reference that is made.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000), value_name = "N")]
    positions: u32,
    /// Seconds of the preparation whose values the searches of a reference use.
    #[arg(long, default_value = "120", value_parser = parse_seconds, value_name = "S")]
    reference_study: f64,
    /// Seconds of search for each position of a reference.
    #[arg(long, default_value = "1", value_parser = parse_seconds, value_name = "S")]
    reference_seconds: f64,
    /// Nodes of the searches that play its games.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=10_000_000), value_name = "N")]
    nodes: u64,
}

/// What was found at a time: means over the seeds, and their standard errors.
#[derive(Serialize)]
struct Row<'a> {
    game: &'a str,
    seconds: f64,
    games: f64,
    agreement: Agreement,
    error: Agreement,
}

const HEAD: &str = "    s   games   loss         tau          regret       r";

pub fn run(arguments: &CurveArguments, output: Output) -> anyhow::Result<Outcome> {
    for name in &arguments.games {
        let game = Game::load(name)?;
        let budget = Budget::within(Duration::from_secs(120), 1 << 30);
        let built = panza_game::build(&game.rules, &budget).map_err(|error| anyhow!(error))?;
        let path = arguments
            .references
            .join(format!("{}.json", game.sheet.name));
        let reference = Reference::load_or_make(&path, &built.machine, || {
            let study = trained(&built, arguments.reference_study, arguments.seed)?;
            Ok(Size {
                positions: arguments.positions as usize,
                time: Duration::from_secs_f64(arguments.reference_seconds),
                nodes: arguments.nodes,
                config: study.apply(&config(arguments.seed)),
            })
        })?;
        let comparison = Comparison::new(&built.machine, &reference)
            .with_context(|| format!("`{}` is of another game", path.display()))?;
        let count = reference.positions.len();
        output.line(format!("{}: {count} positions\n{HEAD}", game.sheet.name))?;
        for &seconds in &arguments.at {
            let seeds = arguments.seed..arguments.seed + arguments.seeds;
            let found = seeds.map(|seed| compare(&built, &comparison, seconds, seed));
            let found = found.collect::<anyhow::Result<Vec<_>>>()?;
            let row = Row::of(&game.sheet.name, seconds, &found);
            output.object(&row)?;
            output.line(row.text())?;
        }
    }
    Ok(Outcome::Holds)
}

fn config(seed: u64) -> SearchConfig {
    SearchConfig {
        method: Method::AlphaBeta,
        ..SearchConfig::deterministic(seed)
    }
}

/// A preparation for alpha-beta alone.
fn trained(game: &BuiltGame, seconds: f64, seed: u64) -> anyhow::Result<Preparation> {
    let mut settings = Settings::load(None, &[])?.metagame;
    settings.learning = true;
    let time = Duration::from_secs_f64(seconds);
    let budget = PreparationBudget {
        processor_time: true,
        ..PreparationBudget::from_now(&settings, time, &Arc::default())
    };
    let found = prepare(game, None, &config(seed), &budget);
    let why = found.why_tree;
    anyhow::ensure!(found.alpha_beta.is_some(), "nothing was trained: {why}");
    Ok(found)
}

fn compare(
    game: &BuiltGame,
    comparison: &Comparison,
    seconds: f64,
    seed: u64,
) -> anyhow::Result<(usize, Agreement)> {
    let study = trained(game, seconds, seed)?;
    let found = study.alpha_beta.context("nothing was trained")?;
    let values = |state: &[u64], values: &mut [f32]| found.evaluation.values(state, values);
    Ok((found.games, comparison.of(values)))
}

impl<'a> Row<'a> {
    fn of(game: &'a str, seconds: f64, found: &[(usize, Agreement)]) -> Self {
        let games = found.iter().map(|(games, _)| *games as f64).sum::<f64>();
        let found: Vec<Agreement> = found.iter().map(|(_, agreement)| *agreement).collect();
        let (agreement, error) = Agreement::mean_and_error(&found);
        Self {
            game,
            seconds,
            games: games / found.len().max(1) as f64,
            agreement,
            error,
        }
    }

    fn text(&self) -> String {
        let numbers = self.agreement.0.iter().zip(&self.error.0);
        let numbers = numbers.map(|(mean, error)| format!("  {mean:5.3} ± {error:5.3}"));
        let numbers: String = numbers.collect();
        format!("{:5.0} {:7.0}{numbers}", self.seconds, self.games)
    }
}
