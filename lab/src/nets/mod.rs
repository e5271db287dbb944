//! `cargo lab nets`: trains evaluations of a game with different seeds and compares each with
//! reference positions.
//!
//! References are kept in files, since deep searches make them. All times are processor time of
//! one thread.

mod agreement;
mod reference;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use panza_analysis::Tuples;
use panza_cli::arguments::parse_seconds;
use panza_cli::{Game, Outcome, Output};
use panza_game::BuiltGame;
use panza_learning::{LearningPlan, learn};
use panza_metagame::{Parameters, Structure, find_prospects, most_share};
use panza_sync::{Budget, thread_cpu_time};
use serde::Serialize;

use agreement::{Agreement, Comparison};
use reference::{Reference, Size};

#[derive(Args, Debug)]
pub struct NetsArguments {
    /// Paths to rulesheets, or names of games.
    #[arg(required = true, value_name = "GAME")]
    games: Vec<String>,
    /// Evaluations to train of each game.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000), value_name = "N")]
    nets: u64,
    /// Seconds of training of each evaluation, validation included.
    #[arg(long, default_value = "5", value_parser = parse_seconds, value_name = "S")]
    seconds: f64,
    /// Threads of each training.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64), value_name = "T")]
    threads: u16,
    /// Seed of the first evaluation; each further one has the next.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folder of references, one file a game. Missing ones are made.
    #[arg(long, default_value = "target/references", value_name = "FOLDER")]
    references: PathBuf,
    /// Positions of a reference that is made.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000), value_name = "N")]
    positions: u32,
    /// Seconds of search for each of its positions.
    #[arg(long, default_value = "0.7", value_parser = parse_seconds, value_name = "S")]
    reference_seconds: f64,
    /// Iterations of the searches that play its games.
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=1_000_000), value_name = "N")]
    iterations: u64,
}

/// What is found of one evaluation.
#[derive(Serialize)]
struct NetReport<'a> {
    game: &'a str,
    seed: u64,
    games: usize,
    games_per_second: f64,
    samples_per_second: f64,
    #[serde(flatten)]
    agreement: Agreement,
    /// Correlations of the validation, and what the search would use.
    correlation_with_results: f64,
    correlation_of_playouts: f64,
    evaluation_share: f32,
    prior: bool,
}

const HEAD: &str =
    "  seed   games/s samples/s  regret    tau   loss      r  valid.  playouts  share  prior";

pub fn run(arguments: &NetsArguments, output: Output) -> anyhow::Result<Outcome> {
    for name in &arguments.games {
        let game = Game::load(name)?;
        let built = build_game(&game)?;
        let path = arguments
            .references
            .join(format!("{}.json", game.sheet.name));
        let size = Size {
            positions: arguments.positions as usize,
            time: Duration::from_secs_f64(arguments.reference_seconds),
            iterations: arguments.iterations,
            seed: arguments.seed,
        };
        let reference = Reference::load_or_make(&path, &built.machine, size)?;
        let comparison = Comparison::new(&built.machine, &reference)
            .with_context(|| format!("`{}` is of another game", path.display()))?;
        let playouts = comparison.of_playouts();
        output.line(format!(
            "{}: {} positions; playouts have regret {:.2}, tau {:.3}\n{HEAD}",
            game.sheet.name,
            reference.positions.len(),
            playouts.regret,
            playouts.tau
        ))?;
        train_all(arguments, &game.sheet.name, &built, &comparison, output)?;
    }
    Ok(Outcome::Holds)
}

fn build_game(game: &Game) -> anyhow::Result<BuiltGame> {
    let budget = Budget::within(Duration::from_secs(120), 1 << 30);
    panza_game::build(&game.rules, &budget).map_err(|error| anyhow!(error))
}

fn train_all(
    arguments: &NetsArguments,
    name: &str,
    built: &BuiltGame,
    comparison: &Comparison,
    output: Output,
) -> anyhow::Result<()> {
    let clock = || thread_cpu_time().unwrap_or_default();
    let structure = Structure::find(built, &Budget::generous());
    let network = built.network.as_ref();
    let tuples = network
        .and_then(|it| Tuples::find(it, &built.machine, &mut Budget::generous()))
        .map(Arc::new);
    let prospects = find_prospects(built).map(Arc::new);
    let mut sums = [0.0; 9];
    for seed in arguments.seed..arguments.seed + arguments.nets {
        let begin = clock();
        let time = Duration::from_secs_f64(arguments.seconds);
        let budget = Budget::lasting(time).by_processor();
        let plan = LearningPlan {
            threads: usize::from(arguments.threads),
            seed,
            ..LearningPlan::default()
        };
        let learned = learn(
            &built.machine,
            structure.symmetries.as_deref(),
            tuples.clone(),
            prospects.clone(),
            None,
            &budget,
            plan,
        );
        let learned = learned.context("the game cannot be learned")?;
        let seconds = (clock() - begin).as_secs_f64();
        let agreement = comparison.of(|state, values| learned.evaluation.values(state, values));
        let parameters =
            Parameters::of(&learned.validation, most_share(built, &Budget::generous()));
        let validation = &learned.validation;
        let report = NetReport {
            game: name,
            seed,
            games: learned.games,
            games_per_second: learned.games as f64 / seconds,
            samples_per_second: learned.samples as f64 / seconds,
            agreement,
            correlation_with_results: validation.evaluation,
            correlation_of_playouts: validation.playouts,
            evaluation_share: parameters.evaluation_share,
            prior: parameters.prior,
        };
        output.object(&report)?;
        let numbers = report.numbers();
        output.line(line(&seed.to_string(), numbers, &report.prior.to_string()))?;
        for (sum, number) in sums.iter_mut().zip(numbers) {
            *sum += number / arguments.nets as f64;
        }
    }
    output.line(line("mean", sums, ""))?;
    Ok(())
}

impl NetReport<'_> {
    fn numbers(&self) -> [f64; 9] {
        let agreement = &self.agreement;
        [
            self.games_per_second,
            self.samples_per_second,
            agreement.regret,
            agreement.tau,
            agreement.loss,
            agreement.correlation,
            self.correlation_with_results,
            self.correlation_of_playouts,
            self.evaluation_share.into(),
        ]
    }
}

fn line(name: &str, numbers: [f64; 9], prior: &str) -> String {
    let [games, samples, regret, tau, loss, r, valid, playouts, share] = numbers;
    format!(
        "{name:>6} {games:9.0} {samples:9.0} {regret:7.2} {tau:6.3} {loss:6.3} {r:6.3} \
         {valid:7.3} {playouts:9.3} {share:6.2}  {prior}"
    )
}
