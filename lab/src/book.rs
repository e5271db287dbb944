//! `cargo lab book`: balanced openings of games, made once, so that all duels play the same ones.
//!
//! An opening is a random line of a few joint moves. Searches of two kinds have to call its
//! position balanced and must not prove it: one without a study, and one with the study of the
//! game, or with wider exploration where a study changes nothing. So the openings do not favour
//! what one kind of search believes. In a zero-sum game of two roles a balanced value is 40 to 60;
//! elsewhere the values of the roles are at most as far apart.
//!
//! The file is written line by line, so that a book that was interrupted goes on. An opening that
//! was not found within [`MAX_SEARCHED`] positions has a line that says so.
//!
//! Never uses: duels.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use panza_cli::arguments::parse_seconds;
use panza_cli::output::{counted, progress_bar, write_whole};
use panza_cli::{Outcome, Output, Rulesheet};
use panza_config::Settings;
use panza_metagame::{PreparationBudget, prepare};
use panza_search::SearchConfig;
use panza_sync::Random;
use serde_json::json;

use crate::duel::book::{Book, BookLine, BookOpening, read_lines};
use crate::duel::builds::{Builds, NamedGame};
use crate::duel::contest::derived_seed;
use crate::duel::opening::{Valued, random_line, reference_config, spread, value};
use crate::duel::referee::Referee;
use crate::page::check_place;
use crate::performance::rulesheet_file;
use crate::pool::{GameChoice, is_held_out};

/// Points between the values of roles up to which an opening is balanced.
const MAX_SPREAD: f64 = 20.0;
/// The same for a first look, which has this share of the time.
const MAX_SPREAD_AT_FIRST: f64 = 40.0;
const FIRST_LOOK: f64 = 0.05;
/// Random lines of an opening, and those that pass the first look, at most.
const MAX_LINES: u32 = 100;
const MAX_SEARCHED: u32 = 12;
/// The exploration of the second search where a study changes nothing, as a factor.
const WIDER: f32 = 2.0;
/// Iterations of a search, which is limited by its time.
const MAX_ITERATIONS: u64 = 1 << 40;

#[derive(Args, Debug)]
pub struct BookArguments {
    #[command(flatten)]
    games: GameChoice,
    /// The book; goes on after the openings in it.
    #[arg(long, value_name = "FILE.jsonl")]
    out: PathBuf,
    /// Openings of each game.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    openings: u32,
    /// Seconds of processor time of each of the two searches, and of the study of a game.
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = parse_seconds)]
    seconds: f64,
    /// Seed of the random lines.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Also write the moves of the openings to this folder, a folder for each game, as `panza match
    /// --opening` and tournaments read them.
    #[arg(long, value_name = "FOLDER")]
    moves: Option<PathBuf>,
}

/// Runs the command. [`Outcome::DoesNotHold`] if openings are missing.
pub fn run(arguments: &BookArguments, output: Output) -> anyhow::Result<Outcome> {
    check_place(Some(&arguments.out))?;
    let sheets = arguments.games.sheets()?;
    let (mut file, known) = open(arguments)?;
    let bar = progress_bar(
        sheets.len() as u64 * u64::from(arguments.openings),
        "openings",
    );
    let folder = tempfile::tempdir().context("no folder for rulesheets")?;
    let mut missing = 0;
    for sheet in &sheets {
        let of_game = known.iter().filter(|line| line.game == sheet.name);
        let mut lines: Vec<BookLine> = of_game.cloned().collect();
        bar.set_message(match is_held_out(&sheet.name) {
            true => "held out".to_string(),
            false => sheet.name.clone(),
        });
        bar.inc(lines.len() as u64);
        if lines.len() < arguments.openings as usize {
            let path = rulesheet_file(sheet, &folder)?;
            let game = Builds::default().get(&path.to_string_lossy(), None)?;
            let mut maker = Maker::new(&game, arguments)?;
            for number in 0..arguments.openings {
                if lines.iter().any(|line| line.number == number) {
                    continue;
                }
                let line = maker.make(number, &lines)?;
                let text = format!("{}\n", serde_json::to_string(&line)?);
                let written = file.write_all(text.as_bytes());
                written.context("an opening cannot be written to the book")?;
                bar.inc(1);
                lines.push(line);
            }
        }
        let found = lines.iter().filter(|line| line.opening.is_some()).count();
        missing += lines.len() - found;
        if !is_held_out(&sheet.name) {
            output.object(&json!({"game": sheet.name, "openings": found}))?;
            let found = counted(found as u64, "opening");
            bar.suspend(|| output.line(format_args!("{}: {found}", sheet.name)))?;
        }
    }
    bar.finish_and_clear();
    if let Some(folder) = &arguments.moves {
        let games = write_openings(&Book::load(&arguments.out)?, &sheets, folder)?;
        let games = counted(games.len() as u64, "game");
        output.line(format_args!("openings of {games} in {}", folder.display()))?;
    }
    if missing > 0 {
        output.complaint(format_args!("balanced openings not found: {missing}"));
    }
    Ok(Outcome::holds_if(missing == 0))
}

/// Opens the book for further lines, and gives those in it. Fails if they were made otherwise.
fn open(arguments: &BookArguments) -> anyhow::Result<(File, Vec<BookLine>)> {
    let path = &arguments.out;
    let shown = path.display();
    let mut known = Vec::new();
    if path.is_file() {
        known = read_lines(path)?;
        let (seed, seconds) = (arguments.seed, arguments.seconds);
        let is_other = |line: &&BookLine| line.seed != seed || line.seconds != seconds;
        if let Some(other) = known.iter().find(is_other) {
            bail!(
                "`{shown}` has openings of --seed {} and --seconds {}; expected {seed} and {seconds}",
                other.seed,
                other.seconds
            );
        }
        let lines = known.iter().map(serde_json::to_string);
        let lines: Vec<String> = lines.collect::<Result<_, _>>()?;
        let text: String = lines.into_iter().map(|line| line + "\n").collect();
        // A line that was cut off is left out.
        write_whole(path, &text)?;
    }
    let file = OpenOptions::new().append(true).create(true).open(path);
    let file = file.with_context(|| format!("cannot write `{shown}`"))?;
    Ok((file, known))
}

/// Finds openings of a game.
struct Maker {
    referee: Referee,
    /// The settings of the two searches.
    configs: [SearchConfig; 2],
    seconds: f64,
    seed: u64,
}

impl Maker {
    fn new(game: &NamedGame, arguments: &BookArguments) -> anyhow::Result<Self> {
        let plain = reference_config()?;
        let settings = Settings::load(None, &[])?.metagame;
        let time = Duration::from_secs_f64(arguments.seconds);
        let budget = PreparationBudget {
            learning: true,
            processor_time: true,
            ..PreparationBudget::from_now(&settings, time, &Arc::default())
        };
        let study = prepare(&game.built, None, &plain, &budget);
        let mut other = study.apply(&plain);
        if !study.is_useful() {
            other.exploration *= WIDER;
        }
        Ok(Self {
            referee: Referee::new(game)?,
            configs: [plain, other],
            seconds: arguments.seconds,
            seed: arguments.seed,
        })
    }

    /// The line of an opening. `known` are others, whose positions it does not repeat.
    fn make(&mut self, number: u32, known: &[BookLine]) -> anyhow::Result<BookLine> {
        let seed = derived_seed(self.seed, &self.referee.name, &[3, number]);
        let mut random = Random::new(seed);
        let (mut searched, mut opening) = (0, None);
        for _ in 0..MAX_LINES {
            if searched >= MAX_SEARCHED || opening.is_some() {
                break;
            }
            let Some(moves) = random_line(&mut self.referee, &mut random) else {
                continue;
            };
            let facts = self.referee.facts();
            let mut others = known.iter().filter_map(|line| line.opening.as_ref());
            if others.any(|other| other.facts == facts) {
                continue;
            }
            let first = self.value(0, FIRST_LOOK);
            if first.is_proven || spread(&first.values) > MAX_SPREAD_AT_FIRST {
                continue;
            }
            searched += 1;
            let Some(values) = self.balanced_values() else {
                continue;
            };
            let texts = moves.iter().map(|it| self.referee.texts(it).join(" | "));
            let moves = texts.collect();
            opening = Some(BookOpening {
                moves,
                facts,
                values,
            });
        }
        Ok(BookLine {
            game: self.referee.name.clone(),
            number,
            seed: self.seed,
            seconds: self.seconds,
            opening,
        })
    }

    /// The values by both searches, if both call the position balanced and prove nothing.
    fn balanced_values(&self) -> Option<[Vec<f64>; 2]> {
        let is_balanced = |it: &Valued| !it.is_proven && spread(&it.values) <= MAX_SPREAD;
        let first = Some(self.value(0, 1.0)).filter(is_balanced)?;
        let second = Some(self.value(1, 1.0)).filter(is_balanced)?;
        // Few digits come back from the file as they were.
        let rounded = |value: &f64| (value * 100.0).round() / 100.0;
        Some([first, second].map(|it| it.values.iter().map(rounded).collect()))
    }

    /// What a search says of the position in this share of its time.
    fn value(&self, search: usize, share: f64) -> Valued {
        let time = Duration::from_secs_f64(self.seconds * share);
        let (referee, config) = (&self.referee, &self.configs[search]);
        value(
            &referee.machine,
            referee.state(),
            config,
            (MAX_ITERATIONS, Some(time)),
        )
    }
}

/// Writes the moves of openings as a game manager reads them, and gives each game with the folder
/// of its openings.
pub(crate) fn write_openings<'a>(
    book: &Book,
    sheets: &'a [Rulesheet],
    folder: &Path,
) -> anyhow::Result<Vec<(&'a Rulesheet, PathBuf)>> {
    let mut written = Vec::new();
    for sheet in sheets {
        let Some(openings) = book.games.get(&sheet.name) else {
            continue;
        };
        let folder = folder.join(&sheet.name);
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
        for (number, BookOpening { moves, .. }) in openings.iter().enumerate() {
            let lines = moves
                .iter()
                .map(|mv| format!("({})\n", mv.replace(" | ", " ")));
            let file = folder.join(format!("{number:02}.txt"));
            write_whole(&file, &lines.collect::<String>())?;
        }
        written.push((sheet, folder));
    }
    Ok(written)
}
