//! What only ground rules show about a rulesheet: negations that mean nothing.

use std::collections::HashSet;

use super::components::own_negations;
use super::ground;
use super::program::GroundProgram;
use panza_gdl::{AtomId, Diagnostic, Literal, Rules, Severity, Signature, Span};
use panza_sync::Budget;

/// Makes a warning about a negation that recurs an error if a ground atom depends on its own
/// negation. Nothing changes for rules whose ground form is beyond the budget.
pub fn examine(rules: &Rules, diagnostics: &mut [Diagnostic], budget: &Budget) {
    if diagnostics.iter().all(|it| it.code != UNSTRATIFIED) {
        return;
    }
    let Ok(program) = ground(rules, budget) else {
        return;
    };
    let places = meaningless(rules, &program);
    for fault in diagnostics {
        if fault.code == UNSTRATIFIED && places.contains(&fault.span) {
            fault.severity = Severity::Error;
            fault.help =
                "neither holding nor failing agrees with the rules; remove one of the negations"
                    .to_string();
        }
    }
}

/// The code of diagnostics about negations that recur.
const UNSTRATIFIED: &str = "unstratified";

/// The places of negated conditions by which a ground atom depends on its own negation.
fn meaningless(rules: &Rules, program: &GroundProgram) -> HashSet<Span> {
    let signature = |atom: AtomId| -> Signature {
        let term = program.atoms[atom].term;
        (
            program.terms.name(term),
            program.terms.arguments(term).len(),
        )
    };
    let pairs = own_negations(program).into_iter();
    let pairs: HashSet<(Signature, Signature)> = pairs
        .map(|(head, negated)| (signature(head), signature(negated)))
        .collect();
    let mut places = HashSet::new();
    for rule in &rules.rules {
        for literal in &rule.body {
            if let Literal::Negative(atom) = literal
                && pairs.contains(&(rule.head.signature(), atom.signature()))
            {
                places.insert(atom.span);
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negations_that_mean_nothing_are_errors() {
        let game = "(role p) (init s) (legal p x) (<= (next t) (does p x)) (goal p 1)";
        let severities = |rules: &str| {
            let text = format!("{game} {rules}");
            let (rules, mut diagnostics) = panza_gdl::load(&text);
            examine(&rules, &mut diagnostics, &Budget::generous());
            let found = diagnostics.iter().filter(|it| it.code == UNSTRATIFIED);
            let found = found.map(|it| (it.severity, text[it.span.range()].to_string()));
            found.collect::<Vec<_>>()
        };
        let error = |place: &str| (Severity::Error, place.to_string());
        assert_eq!(
            severities("(<= a (not b)) (<= b (not a)) (<= terminal a)"),
            [error("b"), error("a")]
        );
        let warning = |place: &str| (Severity::Warning, place.to_string());
        assert_eq!(
            severities(
                "(s 0 1) (s 1 2) (<= (w ?x) (s ?x ?y) (not (w ?y))) (<= terminal (w 0) (true t))"
            ),
            [warning("(w ?y)")]
        );
        assert_eq!(
            severities("(s 0 1) (s 1 0) (<= (w ?x) (s ?x ?y) (not (w ?y))) (<= terminal (w 0))"),
            [error("(w ?y)")]
        );
    }
}
