//! The levels that the command line names.

use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;

use anyhow::{Context, bail};
use clap::Args;

use panza_cli::output::counted;
use panza_gdl::text;
use panza_sokoban::text::MAX_BYTES;
use panza_sokoban::{Board, Collection, Entry, Level, Metrics, Solution};

/// A file and some of its levels.
#[derive(Args, Debug)]
pub(super) struct LevelChoice {
    /// A file of levels (.sok, .xsb or .txt), or - for standard input.
    pub file: String,
    /// One level or a range of them, counted from 1; all without it.
    #[arg(long, value_name = "N|A-B", value_parser = parse_range)]
    level: Option<RangeInclusive<usize>>,
}

/// A level with its number in the file.
pub(super) struct NumberedLevel {
    pub number: usize,
    pub entry: Entry,
}

/// A level that can be played.
pub(super) struct Playable<'a> {
    pub level: &'a Level,
    pub board: Board,
}

impl LevelChoice {
    /// Reads the file and picks the levels.
    pub fn load(&self) -> anyhow::Result<Vec<NumberedLevel>> {
        let collection = read(&self.file)?;
        let count = collection.entries().len();
        if count == 0 {
            bail!("{}: no level; expected rows of # @ + $ * .", self.file);
        }
        let range = self.level.clone().unwrap_or(1..=count);
        if *range.end() > count {
            bail!(
                "{} has {}; --level names {}",
                self.file,
                counted(count as u64, "level"),
                range.end()
            );
        }
        let entries = collection.entries().iter().enumerate();
        let numbered = entries.map(|(index, entry)| NumberedLevel {
            number: index + 1,
            entry: entry.clone(),
        });
        let chosen = numbered.filter(|level| range.contains(&level.number));
        Ok(chosen.collect())
    }
}

impl NumberedLevel {
    /// The number, and the title if there is one, in plain letters.
    pub fn name(&self) -> String {
        match self.entry.title() {
            Some(title) => format!("{} {}", self.number, text::plain(title, false)),
            None => self.number.to_string(),
        }
    }

    /// The level and its board.
    ///
    /// # Errors
    ///
    /// What is wrong with the text or the level, in one line.
    pub fn playable(&self) -> Result<Playable<'_>, String> {
        let Some(level) = self.entry.level() else {
            let faults: Vec<String> = self
                .entry
                .faults()
                .iter()
                .map(ToString::to_string)
                .collect();
            return Err(faults.join("; "));
        };
        let board = Board::new(level).map_err(|error| error.to_string())?;
        Ok(Playable { level, board })
    }

    /// The verified solutions of the file.
    pub fn solutions(&self, board: &Board) -> Vec<Solution> {
        let texts = self.entry.solutions().iter();
        let solutions = texts.map(|named| Solution::from_text(board, named.moves()));
        solutions.filter_map(Result::ok).collect()
    }
}

/// Reads a file of levels; `-` is standard input.
pub(super) fn read(file: &str) -> anyhow::Result<Collection> {
    let cannot_read = || format!("cannot read `{file}`");
    let mut bytes = Vec::new();
    // One byte more shows that the text is too long.
    let most = MAX_BYTES as u64 + 1;
    if file == "-" {
        let input = std::io::stdin().lock();
        input
            .take(most)
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
    } else {
        let input = File::open(file).with_context(cannot_read)?;
        input
            .take(most)
            .read_to_end(&mut bytes)
            .with_context(cannot_read)?;
    }
    Collection::read(&text::decode(&bytes).0).with_context(|| format!("`{file}`"))
}

/// The moves and pushes of a solution in words.
pub(super) fn length(metrics: &Metrics) -> String {
    let [moves, pushes] = [(metrics.moves, "move"), (metrics.pushes, "push")]
        .map(|(number, thing)| counted(number as u64, thing));
    format!("{moves}, {pushes}")
}

/// All metrics of a solution in words.
pub(super) fn listed(metrics: &Metrics) -> String {
    let counts = [
        (metrics.box_lines, "box line"),
        (metrics.box_changes, "box change"),
        (metrics.pushing_sessions, "pushing session"),
        (metrics.player_lines, "player line"),
    ]
    .map(|(number, thing)| counted(number as u64, thing));
    format!("{}, {}", length(metrics), counts.join(", "))
}

fn parse_range(text: &str) -> Result<RangeInclusive<usize>, String> {
    let number = |text: &str| text.parse::<usize>().ok().filter(|&number| number > 0);
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok(first..=last),
        _ => Err("expected the number of a level, or a range such as 3-12".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_count_from_one() {
        assert_eq!(parse_range("7"), Ok(7..=7));
        assert_eq!(parse_range("3-12"), Ok(3..=12));
        for text in ["0", "", "-", "4-3", "1-", "x", "1-2-3"] {
            assert!(parse_range(text).is_err(), "{text}");
        }
    }
}
