//! Why games go wrong: facts that no rule keeps, and conditions that can never be true.

use std::collections::HashSet;

use panza_gdl::{Atom, Literal, Rule, Rules, Signature, Symbol, Term, keyword};
use panza_ground::{AtomKind, GroundProgram};

/// A relation, and the kind of its last argument: of a move, or of a fact of the state.
type Kind = (Symbol, Option<Signature>);

fn kind(atom: &Atom) -> Kind {
    let last = atom.arguments.last().and_then(Term::signature);
    (atom.relation, last)
}

/// The first rule for `next` of each kind of facts that no such rule keeps: none asks for the fact
/// itself, or for a relation that rules define.
pub fn unkept(rules: &Rules) -> Vec<&Rule> {
    let derived = rules.rules.iter().filter(|it| !it.body.is_empty());
    let derived: HashSet<Signature> = derived.map(|it| it.head.signature()).collect();
    let keeps = |rule: &Rule| {
        let mut atoms = rule.body.iter().filter_map(Literal::atom);
        atoms.any(|atom| match atom.relation {
            keyword::TRUE => atom.arguments == rule.head.arguments,
            _ => derived.contains(&atom.signature()),
        })
    };
    let mut kinds: HashSet<Kind> = HashSet::new();
    let of_next = rules.rules.iter();
    let of_next = of_next.filter(|it| it.head.relation == keyword::NEXT);
    let kept = of_next.clone().filter(|it| keeps(it));
    kinds.extend(kept.map(|it| kind(&it.head)));
    // A rule for any fact keeps all.
    if kinds.contains(&(keyword::NEXT, None)) {
        return Vec::new();
    }
    of_next.filter(|it| kinds.insert(kind(&it.head))).collect()
}

/// The first condition that can never be true, unless another one makes it so, and the head that
/// hangs on it, if none of its kind can be derived.
pub fn never_true<'a>(
    rules: &'a Rules,
    program: &GroundProgram,
) -> Option<(&'a Atom, Option<&'a Atom>)> {
    let given = program
        .atoms
        .iter()
        .filter(|it| it.kind != AtomKind::Derived);
    let given: HashSet<String> = given.map(|it| program.show_term(it.term)).collect();
    let is_never = |atom: &&Atom| {
        let is_given = [keyword::TRUE, keyword::DOES].contains(&atom.relation);
        is_given && atom.is_ground() && !given.contains(&rules.show_atom(atom, &[]))
    };
    let positive = |literal: &'a Literal| match literal {
        Literal::Positive(atom) => Some(atom),
        Literal::Negative(_) | Literal::Distinct(..) => None,
    };
    let reason = |rule: &'a Rule| rule.body.iter().filter_map(positive).find(is_never);
    let heads = rules.rules.iter().map(|rule| (&rule.head, reason(rule)));
    let heads: Vec<(&Atom, Option<&Atom>)> = heads.collect();
    // Whether there are rules for these relations and this last argument, and all are impossible.
    let are_dead = |relations: &[Symbol], last: Option<Signature>| {
        let is_own = |head: &Atom| relations.contains(&head.relation) && fits(head, last);
        let mut own = heads.iter().filter(|(head, _)| is_own(head)).peekable();
        own.peek().is_some() && own.all(|(_, reason)| reason.is_some())
    };
    heads.iter().find_map(|&(head, reason)| {
        let atom = reason?;
        let sources: &[Symbol] = match atom.relation {
            keyword::TRUE => &[keyword::INIT, keyword::NEXT],
            _ => &[keyword::LEGAL],
        };
        let hangs = are_dead(&[head.relation], kind(head).1).then_some(head);
        (!are_dead(sources, kind(atom).1)).then_some((atom, hangs))
    })
}

/// Whether the last argument of a head may be of this kind.
fn fits(head: &Atom, last: Option<Signature>) -> bool {
    kind(head).1.is_none_or(|own| Some(own) == last)
}
