//! The file of a book: balanced openings, a line of JSON each.
//!
//! A line has the moves that lead to the position, which engines and game managers play, and the
//! facts of the position, which prove that the rules are still the same. `cargo lab book` writes
//! such files.
//!
//! Invariant: an opening that [`BookOpening::replay`] accepts leads to the facts of its line.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::path::Path;

use anyhow::{Context, bail};
use panza_cli::arguments::read_limited;
use panza_gdl::MoveId;
use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use super::opening::Opening;
use super::referee::Referee;

/// The greatest size of a book that is read.
const MAX_BYTES: u64 = 256 << 20;

/// A line of a book.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BookLine {
    /// The name of the game.
    pub game: String,
    /// The number of the opening in its game, from 0.
    pub number: u32,
    /// The seed of the book, and the seconds of each search.
    pub seed: u64,
    pub seconds: f64,
    /// The opening; none where no balanced one was found.
    pub opening: Option<BookOpening>,
}

/// A position that both kinds of searches call balanced, unproven.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BookOpening {
    /// The joint moves from the initial state, the moves of the roles divided by `|`.
    pub moves: Vec<String>,
    /// The facts that hold then, sorted.
    pub facts: Vec<String>,
    /// The roles' expected goals by each search.
    pub values: [Vec<f64>; 2],
}

/// A book.
#[derive(Clone, Debug, Default)]
pub struct Book {
    /// The openings of each game, in the order of their numbers.
    pub games: BTreeMap<String, Vec<BookOpening>>,
    /// A number for what the book holds.
    pub identity: u64,
}

impl BookOpening {
    /// Plays the moves. The values are the means of those of both searches.
    pub(crate) fn replay(&self, referee: &mut Referee) -> anyhow::Result<Opening> {
        referee.restart();
        let mut moves: Vec<Vec<MoveId>> = Vec::with_capacity(self.moves.len());
        for text in &self.moves {
            let texts: Vec<&str> = text.split('|').map(str::trim).collect();
            if texts.len() != referee.n_roles || referee.is_over() {
                bail!("the opening of the book has `{text}`, which cannot be played there");
            }
            let found = texts.iter().enumerate();
            let found = found.map(|(role, text)| referee.find(role, text));
            let joint_move: Vec<MoveId> = found
                .collect::<anyhow::Result<_>>()
                .context("the opening of the book")?;
            referee.play(&joint_move);
            moves.push(joint_move);
        }
        if referee.facts() != self.facts {
            bail!("the opening of the book leads to other facts: the rules have changed");
        }
        let [first, second] = &self.values;
        let values = first.iter().zip(second).map(|(a, b)| a.midpoint(*b));
        Ok(Opening {
            moves,
            values: values.collect(),
        })
    }
}

impl Book {
    /// Reads a book. Fails where it is none.
    pub fn load(path: &Path) -> anyhow::Result<Self> {
        let mut book = Self::default();
        let mut hasher = FxHasher::default();
        let mut lines = read_lines(path)?;
        lines.sort_by_key(|line| line.number);
        for line in lines {
            let Some(opening) = line.opening else {
                continue;
            };
            (&line.game, &opening.facts).hash(&mut hasher);
            book.games.entry(line.game).or_default().push(opening);
        }
        if book.games.is_empty() {
            bail!("`{}` has no openings", path.display());
        }
        book.identity = hasher.finish();
        Ok(book)
    }

    /// The number of openings.
    pub fn len(&self) -> usize {
        self.games.values().map(Vec::len).sum()
    }
}

/// The lines of a book. A last line that was not finished is left out.
pub fn read_lines(path: &Path) -> anyhow::Result<Vec<BookLine>> {
    let shown = path.display();
    let text = String::from_utf8(read_limited(path, MAX_BYTES)?);
    let text = text.with_context(|| format!("`{shown}` is no text in UTF-8"))?;
    let complete = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    let lines = complete.lines().enumerate().map(|(index, line)| {
        serde_json::from_str(line)
            .with_context(|| format!("`{shown}` line {}: no opening of a book", index + 1))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u32, facts: &[&str]) -> BookLine {
        BookLine {
            game: "hex".into(),
            number,
            seed: 1,
            seconds: 10.0,
            opening: (!facts.is_empty()).then(|| BookOpening {
                moves: vec!["(place a 1) | noop".into()],
                facts: facts.iter().map(ToString::to_string).collect(),
                values: [vec![45.0, 55.0], vec![52.0, 48.0]],
            }),
        }
    }

    #[test]
    fn a_book_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("book.jsonl");
        let lines = [line(1, &["b"]), line(0, &["a"]), line(2, &[])];
        let mut text: String = lines
            .iter()
            .map(|line| serde_json::to_string(line).unwrap() + "\n")
            .collect();
        text.push_str("{\"game\": \"he");
        std::fs::write(&path, &text).unwrap();
        assert_eq!(read_lines(&path).unwrap(), lines);
        let book = Book::load(&path).unwrap();
        assert_eq!(book.len(), 2);
        assert_eq!(book.games["hex"][0].facts, ["a"]);

        for (text, expected) in [
            ("{}\n", "line 1: no opening of a book"),
            ("", "has no openings"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = format!("{:#}", Book::load(&path).unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }
}
