//! `cargo lab oracle score`: how often the search chooses a move that loses value.
//!
//! Each position has a search of its own, on the calling thread. A strategy is the mixed strategy
//! that the search reports, else its best move alone.
//!
//! Invariant: budgets in iterations give the same choices every time, without a study.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use clap::Args;
use panza_cli::arguments::parse_seconds;
use panza_cli::engine_choice::WIDTH;
use panza_cli::output::{grouped, progress_bar};
use panza_cli::{Outcome, Output, SettingsChoice};
use panza_config::Settings;
use panza_game::{BuiltGame, PlayoutPolicy};
use panza_gdl::Rules;
use panza_machine::lanes::interpret::Features;
use panza_machine::{GangLayout, LanesMachine, Machine};
use panza_metagame::{PreparationBudget, PriorPreparation, prepare};
use panza_player::search_config;
use panza_referee::tournament::tally::wilson;

use panza_search::{LineLimits, SearchConfig, Searcher, StopReason, start};
use panza_sync::{Budget, thread_cpu_time};
use serde::Serialize;

use super::file::{LOSING, OracleSetup};
use super::{Oracle, open_all};
use crate::page::{count, quantity};
use crate::trained::prior_preparation;

/// Wall time between two looks at a search that is limited by time.
const SLICE: Duration = Duration::from_millis(2);
/// Iterations where no budget is given.
const DEFAULT_ITERATIONS: [u64; 2] = [1_000, 10_000];
/// The time limit of building a game.
const BUILD_TIME: Duration = Duration::from_secs(300);

#[derive(Args, Debug)]
pub(super) struct ScoreArguments {
    /// Names of oracles, or paths to their files. [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Iterations for each position; several budgets separated by commas. [default: 1000,10000
    /// unless --ms is given]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..))]
    iterations: Vec<u64>,
    /// Milliseconds of processor time for each position; several budgets separated by commas.
    #[arg(long, value_name = "MS,...", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    ms: Vec<u64>,
    /// Number of positions searched of each oracle. [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    positions: Option<u32>,
    /// Study each game for so long first, as in the start clock of a match.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    study: Option<f64>,
    /// Begin the study with what `panza train` has left in this memory file.
    #[arg(long, value_name = "FILE", requires = "study")]
    memory: Option<PathBuf>,
    /// Seed of the random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    settings: SettingsChoice,
}

/// What a position is searched for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchBudget {
    /// A number of iterations.
    Iterations(u64),
    /// Processor time of the thread.
    ProcessorTime(Duration),
    /// Wall time.
    WallTime(Duration),
}

/// What searches of positions have lost.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Score {
    /// Positions searched.
    pub positions: u32,
    /// Positions in which the choice loses value.
    pub losing: u32,
    /// Positions that the search has proven.
    pub proven: u32,
    /// Sum of the points lost.
    pub lost: f64,
    /// Sum of the points lost by choosing all moves alike.
    pub lost_by_chance: f64,
    /// Iterations of all searches.
    pub iterations: u64,
    /// Their processor time.
    pub time: Duration,
}

#[derive(Serialize)]
struct ScoreReport<'a> {
    oracle: &'a str,
    iterations: Option<u64>,
    milliseconds: Option<u64>,
    positions: u32,
    losing: u32,
    proven: u32,
    share: f64,
    share_low: f64,
    share_high: f64,
    mean_lost: f64,
    mean_lost_by_chance: f64,
    iterations_per_second: f64,
}

const HEADS: [&str; 9] = [
    "oracle",
    "budget",
    "positions",
    "losing %",
    "95 %",
    "proven %",
    "points lost",
    "by chance",
    "iterations / s",
];

/// The name of the last rows.
const POOLED: &str = "all";

/// The two machines of a game, each built when it is needed.
struct Machines<'a> {
    rules: &'a Rules,
    fixed: Option<Arc<dyn Machine>>,
    of_match: Option<BuiltGame>,
}

/// Runs the command.
pub(super) fn run(arguments: &ScoreArguments, output: Output) -> anyhow::Result<Outcome> {
    let settings = arguments.settings.load([])?;
    let mut config = search_config(&settings.search, arguments.seed);
    config.rollout_threads = 0;
    let budgets = budgets(arguments);
    let oracles = open_all(&arguments.names, output)?;
    output.line(row(HEADS.map(str::to_string)))?;
    let report = |name: &str, budget: SearchBudget, score: &Score| {
        output.object(&score.report(name, budget))?;
        output.line(row(score.cells(name, budget)))
    };
    let mut pooled = vec![Score::default(); budgets.len()];
    for oracle in &oracles {
        let mut machines = Machines::new(&oracle.game.rules);
        let mut config = config.clone();
        if let Some(seconds) = arguments.study {
            let time = Duration::from_secs_f64(seconds);
            let (game, rules) = (machines.of_match()?, &oracle.game.rules);
            let memory = arguments.memory.as_deref();
            let prior = memory.map(|path| prior_preparation(path, rules, game));
            config = studied(game, prior.transpose()?, &config, &settings, time);
        }
        for (&budget, pooled) in budgets.iter().zip(&mut pooled) {
            let machine = match budget {
                SearchBudget::Iterations(_) if arguments.study.is_none() => machines.fixed()?,
                _ => Arc::clone(&machines.of_match()?.machine),
            };
            let positions = arguments.positions.map(|count| count as usize);
            let score = score(oracle, &machine, &config, budget, positions)?;
            report(&oracle.name, budget, &score)?;
            pooled.add(&score);
        }
    }
    if oracles.len() > 1 {
        for (&budget, score) in budgets.iter().zip(&pooled) {
            report(POOLED, budget, score)?;
        }
    }
    Ok(Outcome::Holds)
}

fn budgets(arguments: &ScoreArguments) -> Vec<SearchBudget> {
    let mut iterations = arguments.iterations.clone();
    if iterations.is_empty() && arguments.ms.is_empty() {
        iterations.extend(DEFAULT_ITERATIONS);
    }
    let times = arguments.ms.iter().copied().map(Duration::from_millis);
    let iterations = iterations.into_iter().map(SearchBudget::Iterations);
    iterations
        .chain(times.map(SearchBudget::ProcessorTime))
        .collect()
}

/// Searches the positions of an oracle.
pub fn score(
    oracle: &Oracle,
    machine: &Arc<dyn Machine>,
    config: &SearchConfig,
    budget: SearchBudget,
    positions: Option<usize>,
) -> anyhow::Result<Score> {
    let setups = oracle.set_up(machine, positions)?;
    let bar = progress_bar(setups.len() as u64, "positions");
    bar.set_message(format!("{}, {budget}", oracle.name));
    let mut score = Score::default();
    for (line, setup) in &setups {
        let mut config = config.clone();
        config.seed = config.seed.wrapping_add(*line as u64);
        let searched = examine(machine, setup, &config, budget);
        score.add(&searched.with_context(|| format!("{}:{line}", oracle.path.display()))?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(score)
}

/// Searches a position until the budget is spent or the position is proven. A proof that the claims
/// contradict is an error.
fn examine(
    machine: &Arc<dyn Machine>,
    setup: &OracleSetup,
    config: &SearchConfig,
    budget: SearchBudget,
) -> anyhow::Result<Score> {
    let started = start(machine, setup.role, &setup.state, config);
    let mut search = started.as_asked(config.method)?;
    let time = run_sliced(&mut *search, budget, 1, |_| {})?;
    let report = search.report(LineLimits::NONE);
    let table = setup.claims.values()?;
    let moves = table.moves();
    let probability = |mv| {
        let found = report.moves.iter().find(|found| found.mv == mv);
        f64::from(found.and_then(|found| found.probability).unwrap_or(0.0))
    };
    let mut strategy: Vec<f64> = moves.iter().map(|&mv| probability(mv)).collect();
    if strategy.iter().sum::<f64>() < 0.5 {
        let best = report.best;
        let best = best.and_then(|best| moves.iter().position(|&mv| mv == best));
        strategy.fill(0.0);
        strategy[best.context("the search has no move")?] = 1.0;
    }
    let claimed = setup.claims.value();
    if let Some(proven) = report.proven
        && (f64::from(proven) - claimed).abs() > 0.01
    {
        anyhow::bail!("a proof of {proven} contradicts the value {claimed}");
    }
    let lost = table.lost(&strategy);
    Ok(Score {
        positions: 1,
        losing: u32::from(lost >= LOSING),
        proven: u32::from(report.proven.is_some()),
        lost,
        lost_by_chance: table.lost_by_chance(),
        iterations: report.steps,
        time,
    })
}

/// Searches until the budget is spent or the position is proven, and gives the time spent. `look`
/// sees the search from time to time: `looks` times where the budget is in iterations.
pub(super) fn run_sliced(
    search: &mut dyn Searcher,
    budget: SearchBudget,
    looks: u64,
    mut look: impl FnMut(&mut dyn Searcher),
) -> anyhow::Result<Duration> {
    let started = Instant::now();
    let time = |search: &dyn Searcher| match budget {
        SearchBudget::WallTime(_) => Ok(started.elapsed()),
        _ => {
            let own = thread_cpu_time().context("this system reports no processor time")?;
            anyhow::Ok(own + search.processor_time())
        }
    };
    let before = time(search)?;
    loop {
        let spent = time(search)?.saturating_sub(before);
        let limit = match budget {
            SearchBudget::Iterations(all) => {
                let left = all - search.report(LineLimits::NONE).steps;
                Budget::of_steps((all / looks).max(1).min(left))
            }
            SearchBudget::ProcessorTime(all) | SearchBudget::WallTime(all) => {
                Budget::lasting(all.saturating_sub(spent).min(SLICE))
            }
        };
        let stopped = search.run(&limit);
        let spent = time(search)?.saturating_sub(before);
        look(search);
        let is_spent = match budget {
            SearchBudget::Iterations(all) => search.report(LineLimits::NONE).steps >= all,
            SearchBudget::ProcessorTime(all) | SearchBudget::WallTime(all) => spent >= all,
        };
        if is_spent || matches!(stopped, StopReason::Proven | StopReason::Exhausted) {
            return Ok(spent);
        }
    }
}

/// The settings of a search after a study of the game.
fn studied(
    game: &BuiltGame,
    prior: Option<PriorPreparation>,
    config: &SearchConfig,
    settings: &Settings,
    time: Duration,
) -> SearchConfig {
    let budget = PreparationBudget::from_now(&settings.metagame, time, &Arc::default());
    prepare(game, prior, config, &budget).apply(config)
}

impl<'a> Machines<'a> {
    fn new(rules: &'a Rules) -> Self {
        Self {
            rules,
            fixed: None,
            of_match: None,
        }
    }

    /// A machine whose choice depends on no measurement: lanes for playouts as in a match, of
    /// [`WIDTH`], or counters where the game is too large for lanes.
    fn fixed(&mut self) -> anyhow::Result<Arc<dyn Machine>> {
        if let Some(machine) = &self.fixed {
            return Ok(Arc::clone(machine));
        }
        let machine = fixed_machine(self.rules)?;
        self.fixed = Some(Arc::clone(&machine));
        Ok(machine)
    }

    /// The game as it is built for a match.
    fn of_match(&mut self) -> anyhow::Result<&BuiltGame> {
        if self.of_match.is_none() {
            let budget = Budget::lasting(BUILD_TIME);
            let game = panza_game::build(self.rules, &budget).map_err(|error| anyhow!(error))?;
            self.of_match = Some(game);
        }
        self.of_match.as_ref().context("the game was just built")
    }
}

/// The machine for budgets in iterations: it depends on no measurement.
pub fn fixed_machine(rules: &Rules) -> anyhow::Result<Arc<dyn Machine>> {
    let limits = panza_sync::Budget::generous();
    let compiled = panza_game::compile(rules, &limits).map_err(|error| anyhow!(error))?;
    let programs = compiled.lanes.programs(&limits, PlayoutPolicy::Decisive);
    let counter = Arc::new(compiled.machine);
    let Some(programs) = programs else {
        return Ok(counter);
    };
    let n_roles = counter.info().n_roles();
    let gangs = GangLayout::new(&programs, n_roles, Features::detect(), WIDTH / 64);
    Ok(Arc::new(LanesMachine::for_play(
        counter,
        Arc::new(gangs),
        None,
    )))
}

impl Score {
    /// Adds the score of other positions.
    pub fn add(&mut self, other: &Self) {
        self.positions += other.positions;
        self.losing += other.losing;
        self.proven += other.proven;
        self.lost += other.lost;
        self.lost_by_chance += other.lost_by_chance;
        self.iterations += other.iterations;
        self.time += other.time;
    }

    /// The share of positions in which the choice loses value, and its 95 % interval.
    pub fn share(&self) -> (f64, (f64, f64)) {
        let share = f64::from(self.losing) / f64::from(self.positions.max(1));
        (share, wilson(share, self.positions.max(1)))
    }

    fn mean(&self, sum: f64) -> f64 {
        sum / f64::from(self.positions.max(1))
    }

    fn iterations_per_second(&self) -> f64 {
        self.iterations as f64 / self.time.as_secs_f64().max(1e-9)
    }

    fn report<'a>(&self, oracle: &'a str, budget: SearchBudget) -> ScoreReport<'a> {
        let (share, (share_low, share_high)) = self.share();
        let (iterations, milliseconds) = match budget {
            SearchBudget::Iterations(count) => (Some(count), None),
            SearchBudget::ProcessorTime(time) | SearchBudget::WallTime(time) => {
                (None, Some(time.as_millis() as u64))
            }
        };
        ScoreReport {
            oracle,
            iterations,
            milliseconds,
            positions: self.positions,
            losing: self.losing,
            proven: self.proven,
            share,
            share_low,
            share_high,
            mean_lost: self.mean(self.lost),
            mean_lost_by_chance: self.mean(self.lost_by_chance),
            iterations_per_second: self.iterations_per_second(),
        }
    }

    fn cells(&self, oracle: &str, budget: SearchBudget) -> [String; 9] {
        let (share, (low, high)) = self.share();
        [
            oracle.to_string(),
            budget.to_string(),
            count(self.positions),
            format!("{:.1}", 100.0 * share),
            format!("{:.1} to {:.1}", 100.0 * low, 100.0 * high),
            format!("{:.1}", 100.0 * self.mean(self.proven.into())),
            format!("{:.2}", self.mean(self.lost)),
            format!("{:.2}", self.mean(self.lost_by_chance)),
            quantity(self.iterations_per_second()),
        ]
    }
}

impl fmt::Display for SearchBudget {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Iterations(count) => write!(out, "{} iterations", grouped(*count)),
            Self::ProcessorTime(time) | Self::WallTime(time) => {
                write!(out, "{} ms", time.as_millis())
            }
        }
    }
}

fn row(cells: [String; 9]) -> String {
    let [
        oracle,
        budget,
        positions,
        share,
        interval,
        proven,
        lost,
        chance,
        rate,
    ] = cells;
    format!(
        "{oracle:<20} {budget:<20} {positions:>9} {share:>8} {interval:>13} {proven:>8} {lost:>11} {chance:>9} {rate:>14}"
    )
}
