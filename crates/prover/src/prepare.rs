//! Defines unsafe rules, so that every rule can be planned.
//!
//! - Rules for `true` and `does` derive nothing: the state and the joint move give them.
//! - An unbound role of a `legal`, `goal` or `input` head means every role.
//! - `distinct` with an unbound variable holds, unless both terms are the same.
//! - `not` with an unbound variable holds if no instance of its atom holds.
//! - A rule with any other unbound head variable derives nothing.

use super::dependency::{DOES, TRUE};
use super::names::Names;
use panza_gdl::{Atom, Literal, Rule, Symbol, Term, keyword};

/// The rules that derive anything, with the role's place of their heads bound.
pub fn guard(rules: &[Rule]) -> Vec<Rule> {
    let is_derived = |rule: &&Rule| ![TRUE, DOES].contains(&rule.head.signature());
    rules
        .iter()
        .filter(is_derived)
        .cloned()
        .map(guard_role)
        .collect()
}

/// Guarded rules with everything unsafe settled.
pub fn prepare(rules: &[Rule], names: &mut Names) -> Vec<Rule> {
    let mut prepared = Vec::with_capacity(rules.len());
    let mut helpers = Vec::new();
    for rule in rules {
        let mut rule = rule.clone();
        let is_bound = rule.bound_variables();
        if !settle_distinct(&mut rule, &is_bound) || has_unbound(&rule.head, &is_bound) {
            continue;
        }
        for literal in &mut rule.body {
            if let Literal::Negative(atom) = literal
                && has_unbound(atom, &is_bound)
            {
                let relation = names.helper(&format!("not${}", helpers.len()));
                let helper = projection(atom, &is_bound, relation, &rule.variables);
                *atom = helper.head.clone();
                helpers.push(helper);
            }
        }
        let mut seen: Vec<Literal> = Vec::with_capacity(rule.body.len());
        for literal in rule.body {
            if !seen.iter().any(|known| is_same(known, &literal)) {
                seen.push(literal);
            }
        }
        rule.body = seen;
        prepared.push(rule);
    }
    prepared.extend(helpers);
    prepared
}

/// Adds `(role ?p)` where `legal`, `goal` and `input` leave the role open.
fn guard_role(mut rule: Rule) -> Rule {
    let is_for_role = [(keyword::LEGAL, 2), (keyword::GOAL, 2), (keyword::INPUT, 2)]
        .contains(&rule.head.signature());
    if is_for_role
        && let Some(Term::Variable(role)) = rule.head.arguments.first()
        && !rule.bound_variables()[*role as usize]
    {
        rule.body.push(Literal::Positive(Atom {
            relation: keyword::ROLE,
            arguments: Box::new([Term::Variable(*role)]),
            span: rule.head.span,
        }));
    }
    rule
}

fn has_unbound(atom: &Atom, is_bound: &[bool]) -> bool {
    let mut found = false;
    atom.for_each_variable(&mut |variable| found |= !is_bound[variable as usize]);
    found
}

/// Removes each `distinct` that always holds. False when one never does.
fn settle_distinct(rule: &mut Rule, is_bound: &[bool]) -> bool {
    let mut can_hold = true;
    rule.body.retain(|literal| {
        let Literal::Distinct(left, right, _) = literal else {
            return true;
        };
        if left == right {
            can_hold = false;
        }
        let mut is_free = false;
        literal.for_each_variable(&mut |variable| is_free |= !is_bound[variable as usize]);
        !is_free && !can_never_match(left, right)
    });
    can_hold
}

fn can_never_match(left: &Term, right: &Term) -> bool {
    match (left, right) {
        (Term::Constant(left), Term::Constant(right)) => left != right,
        (Term::Function(name, left), Term::Function(other, right)) => {
            name != other
                || left.len() != right.len()
                || (left.iter().zip(right)).any(|(left, right)| can_never_match(left, right))
        }
        (Term::Constant(_), Term::Function(..)) | (Term::Function(..), Term::Constant(_)) => true,
        (Term::Variable(_), _) | (_, Term::Variable(_)) => false,
    }
}

fn is_same(left: &Literal, right: &Literal) -> bool {
    match (left, right) {
        (Literal::Positive(left), Literal::Positive(right))
        | (Literal::Negative(left), Literal::Negative(right)) => {
            left.signature() == right.signature() && left.arguments == right.arguments
        }
        (Literal::Distinct(left, right, _), Literal::Distinct(other, others, _)) => {
            left == other && right == others
        }
        _ => false,
    }
}

/// A rule for the bound variables of an atom some instance of which holds.
fn projection(atom: &Atom, is_bound: &[bool], relation: Symbol, variables: &[Box<str>]) -> Rule {
    let mut kept: Vec<Term> = Vec::new();
    atom.for_each_variable(&mut |variable| {
        let term = Term::Variable(variable);
        if is_bound[variable as usize] && !kept.contains(&term) {
            kept.push(term);
        }
    });
    Rule {
        head: Atom {
            relation,
            arguments: kept.into(),
            span: atom.span,
        },
        body: vec![Literal::Positive(atom.clone())],
        variables: variables.into(),
        span: atom.span,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_gdl::{read, sexpr};

    fn prepared(text: &str) -> Vec<String> {
        let (rules, _) = read::read_rules(&sexpr::parse(text).0);
        let mut names = Names::new(rules.symbols);
        let prepared = prepare(&guard(&rules.rules), &mut names);
        let shown = panza_gdl::Rules {
            symbols: names.symbols,
            rules: Vec::new(),
        };
        prepared.iter().map(|rule| shown.show_rule(rule)).collect()
    }

    #[test]
    fn what_nothing_binds_is_settled() {
        assert_eq!(
            prepared("(<= (goal ?p 0) (not (listed ?p)))"),
            ["(<= (goal ?p 0) (not (listed ?p)) (role ?p))"]
        );
        assert_eq!(
            prepared("(<= (p ?x) (q ?x) (not (r ?x ?y (f ?z))) (distinct ?x ?y))"),
            [
                "(<= (p ?x) (q ?x) (not (not$0 ?x)))",
                "(<= (not$0 ?x) (r ?x ?y (f ?z)))"
            ]
        );
        assert_eq!(prepared("(<= (p ?x ?y) (q ?x))"), Vec::<String>::new());
        assert_eq!(prepared("(<= (true ?x) (q ?x))"), Vec::<String>::new());
    }

    #[test]
    fn needless_conditions_are_dropped() {
        assert_eq!(
            prepared("(<= (p ?x) (q ?x) (distinct a b) (q ?x) (distinct (f ?x) (f ?x b)))"),
            ["(<= (p ?x) (q ?x))"]
        );
        assert_eq!(
            prepared("(<= (p ?x) (q ?x) (distinct ?x ?x))"),
            Vec::<String>::new()
        );
    }
}
