//! Lines to levels.
//!
//! Rows without other lines between them are a block. The text between two blocks is divided in
//! two: a paragraph that stands right above a block belongs to it, as does a title of one line
//! above an empty line or alone between the blocks, and a paragraph with the key `Title` that
//! follows an empty line; the rest belongs to the block before.

use super::lines::{self, Line, MovesOnLine};
use super::source::{self, SourceLine};
use super::{Collection, Entry, Fault, NamedMoves};
use crate::level::{Level, LevelError, MAX_SIDE};
use std::ops::Range;

/// The most moves that are read of a collection, all solutions together.
const MAX_ALL_MOVES: usize = 1 << 26;

/// Values of the key `Variant` for the game that is played here.
const PLAIN_VARIANTS: [&str; 6] = [
    "sokoban", "plain", "standard", "classic", "normal", "original",
];

/// The rows of one level.
pub(super) struct Block {
    pub rows: Vec<String>,
    /// The line of each row.
    pub row_lines: Vec<usize>,
    /// The lines of the text.
    pub lines: Range<usize>,
}

impl Block {
    /// Leaves out rows of nothing but floor at the end.
    pub fn trim(&mut self) {
        while self.rows.last().is_some_and(String::is_empty) {
            self.rows.pop();
            self.row_lines.pop();
        }
    }
}

/// A reader of one text.
struct Reader<'a> {
    texts: Vec<&'a str>,
    /// The characters left out at the front of each line.
    skipped: Vec<usize>,
    kinds: Vec<Line>,
    /// Whether each line is part of a comment.
    comments: Vec<bool>,
    moves_left: usize,
    /// The line before the first level that names the variant of all.
    variant: Option<usize>,
}

/// A note, or a solution with its name and the lines of its moves.
struct Piece<'a> {
    end: usize,
    moves: Option<(&'a str, Range<usize>)>,
    /// What is wrong with a solution, whose lines are a note then.
    fault: Option<Fault>,
}

/// A line that is neither row, title nor solution.
#[derive(Clone, Copy)]
struct Note<'a> {
    text: &'a str,
    /// Whether it reads back as what it is: part of a comment, or of a solution with a fault.
    is_kept: bool,
}

const BLANK: Note = Note {
    text: "",
    is_kept: true,
};

/// Reads a whole text.
pub(super) fn collection(text: &str) -> Collection {
    let lines: Vec<SourceLine> = source::lines(text);
    let texts: Vec<&str> = lines.iter().map(|line| &*line.text).collect();
    let (mut kinds, comments) = kinds(&texts);
    let mut blocks = blocks(&mut kinds);
    let mut reader = Reader {
        texts,
        skipped: lines.iter().map(|line| line.skipped).collect(),
        kinds,
        comments,
        moves_left: MAX_ALL_MOVES,
        variant: None,
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
            None => {
                reader.variant = reader.variant_among(start..split);
                collection.notes = trimmed(reader.texts[start..split].to_vec());
            }
        }
        above = (split..end).collect();
        start = next.map_or(end, |next| next.end);
    }
    collection
}

/// What each line is, and whether it is part of a comment. Lines of comments are text.
fn kinds(texts: &[&str]) -> (Vec<Line>, Vec<bool>) {
    let mut kinds = Vec::with_capacity(texts.len());
    let mut comments = Vec::with_capacity(texts.len());
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
        comments.push(index < comment_end);
        kinds.push(if index < comment_end {
            Line::Text
        } else {
            let follows_row = matches!(kinds.last(), Some(Line::Rows(_) | Line::Floor(_)));
            lines::classify(text, follows_row)
        });
    }
    (kinds, comments)
}

/// The blocks of rows, which are taken out of the lines. A second player begins a new level where
/// run lengths put a level on one line, and after rows of nothing but floor.
fn blocks(kinds: &mut [Line]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut last_is_whole, mut last_has_player) = (false, false);
    for index in 0..kinds.len() {
        let Line::Rows(rows) = &mut kinds[index] else {
            continue;
        };
        let rows = std::mem::take(rows);
        let is_player_here = has_player(&rows);
        let is_whole = rows.len() > 1 && is_player_here;
        let floor = floor_above(kinds, index);
        let is_new = blocks.last().is_none_or(|block| {
            let has_wall = rows.first().is_some_and(|row| row.contains('#'));
            let has_second = !floor.is_empty()
                && last_has_player
                && (is_player_here || has_player_below(kinds, index));
            block.lines.end != floor.start || has_wall && (is_whole && last_is_whole || has_second)
        });
        last_is_whole = is_whole;
        last_has_player = is_player_here || last_has_player && !is_new;
        let row_lines = std::iter::repeat_n(index, rows.len());
        match blocks.last_mut() {
            Some(block) if !is_new => {
                for line in floor {
                    let Line::Floor(count) = kinds[line] else {
                        continue;
                    };
                    block.rows.extend(vec![String::new(); count]);
                    block.row_lines.extend(vec![line; count]);
                    kinds[line] = Line::Rows(Vec::new());
                }
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
    }
    for kind in kinds {
        if matches!(kind, Line::Floor(_)) {
            *kind = Line::Text;
        }
    }
    blocks.iter_mut().for_each(Block::trim);
    blocks
}

/// The lines of nothing but floor right above a line.
fn floor_above(kinds: &[Line], index: usize) -> Range<usize> {
    let is_other = |kind: &Line| !matches!(kind, Line::Floor(_));
    let above = kinds[..index].iter().rposition(is_other);
    above.map_or(0, |above| above + 1)..index
}

/// Whether a row has a player before the next line of another kind.
fn has_player_below(kinds: &[Line], index: usize) -> bool {
    let rows = kinds[index + 1..].iter().map_while(|kind| match kind {
        Line::Rows(rows) => Some(rows),
        _ => None,
    });
    rows.take(MAX_SIDE).any(|rows| has_player(rows))
}

fn has_player(rows: &[String]) -> bool {
    rows.iter().any(|row| row.contains(['@', '+']))
}

/// Lines without blank ones at both ends, and with one blank line instead of several.
fn trimmed<S: AsRef<str>>(lines: Vec<S>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in lines {
        let line = line.as_ref();
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

/// Marks lines as comments that would be read as a solution by themselves, or as a faulty one:
/// moves below a header that was not theirs, since a solution stood between them, and those of a
/// solution that was too long.
fn without_false_solutions(notes: &[Note]) -> Vec<String> {
    // Whether a header above announces moves.
    let mut header_above = None;
    let mut marked = Vec::with_capacity(notes.len());
    for note in notes {
        let text = note.text;
        let header = lines::solution_header(text);
        let is_meant = |announces| {
            lines::moves_on_line(text, false) != MovesOnLine::None
                || lines::wrong_move(text, announces).is_some()
        };
        let has_moves = header.is_some_and(|header| !header.moves.is_empty());
        let is_false = !note.is_kept && (has_moves || header_above.is_some_and(is_meant));
        if !text.is_empty() {
            let announces = header.map(|header| header.announces());
            header_above = announces.or(is_false.then_some(false));
        }
        let mark = if is_false { ":: " } else { "" };
        marked.push(format!("{mark}{text}"));
    }
    marked
}

impl<'a> Reader<'a> {
    /// The line from which the text in `range`, above a block, belongs to that block.
    fn split(&self, range: Range<usize>, has_previous: bool) -> usize {
        if let Some(first) = self.titled_paragraph(&range, has_previous) {
            return first;
        }
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
            let is_title = (touches_next || first == last) && self.is_title(last);
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

    /// The first line of the last paragraph that has a title as a key and stands above a block with
    /// nothing but keys between them. `Title` names the block before where the paragraph follows
    /// that block at once; `Maze` always names the next one.
    fn titled_paragraph(&self, range: &Range<usize>, has_previous: bool) -> Option<usize> {
        let is_blank = |index: usize| self.kinds[index] == Line::Blank;
        let has_key = |index: usize, name| self.key(index).is_some_and(|(key, _)| key == name);
        let mut end = range.end;
        loop {
            while end > range.start && is_blank(end - 1) {
                end -= 1;
            }
            let mut first = end;
            while first > range.start && (self.comments[first - 1] || self.is_plain(first - 1)) {
                first -= 1;
            }
            if let Some(maze) = (first..end).rev().find(|&index| has_key(index, "maze")) {
                let above = maze.checked_sub(1).filter(|&above| above >= first);
                let is_decorated = |&above: &usize| lines::is_decoration(self.texts[above]);
                return Some(above.filter(is_decorated).unwrap_or(maze));
            }
            let follows_gap = match first > range.start {
                true => is_blank(first - 1),
                false => !has_previous,
            };
            if first == end || !follows_gap {
                return None;
            }
            if (first..end).any(|index| has_key(index, "title")) {
                return Some(first);
            }
            let is_key = |index| self.comments[index] || self.key(index).is_some();
            if !(first..end).all(is_key) {
                return None;
            }
            end = first;
        }
    }

    /// The name, in small letters, and the value of a line `name: value` outside comments.
    fn key(&self, index: usize) -> Option<(String, &'a str)> {
        let is_text = self.kinds[index] == Line::Text && !self.comments[index];
        let (name, value) = lines::key_value(self.texts[index]).filter(|_| is_text)?;
        (!value.is_empty()).then(|| (name.to_ascii_lowercase(), value))
    }

    /// The first line that names a variant of the game.
    fn variant_among(&self, mut range: impl Iterator<Item = usize>) -> Option<usize> {
        range.find(|&index| self.key(index).is_some_and(|(key, _)| key == "variant"))
    }

    /// That a line names another game.
    fn variant_fault(&self, index: usize) -> Option<Fault> {
        let (_, value) = self.key(index)?;
        let is_plain = |plain: &&str| plain.eq_ignore_ascii_case(value);
        if PLAIN_VARIANTS.iter().any(is_plain) {
            return None;
        }
        let before = self.texts[index].rfind(value).unwrap_or(0);
        let before = self.texts[index][..before].chars().count();
        Some(Fault {
            line: index + 1,
            column: self.skipped[index] + before + 1,
            message: format!("expected the variant `Sokoban`, found `{value}`, another game"),
        })
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

    /// Whether a plain line can be a title. A line of nothing but dashes or stars divides levels.
    fn is_title(&self, index: usize) -> bool {
        let text = self.texts[index].trim();
        let is_divider = !text.starts_with(';') && !text.contains(char::is_alphanumeric);
        let is_key = lines::key_value(text.trim_start_matches(';').trim()).is_some();
        !text.starts_with("::") && !is_divider && !is_key
    }

    /// A level with the lines `above` its rows and the lines in `below`.
    fn entry(
        &mut self,
        block: &mut Block,
        number: usize,
        above: &[usize],
        below: Range<usize>,
    ) -> Entry {
        let variant = self.variant_among(above.iter().copied().chain(below.clone()));
        let variant = variant.or(self.variant);
        let level = match variant.and_then(|index| self.variant_fault(index)) {
            Some(fault) => Err(fault),
            None => level(block, &|line| self.skipped[line]),
        };
        let (level, mut faults) = match level {
            Ok(level) => (Some(level), Vec::new()),
            Err(fault) => (None, vec![fault]),
        };
        let mut notes = Vec::new();
        let mut title = None;
        let maze = self.maze(above);
        for &index in above.iter().rev() {
            let text = self.texts[index];
            if maze.as_ref().is_some_and(|&(line, _)| line == index) {
                continue;
            }
            match title_of(text, number) {
                Some(found) if title.is_none() && self.is_title(index) => title = Some(found),
                // The number of the level alone is written anyway.
                None if text.starts_with(';') => {}
                _ => notes.push(self.note(index, false)),
            }
        }
        notes.reverse();
        let mut solutions = Vec::new();
        notes.push(BLANK);
        self.below(below, &mut notes, &mut solutions, &mut faults);
        Entry {
            title: title.map(str::to_string).or(maze.map(|(_, title)| title)),
            rows: std::mem::take(&mut block.rows),
            level,
            notes: trimmed(without_false_solutions(&notes)),
            solutions,
            faults,
        }
    }

    /// The line above a level that numbers it as a maze, and the title that it gives, unless there
    /// is another title.
    fn maze(&self, above: &[usize]) -> Option<(usize, String)> {
        let has_title = |&index: &usize| {
            self.is_plain(index) && self.is_title(index) && !self.texts[index].is_empty()
                || self.key(index).is_some_and(|(key, _)| key == "title")
        };
        if above.iter().any(has_title) {
            return None;
        }
        above.iter().find_map(|&index| {
            let (key, value) = self.key(index)?;
            (key == "maze").then(|| (index, format!("Maze {value}")))
        })
    }

    /// Divides the lines below a level into notes and solutions.
    fn below(
        &mut self,
        range: Range<usize>,
        notes: &mut Vec<Note<'a>>,
        solutions: &mut Vec<NamedMoves>,
        faults: &mut Vec<Fault>,
    ) {
        let mut index = range.start;
        while index < range.end {
            let piece = self.piece(index, range.end);
            let moves = piece.moves.map(|(name, lines)| (name, self.moves(lines)));
            match moves {
                Some((name, Ok(moves))) => {
                    let name = name.to_string();
                    solutions.push(NamedMoves { name, moves });
                    notes.push(BLANK);
                }
                other => {
                    let is_kept = piece.fault.is_some();
                    faults.extend(other.and_then(|(_, moves)| moves.err()));
                    faults.extend(piece.fault);
                    notes.extend((index..piece.end).map(|line| self.note(line, is_kept)));
                }
            }
            index = piece.end;
        }
    }

    fn note(&self, index: usize, is_kept: bool) -> Note<'a> {
        Note {
            text: self.texts[index],
            is_kept: is_kept || self.comments[index],
        }
    }

    /// The lines from `index` on that are one note or one solution.
    fn piece(&self, index: usize, end: usize) -> Piece<'a> {
        let text = self.texts[index];
        let piece = |end, moves, fault| Piece { end, moves, fault };
        if self.comments[index] {
            return piece(index + 1, None, None);
        }
        if self.kinds[index] == Line::Moves {
            let lines = index..self.moves_below(index..end, None).0;
            let moves = self.ends_in_push(lines.clone());
            return piece(lines.end, moves.then_some(("Solution", lines)), None);
        }
        let header = lines::solution_header(text);
        if header.is_none() && !lines::is_snapshot_header(text) {
            return piece(index + 1, None, None);
        }
        let has_moves = self.kinds[index] == Line::Solution;
        let first = match has_moves {
            true => index + 1,
            false => (index + 1..end)
                .find(|&next| self.kinds[next] != Line::Blank)
                .unwrap_or(end),
        };
        let announces = header.map(|header| !has_moves && header.announces());
        let (last, fault) = self.moves_below(first..end, announces);
        let is_empty = last == first;
        let last = if is_empty { index + 1 } else { last };
        let Some(header) = header else {
            return piece(last, None, None);
        };
        let indent = text.chars().take_while(|c| c.is_whitespace()).count();
        let behind = header.wrong_move(has_moves || !is_empty);
        let behind = behind.map(|column| self.wrong_move(index, indent + column));
        let fault = behind.or(fault);
        let from = if has_moves { index } else { first };
        let moves = fault.is_none() && (has_moves || !is_empty);
        piece(last, moves.then_some((header.name, from..last)), fault)
    }

    /// The end of the lines at the beginning of a range that are moves, and the first fault in
    /// them. A run length may go on in the next line. Only below a header, which may announce
    /// moves, lines with faults are among them.
    fn moves_below(&self, range: Range<usize>, header: Option<bool>) -> (usize, Option<Fault>) {
        let (mut end, first) = (range.start, range.start);
        let mut is_open = false;
        // The last line with moves that no later line ends.
        let mut last_open = None;
        let mut fault = None;
        for index in range {
            let is_other = !matches!(self.kinds[index], Line::Moves | Line::Text);
            if is_other || self.comments[index] {
                break;
            }
            let text = self.texts[index];
            is_open = match lines::moves_on_line(text, is_open) {
                MovesOnLine::Open => {
                    let place = lines::open_end(text).filter(|_| header.is_some());
                    last_open = place.map(|column| (index, column)).or(last_open);
                    true
                }
                MovesOnLine::Whole => {
                    (end, last_open) = (index + 1, None);
                    false
                }
                MovesOnLine::None => {
                    let wrong = |announces| lines::wrong_move(text, announces && index == first);
                    let Some(column) = header.and_then(wrong) else {
                        break;
                    };
                    fault.get_or_insert_with(|| self.wrong_move(index, column));
                    (end, last_open) = (index + 1, None);
                    false
                }
            };
        }
        if let Some((index, column)) = last_open {
            fault.get_or_insert_with(|| self.wrong_move(index, column));
            end = index + 1;
        }
        (end, fault)
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
        let mut count = None;
        for index in range {
            let text = self.texts[index];
            let line = match lines::solution_header(text) {
                Some(header) => header.moves,
                None => text,
            };
            if !lines::expand_moves(line, &mut count, &mut moves) || moves.len() > self.moves_left {
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

    /// That a character of a line, or its end, is no move.
    fn wrong_move(&self, index: usize, column: usize) -> Fault {
        let found = match self.texts[index].chars().nth(column) {
            Some(found) => format!("`{found}`"),
            None => "the end of the line".to_string(),
        };
        Fault {
            line: index + 1,
            column: self.skipped[index] + column + 1,
            message: format!("expected a move (l u r d, L U R D for a push), found {found}"),
        }
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

/// The level of a block, or where in the text its rows are no level. `skipped` gives the characters
/// left out at the front of a line.
pub(super) fn level(block: &Block, skipped: &dyn Fn(usize) -> usize) -> Result<Level, Fault> {
    Level::from_rows(&block.rows).map_err(|error| level_fault(&error, block, skipped))
}

fn level_fault(error: &LevelError, block: &Block, skipped: &dyn Fn(usize) -> usize) -> Fault {
    let first = block.lines.start;
    let line_of = |row: usize| block.row_lines.get(row).copied().unwrap_or(first);
    let (line, column, message) = match error {
        LevelError::Character {
            line,
            column,
            found,
        } => (
            line_of(*line),
            *column,
            format!("expected one of # @ + $ * . - _ or a space, found `{found}`"),
        ),
        LevelError::SecondPlayer { line, column } => (
            line_of(*line),
            *column,
            "expected one player in the level, found a second one".to_string(),
        ),
        LevelError::NoPlayer => (
            first,
            0,
            "expected a player (`@` or `+`) in the level that begins here".to_string(),
        ),
        LevelError::TooLarge { .. } => (first, 0, error.to_string()),
    };
    Fault {
        line: line + 1,
        column: skipped(line) + column + 1,
        message,
    }
}
