//! Collections of levels as text: XSB rows, run lengths, titles, keys, comments and solutions.
//!
//! A collection is read line by line into blocks of rows and the text between them; each piece of
//! text belongs to the level before or after it. Nothing is dropped: a line that is neither a row,
//! a title nor a solution is kept as a note of its level. [`Collection`]'s `Display` writes one
//! canonical form, which reads back as the same collection.
//!
//! What is read, beside rows of XSB characters (`# @ + $ * .`, and `-`, `_` or a space for floor):
//!
//! | text | meaning |
//! |---|---|
//! | `; 12 Title`, or one line of text before the rows | the title of the level |
//! | `Title: A` above the rows, after an empty line; `Maze: 7` | the title of the level |
//! | `#pbo#`, `#PB#` | letters for `@ $ .` and for `+ *`, between walls |
//! | `-` or `_` alone between rows | an empty row |
//! | `4#\|#2-#` | rows with run lengths; `\|` ends a row |
//! | `XXX`, `X@*.X` | rows with walls of `X`; without a `$`, `*` is a box and `&` one on a goal |
//! | `> #####` | rows quoted as in mail |
//! | `***` | a row of stars between levels, which is text |
//! | `Variant: Hexoban` | another game: a fault of the level, or of all levels if it is above all |
//! | `Author: A. Person` | a key and its value |
//! | `Comment:` to `Comment-End:` | text that is read as nothing else |
//! | `Solution` and lines of moves such as `3r2U` | a solution, in LURD with run lengths |
//! | `Solution: rXR` | text of the level, and a fault |
//!
//! XML in the format SLC is read too; its levels become the same collection.
//!
//! Formats: sokobano.de, "Level format", and the `.sok` files of Sokoban YASC.
//!
//! Invariants: a title has no line end and is not empty; notes begin and end with a line that is
//! not blank; the moves of a solution are letters of LURD without run lengths.

mod lines;
mod read;
mod slc;
mod source;

#[cfg(test)]
mod tests;

use super::level::Level;
use std::fmt;

/// The most bytes of a collection that are read.
pub const MAX_BYTES: usize = 8 << 20;

/// The letters of a line of moves that is written.
const MOVES_PER_LINE: usize = 76;

/// Levels in their order, with the text around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collection {
    notes: Vec<String>,
    entries: Vec<Entry>,
}

/// A level of a collection: its rows, and the text that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    title: Option<String>,
    rows: Vec<String>,
    level: Option<Level>,
    notes: Vec<String>,
    solutions: Vec<NamedMoves>,
    faults: Vec<Fault>,
}

/// The moves of a solution, and the line that announces them, such as `Solution/Moves`. The moves
/// are not verified; see [`Solution`](super::solution::Solution).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedMoves {
    name: String,
    moves: String,
}

/// A place in a text where something else was expected. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line of the text.
    pub line: usize,
    /// The column in characters.
    pub column: usize,
    /// What was expected, and what was found.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}, column {}: {}",
            self.line, self.column, self.message
        )
    }
}

impl std::error::Error for Fault {}

impl Collection {
    /// Reads a collection. A level with faults is kept as text with its [`Entry::faults`].
    ///
    /// # Errors
    ///
    /// The text is longer than [`MAX_BYTES`], or begins as XML and is not the XML of levels.
    pub fn read(text: &str) -> Result<Self, Fault> {
        if text.len() > MAX_BYTES {
            return Err(Fault {
                line: 1,
                column: 1,
                message: format!(
                    "expected at most {MAX_BYTES} bytes of text, found {}",
                    text.len()
                ),
            });
        }
        let text = text.trim_start_matches('\u{feff}');
        match slc::is_xml(text) {
            true => slc::collection(text),
            false => Ok(read::collection(text)),
        }
    }

    /// Lines before the first level that belong to no level.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The levels in the order of the text.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Adds a level at the end.
    pub fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }
}

impl FromIterator<Entry> for Collection {
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Self {
        Self {
            notes: Vec::new(),
            entries: entries.into_iter().collect(),
        }
    }
}

impl fmt::Display for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.notes {
            writeln!(f, "{line}")?;
        }
        for (index, entry) in self.entries.iter().enumerate() {
            if index > 0 || !self.notes.is_empty() {
                writeln!(f)?;
            }
            write!(f, "{}", entry.numbered(index + 1))?;
        }
        Ok(())
    }
}

impl Entry {
    /// A level without notes and solutions. Of a title only the first line is kept.
    pub fn new(title: Option<&str>, level: Level) -> Self {
        let title = title.and_then(|title| title.lines().map(str::trim).find(|t| !t.is_empty()));
        Self {
            title: title.map(str::to_string),
            rows: level.to_rows(),
            level: Some(level),
            notes: Vec::new(),
            solutions: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// The title before the rows, or the value of the key `Title`.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref().or_else(|| self.key("Title"))
    }

    /// The level, unless its rows have faults.
    pub fn level(&self) -> Option<&Level> {
        self.level.as_ref()
    }

    /// The rows in XSB characters with spaces for floor, without spaces at their ends.
    pub fn rows(&self) -> &[String] {
        &self.rows
    }

    /// All lines that are neither rows, title nor solutions, in their order.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The value of the first note `name: value`; case does not matter.
    pub fn key(&self, name: &str) -> Option<&str> {
        let mut keys = self.notes.iter().filter_map(|line| lines::key_value(line));
        let (_, value) = keys.find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        (!value.is_empty()).then_some(value)
    }

    /// The solutions in the order of the text, not verified.
    pub fn solutions(&self) -> &[NamedMoves] {
        &self.solutions
    }

    /// The level with its title and notes alone.
    pub fn without_solutions(&self) -> Self {
        Self {
            solutions: Vec::new(),
            ..self.clone()
        }
    }

    /// What is wrong with the rows and solutions as text.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Adds a solution with its name, the word `Solution` unless it begins with that word. Of
    /// `moves` only the letters of LURD are kept.
    pub fn add_solution(&mut self, name: &str, moves: &str) {
        let name = name.lines().next().unwrap_or("").trim();
        let is_name = lines::solution_header(name)
            .is_some_and(|header| header.moves.is_empty() && header.wrong_move(true).is_none());
        self.solutions.push(NamedMoves {
            name: if is_name { name } else { "Solution" }.to_string(),
            moves: moves.chars().filter(|&c| lines::is_move(c)).collect(),
        });
    }

    /// The text of this level as number `number` of a collection.
    pub fn numbered(&self, number: usize) -> impl fmt::Display + '_ {
        Numbered {
            entry: self,
            number,
        }
    }
}

impl NamedMoves {
    /// The line before the moves, such as `Solution/Moves`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The moves as letters of LURD.
    pub fn moves(&self) -> &str {
        &self.moves
    }
}

/// A level with its number in a collection.
struct Numbered<'a> {
    entry: &'a Entry,
    number: usize,
}

impl fmt::Display for Numbered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entry, number } = self;
        match &entry.title {
            Some(title) => writeln!(f, "; {number} {title}")?,
            None => writeln!(f, "; {number}")?,
        }
        for row in entry.rows.iter().skip_while(|row| row.is_empty()) {
            // An empty line would end the level.
            let row = if row.is_empty() { "-" } else { row };
            writeln!(f, "{row}")?;
        }
        if !entry.notes.is_empty() {
            writeln!(f)?;
        }
        for note in &entry.notes {
            writeln!(f, "{note}")?;
        }
        for solution in &entry.solutions {
            writeln!(f, "\n{}", solution.name)?;
            let letters: Vec<char> = solution.moves.chars().collect();
            for line in letters.chunks(MOVES_PER_LINE) {
                writeln!(f, "{}", line.iter().collect::<String>())?;
            }
        }
        Ok(())
    }
}
