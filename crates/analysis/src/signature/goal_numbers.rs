//! Numbers that may be goals, which are not renamed.
//!
//! The value of a goal is a constant, or a variable bound elsewhere, as in `(goal ?r ?v)` where
//! `(score ?r ?v)` holds. An argument position of a relation or function is reached if a variable
//! occurs both there and at a position already reached, from the value of `goal` on. Numbers from 0
//! to 100 at such positions may be goals. All other numbers are names, as those of step counters
//! and coordinates.

use std::collections::{HashMap, HashSet};

use panza_gdl::{Atom, Literal, Rules, Symbol, Term, keyword};

/// An argument position: relation or function, arity, and index.
type Position = (Symbol, u32, u32);

/// The representative of relations with shared arguments: `true` for `next`, `init` and `base`,
/// `does` for `legal` and `input`.
fn family(relation: Symbol, arity: usize) -> Symbol {
    match (relation, arity) {
        (keyword::NEXT | keyword::INIT | keyword::BASE, 1) => keyword::TRUE,
        (keyword::LEGAL | keyword::INPUT, 2) => keyword::DOES,
        _ => relation,
    }
}

/// Calls `visit` with every position of an atom and its term.
fn for_each_position<'a>(atom: &'a Atom, visit: &mut impl FnMut(Position, &'a Term)) {
    let name = family(atom.relation, atom.arguments.len());
    arguments(name, &atom.arguments, visit);
}

fn arguments<'a>(name: Symbol, terms: &'a [Term], visit: &mut impl FnMut(Position, &'a Term)) {
    for (index, term) in terms.iter().enumerate() {
        visit((name, terms.len() as u32, index as u32), term);
        if let Term::Function(name, inner) = term {
            arguments(*name, inner, visit);
        }
    }
}

/// The numbers that may be goals, by symbol.
pub(super) fn goal_numbers(rules: &Rules) -> HashMap<Symbol, u8> {
    let mut variables_at: HashMap<Position, Vec<(u32, u32)>> = HashMap::new();
    let mut positions_of: HashMap<(u32, u32), Vec<Position>> = HashMap::new();
    let mut constants_at: HashMap<Position, HashSet<Symbol>> = HashMap::new();
    for (number, rule) in (0..).zip(&rules.rules) {
        let body = rule.body.iter().filter_map(Literal::atom);
        for atom in std::iter::once(&rule.head).chain(body) {
            for_each_position(atom, &mut |position, term| match term {
                Term::Variable(variable) => {
                    let variable = (number, *variable);
                    variables_at.entry(position).or_default().push(variable);
                    positions_of.entry(variable).or_default().push(position);
                }
                Term::Constant(name) => {
                    constants_at.entry(position).or_default().insert(*name);
                }
                Term::Function(..) => {}
            });
        }
    }
    let goal = (keyword::GOAL, 2, 1);
    let mut reached = HashSet::from([goal]);
    let mut open = vec![goal];
    while let Some(position) = open.pop() {
        for variable in variables_at.remove(&position).unwrap_or_default() {
            for position in positions_of.remove(&variable).unwrap_or_default() {
                if reached.insert(position) {
                    open.push(position);
                }
            }
        }
    }
    let constants = reached
        .iter()
        .filter_map(|position| constants_at.get(position));
    let goal_of = |&name: &Symbol| {
        let text = rules.symbols.name(name);
        let value = text.parse::<u8>().ok().filter(|&value| value <= 100)?;
        // `07` and 7 are different symbols.
        (text == value.to_string()).then_some((name, value))
    };
    constants.flatten().filter_map(goal_of).collect()
}
