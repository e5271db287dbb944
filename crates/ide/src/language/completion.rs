//! What may be written at a place of a rulesheet.

use super::outline::{Kind, Name, Outline, Slot};
use super::place::{self, Expected, Place};
use super::words::{Standing, word, words};
use panza_gdl::Span;
use panza_hrf::Dialect;

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

/// The proposals at a byte offset of `text`, with the place of what they replace.
pub(super) fn completions(
    dialect: Dialect,
    text: &str,
    outline: &Outline,
    offset: u32,
) -> (Span, Vec<Completion>) {
    let offset = floor(text, offset as usize) as u32;
    let place = match dialect {
        Dialect::Kif => place::kif(text, outline, offset),
        Dialect::Hrf => place::hrf(text, offset),
    };
    let Some(place) = place else {
        let nothing = Span {
            start: offset,
            end: offset,
        };
        return (nothing, Vec::new());
    };
    let mut found = Vec::new();
    if dialect == Dialect::Hrf && matches!(place.expected, Expected::Term(_)) {
        found.extend(place.variables.iter().map(|name| variable(name)));
    }
    proposed_words(dialect, &place, &mut found);
    names(dialect, outline, &place, &mut found);
    found.truncate(MAX_PROPOSALS);
    (place.replaced, found)
}

/// The start of the character that holds a byte offset.
fn floor(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn variable(name: &str) -> Completion {
    Completion {
        label: name.to_string(),
        kind: Kind::Variable,
        form: name.to_string(),
        documentation: String::new(),
        snippet: name.to_string(),
    }
}

/// A text of KIF in parentheses, unless it stands in some; one of HRF without arguments where they
/// are there already.
fn fitted(dialect: Dialect, text: &str, place: &Place) -> String {
    match dialect {
        Dialect::Kif if place.is_first || !text.contains([' ', '\n']) => text.to_string(),
        Dialect::Kif => format!("({text})"),
        Dialect::Hrf if place.is_applied => text.split('(').next().unwrap_or(text).to_string(),
        Dialect::Hrf => text.to_string(),
    }
}

fn proposed_words(dialect: Dialect, place: &Place, found: &mut Vec<Completion>) {
    for word in words(dialect) {
        let fits = match place.expected {
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
                snippet: fitted(dialect, word.snippet, place),
            });
        }
    }
}

fn names(dialect: Dialect, outline: &Outline, asked: &Place, found: &mut Vec<Completion>) {
    let Place {
        expected, is_first, ..
    } = *asked;
    let is_hrf = dialect == Dialect::Hrf;
    // In the order of how likely they are meant.
    let rank = |name: &Name| match (expected, name.kind) {
        (_, Kind::Variable) if is_hrf => None,
        (Expected::Term(_), _) if is_hrf && name.kind == Kind::Relation => None,
        // Of HRF facts are conditions, and actions are heads and effects.
        (Expected::Condition, _) if is_hrf && word(dialect, &name.text).is_some() => None,
        (Expected::Condition, _) if is_hrf && (name.is_fact || name.is_move) => {
            Some(u8::from(!name.is_fact))
        }
        (Expected::Statement, _) if is_hrf && name.is_move => Some(0),
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
        form: name.form(dialect),
        documentation: name.comment.clone(),
        snippet: fitted(dialect, &snippet(dialect, name), asked),
    }));
}

/// The name with a field for each argument. Fields of more arguments than anybody fills in are left
/// out.
fn snippet(dialect: Dialect, name: &Name) -> String {
    const MOST_FIELDS: usize = 20;
    let text = escaped(&name.text);
    let shown = name.arguments.iter().take(MOST_FIELDS).enumerate();
    let fields: Vec<String> = shown
        .map(|(place, argument)| {
            let shown = if argument.is_empty() { "_" } else { argument };
            format!("${{{}:{}}}", place + 1, escaped(shown))
        })
        .collect();
    match (dialect, fields.is_empty()) {
        (_, true) => text,
        (Dialect::Kif, false) => format!("{text} {}", fields.join(" ")),
        (Dialect::Hrf, false) => format!("{text}({})", fields.join(",")),
    }
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
