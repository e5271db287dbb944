//! What only ground rules show about a rulesheet: negations that mean nothing, and facts and moves
//! that `base` and `input` leave out.
//!
//! Both are found on the relaxed game. So what is left out need not come up in play: whoever plays
//! the game says which of it did ([`LeftOut::notes`]).

use std::collections::HashSet;

use super::components::own_negations;
use super::program::GroundProgram;
use super::{GroundError, ground};
use panza_gdl::{
    AtomId, Diagnostic, Literal, RelationGraph, Rule, Rules, Severity, Signature, Span, Symbol,
    keyword,
};
use panza_sync::Budget;

/// Makes a warning about a negation that recurs an error if a ground atom depends on its own
/// negation, and finds what `base` and `input` leave out. Neither is done for rules whose ground
/// form is beyond the budget.
pub fn examine(rules: &Rules, diagnostics: &mut [Diagnostic], budget: Budget<'_>) -> LeftOut {
    let heads = || rules.rules.iter().map(|rule| rule.head.signature());
    let declares = heads().any(|head| DECLARED.iter().any(|(own, ..)| *own == head));
    if !declares && diagnostics.iter().all(|it| it.code != UNSTRATIFIED) {
        return LeftOut::default();
    }
    let Ok(program) = ground(rules, budget) else {
        return LeftOut::default();
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
    left_out(rules, &program, budget).unwrap_or_default()
}

/// Facts and moves that the rules could bring about and that `base` and `input` leave out.
#[derive(Clone, Debug, Default)]
pub struct LeftOut {
    lists: Vec<List>,
}

/// What is left out of one of the lists.
#[derive(Clone, Debug)]
struct List {
    name: String,
    /// The first statement of the list.
    place: Span,
    what: &'static str,
    atoms: Vec<String>,
}

impl LeftOut {
    /// Whether nothing is left out.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// A note for each list that leaves out some of what has come up in play: facts such as
    /// `(cell 1 b)`, and legal moves such as `(legal white noop)`.
    pub fn notes(&self, has_come_up: impl Fn(&str) -> bool) -> Vec<Diagnostic> {
        let notes = self.lists.iter().filter_map(|list| {
            let mut missing = list.atoms.iter().filter(|atom| has_come_up(atom));
            let example = missing.next()?;
            let more = match missing.count() {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            let List { name, what, place, .. } = list;
            let message = format!("`{name}` leaves out {what}: `{example}`{more}");
            let help = "Panza plays without these lists; ggp-base refuses rules whose lists are not complete";
            Some(Diagnostic::note("incomplete-list", *place, message).with_help(help))
        });
        notes.collect()
    }
}

/// The code of diagnostics about negations that recur.
const UNSTRATIFIED: &str = "unstratified";

/// The relations that list facts and moves, each with the relation whose atoms it should list, and
/// what these are.
const DECLARED: [(Signature, Symbol, &str); 2] = [
    ((keyword::BASE, 1), keyword::NEXT, "facts that become true"),
    (
        (keyword::INPUT, 2),
        keyword::LEGAL,
        "moves that become legal",
    ),
];

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

fn left_out(
    rules: &Rules,
    program: &GroundProgram,
    budget: Budget<'_>,
) -> Result<LeftOut, GroundError> {
    let declared = ground(&declarations(rules), budget)?;
    let mut lists = Vec::new();
    for ((word, arity), of, what) in DECLARED {
        let mut heads = rules.rules.iter().map(|rule| &rule.head);
        let Some(first) = heads.find(|head| head.signature() == (word, arity)) else {
            continue;
        };
        let listed: HashSet<String> = atoms(&declared, of, true).into_iter().collect();
        let mut atoms = atoms(program, of, false);
        atoms.retain(|atom| !listed.contains(atom));
        if !atoms.is_empty() {
            lists.push(List {
                name: rules.symbols.name(word).to_string(),
                place: first.span,
                what,
                atoms,
            });
        }
    }
    Ok(LeftOut { lists })
}

/// The facts that can be true and the legal moves, as text: those of a game, or those that its
/// [`declarations`] derive. Initial facts are no part of the latter.
fn atoms(program: &GroundProgram, of: Symbol, is_derived: bool) -> Vec<String> {
    if of != keyword::NEXT {
        let moves = program.moves.iter();
        return moves.map(|mv| program.show(mv.legal)).collect();
    }
    let facts = program.bases.enumerate();
    facts
        .filter(|&(fact, _)| !is_derived || program.next[fact].is_some())
        .map(|(_, &fact)| program.show_term(fact))
        .collect()
}

/// Rules of a game whose facts and legal moves are what `base` and `input` list: the rules that
/// these depend on, with `next` for `base` and `legal` for `input`.
fn declarations(rules: &Rules) -> Rules {
    let graph = RelationGraph::new(&[], rules.rules.iter().enumerate());
    let own = DECLARED.iter().map(|(own, ..)| own);
    let mut open: Vec<usize> = own
        .filter_map(|own| graph.numbers.get(own).copied())
        .collect();
    let mut is_wanted = vec![false; graph.signatures.len()];
    while let Some(relation) = open.pop() {
        if !std::mem::replace(&mut is_wanted[relation], true) {
            open.extend(graph.uses[relation].iter().map(|&(used, _)| used));
        }
    }
    let mut kept: Vec<Rule> = Vec::new();
    for rule in &rules.rules {
        let head = rule.head.signature();
        if is_wanted[graph.numbers[&head]] || head == (keyword::ROLE, 1) {
            kept.push(rule.clone());
        }
        if let Some((_, of, _)) = DECLARED.iter().find(|(own, ..)| *own == head) {
            let mut copy = rule.clone();
            copy.head.relation = *of;
            kept.push(copy);
        }
    }
    Rules {
        symbols: rules.symbols.clone(),
        rules: kept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAME: &str = "(role p) (init (n 0)) (s 0 1) (s 1 2) (legal p go)
        (<= (next (n ?y)) (true (n ?x)) (s ?x ?y)) (<= terminal (true (n 2)))
        (<= (goal p 100) (true (n 2)))";

    /// Severity, code, place and message of what there is to say.
    fn found(text: &str) -> Vec<(Severity, &'static str, String, String)> {
        let (rules, mut diagnostics) = panza_gdl::load(text);
        let left_out = examine(&rules, &mut diagnostics, Budget::generous());
        diagnostics.extend(left_out.notes(|atom| atom != "(n 2)"));
        let found = diagnostics.into_iter();
        found
            .map(|it| {
                let place = text[it.span.range()].to_string();
                (it.severity, it.code, place, it.message)
            })
            .collect()
    }

    #[test]
    fn facts_and_moves_that_are_not_listed_are_told() {
        let with = |lists: &str| found(&format!("{GAME} {lists}"));
        assert_eq!(
            with("(<= (base (n ?x)) (s ?x ?y)) (base (n 2)) (input p go)"),
            []
        );
        assert_eq!(with(""), []);
        let note = |place: &str, message: &str| {
            let (place, message) = (place.to_string(), message.to_string());
            (Severity::Note, "incomplete-list", place, message)
        };
        assert_eq!(
            with("(base (n 0)) (base (m 1)) (input p wait)"),
            [
                note(
                    "(base (n 0))",
                    "`base` leaves out facts that become true: `(n 1)`"
                ),
                note(
                    "(input p wait)",
                    "`input` leaves out moves that become legal: `(legal p go)`"
                )
            ]
        );
    }

    #[test]
    fn initial_facts_are_listed_by_base_alone() {
        let lists = "(<= (base ?f) (init ?f)) (base (n 2)) (base (n 1))";
        let codes = |text: &str| {
            let codes = found(text).into_iter().map(|it| it.1);
            let is_other = |code: &&str| *code != "init-in-body";
            codes.filter(is_other).collect::<Vec<_>>()
        };
        assert_eq!(codes(&format!("{GAME} {lists}")), Vec::<&str>::new());
        let lists = "(base (n 2)) (<= (base (n 1)) (init (n 0)))";
        assert_eq!(codes(&format!("{GAME} {lists}")), ["incomplete-list"]);
    }

    #[test]
    fn negations_that_mean_nothing_are_errors() {
        let game = "(role p) (init s) (legal p x) (<= (next t) (does p x)) (goal p 1)";
        let severities = |rules: &str| {
            let found = found(&format!("{game} {rules}")).into_iter();
            let found = found.filter(|it| it.1 == UNSTRATIFIED);
            found.map(|it| (it.0, it.2)).collect::<Vec<_>>()
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
