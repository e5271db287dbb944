//! The lexer: parentheses, symbols, comments.
//!
//! White space, byte-order marks and parentheses separate symbols; `;` starts a comment up to the
//! end of the line; any other run of characters is one symbol, whatever it is made of. There are no
//! strings, so no input can fail here.

use nom::branch::alt;
use nom::bytes::complete::{take_till, take_while, take_while1};
use nom::character::complete::char;
use nom::combinator::{recognize, value};
use nom::sequence::preceded;
use nom::{IResult, Parser};

use super::span::Span;
use super::text::is_space;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenKind {
    /// `(`.
    Open,
    /// `)`.
    Close,
    /// A name, a variable or a keyword.
    Symbol,
    /// `;` up to the end of the line, which is left out.
    Comment,
}

/// A token with its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands in the text.
    pub span: Span,
}

fn ends_symbol(character: char) -> bool {
    is_space(character) || matches!(character, '(' | ')' | ';')
}

fn white_space(input: &str) -> IResult<&str, &str> {
    take_while(is_space).parse(input)
}

fn token(input: &str) -> IResult<&str, TokenKind> {
    alt((
        value(TokenKind::Open, char('(')),
        value(TokenKind::Close, char(')')),
        value(
            TokenKind::Comment,
            recognize(preceded(char(';'), take_till(|c| c == '\n' || c == '\r'))),
        ),
        value(TokenKind::Symbol, take_while1(|c| !ends_symbol(c))),
    ))
    .parse(input)
}

/// All tokens of a text, comments included, in order. Linear in the length of the text.
pub fn tokens(text: &str) -> impl Iterator<Item = Token> + '_ {
    let mut rest = white_space(text).map_or(text, |(rest, _)| rest);
    std::iter::from_fn(move || {
        let before = rest.len();
        let (after_token, kind) = token(rest).ok()?;
        let start = text.len() - before;
        let end = text.len() - after_token.len();
        // White space is allowed to be empty, so this never fails.
        rest = white_space(after_token).map_or(after_token, |(rest, _)| rest);
        Some(Token {
            kind,
            span: Span::new(start, end),
        })
    })
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
    fn symbols_end_at_parentheses_white_space_and_comments() {
        use TokenKind::*;
        assert_eq!(
            kinds(" (a-1 ?x)(<= + ; c (o\r\nb;"),
            vec![
                (Open, "("),
                (Symbol, "a-1"),
                (Symbol, "?x"),
                (Close, ")"),
                (Open, "("),
                (Symbol, "<="),
                (Symbol, "+"),
                (Comment, "; c (o"),
                (Symbol, "b"),
                (Comment, ";"),
            ]
        );
    }

    #[test]
    fn byte_order_marks_are_white_space() {
        use TokenKind::*;
        assert_eq!(
            kinds("\u{feff}(a\u{feff}b)\u{feff}"),
            vec![(Open, "("), (Symbol, "a"), (Symbol, "b"), (Close, ")")]
        );
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        assert_eq!(kinds("").len(), 0);
        assert_eq!(kinds(" \u{a0}\u{e9}\u{1F600} ").len(), 1);
    }
}
