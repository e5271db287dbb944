#![doc = include_str!("../README.md")]
//!
//! Text becomes tokens, tokens become s-expressions ([`sexpr`]), and those become [`Rules`]
//! ([`read`]): negation is pushed inwards and `or` is expanded, so that a body is a list of
//! literals. Reading continues after a fault; every fault becomes a [`Diagnostic`].
//!
//! Invariants: a span lies inside the text it was read from; in [`Rules`] every variable index is
//! below its rule's variable count, and keywords are lower case.
//!
//! Never uses: propositions, gates, time, files, HTTP.

#![cfg_attr(test, allow(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

pub mod ids;
pub mod check;
pub mod components;
pub mod diagnostic;
mod drafts;
pub mod format;
mod formula;
pub mod lines;
pub mod modes;
pub mod read;
mod recover;
pub mod rules;
pub mod scope;
pub mod sexpr;
pub mod span;
pub mod strict;
pub mod symbols;
pub mod term;
pub mod text;
pub mod token;
mod usage;

use std::collections::HashSet;

pub use components::{RelationGraph, strongly_connected};
pub use diagnostic::{Diagnostic, Edit, Remedy, Severity};
pub use ids::{
    AtomId, BaseId, GateId, GroupedLists, Id, IdVec, MoveId, NodeId, RoleId, Symbol, TermId,
};
pub use lines::Lines;
pub use rules::{Atom, Literal, Rule, Rules, Signature, Term};
pub use sexpr::Sexpr;
pub use span::Span;
pub use symbols::{CHANCE_ROLE, Symbols, keyword, only_in_other_case};
pub use term::TermTable;
pub use text::Encoding;
pub use usage::nearest;

/// Rules with more roles are refused. Published games have at most some dozens; every node of a
/// search stores values for each role.
pub const MAX_ROLES: usize = 1000;

/// Reads and checks a whole rulesheet: the rules, and what is wrong with them, in the order of the
/// text.
///
/// Faulty statements are left out and reported. [`is_playable`] says whether what is left is a
/// game.
pub fn load(text: &str) -> (Rules, Vec<Diagnostic>) {
    let (_, rules, diagnostics) = load_with_statements(text);
    (rules, diagnostics)
}

/// As [`load`], with the expressions of the text.
pub fn load_with_statements(text: &str) -> (Vec<Sexpr>, Rules, Vec<Diagnostic>) {
    let (statements, faults) = sexpr::parse(text);
    let (rules, diagnostics) = match not_gdl(text, &statements) {
        Some(fault) => (load_statements(&[], Vec::new()).0, vec![fault]),
        None => load_statements(&statements, faults),
    };
    (statements, rules, diagnostics)
}

/// A text whose expressions are names most of the time, as in prose, HTML and random bytes, or that
/// has none.
fn not_gdl(text: &str, statements: &[Sexpr]) -> Option<Diagnostic> {
    if let Some(fault) = fenced(text, statements) {
        return Some(fault);
    }
    let lists = statements.iter().filter(|it| matches!(it, Sexpr::List(..)));
    let n_lists = lists.count();
    let is_hrf = matches!(statements, [Sexpr::Symbol(_, name), Sexpr::List(_, list), ..]
        if name.end == list.start);
    // Of facts in HRF there is a name before each list.
    if statements.len() - n_lists < n_lists + usize::from(!is_hrf) || statements.is_empty() {
        return None;
    }
    let mut symbols = statements.iter().filter_map(Sexpr::symbol);
    if n_lists > 0 && symbols.any(|symbol| symbol.starts_with("#|")) {
        // The names may be those of what is meant as a comment.
        return None;
    }
    let first = statements
        .iter()
        .find(|it| !matches!(it, Sexpr::List(..)))?;
    let what = match text.trim_start().starts_with('<') {
        true => "this is not GDL but looks like a web page",
        false if is_hrf => "this looks like HRF and is read as KIF",
        false => "this is not GDL",
    };
    let help = match is_hrf {
        true => "HRF is read from files whose name ends in `.hrf`",
        false => "expected statements in parentheses, such as `(role white)`",
    };
    Some(Diagnostic::error("not-gdl", first.span(), what).with_help(help))
}

/// Rules between the fences of a text in Markdown.
fn fenced(text: &str, statements: &[Sexpr]) -> Option<Diagnostic> {
    let first = statements.iter().find_map(|it| match it {
        Sexpr::Symbol(name, span) if name.starts_with("```") => Some(*span),
        _ => None,
    })?;
    let lists = statements.iter().filter(|it| matches!(it, Sexpr::List(..)));
    let rules = lists
        .map(Sexpr::span)
        .find(|span| span.start > first.start)?;
    let (line, _) = span::line_and_column(text, rules.start);
    let message = format!("a fence around rules is no GDL; the rules begin in line {line}");
    let fault = Diagnostic::error("not-gdl", first, message);
    Some(fault.with_help("leave out the fences and the text around them"))
}

/// Reads and checks statements whose parentheses have these faults.
///
/// A fault that leaves a statement unreadable is reported alone: further faults of the statement,
/// and names that are undefined or unused without it, are not.
pub fn load_statements(
    statements: &[Sexpr],
    mut faults: Vec<Diagnostic>,
) -> (Rules, Vec<Diagnostic>) {
    let (rules, read_faults) = read::read_rules(statements);
    let statements = read::unwrapped(statements);
    // The statement that holds a place, or ends before it.
    let statement_at = |span: Span| {
        let next = statements.partition_point(|statement| statement.span().start <= span.start);
        next.checked_sub(1)
    };
    let statements_with = |faults: &[Diagnostic]| -> HashSet<Option<usize>> {
        let places = faults
            .iter()
            .filter(|fault| fault.severity == Severity::Error);
        places.map(|fault| statement_at(fault.span)).collect()
    };
    let unbalanced = statements_with(&faults);
    let in_unbalanced = |fault: &Diagnostic| {
        !fault.span.is_empty() && unbalanced.contains(&statement_at(fault.span))
    };
    faults.extend(
        read_faults
            .into_iter()
            .filter(|fault| !in_unbalanced(fault)),
    );
    let mut doubtful = HashSet::new();
    for statement in statements_with(&faults).into_iter().flatten() {
        statements[statement].for_each_symbol(&mut |symbol| {
            doubtful.extend(rules.symbols.find(symbol));
        });
    }
    let checked = check::check(&rules, &doubtful);
    faults.extend(checked.into_iter().filter(|fault| !in_unbalanced(fault)));
    faults.sort_by_key(|fault| (fault.span, fault.code));
    (rules, faults)
}

/// The error to show where only one is shown: what others may follow from comes first, which are
/// wrong parentheses, and then what has a place.
pub fn main_error(diagnostics: &[Diagnostic]) -> Option<&Diagnostic> {
    let errors = diagnostics
        .iter()
        .filter(|fault| fault.severity == Severity::Error);
    errors.min_by_key(|fault| (!fault.code.ends_with("-parenthesis"), fault.span.is_empty()))
}

/// Whether rules with these diagnostics can be played, however faulty: there must be a role, a
/// move, not too many roles, and no part of the text that was not read.
pub fn is_playable(rules: &Rules, diagnostics: &[Diagnostic]) -> bool {
    const FATAL: [&str; 4] = [
        "nesting-too-deep",
        "not-gdl",
        "text-too-long",
        "too-many-roles",
    ];
    let mut heads = rules.rules.iter().map(|rule| rule.head.signature());
    let is_read = |fault: &Diagnostic| !FATAL.contains(&fault.code);
    !rules.roles().is_empty()
        && heads.any(|head| head == (keyword::LEGAL, 2))
        && diagnostics.iter().all(is_read)
}

#[cfg(test)]
mod tests {
    use super::load;

    #[test]
    fn one_wrong_parenthesis_gives_one_diagnostic_in_its_statement() {
        let text = panza_gdl_games::rulesheet("ticTacToe").expect("the game is there");
        let (statements, _) = super::sexpr::parse(text);
        let parentheses = super::token::tokens(text)
            .filter(|token| token.kind == super::token::TokenKind::Close)
            .map(|token| token.span.start as usize);
        for at in parentheses {
            let holds = |offset: u32| {
                let mut spans = statements.iter().map(super::Sexpr::span);
                spans.find(|span| span.range().contains(&(offset as usize)))
            };
            let statement = holds(at as u32);
            for more in [false, true] {
                let mut changed = text.to_string();
                match more {
                    true => changed.insert(at, ')'),
                    false => drop(changed.remove(at)),
                }
                let (_, found) = load(&changed);
                let shown: Vec<String> = found.iter().map(|d| d.one_line("", &changed)).collect();
                assert_eq!(found.len(), 1, "{shown:?}");
                let is_near = holds(found[0].span.start.saturating_sub(1)) == statement
                    || holds(found[0].span.start) == statement;
                assert!(is_near, "{shown:?} for a change in {statement:?}");
            }
        }
    }
}
