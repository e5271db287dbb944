//! `cargo lab duel`: whether one engine is stronger than another, by pairs of games.
//!
//! Each engine is the current build with settings, or an outside program that obeys the commands of
//! `cargo lab engine`. The engines play openings of a book, or such that a reference search calls
//! open, each twice with sides swapped, until a sequential test decides. They share luck where they
//! can: the opening, the seeds of studies, and with `--share-studies` the studies. Games of a duel
//! are played in turn, a pair each, and the test is on the pairs of all games together. Pairs come
//! from a [`PairSource`]: this process, or others, which finish them in any order. The test takes
//! them in their own order, so that quick games do not come first.
//!
//! An engine thinks at its own moves only, and only where it has a choice.

pub(crate) mod book;
pub(crate) mod builds;
pub(crate) mod contest;
pub(crate) mod engine;
pub(crate) mod opening;
mod program;
pub mod protocol;
mod record;
pub(crate) mod referee;
mod report;
mod statistics;
mod stored;

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
use serde_json::json;
use tempfile::TempDir;

use crate::page::{Page, check_place};
use crate::performance::rulesheet_file;
use crate::pool::{GameChoice, is_held_out};
use book::{Book, BookOpening};
use builds::Builds;
use contest::{Contest, Player, Rules};
use panza_metagame::sprt::{Hypotheses, Verdict};
use program::Program;
use protocol::Command;
pub use record::PairRecord;
use record::{Terms, Usage};
use referee::Referee;
use report::{Results, percent};

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
    #[command(flatten)]
    games: GameChoice,
    /// Play the openings of this book, see `cargo lab book`. Games that it does not have are left
    /// out.
    #[arg(long, value_name = "FILE")]
    book: Option<PathBuf>,
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
    /// Milliseconds on the clock in which an engine ponders while the other one thinks.
    #[arg(long, value_name = "MS", value_parser = parse_milliseconds)]
    ponder: Option<f64>,
    /// Iterations for a move, instead of time.
    #[arg(long, value_name = "N", conflicts_with = "ms", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    iterations: Option<u64>,
    /// Seconds of a start clock, in which each engine studies each game: processor time for
    /// training.
    /// [default: no study]
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    study: Option<f64>,
    /// Independent studies of each engine, used in turn over the pairs.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    studies: u32,
    /// Write engine A's studies to this folder, for --share-studies.
    #[arg(long, value_name = "FOLDER", requires = "study")]
    save_studies: Option<PathBuf>,
    /// Let both engines play with the studies in this folder instead of making some. Where only the
    /// search differs this takes the luck of studies out.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["study", "save_studies"])]
    share_studies: Option<PathBuf>,
    /// Pairs of each game, at most.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pairs: u32,
    /// Elo difference at which A is not stronger.
    #[arg(long, default_value_t = 0.0)]
    elo0: f64,
    /// Elo difference at which A is stronger; above --elo0.
    #[arg(long, default_value_t = 20.0)]
    elo1: f64,
    /// Seed of openings, studies and searches.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Check the measure itself: play the current build against itself, first with other seeds
    /// only, then with the exploration of A halved. The interval of the first has to hold 50 %,
    /// that of the second must not.
    #[arg(long, conflicts_with_all = ["a", "b", "a_program", "b_program", "out"])]
    itself: bool,
    /// Append each pair to this file; go on after the pairs in it.
    #[arg(long, value_name = "FILE.jsonl")]
    out: Option<PathBuf>,
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
    if arguments.itself {
        return check_itself(arguments, output);
    }
    let results = play_here(arguments, output, &arguments.a)?;
    Ok(Outcome::holds_if(
        results.is_stronger(hypotheses(arguments)?),
    ))
}

/// Plays the duel in this process, with these settings of engine A.
fn play_here(arguments: &DuelArguments, output: Output, a: &[String]) -> anyhow::Result<Results> {
    let duel = Duel::start_with(arguments, a)?;
    let (names, terms) = (duel.names(), duel.terms.clone());
    let mut pairs = LocalPairs {
        duel,
        orders: VecDeque::new(),
    };
    run_at(arguments, output, &names, &terms, &mut pairs)
}

/// Plays the build against itself, equal and hampered. Neither duel ends before its last pair,
/// since an interval after a sequential test is biased.
fn check_itself(arguments: &DuelArguments, output: Output) -> anyhow::Result<Outcome> {
    let settings = panza_config::Settings::load(None, &[])?;
    let halved = panza_player::search_config(&settings.search, 0).exploration / 2.0;
    let equal = play_here(arguments, output, &[])?.pooled.interval();
    let hampered = play_here(arguments, output, &[format!("exploration={halved}")])?;
    let hampered = hampered.pooled.interval();
    let is_held = equal.is_none_or(|(low, high)| low <= 0.5 && 0.5 <= high);
    let is_found = hampered.is_some_and(|(low, high)| high < 0.5 || low > 0.5);
    let said = |holds| if holds { "yes" } else { "no" };
    output.line(format_args!(
        "The interval of equal engines holds 50 %: {}. Halved exploration is found: {}.",
        said(is_held),
        said(is_found)
    ))?;
    output.object(&json!({"equal_holds": is_held, "halved_is_found": is_found}))?;
    Ok(Outcome::holds_if(is_held && is_found))
}

/// The hypotheses of the sequential test.
fn hypotheses(arguments: &DuelArguments) -> anyhow::Result<Hypotheses> {
    let (elo0, elo1) = (arguments.elo0, arguments.elo1);
    if !(elo0.is_finite() && elo1.is_finite() && elo1 > elo0) {
        bail!("--elo1 must be above --elo0");
    }
    Ok(Hypotheses { elo0, elo1 })
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
    if arguments.itself {
        bail!("--itself plays two duels; it is for `cargo lab duel`");
    }
    let duel = Duel::start(arguments)?;
    let results = run_at(arguments, output, &duel.names(), &duel.terms, source)?;
    Ok(Outcome::holds_if(
        results.is_stronger(hypotheses(arguments)?),
    ))
}

/// Runs the command with pairs of a source. Games have `names`.
fn run_at(
    arguments: &DuelArguments,
    output: Output,
    names: &[String],
    terms: &Terms,
    source: &mut dyn PairSource,
) -> anyhow::Result<Results> {
    check_place(arguments.out.as_deref())?;
    let hypotheses = hypotheses(arguments)?;
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
    let mut results = Results::new(names);
    let bar = progress_bar(u64::from(arguments.pairs) * names.len() as u64, "pairs");
    for order in in_order {
        let may_end = order.game == 0 && !arguments.itself;
        if may_end && results.pooled.verdict(hypotheses) != Verdict::Open {
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
        if !is_held_out(&record.game) {
            bar.suspend(|| output.object(&record))?;
        }
        results.add(order.game, record);
        bar.inc(1);
        bar.set_message(format!(
            "{} LLR {:+.2}",
            percent(results.pooled.score()),
            results.pooled.llr(hypotheses)
        ));
    }
    source.stop();
    while let Some(record) = source.next()? {
        keep(&record)?;
    }
    bar.finish_and_clear();
    let mut page = Page::new("Duel", &report::about(terms, hypotheses));
    report::write(&mut page, &results, hypotheses);
    for row in report::objects(&results, hypotheses) {
        output.object(&row)?;
    }
    page.write(None, output)?;
    Ok(results)
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
        opening_values: played.opening_values,
        study: played.study,
        won: played.won,
        points: played.points,
        lengths: played.lengths,
        a,
        b,
    })
}

/// The games of a duel. Each is built, and its engines start, with its first pair.
pub struct Duel {
    games: Vec<DuelGame>,
    engines: [EngineChoice; 2],
    builds: Builds,
    width: Option<usize>,
    rules: Rules,
    terms: Terms,
    /// For rulesheets that have no file.
    folder: TempDir,
}

struct DuelGame {
    sheet: Rulesheet,
    openings: Vec<BookOpening>,
    contest: Option<Contest>,
}

impl Duel {
    fn names(&self) -> Vec<String> {
        let games = self.games.iter();
        games.map(|it| it.sheet.name.clone()).collect()
    }

    /// Plays a pair.
    ///
    /// # Errors
    /// There is no such game, it cannot be played, or an engine failed.
    pub fn play(&mut self, order: PairOrder) -> anyhow::Result<PairRecord> {
        let game = self.games.get_mut(order.game);
        let game = game.with_context(|| format!("there is no game {}", order.game))?;
        let contest = match &mut game.contest {
            Some(contest) => contest,
            None => {
                let path = rulesheet_file(&game.sheet, &self.folder)?;
                let path = path.to_string_lossy().into_owned();
                let mut referee = Referee::new(&self.builds.get(&path, self.width)?)?;
                for opening in &game.openings {
                    let played = opening.replay(&mut referee);
                    played.with_context(|| format!("game `{}`", referee.name))?;
                }
                let start = |choice: &EngineChoice| {
                    let (mut player, _) = choice.start(&self.builds)?;
                    player.ask(&Command::Game(path.clone()))?;
                    anyhow::Ok(player)
                };
                let [a, b] = &self.engines;
                game.contest.insert(Contest {
                    referee,
                    players: [start(a)?, start(b)?],
                    book: game.openings.clone(),
                })
            }
        };
        play(contest, order.pair, &self.rules, &self.terms)
    }

    /// Finds the games and sees that the engines start.
    ///
    /// # Errors
    /// Arguments cannot be used, or an engine does not start.
    pub fn start(arguments: &DuelArguments) -> anyhow::Result<Self> {
        Self::start_with(arguments, &arguments.a)
    }

    /// As [`start`](Self::start), with these settings of engine A.
    fn start_with(arguments: &DuelArguments, a: &[String]) -> anyhow::Result<Self> {
        let (rules, width) = rules(arguments);
        let builds = Builds::default();
        let engines = [
            EngineChoice::new("A", &arguments.a_program, a, width)?,
            EngineChoice::new("B", &arguments.b_program, &arguments.b, width)?,
        ];
        let (_, a) = engines[0].start(&builds)?;
        let (_, b) = engines[1].start(&builds)?;
        let book = arguments.book.as_deref().map(Book::load).transpose()?;
        let studies = arguments.studies;
        let terms = Terms {
            a,
            b,
            budget: {
                let thinking = match rules.iterations {
                    Some(iterations) => format!("{iterations} iterations"),
                    None => format!("{} ms of processor time", rules.ms),
                };
                let pondering = rules.ponder.map(|ms| format!(", {ms} ms of pondering"));
                thinking + &pondering.unwrap_or_default()
            },
            study: match (arguments.study, &arguments.share_studies) {
                (Some(seconds), _) => format!("{studies} of {seconds} s"),
                (None, Some(_)) => format!("{studies}, the same for both"),
                (None, None) => "none".to_string(),
            },
            seed: arguments.seed,
            book: book.as_ref().map(|book| (book.len(), book.identity)),
        };
        Ok(Self {
            games: games(arguments, book)?,
            engines,
            builds,
            width,
            rules,
            terms,
            folder: tempfile::tempdir().context("no folder for rulesheets")?,
        })
    }
}

/// The games, with their openings. Those that a book does not have are left out.
fn games(arguments: &DuelArguments, book: Option<Book>) -> anyhow::Result<Vec<DuelGame>> {
    let sheets = arguments.games.sheets()?;
    let has_book = book.is_some();
    let mut openings = book.unwrap_or_default().games;
    let games = sheets.into_iter().map(|sheet| DuelGame {
        openings: openings.remove(&sheet.name).unwrap_or_default(),
        sheet,
        contest: None,
    });
    let (games, without): (Vec<_>, Vec<_>) =
        games.partition(|game| !has_book || !game.openings.is_empty());
    let without: Vec<&str> = without.iter().map(|game| &*game.sheet.name).collect();
    if games.is_empty() {
        bail!("the book has no opening of {}", without.join(", "));
    }
    if !without.is_empty() {
        tracing::warn!("the book has no opening of {}", without.join(", "));
    }
    Ok(games)
}

/// How pairs are played, and the number of lanes where it is not measured.
fn rules(arguments: &DuelArguments) -> (Rules, Option<usize>) {
    let reference = match arguments.iterations {
        Some(iterations) => (
            REFERENCE_ITERATIONS.min(REFERENCE_FACTOR * iterations),
            None,
        ),
        None => (REFERENCE_ITERATIONS, Some(REFERENCE_TIME)),
    };
    let rules = Rules {
        ms: arguments.ms,
        iterations: arguments.iterations,
        ponder: arguments.ponder,
        study: arguments.study.unwrap_or(0.0),
        studies: arguments.studies,
        seed: arguments.seed,
        reference,
        studies_to: arguments.save_studies.clone(),
        studies_from: arguments.share_studies.clone(),
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

    /// Starts it without a game; also names its version and settings.
    fn start(&self, builds: &Builds) -> anyhow::Result<(Player, String)> {
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
        Ok((player, shown))
    }
}
