//! `cargo lab duel`: whether one engine is stronger than another, by pairs of games.
//!
//! Each engine is the current build with settings, or an outside program that obeys the commands of
//! `cargo lab engine`. The engines play openings that a reference search calls open, each twice
//! with roles swapped, until a sequential test decides. Games of a duel are played in turn, a pair
//! each, and the test is on the pairs of all games together. Pairs come from a [`PairSource`]: this
//! process, or others, which finish them in any order. The test takes them in their own order, so
//! that quick games do not come first.
//!
//! An engine thinks at its own moves only, and only where it has a choice.

mod classes;
mod contest;
mod engine;
mod opening;
mod program;
pub mod protocol;
mod record;
mod referee;
mod report;

pub use engine::LocalEngine;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use panza_cli::arguments::parse_seconds;
use panza_cli::engine_choice::WIDTH;
use panza_cli::output::progress_bar;
use panza_cli::{Outcome, Output, Rulesheet};
use serde::{Deserialize, Serialize};

use crate::page::{Page, check_place};
use crate::performance::rulesheet_file;
use contest::{Contest, MoveBudget, Player, Rules};
use engine::Builds;
use opening::ReferenceLimit;
use panza_metagame::sprt::{Hypotheses, PairTally, Verdict};
use program::Program;
use protocol::Command;
pub use record::PairRecord;
use record::{Terms, Usage};
use referee::Referee;
use report::{GameResult, percent};

/// Limits of the reference search for openings.
const REFERENCE_ITERATIONS: u64 = 20_000;
const REFERENCE_TIME: Duration = Duration::from_millis(300);
/// With a budget in iterations: times the iterations of a move.
const REFERENCE_FACTOR: u64 = 10;
/// Playouts per request for budgets in iterations. A match measures them, and the number of lanes.
const SAMPLES_PER_REQUEST: u32 = 4;

/// The arguments of `cargo lab duel`.
#[derive(Args, Debug)]
pub struct DuelArguments {
    /// Paths to rulesheets, or names of games; games of two roles.
    #[arg(long = "game", required = true, num_args = 1.., value_name = "NAME")]
    games: Vec<String>,
    /// Settings of engine A, see `cargo lab engine --help`.
    #[arg(long, value_delimiter = ',', value_name = "KEY=VALUE,...")]
    a: Vec<String>,
    /// Settings of engine B.
    #[arg(long, value_delimiter = ',', value_name = "KEY=VALUE,...")]
    b: Vec<String>,
    /// Play engine A with this program instead of the current build.
    #[arg(long, value_name = "PATH ARGS")]
    a_program: Option<String>,
    /// Play engine B with this program.
    #[arg(long, value_name = "PATH ARGS")]
    b_program: Option<String>,
    /// Milliseconds of processor time for a move.
    #[arg(long, default_value_t = 100.0, value_parser = parse_milliseconds)]
    ms: f64,
    /// Iterations for a move, instead of time.
    #[arg(long, value_name = "N", conflicts_with = "ms", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    iterations: Option<u64>,
    /// Seconds of a study of each game by each engine, as in a match. [default: no study]
    #[arg(long, value_name = "S", value_parser = parse_seconds, allow_negative_numbers = true)]
    study: Option<f64>,
    /// Independent studies of each engine, used in turn over the pairs.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "study", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    studies: u32,
    /// Pairs of each game, at most.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pairs: u32,
    /// Elo difference at which A is not stronger.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    elo0: f64,
    /// Elo difference at which A is stronger; above --elo0.
    #[arg(long, default_value_t = 35.0, allow_negative_numbers = true)]
    elo1: f64,
    /// Seed of openings, studies and searches.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Append each pair to this file; go on after the pairs in it.
    #[arg(long, value_name = "FILE.jsonl")]
    out: Option<PathBuf>,
    /// Write a page to this file.
    #[arg(long, value_name = "FILE.md")]
    page: Option<PathBuf>,
}

fn parse_milliseconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(milliseconds) if (1.0..=1e6).contains(&milliseconds) => Ok(milliseconds),
        _ => Err("expected 1 to 1000000".to_string()),
    }
}

/// A pair to be played: a game, by its place in the arguments, and a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PairOrder {
    /// The game.
    pub game: usize,
    /// The number of the pair, from 0.
    pub pair: u32,
}

/// Where pairs are played.
pub trait PairSource {
    /// Takes the pairs that are to be played, those that are needed first at the front.
    fn start(&mut self, orders: VecDeque<PairOrder>);

    /// Forgets the pairs that have not begun.
    fn stop(&mut self);

    /// A pair that has ended. `None` once all have.
    ///
    /// # Errors
    /// A pair cannot be played.
    fn next(&mut self) -> anyhow::Result<Option<PairRecord>>;
}

/// Runs the command. [`Outcome::Holds`] if A is stronger.
pub(crate) fn run(arguments: &DuelArguments, output: Output) -> anyhow::Result<Outcome> {
    let duel = Duel::start(arguments)?;
    let (names, terms) = (duel.names(), duel.terms.clone());
    let mut pairs = LocalPairs {
        duel,
        orders: VecDeque::new(),
    };
    run_at(arguments, output, &names, &terms, &mut pairs)
}

/// As `cargo lab duel`, with the pairs of another source.
///
/// # Errors
/// Arguments cannot be used, or a pair cannot be played.
pub fn run_elsewhere(
    arguments: &DuelArguments,
    output: Output,
    source: &mut dyn PairSource,
) -> anyhow::Result<Outcome> {
    let duel = Duel::start(arguments)?;
    run_at(arguments, output, &duel.names(), &duel.terms, source)
}

/// Runs the command with pairs of a source. Games have `names`.
fn run_at(
    arguments: &DuelArguments,
    output: Output,
    names: &[String],
    terms: &Terms,
    source: &mut dyn PairSource,
) -> anyhow::Result<Outcome> {
    check_place(arguments.out.as_deref())?;
    check_place(arguments.page.as_deref())?;
    let hypotheses = Hypotheses {
        elo0: arguments.elo0,
        elo1: arguments.elo1,
    };
    let (elo0, elo1) = (hypotheses.elo0, hypotheses.elo1);
    if !(elo0.is_finite() && elo1.is_finite() && elo1 > elo0) {
        bail!("--elo1 must be above --elo0");
    }
    let (mut file, known) = match &arguments.out {
        Some(path) => {
            let (file, known) = record::open(path, terms)?;
            (Some(file), known)
        }
        None => (None, Vec::new()),
    };
    let known = known.into_iter();
    let mut known: BTreeMap<_, _> = known.map(|it| ((it.game.clone(), it.pair), it)).collect();
    let in_order = (0..arguments.pairs).flat_map(|pair| {
        let games = 0..names.len();
        games.map(move |game| PairOrder { game, pair })
    });
    let key = |order: &PairOrder| (names[order.game].clone(), order.pair);
    let missing = in_order.clone().filter(|it| !known.contains_key(&key(it)));
    source.start(missing.collect());
    let mut keep = |record: &PairRecord| match &mut file {
        Some(file) => record::append(file, record),
        None => Ok(()),
    };
    let mut results: Vec<GameResult> = names.iter().map(|it| GameResult::new(it)).collect();
    let bar = progress_bar(u64::from(arguments.pairs) * names.len() as u64, "pairs");
    let mut pooled = PairTally::default();
    for order in in_order {
        if order.game == 0 && pooled.verdict(hypotheses) != Verdict::Open {
            break;
        }
        let record = loop {
            if let Some(record) = known.remove(&key(&order)) {
                break record;
            }
            let record = source.next()?;
            let record = record.with_context(|| format!("no pair {} came", order.pair))?;
            if record.terms != *terms {
                bail!(
                    "expected a pair under {terms:?}, found one under {:?}",
                    record.terms
                );
            }
            keep(&record)?;
            known.insert((record.game.clone(), record.pair), record);
        };
        bar.suspend(|| output.object(&record))?;
        pooled.add(record.points.iter().sum());
        results[order.game].add(record);
        bar.inc(1);
        bar.set_message(format!(
            "{} LLR {:+.2}",
            percent(pooled.score()),
            pooled.llr(hypotheses)
        ));
    }
    source.stop();
    while let Some(record) = source.next()? {
        keep(&record)?;
    }
    bar.finish_and_clear();
    let mut page = Page::new("Duel", &report::about(terms, hypotheses));
    report::write(&mut page, &results, &pooled, hypotheses);
    for row in report::objects(&results, &pooled, hypotheses) {
        output.object(&row)?;
    }
    if let Some(path) = arguments.page.as_deref() {
        page.write(Some(path), output)?;
    }
    page.write(None, output)?;
    let verdict = pooled.verdict(hypotheses);
    Ok(Outcome::holds_if(verdict == Verdict::Stronger))
}

/// Plays pairs in this process.
struct LocalPairs {
    duel: Duel,
    orders: VecDeque<PairOrder>,
}

impl PairSource for LocalPairs {
    fn start(&mut self, orders: VecDeque<PairOrder>) {
        self.orders = orders;
    }

    fn stop(&mut self) {
        self.orders.clear();
    }

    fn next(&mut self) -> anyhow::Result<Option<PairRecord>> {
        let order = self.orders.pop_front();
        order.map(|order| self.duel.play(order)).transpose()
    }
}

fn play(
    contest: &mut Contest,
    pair: u32,
    rules: &Rules,
    terms: &Terms,
) -> anyhow::Result<PairRecord> {
    let name = contest.referee.name.clone();
    let played = contest.play(pair, rules);
    let played = played.with_context(|| format!("{name}, pair {pair}"))?;
    let [a, b] = played.usage;
    Ok(PairRecord {
        terms: terms.clone(),
        game: name,
        pair,
        opening: played.opening,
        opening_value: played.opening_value,
        points: played.points,
        lengths: played.lengths,
        a,
        b,
    })
}

/// The engines of all games.
pub struct Duel {
    contests: Vec<Contest>,
    rules: Rules,
    terms: Terms,
}

impl Duel {
    fn names(&self) -> Vec<String> {
        let games = self.contests.iter();
        games.map(|it| it.referee.name.clone()).collect()
    }

    /// Plays a pair.
    ///
    /// # Errors
    /// There is no such game, or an engine failed.
    pub fn play(&mut self, order: PairOrder) -> anyhow::Result<PairRecord> {
        let contest = self.contests.get_mut(order.game);
        let contest = contest.with_context(|| format!("there is no game {}", order.game))?;
        play(contest, order.pair, &self.rules, &self.terms)
    }

    /// Starts the engines and builds the games.
    ///
    /// # Errors
    /// Arguments cannot be used, or an engine does not start.
    pub fn start(arguments: &DuelArguments) -> anyhow::Result<Self> {
        let (rules, width) = rules(arguments);
        let builds = Builds::default();
        let folder = tempfile::tempdir().context("no folder for rulesheets")?;
        let engines = [
            EngineChoice::new("A", &arguments.a_program, &arguments.a, width)?,
            EngineChoice::new("B", &arguments.b_program, &arguments.b, width)?,
        ];
        let mut contests: Vec<Contest> = Vec::new();
        let mut shown = [String::new(), String::new()];
        for game in &arguments.games {
            let sheet = Rulesheet::find(game)?;
            let is_same = |known: &Contest| known.referee.name == sheet.name;
            if contests.iter().any(is_same) {
                bail!("two games are called `{}`", sheet.name);
            }
            let path = rulesheet_file(&sheet, &folder)?;
            let path = path.to_string_lossy().into_owned();
            let referee = Referee::new(&builds.get(&path, width)?)?;
            let mut start = |index: usize| {
                let choice: &EngineChoice = &engines[index];
                let (player, version) = choice.start(&builds, &path)?;
                shown[index] = version;
                anyhow::Ok(player)
            };
            let players = [start(0)?, start(1)?];
            contests.push(Contest { referee, players });
        }
        let [a, b] = shown;
        let terms = Terms {
            a,
            b,
            budget: match rules.budget {
                MoveBudget::Milliseconds(ms) => format!("{ms} ms of processor time"),
                MoveBudget::Iterations(iterations) => format!("{iterations} iterations"),
            },
            study: match arguments.study {
                Some(seconds) => format!("{} of {seconds} s", arguments.studies),
                None => "none".to_string(),
            },
            seed: arguments.seed,
        };
        Ok(Self {
            contests,
            rules,
            terms,
        })
    }
}

/// How pairs are played, and the number of lanes where it is not measured.
fn rules(arguments: &DuelArguments) -> (Rules, Option<usize>) {
    let (budget, reference) = match arguments.iterations {
        Some(iterations) => (
            MoveBudget::Iterations(iterations),
            ReferenceLimit {
                iterations: REFERENCE_ITERATIONS.min(REFERENCE_FACTOR * iterations),
                time: None,
            },
        ),
        None => (
            MoveBudget::Milliseconds(arguments.ms),
            ReferenceLimit {
                iterations: REFERENCE_ITERATIONS,
                time: Some(REFERENCE_TIME),
            },
        ),
    };
    let rules = Rules {
        budget,
        study: arguments.study.unwrap_or(0.0),
        studies: arguments.studies,
        seed: arguments.seed,
        reference,
    };
    (rules, arguments.iterations.map(|_| WIDTH))
}

/// An engine as the command line names it.
struct EngineChoice {
    name: &'static str,
    program: Option<String>,
    settings: Vec<(String, String)>,
}

impl EngineChoice {
    /// With a number of lanes all settings that a match measures are fixed.
    fn new(
        name: &'static str,
        program: &Option<String>,
        settings: &[String],
        width: Option<usize>,
    ) -> anyhow::Result<Self> {
        let mut all = Vec::new();
        if let Some(width) = width {
            all.push(("width".to_string(), width.to_string()));
            let samples = SAMPLES_PER_REQUEST.to_string();
            all.push(("samples_per_request".to_string(), samples));
        }
        for setting in settings {
            let setting = setting.split_once('=');
            let (key, value) = setting.with_context(|| {
                format!("engine {name}: expected KEY=VALUE,... as in exploration=0.6")
            })?;
            all.push((key.trim().to_string(), value.trim().to_string()));
        }
        Ok(Self {
            name,
            program: program.clone(),
            settings: all,
        })
    }

    /// Starts it with a game; also names its version and settings.
    fn start(&self, builds: &Builds, game: &str) -> anyhow::Result<(Player, String)> {
        let mut player = Player {
            name: self.name,
            engine: match &self.program {
                Some(program) => Box::new(Program::start(program)?),
                None => Box::new(LocalEngine::with_builds(builds.clone())?),
            },
            usage: Usage::default(),
        };
        let version = player.ask(&Command::Version)?;
        let text = |key: &str| version[key].as_str().unwrap_or("unknown").to_string();
        let mut shown = format!("{}, commit {}", text("name"), text("commit"));
        for (key, value) in self.settings.iter().cloned() {
            shown.push_str(&format!(", {key}={value}"));
            player.ask(&Command::Set { key, value })?;
        }
        player.ask(&Command::Game(game.to_string()))?;
        Ok((player, shown))
    }
}
