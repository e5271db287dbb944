//! What is expected at a place of a rulesheet, in both dialects.
//!
//! Invariant: the statement that is being written may be unfinished, and is read token by token.

use super::infix::{self, CONTROL};
use super::outline::{Outline, Slot, slot};
use super::words::word;
use panza_gdl::Span;
use panza_gdl::token::{TokenKind, tokens};
use panza_hrf::token::TokenKind as InfixKind;
use panza_hrf::{Dialect, token as infix_token};

/// Variables of a sentence, at most.
const MAX_VARIABLES: usize = 100;

/// What is expected at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Expected {
    Statement,
    Head,
    Condition,
    Term(Slot),
}

/// A list that is open at a place.
struct Frame<'a> {
    word: Option<&'a str>,
    n_items: usize,
}

/// A place where a name may be written.
pub(super) struct Place {
    pub expected: Expected,
    /// In KIF, whether it is the first word of a list.
    pub is_first: bool,
    /// In KIF, the statement that it is in, which has the variables.
    pub statement: Option<usize>,
    /// What is there already.
    pub replaced: Span,
    /// In HRF, the variables of the sentence.
    pub variables: Vec<Box<str>>,
    /// In HRF, whether arguments are there already.
    pub is_applied: bool,
}

/// What is expected at a byte offset of a text in KIF; nothing inside a comment.
pub(super) fn kif(text: &str, outline: &Outline, offset: u32) -> Option<Place> {
    let after = outline
        .statements
        .partition_point(|statement| statement.span.start < offset);
    let number = after.checked_sub(1);
    let start = number.map_or(0, |number| outline.statements[number].span.start);
    let mut frames: Vec<Frame<'_>> = Vec::new();
    let mut replaced = Span {
        start: offset,
        end: offset,
    };
    for token in tokens(text.get(start as usize..).unwrap_or("")) {
        let span = Span {
            start: start + token.span.start,
            end: start + token.span.end,
        };
        if span.start >= offset {
            break;
        }
        let reaches = span.end >= offset;
        let count = |frames: &mut Vec<Frame<'_>>| {
            if let Some(frame) = frames.last_mut() {
                frame.n_items += 1;
            }
        };
        match token.kind {
            TokenKind::Comment if reaches => return None,
            TokenKind::Symbol if reaches => {
                replaced = span;
                break;
            }
            TokenKind::Comment => {}
            TokenKind::Open => {
                count(&mut frames);
                frames.push(Frame {
                    word: None,
                    n_items: 0,
                });
            }
            TokenKind::Close => drop(frames.pop()),
            TokenKind::Symbol => {
                if let Some(frame) = frames.last_mut().filter(|frame| frame.n_items == 0) {
                    frame.word = Some(&text[span.range()]);
                }
                count(&mut frames);
            }
        }
    }
    let (expected, is_first) = expected(&frames);
    Some(Place {
        expected,
        is_first,
        statement: number.filter(|_| !frames.is_empty()),
        replaced,
        variables: Vec::new(),
        is_applied: false,
    })
}

/// What is expected inside the open lists, and whether it is the first word of a list.
fn expected(frames: &[Frame<'_>]) -> (Expected, bool) {
    let mut expected = Expected::Statement;
    for (depth, frame) in frames.iter().enumerate() {
        // The list that is open inside this one is its last item.
        let is_innermost = depth + 1 == frames.len();
        let place = frame.n_items - usize::from(!is_innermost);
        if place == 0 {
            return (expected, is_innermost);
        }
        let name = frame.word.unwrap_or("");
        let known = word(Dialect::Kif, name).map_or("", |word| word.name);
        expected = match (expected, known) {
            (Expected::Statement, "<=") if place == 1 => Expected::Head,
            (Expected::Statement, "<=") => Expected::Condition,
            (Expected::Condition, "not" | "or" | "and") => Expected::Condition,
            (Expected::Term(_), _) => Expected::Term(Slot::Other),
            _ => Expected::Term(slot(name, place - 1)),
        };
    }
    (expected, false)
}

/// What is open at a place: a name with the number of arguments before it, or a bracket alone.
#[derive(Clone, Default)]
struct Open<'a> {
    stack: Vec<(Option<&'a str>, usize)>,
    /// Whether the head of the sentence is over.
    is_body: bool,
    /// The last token, if a term ends with it.
    after: Option<&'a str>,
}

impl<'a> Open<'a> {
    /// Takes the next token.
    fn push(&mut self, kind: InfixKind, shown: &'a str) {
        let before = self.after.take();
        match kind {
            InfixKind::Name | InfixKind::Variable | InfixKind::Text => self.after = Some(shown),
            InfixKind::Mark("(") => {
                let is_name = |name: &&str| !matches!(*name, ")" | "]");
                self.stack.push((before.filter(is_name), 0));
            }
            InfixKind::Mark("[") => self.stack.push((Some("["), 0)),
            InfixKind::Mark(")" | "]") => {
                self.stack.pop();
                self.after = Some(shown);
            }
            InfixKind::Mark(",") => {
                if let Some((_, n_before)) = self.stack.last_mut() {
                    *n_before += 1;
                }
            }
            InfixKind::Mark(":-" | "::" | "==>") => self.is_body = true,
            InfixKind::Mark(_) | InfixKind::Comment | InfixKind::Unknown => {}
        }
    }

    fn expected(&self) -> Expected {
        let outer = match self.is_body && (self.after.is_none() || !self.stack.is_empty()) {
            true => Expected::Condition,
            // After a whole sentence the next one begins.
            false => Expected::Statement,
        };
        let open = self.stack.iter();
        open.fold(outer, |expected, frame| match (expected, *frame) {
            (expected, (None, _)) => expected,
            (Expected::Condition, (Some("not" | "and" | "or"), _) | (Some("countofall"), 1)) => {
                Expected::Condition
            }
            (Expected::Term(_), (Some(CONTROL), 0)) => Expected::Term(Slot::Role),
            (Expected::Term(_), _) => Expected::Term(Slot::Other),
            (_, (Some(name), argument)) => Expected::Term(infix::slot(name, argument)),
        })
    }
}

/// What is expected at a byte offset of a text in HRF; nothing inside comments and quoted texts.
pub(super) fn hrf(text: &str, offset: u32) -> Option<Place> {
    let mut open = Open::default();
    let mut found: Option<Place> = None;
    let mut variables: Vec<Box<str>> = Vec::new();
    let at = |open: &Open<'_>, replaced: Span| Place {
        expected: open.expected(),
        is_first: false,
        statement: None,
        replaced,
        variables: Vec::new(),
        is_applied: text[replaced.end as usize..].starts_with('('),
    };
    let here = Span {
        start: offset,
        end: offset,
    };
    for token in infix_token::tokens(text) {
        let span = token.span;
        let shown = &text[span.range()];
        let is_word = matches!(token.kind, InfixKind::Name | InfixKind::Variable);
        let before = &text[..span.start as usize];
        let starts_line = before.is_empty() || before.ends_with(['\n', '\r']);
        let follows = open.stack.is_empty() && open.after.is_some();
        // A name in the first column ends what was left open.
        if is_word && (follows || starts_line && !open.stack.is_empty()) {
            if found.is_some() {
                break;
            }
            if span.start >= offset {
                found = Some(at(&open, here));
                break;
            }
            open = Open::default();
            variables.clear();
        }
        let reaches = span.start < offset && offset <= span.end;
        match token.kind {
            InfixKind::Comment if reaches => return None,
            InfixKind::Comment => continue,
            InfixKind::Text | InfixKind::Unknown if reaches => return None,
            InfixKind::Name | InfixKind::Variable if reaches => found = Some(at(&open, span)),
            _ if span.start >= offset && found.is_none() => found = Some(at(&open, here)),
            _ => {}
        }
        let is_new = || !variables.iter().any(|known| **known == *shown);
        let is_variable = token.kind == InfixKind::Variable && shown != "_" && !reaches;
        if is_variable && variables.len() < MAX_VARIABLES && is_new() {
            variables.push(shown.into());
        }
        open.push(token.kind, shown);
    }
    let found = found.unwrap_or_else(|| at(&open, here));
    Some(Place { variables, ..found })
}
