//! The scanner: names, variables, numbers, strings, operators, comments.
//!
//! White space separates; `%` starts a comment up to the end of the line. A name is made of
//! letters, digits and `_ . / * + -`, so `a-b` is one name; where a name starts, `* + - _` stand
//! for themselves. A `.` in front of a name or behind one is a full stop, which has no meaning and
//! is left out, as are white space and byte-order marks. Some marks are those of Prolog: `\+`,
//! `\=`, `;`, and a `_` in front of a variable.

use panza_gdl::Span;
use panza_gdl::text::is_space;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenKind {
    /// A constant, a function or a relation; also a number.
    Name,
    /// A name that starts with a capital letter, or a lone `_`.
    Variable,
    /// A text in double quotes.
    Text,
    /// An operator or a bracket.
    Mark(&'static str),
    /// `%` up to the end of the line.
    Comment,
    /// A character that stands for nothing, or a text whose closing quote is missing.
    Unknown,
}

/// A token with its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands in the text.
    pub span: Span,
}

/// Longer marks first.
const MARKS: [&str; 21] = [
    "==>", "\\==", "\\=", "\\+", ":=", ":-", "::", "(", ")", "[", "]", ",", ";", "!", "#", "~",
    "&", "|", "*", "+", "-",
];

/// Whether a name may have this character.
pub fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '.' | '/' | '*' | '+' | '-')
}

/// Whether a name is that of a variable.
pub fn is_variable(name: &str) -> bool {
    let is_capital = |first: char| !first.to_lowercase().eq(std::iter::once(first));
    name.starts_with('_') || name.chars().next().is_some_and(is_capital)
}

/// All tokens of a text, comments included, in order. Linear in the length of the text.
pub fn tokens(text: &str) -> impl Iterator<Item = Token> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = &text[at..];
            let first = rest.chars().next()?;
            let (kind, length) = match is_space(first) {
                true => (None, first.len_utf8()),
                false => token(rest, first),
            };
            let span = Span::new(at, at + length);
            at += length;
            if let Some(kind) = kind {
                return Some(Token { kind, span });
            }
        }
    })
}

/// The token that `text` starts with, nothing where it is left out, and its length in bytes.
fn token(text: &str, first: char) -> (Option<TokenKind>, usize) {
    let name_length = || {
        let end = text.find(|character| !is_name_character(character));
        end.unwrap_or(text.len())
    };
    if first == '%' {
        let end = text.find(['\n', '\r']).unwrap_or(text.len());
        return (Some(TokenKind::Comment), end);
    }
    if first == '"' {
        let line = text[1..].find(['\n', '\r']).unwrap_or(text.len() - 1);
        return match text[1..].find('"') {
            Some(end) => (Some(TokenKind::Text), end + 2),
            None => (Some(TokenKind::Unknown), line + 1),
        };
    }
    if first == '.' {
        return (None, 1);
    }
    if first == '_' && !text[1..].starts_with(char::is_uppercase) {
        return (Some(TokenKind::Variable), 1);
    }
    let is_number = first == '-' && text[1..].starts_with(|next: char| next.is_ascii_digit());
    if !is_number && let Some(mark) = MARKS.iter().find(|mark| text.starts_with(**mark)) {
        return (Some(TokenKind::Mark(mark)), mark.len());
    }
    if !is_name_character(first) {
        return (Some(TokenKind::Unknown), first.len_utf8());
    }
    let name = text[..name_length()].trim_end_matches('.');
    let length = name.len();
    match name {
        _ if is_variable(name) => (Some(TokenKind::Variable), length),
        _ => (Some(TokenKind::Name), length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(TokenKind, &str)> {
        tokens(text)
            .map(|token| (token.kind, &text[token.span.range()]))
            .collect()
    }

    #[test]
    fn names_hold_more_than_letters() {
        use TokenKind::*;
        assert_eq!(
            kinds("a-b X-1 x. . 3.5. -3 -p _foo _Foo 1/2 % ~\n\"a b\""),
            vec![
                (Name, "a-b"),
                (Variable, "X-1"),
                (Name, "x"),
                (Name, "3.5"),
                (Name, "-3"),
                (Mark("-"), "-"),
                (Name, "p"),
                (Variable, "_"),
                (Name, "foo"),
                (Variable, "_Foo"),
                (Name, "1/2"),
                (Comment, "% ~"),
                (Text, "\"a b\""),
            ]
        );
    }

    #[test]
    fn full_stops_and_byte_order_marks_are_left_out() {
        let texts = |text| kinds(text).into_iter().map(|(_, shown)| shown);
        let found: Vec<&str> = texts("\u{feff}p(a.b).q(1).r.\u{feff}s..t").collect();
        assert_eq!(
            found,
            ["p", "(", "a.b", ")", "q", "(", "1", ")", "r", "s..t"]
        );
    }

    #[test]
    fn the_longest_operator_is_taken() {
        let marks: Vec<&str> = kinds("::==>:-:=~&|")
            .iter()
            .map(|(_, text)| *text)
            .collect();
        assert_eq!(marks, ["::", "==>", ":-", ":=", "~", "&", "|"]);
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        use TokenKind::*;
        assert_eq!(kinds("").len(), 0);
        assert_eq!(
            kinds("= \"a\nb\u{e9}\u{1F600}"),
            vec![
                (Unknown, "="),
                (Unknown, "\"a"),
                (Name, "b\u{e9}"),
                (Unknown, "\u{1F600}")
            ]
        );
    }
}
