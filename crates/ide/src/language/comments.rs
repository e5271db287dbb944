//! The comment above a statement, which documents what the statement defines.

use panza_gdl::{Lines, Span, token};
use panza_hrf::Dialect;

/// Limits on the lines and bytes of one comment that are shown.
const MAX_LINES: usize = 40;
const MAX_BYTES: usize = 2000;

/// The comments that have a line of their own, with the number of the line, in the order of the
/// text.
pub(super) struct Comments<'a> {
    text: &'a str,
    on_lines: Vec<(usize, Span)>,
    /// What a comment begins with.
    mark: char,
}

impl<'a> Comments<'a> {
    pub fn of(dialect: Dialect, text: &'a str, lines: &Lines) -> Self {
        let mut on_lines = Vec::new();
        let mut last_line = None;
        let mut note = |span: Span, is_comment| {
            let line = lines.line_of(span.start);
            if is_comment && last_line != Some(line) {
                on_lines.push((line, span));
            }
            last_line = Some(lines.line_of(span.end));
        };
        match dialect {
            Dialect::Kif => token::tokens(text)
                .for_each(|it| note(it.span, it.kind == token::TokenKind::Comment)),
            Dialect::Hrf => panza_hrf::token::tokens(text)
                .for_each(|it| note(it.span, it.kind == panza_hrf::token::TokenKind::Comment)),
        }
        let mark = dialect.comment();
        Self {
            text,
            on_lines,
            mark,
        }
    }

    /// The comment that ends on the line above `line` and begins behind the byte `after`, without
    /// its marks; empty where there is none.
    pub fn above(&self, line: usize, after: u32) -> String {
        let mut at = self.on_lines.partition_point(|&(own, _)| own < line);
        let mut next = line;
        let mut found: Vec<&str> = Vec::new();
        while at > 0 && found.len() < MAX_LINES {
            at -= 1;
            let (own, span) = self.on_lines[at];
            if own + 1 != next || span.start < after {
                break;
            }
            let comment = self.text[span.range()].trim_start_matches(self.mark);
            found.push(comment.strip_prefix(' ').unwrap_or(comment).trim_end());
            next = own;
        }
        found.reverse();
        let mut shown = found.join("\n");
        if shown.len() > MAX_BYTES {
            let end = (0..=MAX_BYTES).rfind(|&at| shown.is_char_boundary(at));
            shown.truncate(end.unwrap_or(0));
            shown.push_str(" ...");
        }
        shown.trim().to_string()
    }
}
