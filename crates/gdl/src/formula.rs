//! Formulas: bodies before they are expanded into conjunctions.
//!
//! Negation stands at the leaves, so a formula is a tree of conjunctions and disjunctions. Its size
//! in disjunctive normal form is computed before it is expanded.
//!
//! Invariant: a formula without alternatives is an empty `Any`, and no other formula contains one.

use std::collections::HashSet;

use super::rules::{Atom, Literal, Term};

#[derive(Clone, Debug)]
pub(super) enum Formula {
    Literal(Literal),
    Equal(Term, Term),
    All(Vec<Formula>),
    Any(Vec<Formula>),
}

/// A conjunction, simplified when a part never holds.
pub(super) fn all(parts: Vec<Formula>) -> Formula {
    let is_impossible = |part: &Formula| matches!(part, Formula::Any(parts) if parts.is_empty());
    if parts.iter().any(is_impossible) {
        return Formula::Any(Vec::new());
    }
    Formula::All(parts)
}

/// A disjunction without the parts that never hold.
pub(super) fn any(mut parts: Vec<Formula>) -> Formula {
    parts.retain(|part| !matches!(part, Formula::Any(parts) if parts.is_empty()));
    Formula::Any(parts)
}

/// The number of conjunctions in disjunctive normal form, saturating.
pub(super) fn alternatives(formula: &Formula) -> usize {
    match formula {
        Formula::Literal(_) | Formula::Equal(..) => 1,
        Formula::All(parts) => parts
            .iter()
            .map(alternatives)
            .fold(1, usize::saturating_mul),
        Formula::Any(parts) => parts
            .iter()
            .map(alternatives)
            .fold(0, usize::saturating_add),
    }
}

#[derive(Clone, Default)]
pub(super) struct Conjunction {
    pub literals: Vec<Literal>,
    pub equalities: Vec<(Term, Term)>,
}

impl Conjunction {
    fn extend(&mut self, other: Conjunction) {
        self.literals.extend(other.literals);
        self.equalities.extend(other.equalities);
    }
}

/// The disjunctive normal form, of a formula with few [`alternatives`].
pub(super) fn conjunctions(formula: &Formula) -> Vec<Conjunction> {
    match formula {
        Formula::Literal(literal) => vec![Conjunction {
            literals: vec![literal.clone()],
            equalities: Vec::new(),
        }],
        Formula::Equal(left, right) => {
            vec![Conjunction {
                literals: Vec::new(),
                equalities: vec![(left.clone(), right.clone())],
            }]
        }
        Formula::Any(parts) => parts.iter().flat_map(conjunctions).collect(),
        Formula::All(parts) => parts
            .iter()
            .fold(vec![Conjunction::default()], |mut done, part| {
                let more = conjunctions(part);
                // Nearly every part is one literal, which joins what is there.
                if let [only] = &more[..] {
                    done.iter_mut().for_each(|left| left.extend(only.clone()));
                    return done;
                }
                let mut product = Vec::with_capacity(done.len() * more.len());
                for left in &done {
                    for right in &more {
                        let mut joined = left.clone();
                        joined.extend(right.clone());
                        product.push(joined);
                    }
                }
                product
            }),
    }
}

/// The conjuncts of a formula.
pub(super) fn flatten_all(formula: Formula, into: &mut Vec<Formula>) {
    match formula {
        Formula::All(parts) => parts.into_iter().for_each(|part| flatten_all(part, into)),
        other => into.push(other),
    }
}

/// The variables of a formula, each once, in no order.
pub(super) fn variables_of(formula: &Formula) -> HashSet<u32> {
    fn visit(formula: &Formula, found: &mut HashSet<u32>) {
        let mut note = |variable| {
            found.insert(variable);
        };
        match formula {
            Formula::Literal(literal) => literal.for_each_variable(&mut note),
            Formula::Equal(left, right) => {
                left.for_each_variable(&mut note);
                right.for_each_variable(&mut note);
            }
            Formula::All(parts) | Formula::Any(parts) => {
                parts.iter().for_each(|part| visit(part, found))
            }
        }
    }
    let mut found = HashSet::new();
    visit(formula, &mut found);
    found
}

/// The size of terms, and how often a variable occurs in them.
#[derive(Default)]
pub(super) struct Measure {
    /// All terms and subterms.
    pub nodes: usize,
    pub occurrences: usize,
    pub depth: usize,
}

impl Measure {
    pub fn add(&mut self, term: &Term, variable: u32) {
        self.visit(term, variable, 0);
    }

    pub fn add_literal(&mut self, literal: &Literal, variable: u32) {
        self.nodes += 1;
        literal.terms().for_each(|term| self.add(term, variable));
    }

    fn visit(&mut self, term: &Term, variable: u32, depth: usize) {
        self.nodes += 1;
        self.depth = self.depth.max(depth);
        match term {
            Term::Variable(own) => self.occurrences += usize::from(*own == variable),
            Term::Constant(_) => {}
            Term::Function(_, arguments) => {
                for argument in arguments {
                    self.visit(argument, variable, depth + 1);
                }
            }
        }
    }
}

pub(super) fn size_of_literal(literal: &Literal) -> usize {
    let mut measure = Measure::default();
    measure.add_literal(literal, u32::MAX);
    measure.nodes
}

pub(super) fn size_of_atom(atom: &Atom) -> usize {
    let mut measure = Measure::default();
    atom.arguments
        .iter()
        .for_each(|term| measure.add(term, u32::MAX));
    measure.nodes + 1
}

pub(super) fn size_of(formula: &Formula) -> usize {
    match formula {
        Formula::Literal(literal) => size_of_literal(literal),
        Formula::Equal(left, right) => {
            let mut measure = Measure::default();
            measure.add(left, u32::MAX);
            measure.add(right, u32::MAX);
            measure.nodes
        }
        Formula::All(parts) | Formula::Any(parts) => parts.iter().map(size_of).sum(),
    }
}
