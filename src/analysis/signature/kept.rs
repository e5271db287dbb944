//! Numbers that may be goals: they mean something, and keep it.
//!
//! A goal's value is a constant, or it comes through variables from elsewhere: `(goal ?r ?v)` where
//! `(score ?r ?v)` holds. From the goal's place backwards, a place of a relation or function is
//! reached when a variable stands both there and at a place that is reached. Numbers from 0 to 100
//! that stand at such a place may become goals; all others are names, as those of counters and
//! coordinates are.

use std::collections::{HashMap, HashSet};

use crate::gdl::{Atom, Literal, Rules, Term, keyword};
use crate::ids::Symbol;

/// A place: a relation or function, its arity, and which argument.
type Place = (Symbol, u32, u32);

/// What flows into each other is one: facts that are true come from those that are next, and moves
/// from legal ones.
fn family(relation: Symbol, arity: usize) -> Symbol {
    match (relation, arity) {
        (keyword::NEXT | keyword::INIT | keyword::BASE, 1) => keyword::TRUE,
        (keyword::LEGAL | keyword::INPUT, 2) => keyword::DOES,
        _ => relation,
    }
}

/// Calls `visit` with every place of an atom and the term that stands there.
fn for_each_place<'a>(atom: &'a Atom, visit: &mut impl FnMut(Place, &'a Term)) {
    let name = family(atom.relation, atom.arguments.len());
    arguments(name, &atom.arguments, visit);
}

fn arguments<'a>(name: Symbol, terms: &'a [Term], visit: &mut impl FnMut(Place, &'a Term)) {
    for (index, term) in terms.iter().enumerate() {
        visit((name, terms.len() as u32, index as u32), term);
        if let Term::Function(name, inner) = term {
            arguments(*name, inner, visit);
        }
    }
}

/// The numbers, by their symbols, that may be goals.
pub(super) fn goal_numbers(rules: &Rules) -> HashMap<Symbol, u8> {
    let mut variables_at: HashMap<Place, Vec<(u32, u32)>> = HashMap::new();
    let mut places_of: HashMap<(u32, u32), Vec<Place>> = HashMap::new();
    let mut constants_at: HashMap<Place, HashSet<Symbol>> = HashMap::new();
    for (number, rule) in (0..).zip(&rules.rules) {
        let body = rule.body.iter().filter_map(Literal::atom);
        for atom in std::iter::once(&rule.head).chain(body) {
            for_each_place(atom, &mut |place, term| match term {
                Term::Variable(variable) => {
                    let variable = (number, *variable);
                    variables_at.entry(place).or_default().push(variable);
                    places_of.entry(variable).or_default().push(place);
                }
                Term::Constant(name) => {
                    constants_at.entry(place).or_default().insert(*name);
                }
                Term::Function(..) => {}
            });
        }
    }
    let goal = (keyword::GOAL, 2, 1);
    let mut reached = HashSet::from([goal]);
    let mut open = vec![goal];
    while let Some(place) = open.pop() {
        for variable in variables_at.remove(&place).unwrap_or_default() {
            for place in places_of.remove(&variable).unwrap_or_default() {
                if reached.insert(place) {
                    open.push(place);
                }
            }
        }
    }
    let constants = reached.iter().filter_map(|place| constants_at.get(place));
    let goal_of = |&name: &Symbol| {
        let text = rules.symbols.name(name);
        let value = text.parse::<u8>().ok().filter(|&value| value <= 100)?;
        // `07` is not the number 7, since both may be names of one game.
        (text == value.to_string()).then_some((name, value))
    };
    constants.flatten().filter_map(goal_of).collect()
}
