//! The rules of a START, once read.
//!
//! Reading takes time and memory in proportion to the message, so it is done before the conductor
//! is handed a START.
//!
//! Invariant: [`StartRules`] name a role and have no error.

use std::fmt::Write;
use std::sync::Arc;

use panza_gdl::{Rules, Severity, Sexpr, sexpr};
use panza_sync::allocator;
use panza_sync::{catch_panic, spawn};

/// Diagnostics of a rulesheet that are logged, at most.
const MAX_DIAGNOSTICS: usize = 50;
/// Rules of more than this many bytes of text are freed on a thread of their own.
const LONG: usize = 64 * 1024;

/// The rules of a START; clones share them.
#[derive(Clone, Debug)]
pub struct StartRules {
    /// The rules.
    pub rules: Arc<Rules>,
    /// The statements in canonical form, each on a line of its own.
    pub text: Arc<str>,
}

impl StartRules {
    /// Reads the statements of a START, whose spans point into `source`. Logs what is wrong with
    /// them.
    ///
    /// # Errors
    /// The first error of rules that cannot be played.
    pub fn read(statements: &[Sexpr], source: &str, match_id: &str) -> Result<Self, String> {
        let read = || panza_gdl::load_statements(statements, Vec::new());
        let (rules, mut diagnostics) =
            catch_panic(read).map_err(|panic| format!("reading the rules panicked: {panic}"))?;
        diagnostics.sort_by_key(|diagnostic| (diagnostic.severity, diagnostic.span));
        for diagnostic in diagnostics.iter().take(MAX_DIAGNOSTICS) {
            tracing::warn!(match_id, "{}", diagnostic.one_line("START", source));
        }
        if rules.roles().is_empty() {
            return Err("the rules name no role".into());
        }
        match diagnostics.first() {
            Some(worst) if worst.severity == Severity::Error => {
                Err(worst.one_line("START", source))
            }
            _ => Ok(Self::new(rules, statements)),
        }
    }

    /// Rules that were read from a text in another dialect.
    pub fn translated(rules: Rules) -> Self {
        let (statements, _) = sexpr::parse(&panza_gdl::format::rulesheet(&rules));
        Self::new(rules, &statements)
    }

    /// Rules that were read from these statements.
    pub fn new(rules: Rules, statements: &[Sexpr]) -> Self {
        let mut text = String::new();
        for (number, statement) in statements.iter().enumerate() {
            let line_break = if number > 0 { "\n" } else { "" };
            // Writing to a string does not fail.
            let _ = write!(text, "{line_break}{statement}");
        }
        Self {
            rules: Arc::new(rules),
            text: text.into(),
        }
    }

    /// Frees the rules without holding up the caller.
    pub(crate) fn discard(self) {
        if self.text.len() > LONG {
            // Without a thread they are freed here.
            let _ = spawn("drop", move || {
                drop(self);
                allocator::give_back();
            });
        }
    }
}
