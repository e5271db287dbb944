//! Checks of what goes wrong in drafts: arithmetic, and variables without their question mark.

use std::collections::{HashMap, HashSet};

use super::diagnostic::{Diagnostic, brief};
use super::keyword::{DOES, GOAL, INPUT, LEGAL, ROLE};
use super::rules::{Atom, Literal, Rules, Signature, Term};
use crate::ids::Symbol;

/// What calculates or compares in other languages.
const CALCULATIONS: [&str; 17] = [
    "+", "-", "*", "/", "%", "mod", "is", "<", ">", ">=", "=<", "=", "==", "!=", "\\=", "/=", "<>",
];
/// What to write instead.
pub(super) const INSTEAD: &str =
    "write a table of facts such as `(succ 1 2)`; `distinct` tells that terms differ";

pub(super) fn is_calculation(name: &str) -> bool {
    CALCULATIONS.contains(&name)
}

/// Terms that look like calculations, and constants that are meant as variables, with their names.
pub(super) fn check(rules: &Rules) -> (Vec<Diagnostic>, HashSet<Symbol>) {
    let (mut found, mut names) = (Vec::new(), HashSet::new());
    let mut of_facts = HashSet::new();
    // Relations, with whether all that defines them are facts without variables.
    let mut relations: HashMap<Signature, bool> = HashMap::new();
    for rule in &rules.rules {
        let is_fact = rule.body.is_empty() && rule.head.is_ground();
        *relations.entry(rule.head.signature()).or_insert(true) &= is_fact;
        let terms = rule.head.arguments.iter().filter(|_| is_fact);
        of_facts.extend(constants(terms));
    }
    // How many arguments of an atom are roles, or listed by facts.
    let has_roles = !rules.roles().is_empty();
    let n_listed = |atom: &Atom| match atom.signature() {
        (ROLE, 1) | (LEGAL | GOAL | DOES | INPUT, 2) => usize::from(has_roles),
        (_, arity) if relations.get(&atom.signature()) == Some(&true) => arity,
        _ => 0,
    };
    let name_of = |name| rules.symbols.name(name);
    for rule in rules.rules.iter().filter(|rule| !rule.body.is_empty()) {
        let own = constants(
            rule.body
                .iter()
                .flat_map(Literal::terms)
                .chain(&rule.head.arguments),
        );
        let atoms = rule
            .body
            .iter()
            .filter_map(Literal::atom)
            .chain([&rule.head]);
        for atom in atoms.filter(|atom| !is_calculation(name_of(atom.relation))) {
            for (at, argument) in atom.arguments.iter().enumerate() {
                argument.for_each_function(&mut |name, _| {
                    let name = name_of(name);
                    if is_calculation(name) && !argument.is_ground() {
                        let message =
                            format!("GDL has no arithmetic: `{name}` in a term calculates nothing");
                        let warning = Diagnostic::warning("no-arithmetic", atom.span, message);
                        found.push(warning.with_help(INSTEAD));
                    }
                });
                if let Term::Constant(name) = *argument
                    && at < n_listed(atom)
                    && !of_facts.contains(&name)
                    && own.iter().filter(|&&other| other == name).count() > 1
                {
                    names.insert(name);
                    let name = brief(name_of(name));
                    let message =
                        format!("`{name}` stands where others have a variable, and no fact has it");
                    let fault = Diagnostic::error("plain-variable", rule.span, message);
                    found.push(fault.with_help(format!("did you mean `?{name}`?")));
                }
            }
        }
    }
    (found, names)
}

/// All constants in some terms.
fn constants<'a>(terms: impl Iterator<Item = &'a Term>) -> Vec<Symbol> {
    let mut open: Vec<&Term> = terms.collect();
    let mut found = Vec::new();
    while let Some(term) = open.pop() {
        match term {
            Term::Variable(_) => {}
            Term::Constant(name) => found.push(*name),
            Term::Function(_, arguments) => open.extend(arguments),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::load;

    const SOUND: &str = "(role a) (role b) (init (at 1)) (succ 1 2) (legal a go) (legal b go)
        (<= (next (at ?m)) (true (at ?n)) (succ ?n ?m)) (<= terminal (true (at 2))) (goal a 1)
        (goal b 1)";

    /// Codes, texts pointed at and hints of what rules add to a sound rulesheet.
    fn check(rules: &str, expected: &[(&str, &str, &str)]) {
        let text = format!("{SOUND} {rules}");
        let found = load(&text).1;
        let found: Vec<(&str, &str, &str)> = found
            .iter()
            .map(|found| (found.code, &text[found.span.range()], &*found.help))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn calculations_are_named() {
        let table = super::INSTEAD;
        let rule = "(<= (next (at ?m)) (true (at ?n)) (is ?m (+ ?n 1)))";
        check(rule, &[("no-arithmetic", "(is ?m (+ ?n 1))", table)]);
        let rule = "(<= (next (at (- ?n 1))) (true (at ?n)))";
        check(rule, &[("no-arithmetic", "(next (at (- ?n 1)))", table)]);
        let other = "(<= terminal (true (at ?n)) (succ ?m ?n) (!= ?m 1))";
        check(other, &[("no-arithmetic", "(!= ?m 1)", table)]);
        check("(> 2 1) (<= terminal (true (at ?n)) (> ?n 1))", &[]);
    }

    #[test]
    fn variables_without_a_question_mark_are_named() {
        let rule = "(<= (legal p (go n)) (role p) (succ n ?m))";
        let found = |name: &'static str| ("plain-variable", rule, name);
        check(
            rule,
            &[found("did you mean `?p`?"), found("did you mean `?n`?")],
        );
        check("(<= (legal ?p (go home home)) (role ?p) (succ 1 ?m))", &[]);
    }
}
