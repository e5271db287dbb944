//! What one line of a collection is: rows, moves, a key, or text.

use crate::level::MAX_SIDE;

/// The most moves of one solution that are read.
pub(super) const MAX_MOVES: usize = 1_000_000;
/// The longest row that run lengths may make: long enough to be refused as too wide.
const MAX_ROW: usize = MAX_SIDE + 1;

/// The most rows on one line.
const MAX_ROWS: usize = MAX_SIDE + 1;

/// A line by its form alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Blank,
    /// The rows of one line; several where `|` divides it.
    Rows(Vec<String>),
    /// As many rows of nothing but floor, if another row follows; otherwise text.
    Floor(usize),
    Moves,
    /// A header with moves on the same line.
    Solution,
    Text,
}

/// A line that announces a solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SolutionHeader<'a> {
    /// The line without moves.
    pub name: &'a str,
    /// Moves on the same line, as in `Solution: rrU`.
    pub moves: &'a str,
}

impl SolutionHeader<'_> {
    /// The name and what stands behind its last colon.
    fn parts(&self) -> (&str, &str) {
        self.name.rsplit_once(':').unwrap_or((self.name, ""))
    }

    /// Whether nothing but moves can be meant below: a header of several words may be a remark.
    pub fn announces(&self) -> bool {
        !self.parts().0.contains(char::is_whitespace)
    }

    /// The place of the first wrong character of moves behind the colon. Where other moves stand
    /// below, one word is part of the name.
    pub fn wrong_move(&self, has_moves_below: bool) -> Option<usize> {
        let (name, behind) = self.parts();
        let place = wrong_move(behind, self.announces() && !has_moves_below)?;
        Some(name.chars().count() + 1 + place)
    }
}

/// What a line is, after a line that `follows_row` tells of.
pub(super) fn classify(line: &str, follows_row: bool) -> Line {
    if line.trim().is_empty() {
        Line::Blank
    } else if let Some(rows) = rows(line, follows_row) {
        match rows.iter().all(String::is_empty) {
            true => Line::Floor(rows.len()),
            false => Line::Rows(rows),
        }
    } else if is_moves(line) {
        Line::Moves
    } else if solution_header(line).is_some_and(|header| !header.moves.is_empty()) {
        Line::Solution
    } else {
        Line::Text
    }
}

/// Whether a character is a cell of XSB, or a letter for one.
pub(super) fn is_cell(c: char) -> bool {
    is_letter_of_cell(c) || matches!(c, '#' | '@' | '+' | '$' | '*' | '.') || is_floor(c)
}

fn is_floor(c: char) -> bool {
    matches!(c, '-' | '_' | ' ')
}

/// The letters for `@ + $ * .`, which stand in rows between walls only: others are words.
fn is_letter_of_cell(c: char) -> bool {
    matches!(c, 'p' | 'P' | 'b' | 'B' | 'o')
}

/// The rows of a line, if it has any; those of nothing but floor are empty. A row has a wall; right
/// below another row a box, a goal or the player is enough, and so are walls at both ends with
/// other characters between them, which become faults of the level. A line of nothing but floor
/// right below a row may be a row too.
fn rows(line: &str, follows_row: bool) -> Option<Vec<String>> {
    let rows = possible_rows(line, follows_row)?;
    // Without its floor a row of stars would read back as decoration.
    (!rows.iter().any(|row| is_decoration(row))).then_some(rows)
}

/// The same, where rows of stars are rows too.
fn possible_rows(line: &str, follows_row: bool) -> Option<Vec<String>> {
    let trimmed = line.trim();
    let is_walled = trimmed.len() > 2 && trimmed.starts_with('#') && trimmed.ends_with('#');
    let has_wall = line.contains('#');
    if line.chars().all(is_cell) {
        let has_letter = line.contains(is_letter_of_cell);
        let is_row = match has_letter {
            true => is_walled,
            false => has_wall || follows_row,
        };
        return is_row.then(|| vec![canonical(line)]);
    }
    let is_part_of_run = |c: char| is_cell(c) || c.is_ascii_digit() || c == '|';
    if (has_wall || follows_row) && line.chars().all(is_part_of_run) {
        return run_lengths(trimmed, follows_row);
    }
    (follows_row && is_walled).then(|| vec![floor_as_spaces(line)])
}

/// Whether a line is a row by itself, or right below a row.
pub(super) fn is_row(line: &str, follows_row: bool) -> bool {
    rows(line, follows_row).is_some_and(|rows| rows.len() == 1 && !rows[0].is_empty())
}

/// Whether a line is a row of cells with a wall, without run lengths.
pub(super) fn is_plain_row(line: &str) -> bool {
    line.contains('#') && line.chars().all(is_cell)
}

/// Whether a line is a row of stars between levels.
pub(super) fn is_decoration(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && line.chars().all(|c| c == '*')
}

/// A row in XSB characters with spaces for floor.
pub(super) fn canonical(row: &str) -> String {
    let cell = |found| match found {
        'p' => '@',
        'P' => '+',
        'b' => '$',
        'B' => '*',
        'o' => '.',
        other => other,
    };
    floor_as_spaces(&row.chars().map(cell).collect::<String>())
}

fn floor_as_spaces(row: &str) -> String {
    row.replace(['-', '_'], " ").trim_end().to_string()
}

/// Rows with run lengths, such as `4#|#2-#`; none where a number has no character after it or a row
/// has a space, and none with rows that would not be read as rows on lines of their own: a first
/// one without a wall unless it `follows_row`, letters beside no wall, or stars.
fn run_lengths(line: &str, follows_row: bool) -> Option<Vec<String>> {
    let mut rows = Vec::new();
    let line = line.strip_suffix('|').unwrap_or(line);
    for part in line.split('|') {
        if rows.len() == MAX_ROWS {
            return None;
        }
        let mut row = String::new();
        let mut count: Option<usize> = None;
        for c in part.chars() {
            if let Some(digit) = c.to_digit(10) {
                let number = count.unwrap_or(0) * 10 + digit as usize;
                count = Some(number.min(MAX_ROW));
            } else if c == ' ' {
                return None;
            } else {
                let more = count.take().unwrap_or(1).min(MAX_ROW - row.len());
                row.extend(std::iter::repeat_n(c, more));
            }
        }
        let is_walled = row.starts_with('#') && row.ends_with('#');
        let has_words = row.contains(is_letter_of_cell) && !is_walled;
        if count.is_some() || has_words || is_decoration(&row) {
            return None;
        }
        rows.push(canonical(&row));
    }
    let has_wall = rows.first().is_some_and(|row| row.contains('#'));
    (follows_row || has_wall).then_some(rows)
}

/// Whether this is a letter of LURD.
pub(super) fn is_move(c: char) -> bool {
    matches!(c, 'l' | 'u' | 'r' | 'd' | 'L' | 'U' | 'R' | 'D')
}

/// How moves stand on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MovesOnLine {
    /// Something else stands there too.
    None,
    /// All run lengths have their letter.
    Whole,
    /// The run length at the end goes on, or has its letter, on the next line.
    Open,
}

/// Whether a line has letters of LURD, each perhaps with a run length before it, and nothing else.
/// With `is_open`, a run length has begun on the line before.
pub(super) fn moves_on_line(line: &str, is_open: bool) -> MovesOnLine {
    match line.trim_end().chars().last() {
        Some(last) if first_wrong(line, is_open).is_none() => match is_move(last) {
            true => MovesOnLine::Whole,
            false => MovesOnLine::Open,
        },
        _ => MovesOnLine::None,
    }
}

/// The place of the first character that is neither a move nor part of a run length.
fn first_wrong(line: &str, is_open: bool) -> Option<usize> {
    let mut last = if is_open { '1' } else { ' ' };
    line.chars().position(|c| {
        let is_run = c.is_ascii_digit() && (c != '0' || last.is_ascii_digit());
        let is_right = c.is_whitespace() || is_move(c) || is_run;
        last = if c.is_whitespace() { last } else { c };
        !is_right
    })
}

/// The place behind a run length at the end of moves.
pub(super) fn open_end(line: &str) -> Option<usize> {
    let is_open = line.contains(is_move) && moves_on_line(line, false) == MovesOnLine::Open;
    is_open.then(|| line.trim_end().chars().count())
}

/// The place of the first wrong character of a line that was meant as moves: most of its letters
/// are moves, or it stands where moves are announced.
pub(super) fn wrong_move(line: &str, is_announced: bool) -> Option<usize> {
    let is_other = line.starts_with([';', ':'])
        || key_value(line).is_some()
        || solution_header(line).is_some()
        || is_snapshot_header(line)
        || is_comment_mark(line, "Comment")
        || is_comment_mark(line, "Comment-End");
    let letters = |c: &char| !c.is_whitespace() && !c.is_ascii_digit();
    let is_mostly_moves =
        2 * line.chars().filter(|&c| is_move(c)).count() > line.chars().filter(letters).count();
    let has_words = line.contains(char::is_alphabetic);
    let is_meant = !is_other && (is_mostly_moves || is_announced && has_words);
    let wrong = first_wrong(line, false).or_else(|| open_end(line));
    wrong.filter(|_| is_meant)
}

/// Whether a line by itself has moves and nothing else.
pub(super) fn is_moves(line: &str) -> bool {
    moves_on_line(line, false) == MovesOnLine::Whole
}

/// Appends the moves of a line to `moves`, run lengths expanded; false if there would be more than
/// [`MAX_MOVES`]. `count` is a run length that the line before left open, and is set to one that
/// this line leaves open.
pub(super) fn expand_moves(line: &str, count: &mut Option<usize>, moves: &mut String) -> bool {
    for c in line.chars() {
        if let Some(digit) = c.to_digit(10) {
            let number = count.unwrap_or(0) * 10 + digit as usize;
            *count = Some(number.min(MAX_MOVES + 1));
        } else if is_move(c) {
            let more = count.take().unwrap_or(1);
            if moves.len() + more > MAX_MOVES {
                return false;
            }
            moves.extend(std::iter::repeat_n(c, more));
        }
    }
    true
}

/// A line `name: value`; a name is a few words of letters.
pub(super) fn key_value(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let is_name = name.len() <= 40
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && (name.chars()).all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '/'));
    is_name.then_some((name.trim(), value.trim()))
}

/// A line that begins with the word 'Solution', or 'Best solution'.
pub(super) fn solution_header(line: &str) -> Option<SolutionHeader<'_>> {
    let line = line.trim();
    let lower = line.to_ascii_lowercase();
    let word = lower.strip_prefix("best ").unwrap_or(&lower);
    let rest = word.strip_prefix("solution")?;
    if rest.starts_with(|c: char| c.is_alphanumeric()) {
        return None;
    }
    let ends_in_moves = |line: &str| {
        let end = line.rsplit_once(':');
        end.is_some_and(|(_, moves)| is_moves(moves))
    };
    // A name that had moves of its own would not be read back as a name.
    if let Some((name, moves)) = line.rsplit_once(':')
        && is_moves(moves)
        && !ends_in_moves(name)
    {
        return Some(SolutionHeader {
            name: name.trim_end(),
            moves: moves.trim(),
        });
    }
    Some(SolutionHeader {
        name: line,
        moves: "",
    })
}

/// A line that announces moves which solve nothing.
pub(super) fn is_snapshot_header(line: &str) -> bool {
    let lower = line.trim().to_ascii_lowercase();
    lower.starts_with("snapshot") || lower.starts_with("savegame")
}

/// Whether the line begins or ends a comment, as `Comment:` and `Comment-End:` do.
pub(super) fn is_comment_mark(line: &str, mark: &str) -> bool {
    let line = line.trim().trim_end_matches(':').trim_end();
    line.eq_ignore_ascii_case(mark)
}
