//! Game Description Language: from text to checked rules.
//!
//! Text becomes tokens ([`token`]), tokens become s-expressions ([`sexpr`]), and those become
//! [`Rules`] ([`read`]): negation pushed inwards and `or` expanded, so that a body is a plain list
//! of literals. Reading never stops at the first fault; every fault becomes a [`Diagnostic`].
//!
//! Invariants: a span always lies inside the text it was read from; in [`Rules`] every variable
//! index is below its rule's variable count and keywords are lower case.
//!
//! Never knows: propositions, gates, time, files, HTTP.

pub mod check;
pub mod components;
pub mod diagnostic;
pub mod format;
mod formula;
pub mod read;
pub mod rules;
pub mod sexpr;
pub mod span;
pub mod symbols;
pub mod term;
pub mod token;

pub use diagnostic::{Diagnostic, Severity};
pub use rules::{Atom, Literal, Rule, Rules, Term};
pub use sexpr::Sexpr;
pub use span::Span;
pub use symbols::{Symbols, keyword};
pub use term::TermTable;

/// Reads and checks a whole rulesheet: the rules, and everything there is to say about them.
///
/// Faulty statements are left out and reported. [`is_playable`] says whether what is left is a
/// game.
pub fn load(text: &str) -> (Rules, Vec<Diagnostic>) {
    let (statements, mut diagnostics) = sexpr::parse(text);
    let (rules, more) = read::read_rules(&statements);
    diagnostics.extend(more);
    diagnostics.extend(check::check(&rules));
    diagnostics.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.code));
    (rules, diagnostics)
}

/// Whether rules with these diagnostics can be played, however faulty: there must be somebody to
/// play, and a move.
pub fn is_playable(diagnostics: &[Diagnostic]) -> bool {
    const FATAL: [&str; 4] = ["no-role", "no-legal", "nesting-too-deep", "text-too-long"];
    diagnostics
        .iter()
        .all(|diagnostic| !FATAL.contains(&diagnostic.code))
}
