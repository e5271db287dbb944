//! S-expressions: nested lists of symbols, each with its place in the text.
//!
//! Parsing keeps its own stack, so deep nesting costs memory and not the thread's stack. Nesting is
//! bounded by [`MAX_DEPTH`] all the same, because later passes walk the tree. Faults are reported
//! and repaired: a stray `)` is skipped, an open list is closed where its statement ends.

use std::fmt;

use super::diagnostic::{Diagnostic, Edit};
use super::ids::Id;
pub use super::recover::{parse, parse_message};
use super::span::Span;
use super::symbols::keyword;
use super::token::{Token, TokenKind, tokens};

/// Lists nested deeper than this are a fault.
pub const MAX_DEPTH: usize = 256;

/// A symbol or a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sexpr {
    /// A symbol, as it is written.
    Symbol(Box<str>, Span),
    /// A list in parentheses.
    List(Vec<Sexpr>, Span),
}

impl Sexpr {
    /// Where it stands, parentheses included.
    pub fn span(&self) -> Span {
        match self {
            Sexpr::Symbol(_, span) | Sexpr::List(_, span) => *span,
        }
    }

    /// The symbol's text, if it is one.
    pub fn symbol(&self) -> Option<&str> {
        match self {
            Sexpr::Symbol(text, _) => Some(text),
            Sexpr::List(..) => None,
        }
    }

    /// The list's items, if it is one.
    pub fn list(&self) -> Option<&[Sexpr]> {
        match self {
            Sexpr::List(items, _) => Some(items),
            Sexpr::Symbol(..) => None,
        }
    }

    /// It without the parentheses around it alone, and without the `true` that rules write around
    /// a fact.
    pub fn fact(&self) -> &Sexpr {
        match self.list() {
            Some([only]) => only.fact(),
            Some([word, inner]) if word.symbol().and_then(keyword::of) == Some(keyword::TRUE) => {
                inner
            }
            _ => self,
        }
    }

    /// The one text that all ways to write it have: one space between items, `(foo)` as `foo`,
    /// keywords in lower case.
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        self.write_canonical(&mut out);
        out
    }

    fn write_canonical(&self, out: &mut String) {
        match self {
            Sexpr::Symbol(name, _) => match keyword::of(name) {
                Some(word) => out.push_str(keyword::WORDS[word.index()]),
                None => out.push_str(name),
            },
            Sexpr::List(items, _) if items.len() == 1 => items[0].write_canonical(out),
            Sexpr::List(items, _) => {
                out.push('(');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(' ');
                    }
                    item.write_canonical(out);
                }
                out.push(')');
            }
        }
    }

    /// Calls `visit` for each symbol in it.
    pub(super) fn for_each_symbol(&self, visit: &mut impl FnMut(&str)) {
        match self {
            Sexpr::Symbol(text, _) => visit(text),
            Sexpr::List(items, _) => items.iter().for_each(|item| item.for_each_symbol(visit)),
        }
    }
}

/// One space between items, none inside the parentheses.
impl fmt::Display for Sexpr {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sexpr::Symbol(text, _) => out.write_str(text),
            Sexpr::List(items, _) => {
                out.write_str("(")?;
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.write_str(" ")?;
                    }
                    item.fmt(out)?;
                }
                out.write_str(")")
            }
        }
    }
}

/// The expression of a text; nothing where it is not exactly one.
pub fn parse_one(text: &str) -> Option<Sexpr> {
    let (mut expressions, faults) = parse(text);
    let is_one = expressions.len() == 1 && faults.is_empty();
    expressions.pop().filter(|_| is_one)
}

/// The symbols between the first `(` of a text, which only comments precede, and the next
/// parenthesis.
pub fn first_symbols(text: &str) -> impl Iterator<Item = &str> {
    let mut tokens = tokens(text).filter(|token| token.kind != TokenKind::Comment);
    let is_list = tokens
        .next()
        .is_some_and(|first| first.kind == TokenKind::Open);
    tokens
        .take_while(move |token| is_list && token.kind == TokenKind::Symbol)
        .map(|token| &text[token.span.range()])
}

/// Lists under construction.
pub(super) struct Builder<'a> {
    text: &'a str,
    pub(super) top: Vec<Sexpr>,
    /// Each open list: its items so far and its parenthesis.
    open: Vec<(Vec<Sexpr>, Span)>,
    /// Each `)` that closes nothing.
    stray: Vec<Span>,
    /// The first `(` nested too deep. The content of such lists is skipped.
    pub(super) too_deep: Option<Span>,
    /// How many open lists are nested too deep.
    n_too_deep: usize,
    end: Span,
}

impl<'a> Builder<'a> {
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            top: Vec::new(),
            open: Vec::new(),
            stray: Vec::new(),
            too_deep: None,
            n_too_deep: 0,
            end: Span::default(),
        }
    }

    pub fn read<'t>(text: &'a str, tokens: impl IntoIterator<Item = &'t Token>) -> Self {
        let mut builder = Self::new(text);
        tokens.into_iter().for_each(|token| builder.add(token));
        builder
    }

    pub fn add(&mut self, token: &Token) {
        self.end = token.span;
        match token.kind {
            TokenKind::Open if self.open.len() >= MAX_DEPTH => {
                self.too_deep.get_or_insert(token.span);
                self.n_too_deep += 1;
            }
            TokenKind::Open => self.open.push((Vec::new(), token.span)),
            TokenKind::Close if self.n_too_deep > 0 => self.n_too_deep -= 1,
            TokenKind::Close if self.open.is_empty() => self.stray.push(token.span),
            TokenKind::Close => self.close(token.span),
            TokenKind::Symbol if self.n_too_deep == 0 => {
                let text = self.text[token.span.range()].into();
                self.push(Sexpr::Symbol(text, token.span));
            }
            TokenKind::Symbol | TokenKind::Comment => {}
        }
    }

    /// Closes the innermost open list; `end` is its last token.
    pub fn close(&mut self, end: Span) {
        if let Some((items, start)) = self.open.pop() {
            self.push(Sexpr::List(items, start.to(end)));
        }
    }

    fn push(&mut self, item: Sexpr) {
        self.open
            .last_mut()
            .map_or(&mut self.top, |(items, _)| items)
            .push(item);
    }

    /// The parentheses of the open lists, outermost first.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = Span> + ExactSizeIterator {
        self.open.iter().map(|(_, start)| *start)
    }

    pub fn stray(&self) -> &[Span] {
        &self.stray
    }

    pub fn is_sound(&self) -> bool {
        self.n_faults() == 0 && self.too_deep.is_none()
    }

    pub fn n_faults(&self) -> usize {
        self.open.len() + self.stray.len()
    }

    /// The expressions read; open lists end with the last token.
    pub fn closed(mut self) -> Vec<Sexpr> {
        while !self.open.is_empty() {
            self.close(self.end);
        }
        self.top
    }

    /// The expressions read, with a fault for the stray `)` and one for the open lists. `next_line`
    /// is the line of the statement before which a `)` is missing.
    pub fn with_faults(self, next_line: Option<u32>) -> (Vec<Sexpr>, Vec<Diagnostic>) {
        let (n_stray, n_open) = (self.stray.len(), self.open.len());
        let stray = self.stray.first().map(|&span| {
            let message = match n_stray {
                1 => "this `)` closes nothing".to_string(),
                _ => format!("this `)` and {} after it close nothing", n_stray - 1),
            };
            Diagnostic::error("stray-parenthesis", span, message)
                .with_help("remove it, or add the `(` that it belongs to")
                .with_edits(self.stray.iter().copied().map(Edit::removal).collect())
        });
        let open = self.open().next_back().map(|start| {
            let missing = Edit::insertion(self.end, ")".repeat(n_open));
            unclosed(start, n_open, next_line).with_edits(vec![missing])
        });
        let faults = stray.into_iter().chain(open).collect();
        (self.closed(), faults)
    }
}

/// The fault of a list that is not closed, the innermost of `n_open`.
pub(super) fn unclosed(start: Span, n_open: usize, next_line: Option<u32>) -> Diagnostic {
    let message = match n_open {
        1 => "this `(` is never closed".to_string(),
        _ => format!("this `(` and {} around it are never closed", n_open - 1),
    };
    let help = match next_line {
        Some(line) => format!("add the missing `)` before line {line}"),
        None => "add the missing `)`".to_string(),
    };
    Diagnostic::error("unclosed-parenthesis", start, message).with_help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> (String, Vec<&'static str>) {
        let (items, diagnostics) = parse(text);
        let shown: Vec<String> = items.iter().map(Sexpr::to_string).collect();
        (
            shown.join(" | "),
            diagnostics.iter().map(|d| d.code).collect(),
        )
    }

    #[test]
    fn lists_nest_and_print_canonically() {
        assert_eq!(shown("( a(b c)( ) )d"), ("(a (b c) ()) | d".into(), vec![]));
    }

    #[test]
    fn text_is_made_canonical() {
        for (text, expected) in [
            ("( cell 1  (foo) b )", Some("(cell 1 foo b)")),
            ("(TRUE x)", Some("(true x)")),
            ("((noop))", Some("noop")),
            ("Cell", Some("Cell")),
            ("()", Some("()")),
            ("(a", None),
            ("a b", None),
            ("", None),
        ] {
            let canonical = parse_one(text).map(|it| it.canonical());
            assert_eq!(canonical.as_deref(), expected);
        }
    }

    #[test]
    fn a_fact_is_known_with_true_around_it_or_without() {
        for text in ["(at 0)", "(true (at 0))", "((TRUE ( at 0)))"] {
            assert_eq!(parse(text).0[0].fact().canonical(), "(at 0)");
        }
        assert_eq!(parse("(true)").0[0].fact().canonical(), "true");
        assert_eq!(parse("(ready)").0[0].fact().canonical(), "ready");
    }

    #[test]
    fn faults_are_reported_and_repaired() {
        assert_eq!(
            shown("a) (b"),
            (
                "a | (b)".into(),
                vec!["stray-parenthesis", "unclosed-parenthesis"]
            )
        );
    }

    #[test]
    fn nesting_is_bounded_without_recursion() {
        let text = format!("{}x{} y", "(".repeat(100_000), ")".repeat(100_000));
        let (items, codes) = shown(&text);
        assert!(items.ends_with("| y"));
        assert_eq!(codes, vec!["nesting-too-deep"]);
    }

    #[test]
    fn spans_point_into_the_text() {
        let text = " (ab\n (cd)) ";
        let (items, _) = parse(text);
        assert_eq!(&text[items[0].span().range()], "(ab\n (cd))");
    }
}
