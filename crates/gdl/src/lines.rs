//! Lines of a text, and places in it as editors count them: lines from 0, columns in UTF-16 units.
//!
//! A line ends with LF, CR LF or CR. A place beyond the end of its line stands for the end of the
//! line, a place inside a character for the start of the character.

/// A place in a text. Both numbers count from 0, `column` in UTF-16 code units.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// Where the lines of a text start.
#[derive(Clone, Debug)]
pub struct Lines {
    starts: Vec<u32>,
}

impl Lines {
    /// The lines of a text, at least one.
    pub fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let is_end = |at: usize| match bytes[at] {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        let ends = (0..bytes.len()).filter(|&at| is_end(at));
        let starts = ends.map(|at| at as u32 + 1);
        Self {
            starts: std::iter::once(0).chain(starts).collect(),
        }
    }

    /// The number of lines.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// The line of a byte offset.
    pub fn line_of(&self, offset: u32) -> usize {
        self.starts.partition_point(|&start| start <= offset) - 1
    }

    /// The place of a byte offset of `text`, which these lines were made of.
    pub fn place(&self, text: &str, offset: u32) -> Place {
        let offset = floor(text, offset as usize);
        let line = self.line_of(offset as u32);
        let before = &text[self.starts[line] as usize..offset];
        Place {
            line: line as u32,
            column: utf16_length(before),
        }
    }

    /// Line and column of a byte offset of `text`, both from 1, the column in characters, as people
    /// read them.
    pub fn line_and_column(&self, text: &str, offset: u32) -> (usize, usize) {
        let offset = floor(text, offset as usize);
        let line = self.line_of(offset as u32);
        let before = &text[self.starts[line] as usize..offset];
        (line + 1, before.chars().count() + 1)
    }

    /// The byte offset of a place of `text`, which these lines were made of.
    pub fn offset(&self, text: &str, place: Place) -> u32 {
        let Some(&start) = self.starts.get(place.line as usize) else {
            return text.len() as u32;
        };
        let end = self.starts.get(place.line as usize + 1);
        let end = end.map_or(text.len(), |&end| end as usize);
        let line = text[start as usize..end].trim_end_matches(['\n', '\r']);
        let mut column = 0;
        for (at, character) in line.char_indices() {
            column += character.len_utf16() as u32;
            if column > place.column {
                return start + at as u32;
            }
        }
        start + line.len() as u32
    }
}

fn utf16_length(text: &str) -> u32 {
    text.chars()
        .map(|character| character.len_utf16() as u32)
        .sum()
}

/// The start of the character at an offset.
fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// The UTF-16 offsets of byte offsets of `text`, which must rise: a page counts so.
pub fn utf16_offsets(text: &str, offsets: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let (mut at, mut units) = (0, 0);
    let to_units = |offset: u32| {
        let offset = floor(text, offset as usize).max(at);
        units += utf16_length(&text[at..offset]);
        at = offset;
        units
    };
    offsets.into_iter().map(to_units).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_utf16_units_and_every_line_end() {
        let text = "a\r\n\u{1F600}b\rc\n\u{e9}";
        let lines = Lines::of(text);
        assert_eq!(lines.count(), 4);
        for (offset, line, column) in [
            (0, 0, 0),
            (1, 0, 1),
            (3, 1, 0),
            (7, 1, 2),
            (8, 1, 3),
            (9, 2, 0),
            (11, 3, 0),
            (13, 3, 1),
        ] {
            let place = Place { line, column };
            assert_eq!(lines.place(text, offset), place, "{offset}");
            assert_eq!(lines.offset(text, place), offset, "{offset}");
        }
        let beyond = |line, column| lines.offset(text, Place { line, column });
        assert_eq!((beyond(0, 99), beyond(1, 1), beyond(9, 0)), (1, 3, 13));
        assert_eq!(lines.place(text, 5), Place { line: 1, column: 0 });
        assert_eq!(utf16_offsets(text, [0, 3, 7, 99]), [0, 3, 5, 10]);
    }
}
