//! S-expressions: nested lists of symbols, each with its place in the text.
//!
//! Parsing keeps its own stack, so deep nesting costs memory and not the thread's stack; nesting is
//! bounded by [`MAX_DEPTH`] all the same, because later passes walk the tree. Faults are reported
//! and repaired: a stray `)` is skipped, an open list is closed at the end of the text.

use std::fmt;

use super::diagnostic::Diagnostic;
use super::span::Span;
use super::token::{TokenKind, tokens};

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

/// Reads all top-level expressions of a text, and what is wrong with it.
pub fn parse(text: &str) -> (Vec<Sexpr>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    if text.len() > u32::MAX as usize {
        let message = format!(
            "the text has {} bytes, at most {} can be read",
            text.len(),
            u32::MAX
        );
        return (
            Vec::new(),
            vec![Diagnostic::error("text-too-long", Span::default(), message)],
        );
    }
    let mut top = Vec::new();
    // Each open list: its items so far and the place of its parenthesis.
    let mut open: Vec<(Vec<Sexpr>, Span)> = Vec::new();
    // How many lists deeper than allowed we are; their content is skipped.
    let mut too_deep = 0usize;
    let mut was_too_deep = false;
    for token in tokens(text) {
        match token.kind {
            TokenKind::Comment => {}
            TokenKind::Open if open.len() >= MAX_DEPTH => {
                // Said once: what follows is the same fault, as a rule.
                if !std::mem::replace(&mut was_too_deep, true) {
                    let message = format!("lists are nested more than {MAX_DEPTH} deep here");
                    diagnostics.push(Diagnostic::error("nesting-too-deep", token.span, message));
                }
                too_deep += 1;
            }
            TokenKind::Open => open.push((Vec::new(), token.span)),
            TokenKind::Close if too_deep > 0 => too_deep -= 1,
            TokenKind::Close => match open.pop() {
                Some((items, start)) => {
                    let list = Sexpr::List(items, start.to(token.span));
                    open.last_mut()
                        .map_or(&mut top, |(items, _)| items)
                        .push(list);
                }
                None => diagnostics.push(
                    Diagnostic::error("stray-parenthesis", token.span, "this `)` closes nothing")
                        .with_help("remove it, or add the `(` that it belongs to"),
                ),
            },
            TokenKind::Symbol if too_deep > 0 => {}
            TokenKind::Symbol => {
                let symbol = Sexpr::Symbol(text[token.span.range()].into(), token.span);
                open.last_mut()
                    .map_or(&mut top, |(items, _)| items)
                    .push(symbol);
            }
        }
    }
    let end = Span::new(text.len(), text.len());
    if let Some((_, start)) = open.last() {
        let message = if open.len() == 1 {
            "this `(` is never closed".to_string()
        } else {
            format!(
                "this `(` is never closed, nor are {} around it",
                open.len() - 1
            )
        };
        diagnostics.push(
            Diagnostic::error("unclosed-parenthesis", *start, message)
                .with_help("add the missing `)`; the next statement usually shows where"),
        );
    }
    while let Some((items, start)) = open.pop() {
        let list = Sexpr::List(items, start.to(end));
        open.last_mut()
            .map_or(&mut top, |(items, _)| items)
            .push(list);
    }
    (top, diagnostics)
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
