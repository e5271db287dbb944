//! The rules and our role in a START.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::StartRequest;
use crate::gdl::{self, Rules, Severity};
use crate::telemetry::panic_text;

/// Diagnostics of a rulesheet that are logged, at most.
const MAX_DIAGNOSTICS: usize = 50;

/// The rules of a START.
///
/// # Errors
/// The first error of rules that cannot be played.
pub(super) fn read_rules(start: &StartRequest) -> Result<Rules, String> {
    let read = || gdl::load_statements(&start.rules, Vec::new());
    let (rules, mut diagnostics) = catch_unwind(AssertUnwindSafe(read))
        .map_err(|panic| format!("reading the rules panicked: {}", panic_text(&*panic)))?;
    diagnostics.sort_by_key(|diagnostic| (diagnostic.severity, diagnostic.span));
    for diagnostic in diagnostics.iter().take(MAX_DIAGNOSTICS) {
        let line = diagnostic.one_line("START", &start.source);
        tracing::warn!(match_id = start.match_id, "{line}");
    }
    if rules.roles().is_empty() {
        return Err("the rules name no role".into());
    }
    match diagnostics.first() {
        Some(worst) if worst.severity == Severity::Error => {
            Err(worst.one_line("START", &start.source))
        }
        _ => Ok(rules),
    }
}

/// The place of a role among the roles, in another letter case if need be.
pub(super) fn place_of(role: &str, roles: &[String]) -> Option<usize> {
    let exact = roles.iter().position(|name| name == role);
    let similar = |name: &String| name.eq_ignore_ascii_case(role);
    exact.or_else(|| roles.iter().position(similar))
}
