//! A text as lines of XSB, whatever its line ends, marks and walls.
//!
//! Line ends are LF, CRLF or CR, mixed or not. Byte-order marks at the beginning of a line are
//! left out. If a row is quoted as in mail (`> #####`), the marks of all quoted lines are left out.
//! Rows with walls of `X` become rows of XSB. They come from the files of mazes that were copied
//! out of an old program; there `*` is a box and `&` a box on a goal.

use super::lines;
use std::borrow::Cow;

/// The fewest rows of a level with walls of `X`, so that words and numerals are no level.
const FEWEST_ROWS: usize = 3;

/// One line of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceLine<'a> {
    /// The line without spaces at its end.
    pub text: Cow<'a, str>,
    /// The characters that were left out at the front.
    pub skipped: usize,
}

/// The lines of a text.
pub(super) fn lines(text: &str) -> Vec<SourceLine<'_>> {
    let mut lines: Vec<SourceLine> = split(text)
        .map(|line| SourceLine {
            text: Cow::Borrowed(line.trim_start_matches('\u{feff}').trim_end()),
            skipped: 0,
        })
        .collect();
    let is_quoted_row = |line: &SourceLine| {
        line.text.starts_with('>') && lines::is_plain_row(unquoted(&line.text).0)
    };
    if lines.iter().any(is_quoted_row) {
        for line in &mut lines {
            if let Cow::Borrowed(text) = line.text {
                let (rest, skipped) = unquoted(text);
                *line = SourceLine {
                    text: Cow::Borrowed(rest),
                    skipped,
                };
            }
        }
    }
    replace_walls(&mut lines);
    lines
}

/// The parts between line ends.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest.filter(|text| !text.is_empty())?;
        let Some(end) = text.find(['\n', '\r']) else {
            rest = None;
            return Some(text);
        };
        let length = if text[end..].starts_with("\r\n") {
            2
        } else {
            1
        };
        rest = Some(&text[end + length..]);
        Some(&text[..end])
    })
}

/// A line without the marks of quotation, and the number of characters left out.
fn unquoted(line: &str) -> (&str, usize) {
    let mut rest = line;
    while let Some(inner) = rest.strip_prefix('>') {
        rest = inner.strip_prefix(' ').unwrap_or(inner);
    }
    (rest, line.len() - rest.len())
}

/// Makes XSB of levels with walls of `X`.
fn replace_walls(lines: &mut [SourceLine]) {
    for run in lines.chunk_by_mut(|one, other| is_x_row(&one.text) && is_x_row(&other.text)) {
        let has = |wanted: &[char]| run.iter().any(|line| line.text.contains(wanted));
        if run.len() < FEWEST_ROWS || !has(&['@', '+']) {
            continue;
        }
        // With `*` for a box on a goal, a level without `$` would have no box for its free goals.
        let is_maze = !has(&['$']) && has(&['.', '+', '&']);
        for line in run {
            let cell = |found| match found {
                'X' | 'x' => '#',
                '&' => '*',
                '*' if is_maze => '$',
                other => other,
            };
            line.text = Cow::Owned(line.text.chars().map(cell).collect());
        }
    }
}

/// Whether a line can be a row with walls of `X`.
fn is_x_row(line: &str) -> bool {
    let walls = ['X', 'x'];
    let line = line.trim();
    line.starts_with(walls)
        && line.ends_with(walls)
        && (line.chars()).all(|c| matches!(c, 'X' | 'x' | '&') || c != '#' && lines::is_cell(c))
}
