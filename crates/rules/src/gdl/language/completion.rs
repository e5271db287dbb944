//! What may be written at a place of a rulesheet.

use super::outline::{Kind, Name, Outline, Slot, slot};
use super::words::{Standing, WORDS, word};
use crate::gdl::span::Span;
use crate::gdl::token::{TokenKind, tokens};

/// Proposals at most.
const MAX_PROPOSALS: usize = 1000;

/// A text that may be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completion {
    /// What is shown and looked for.
    pub label: String,
    /// What the name stands for.
    pub kind: Kind,
    /// The name with its arguments.
    pub form: String,
    /// What it means.
    pub documentation: String,
    /// What is put in, with fields such as `${1:?role}`.
    pub snippet: String,
}

/// What is expected at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expected {
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
struct Asked {
    expected: Expected,
    /// Whether it is the first word of a list.
    is_first: bool,
    /// The statement that it is in.
    statement: Option<usize>,
    /// What is there already.
    replaced: Span,
}

/// The proposals at a byte offset of `text`, with the place of what they replace.
pub(super) fn completions(text: &str, outline: &Outline, offset: u32) -> (Span, Vec<Completion>) {
    let offset = offset.min(text.len() as u32);
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
            TokenKind::Comment if reaches => return (replaced, Vec::new()),
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
    let mut found = Vec::new();
    words(expected, is_first, &mut found);
    let statement = number.filter(|_| !frames.is_empty());
    let at = Asked {
        expected,
        is_first,
        statement,
        replaced,
    };
    names(outline, &at, &mut found);
    found.truncate(MAX_PROPOSALS);
    (replaced, found)
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
        let known = word(name).map_or("", |word| word.name);
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

/// A text in parentheses, unless it stands in some.
fn enclosed(text: &str, is_first: bool) -> String {
    match is_first || !text.contains([' ', '\n']) {
        true => text.to_string(),
        false => format!("({text})"),
    }
}

fn words(expected: Expected, is_first: bool, found: &mut Vec<Completion>) {
    for word in &WORDS {
        let fits = match expected {
            Expected::Statement => word.standing != Standing::Condition,
            Expected::Head => matches!(word.standing, Standing::Head | Standing::Both),
            Expected::Condition => matches!(word.standing, Standing::Condition | Standing::Both),
            Expected::Term(_) => false,
        };
        if fits {
            found.push(Completion {
                label: word.name.to_string(),
                kind: Kind::Keyword,
                form: word.form.to_string(),
                documentation: word.meaning.to_string(),
                snippet: enclosed(word.snippet, is_first),
            });
        }
    }
}

fn names(outline: &Outline, asked: &Asked, found: &mut Vec<Completion>) {
    let Asked {
        expected, is_first, ..
    } = *asked;
    // In the order of how likely they are meant.
    let rank = |name: &Name| match (expected, name.kind) {
        (Expected::Term(_), Kind::Variable) if !is_first => Some(1),
        (Expected::Term(slot), Kind::Function | Kind::Constant) => {
            let fits = match slot {
                Slot::Fact => name.is_fact,
                Slot::Move => name.is_move,
                Slot::Role => name.is_role,
                Slot::Other => !name.is_fact && !name.is_move,
            };
            let may_be = !is_first || name.kind == Kind::Function;
            may_be.then_some(if fits { 0 } else { 2 })
        }
        (Expected::Term(_), _) | (_, Kind::Keyword | Kind::Function | Kind::Constant) => None,
        (_, Kind::Relation) => Some(0),
        (_, Kind::Variable) => None,
    };
    let is_here = |name: &Name| {
        let first = name.places.first().map(|&place| outline.occurrences[place]);
        // What is being written is no name yet.
        let is_new = name.places.len() == 1 && first.is_some_and(|it| it.span == asked.replaced);
        let is_known =
            name.kind != Kind::Variable || first.map(|it| it.statement) == asked.statement;
        is_known && !is_new
    };
    let names = outline.names.iter().filter(|name| is_here(name));
    let mut ranked: Vec<(u8, &Name)> = names.filter_map(|name| Some((rank(name)?, name))).collect();
    ranked.sort_by_key(|&(rank, name)| (rank, std::cmp::Reverse(name.places.len())));
    let left = MAX_PROPOSALS.saturating_sub(found.len());
    found.extend(ranked.into_iter().take(left).map(|(_, name)| Completion {
        label: name.text.to_string(),
        kind: name.kind,
        form: name.form(),
        documentation: name.comment.clone(),
        snippet: enclosed(&snippet(name), is_first),
    }));
}

/// The name with a field for each argument. Fields of more arguments than anybody fills in are left
/// out.
fn snippet(name: &Name) -> String {
    const MOST_FIELDS: usize = 20;
    let mut snippet = escaped(&name.text);
    for (place, argument) in name.arguments.iter().take(MOST_FIELDS).enumerate() {
        let shown = if argument.is_empty() { "_" } else { argument };
        snippet += &format!(" ${{{}:{}}}", place + 1, escaped(shown));
    }
    snippet
}

/// A text without the characters that mean something in a snippet.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '$' | '}' | '\\') {
            shown.push('\\');
        }
        shown.push(character);
    }
    shown
}
