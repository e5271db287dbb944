//! Places in a text: byte ranges, and their lines and columns.

use super::lines::Lines;

/// A byte range `start..end` of the text that was read. Both ends lie on character boundaries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self {
            start: start as u32,
            end: end as u32,
        }
    }

    /// Whether it holds nothing, as the place of what is missing.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The smallest span that holds both.
    pub fn to(self, other: Span) -> Span {
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// As a range for slicing.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Line and column of a byte offset, both from 1, the column in characters. A line ends with LF,
/// CR LF or CR.
pub fn line_and_column(text: &str, offset: u32) -> (usize, usize) {
    Lines::of(text).line_and_column(text, offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_in_characters() {
        let text = "ab\nc\u{e9}d\n";
        assert_eq!(line_and_column(text, 0), (1, 1));
        assert_eq!(line_and_column(text, 3), (2, 1));
        assert_eq!(line_and_column(text, 6), (2, 3));
        assert_eq!(line_and_column(text, 99), (3, 1));
        assert_eq!(line_and_column("a\r\nb\rc\u{1f600}d", 10), (3, 3));
    }
}
