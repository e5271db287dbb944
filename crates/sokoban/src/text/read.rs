//! Lines to levels.
//!
//! Rows without other lines between them are a block. The text between two blocks is divided in
//! two: a paragraph that stands right above a block belongs to it, as does a title of one line
//! above an empty line; the rest belongs to the block before.

use super::lines::{self, Line};
use super::{Collection, Entry, Fault, NamedMoves};
use crate::level::{Level, LevelError};
use std::ops::Range;

/// The most moves that are read of a collection, all solutions together.
const MAX_ALL_MOVES: usize = 1 << 26;

/// The rows of one level.
struct Block {
    rows: Vec<String>,
    /// The line of each row.
    row_lines: Vec<usize>,
    /// The lines of the text.
    lines: Range<usize>,
}

/// A reader of one text.
struct Reader<'a> {
    texts: Vec<&'a str>,
    kinds: Vec<Line>,
    moves_left: usize,
}

/// A note, or a solution with its name and the lines of its moves.
struct Piece<'a> {
    end: usize,
    moves: Option<(&'a str, Range<usize>)>,
}

/// Reads a whole text.
pub(super) fn collection(text: &str) -> Collection {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let texts: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut kinds = kinds(&texts);
    let mut blocks = blocks(&mut kinds);
    let mut reader = Reader {
        texts,
        kinds,
        moves_left: MAX_ALL_MOVES,
    };
    let mut collection = Collection::default();
    let mut start = 0;
    let mut above = Vec::new();
    for number in 0..=blocks.len() {
        let next = blocks.get(number).map(|block| block.lines.clone());
        let end = next.as_ref().map_or(reader.texts.len(), |next| next.start);
        let split = match next {
            Some(_) => reader.split(start..end, number > 0),
            None => end,
        };
        match number.checked_sub(1) {
            Some(last) => {
                let entry = reader.entry(&mut blocks[last], number, &above, start..split);
                collection.entries.push(entry);
            }
            None => collection.notes = trimmed(reader.texts[start..split].to_vec()),
        }
        above = (split..end).collect();
        start = next.map_or(end, |next| next.end);
    }
    collection
}

/// What each line is. Lines of comments are text.
fn kinds(texts: &[&str]) -> Vec<Line> {
    let mut kinds = Vec::with_capacity(texts.len());
    let mut comment_end = 0;
    // The end of a comment that begins above each line.
    let mut ends = vec![None; texts.len() + 1];
    for (index, text) in texts.iter().enumerate().rev() {
        ends[index] = if lines::is_comment_mark(text, "Comment-End") {
            Some(index + 1)
        } else if lines::is_comment_mark(text, "Comment") {
            None
        } else {
            ends[index + 1]
        };
    }
    for (index, text) in texts.iter().enumerate() {
        if lines::is_comment_mark(text, "Comment") && index >= comment_end {
            comment_end = ends[index + 1].unwrap_or(comment_end);
        }
        kinds.push(if index < comment_end {
            Line::Text
        } else {
            lines::classify(text, matches!(kinds.last(), Some(Line::Rows(_))))
        });
    }
    kinds
}

/// The blocks of rows, which are taken out of the lines. A second player begins a new level where
/// run lengths put a level on one line.
fn blocks(kinds: &mut [Line]) -> Vec<Block> {
    let has_player = |rows: &[String]| rows.iter().any(|row| row.contains(['@', '+']));
    let mut blocks: Vec<Block> = Vec::new();
    let mut last_is_whole = false;
    for (index, kind) in kinds.iter_mut().enumerate() {
        let Line::Rows(rows) = kind else { continue };
        let rows = std::mem::take(rows);
        let is_whole = rows.len() > 1 && has_player(&rows);
        let row_lines = std::iter::repeat_n(index, rows.len());
        match blocks.last_mut() {
            Some(block) if block.lines.end == index && !(is_whole && last_is_whole) => {
                block.row_lines.extend(row_lines);
                block.rows.extend(rows);
                block.lines.end = index + 1;
            }
            _ => blocks.push(Block {
                row_lines: row_lines.collect(),
                rows,
                lines: index..index + 1,
            }),
        }
        last_is_whole = is_whole;
    }
    blocks
}

/// Lines without blank ones at both ends, and with one blank line instead of several.
fn trimmed(lines: Vec<&str>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in lines {
        let is_blank = line.trim().is_empty();
        if !is_blank || out.last().is_some_and(|last| !last.is_empty()) {
            out.push(if is_blank {
                String::new()
            } else {
                line.to_string()
            });
        }
    }
    if out.last().is_some_and(String::is_empty) {
        out.pop();
    }
    out
}

/// Marks lines as comments that would be read as a solution by themselves: moves below a header
/// that was not theirs, since a solution stood between them, and those of a solution that was too
/// long.
fn without_false_solutions(mut notes: Vec<String>) -> Vec<String> {
    let mut below_header = false;
    for note in notes.iter_mut().filter(|note| !note.is_empty()) {
        let header = lines::solution_header(note);
        let has_moves = header.is_some_and(|header| !header.moves.is_empty());
        let is_false = has_moves || below_header && lines::is_moves(note);
        below_header = header.is_some() || is_false;
        if is_false {
            note.insert_str(0, ":: ");
        }
    }
    notes
}

impl<'a> Reader<'a> {
    /// The line from which the text in `range`, above a block, belongs to that block.
    fn split(&self, range: Range<usize>, has_previous: bool) -> usize {
        let is_blank = |index: usize| self.kinds[index] == Line::Blank;
        let Some(last) = range.clone().rev().find(|&index| !is_blank(index)) else {
            return range.end;
        };
        let mut first = last + 1;
        while first > range.start && self.is_plain(first - 1) {
            first -= 1;
        }
        if first > last {
            return range.end;
        }
        let touches_next = last + 1 == range.end;
        if has_previous && first == range.start {
            let is_title = touches_next && self.is_title(last);
            return if is_title { last } else { range.end };
        }
        let is_numbered = (first..=last).all(|index| self.texts[index].starts_with(';'));
        let is_line = first == last && self.is_title(last);
        if touches_next || is_numbered || is_line {
            first
        } else {
            range.end
        }
    }

    /// Whether a line is text that announces nothing below it.
    fn is_plain(&self, index: usize) -> bool {
        let text = self.texts[index];
        self.kinds[index] == Line::Text
            && lines::solution_header(text).is_none()
            && !lines::is_snapshot_header(text)
            && !lines::is_comment_mark(text, "Comment")
            && !lines::is_comment_mark(text, "Comment-End")
    }

    /// Whether a plain line can be a title.
    fn is_title(&self, index: usize) -> bool {
        let text = self.texts[index].trim();
        let is_comment = text.starts_with("::");
        !is_comment && lines::key_value(text.trim_start_matches(';').trim()).is_none()
    }

    /// A level with the lines `above` its rows and the lines in `below`.
    fn entry(
        &mut self,
        block: &mut Block,
        number: usize,
        above: &[usize],
        below: Range<usize>,
    ) -> Entry {
        let rows = std::mem::take(&mut block.rows);
        let mut faults = Vec::new();
        let level = match Level::from_rows(&rows) {
            Ok(level) => Some(level),
            Err(error) => {
                faults.push(level_fault(&error, block));
                None
            }
        };
        let mut notes = Vec::new();
        let mut title = None;
        for &index in above.iter().rev() {
            let text = self.texts[index];
            match title_of(text, number) {
                Some(found) if title.is_none() && self.is_title(index) => title = Some(found),
                // The number of the level alone is written anyway.
                None if text.starts_with(';') => {}
                _ => notes.push(text),
            }
        }
        notes.reverse();
        let mut solutions = Vec::new();
        notes.push("");
        self.below(below, &mut notes, &mut solutions, &mut faults);
        Entry {
            title: title.map(str::to_string),
            rows,
            level,
            notes: without_false_solutions(trimmed(notes)),
            solutions,
            faults,
        }
    }

    /// Divides the lines below a level into notes and solutions.
    fn below(
        &mut self,
        range: Range<usize>,
        notes: &mut Vec<&'a str>,
        solutions: &mut Vec<NamedMoves>,
        faults: &mut Vec<Fault>,
    ) {
        let mut index = range.start;
        while index < range.end {
            let piece = self.piece(index, range.end, faults);
            let moves = piece.moves.map(|(name, lines)| (name, self.moves(lines)));
            match moves {
                Some((name, Ok(moves))) => {
                    let name = name.to_string();
                    solutions.push(NamedMoves { name, moves });
                    notes.push("");
                }
                other => {
                    faults.extend(other.and_then(|(_, moves)| moves.err()));
                    notes.extend(&self.texts[index..piece.end]);
                }
            }
            index = piece.end;
        }
    }

    /// The lines from `index` on that are one note or one solution.
    fn piece(&self, index: usize, end: usize, faults: &mut Vec<Fault>) -> Piece<'a> {
        let text = self.texts[index];
        let note = |end| Piece { end, moves: None };
        let solution = |name, lines: Range<usize>| Piece {
            end: lines.end,
            moves: Some((name, lines)),
        };
        let end_of_moves = |mut from: usize| {
            while from < end && self.kinds[from] == Line::Moves {
                from += 1;
            }
            from
        };
        match self.kinds[index] {
            Line::Moves => {
                let lines = index..end_of_moves(index);
                if self.ends_in_push(lines.clone()) {
                    return solution("Solution", lines);
                }
                note(lines.end)
            }
            Line::Solution => solution(
                lines::solution_header(text).map_or("Solution", |header| header.name),
                index..end_of_moves(index + 1),
            ),
            Line::Text => {
                let next = (index + 1..end).find(|&next| self.kinds[next] != Line::Blank);
                let moves = next.filter(|&next| self.kinds[next] == Line::Moves);
                let header = lines::solution_header(text);
                match (header, moves) {
                    (Some(header), Some(moves)) => {
                        return solution(header.name, moves..end_of_moves(moves));
                    }
                    (Some(_), None) => {
                        faults.extend(next.and_then(|next| self.faulty_moves(next)));
                    }
                    (None, Some(moves)) if lines::is_snapshot_header(text) => {
                        return note(end_of_moves(moves));
                    }
                    _ => {}
                }
                note(index + 1)
            }
            _ => note(index + 1),
        }
    }

    /// A solution without a header is told from words such as 'Lull' by its end: the last move of a
    /// solution is a push.
    fn ends_in_push(&self, range: Range<usize>) -> bool {
        let last = range.last().map_or("", |index| self.texts[index]);
        last.ends_with(['L', 'U', 'R', 'D'])
    }

    /// The moves of lines, the first of which may be a header.
    fn moves(&mut self, range: Range<usize>) -> Result<String, Fault> {
        let mut moves = String::new();
        for index in range.clone() {
            let text = self.texts[index];
            let line = match lines::solution_header(text) {
                Some(header) => header.moves,
                None => text,
            };
            if !lines::expand_moves(line, &mut moves) || moves.len() > self.moves_left {
                let most = self.moves_left.min(lines::MAX_MOVES);
                return Err(Fault {
                    line: index + 1,
                    column: 1,
                    message: format!("expected a solution of at most {most} moves"),
                });
            }
        }
        self.moves_left -= moves.len();
        Ok(moves)
    }

    /// The first wrong character of a line that looks like moves and is none.
    fn faulty_moves(&self, index: usize) -> Option<Fault> {
        let text = self.texts[index];
        let column = (text.chars()).position(|c| !lines::is_move(c) && !c.is_ascii_digit());
        let column = column.filter(|_| self.kinds[index] == Line::Text && !text.contains(' '))?;
        let found = text.chars().nth(column)?;
        (column >= 4).then(|| Fault {
            line: index + 1,
            column: column + 1,
            message: format!("expected a move (l u r d, L U R D for a push), found `{found}`"),
        })
    }
}

/// The title in a line above rows: without `;` and the number of the level.
fn title_of(text: &str, number: usize) -> Option<&str> {
    let Some(rest) = text.strip_prefix(';') else {
        return Some(text.trim()).filter(|title| !title.is_empty());
    };
    let rest = rest.trim();
    let (first, others) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let title = if first == number.to_string() {
        others.trim()
    } else {
        rest
    };
    (!title.is_empty()).then_some(title)
}

/// Where in the text rows are no level.
fn level_fault(error: &LevelError, block: &Block) -> Fault {
    let first = block.lines.start + 1;
    let line_of = |row: usize| block.row_lines.get(row).map_or(first, |line| line + 1);
    let (line, column, message) = match error {
        LevelError::Character {
            line,
            column,
            found,
        } => (
            line_of(*line),
            column + 1,
            format!("expected one of # @ + $ * . - _ or a space, found `{found}`"),
        ),
        LevelError::SecondPlayer { line, column } => (
            line_of(*line),
            column + 1,
            "expected one player in the level, found a second one".to_string(),
        ),
        LevelError::NoPlayer => (
            first,
            1,
            "expected a player (`@` or `+`) in the level that begins here".to_string(),
        ),
        LevelError::TooLarge { .. } => (first, 1, error.to_string()),
    };
    Fault {
        line,
        column,
        message,
    }
}
