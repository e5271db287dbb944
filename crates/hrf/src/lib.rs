#![doc = include_str!("../README.md")]
//!
//! ```text
//! text ─▶ token ─▶ syntax ─▶ sheet ─▶ compile ─▶ shapes ─▶ tables ─▶ Rules
//!                  trees     clauses  versions   values    arithmetic, frame
//! ```
//!
//! A state is a set of facts that stay true unless a move takes them away; operations say what
//! moves do; `control` says who moves. [`load`] writes that out: one role chooses among the legal
//! moves and every other role has the move [`names::NOOP`]. Names keep their spelling, except for
//! those that KIF could not tell apart ([`names`]).
//!
//! Invariants: spans lie in the text that was read; a `$` stands in no name of the dialect and in
//! all names that the translation makes.
//!
//! Never uses: propositions, gates, time, files, HTTP.

#![cfg_attr(test, allow(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

mod dialect;
mod check;
mod compile;
mod format;
mod frame;
mod conditions;
pub mod names;
mod numbers;
mod sensitive;
mod shapes;
mod sheet;
pub mod syntax;
mod tables;
#[cfg(test)]
mod tests;
pub mod textbook;
pub mod token;
mod write;

pub use dialect::Dialect;
pub use format::format;
pub use names::NOOP;
pub use numbers::number;
pub use sheet::is_built_in;
pub use token::is_name_character;
pub use write::{Control, Turns, write};

use panza_gdl::{Diagnostic, Rules, Sexpr, Span};

/// What is read of a rulesheet.
pub struct Reading {
    /// The rules.
    pub rules: Rules,
    /// What is wrong with them, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The sentences, each with its place.
    pub sentences: Vec<(syntax::Tree, Span)>,
    /// Whether the sentences are all of the text.
    pub is_whole: bool,
    /// The sentences as statements of KIF, if they are [textbook GDL](textbook).
    pub statements: Option<Vec<Sexpr>>,
}

/// Reads and checks a whole rulesheet, in HRF or in [textbook GDL](textbook): the rules, and what
/// is wrong with them, in the order of the text.
///
/// Faulty sentences are left out and reported. [`panza_gdl::is_playable`] says whether what is left
/// is a game.
pub fn load(text: &str) -> (Rules, Vec<Diagnostic>) {
    let reading = read(text);
    (reading.rules, reading.diagnostics)
}

/// As [`load`], with the sentences of the text.
pub fn read(text: &str) -> Reading {
    let (sentences, mut diagnostics) = syntax::parse_with_spans(text);
    let is_whole = diagnostics.is_empty();
    let kif = (!is_whole).then(|| dialect::looks_like_kif(text)).flatten();
    let decision = textbook::decide(&sentences);
    diagnostics.extend(decision.doubt);
    let (rules, diagnostics, statements) = match decision.is_textbook {
        true => {
            let (statements, faults) = textbook::statements(&sentences);
            diagnostics.extend(faults);
            let (rules, diagnostics) = textbook::load(&statements, diagnostics);
            (rules, diagnostics, Some(statements))
        }
        false => {
            let (rules, diagnostics) = translated(&sentences, diagnostics);
            (rules, diagnostics, None)
        }
    };
    let diagnostics = kif.map_or(diagnostics, |fault| vec![fault]);
    Reading {
        rules,
        diagnostics,
        sentences,
        is_whole,
        statements,
    }
}

/// The rules of sentences of HRF, whose faults so far these are, and all faults.
fn translated(
    sentences: &[(syntax::Tree, Span)],
    mut diagnostics: Vec<Diagnostic>,
) -> (Rules, Vec<Diagnostic>) {
    let mut sheet = sheet::read(sentences);
    diagnostics.append(&mut sheet.diagnostics);
    diagnostics.extend(check::check(&sheet));
    let mut compiled = compile::compile(&mut sheet);
    diagnostics.append(&mut compiled.diagnostics);
    let (rules, faults) = tables::complete(&sheet, compiled);
    diagnostics.extend(faults);
    diagnostics.extend(check::check_rules(&rules));
    diagnostics.sort_by_key(|fault| (fault.span, fault.code));
    diagnostics.dedup();
    (rules, diagnostics)
}
