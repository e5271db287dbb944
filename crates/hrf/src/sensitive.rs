//! Which arguments of a relation are sensitive: whether a caller binds them changes the meaning of
//! a rule, since a condition asks for a variable that the body has not bound before.

use std::collections::{HashMap, HashSet, VecDeque};

use super::conditions::for_each_variable;
use super::sheet::{Clause, Condition};
use panza_gdl::{Signature, Term, keyword};

/// By relation: for each argument, whether it is sensitive.
pub type Sensitive = HashMap<Signature, Vec<bool>>;

/// The sensitive arguments of all relations that have clauses, by iteration.
pub fn find(clauses: &[Clause]) -> Sensitive {
    let heads = clauses.iter().map(|clause| clause.head.signature());
    let mut sensitive: Sensitive = heads
        .map(|signature| (signature, vec![false; signature.1]))
        .collect();
    let mut callers: HashMap<Signature, Vec<&Clause>> = HashMap::new();
    for clause in clauses {
        let mut called = HashSet::new();
        for condition in &clause.body {
            if let Condition::View(atom) = condition
                && called.insert(atom.signature())
            {
                callers.entry(atom.signature()).or_default().push(clause);
            }
        }
    }
    let is_rule = |clause: &&Clause| !clause.body.is_empty() || !clause.head.is_ground();
    let mut open: VecDeque<&Clause> = clauses.iter().filter(is_rule).collect();
    while let Some(clause) = open.pop_front() {
        let needed = needed(clause, &sensitive);
        let Some(places) = sensitive.get_mut(&clause.head.signature()) else {
            continue;
        };
        let mut changed = false;
        for (place, argument) in places.iter_mut().zip(&clause.head.arguments) {
            let mut is_needed = false;
            argument.for_each_variable(&mut |it| is_needed |= needed.contains(&it));
            changed |= is_needed && !*place;
            *place |= is_needed;
        }
        if changed && let Some(callers) = callers.get(&clause.head.signature()) {
            open.extend(callers);
        }
    }
    sensitive
}

/// The variables of a clause that have to be bound, or not, before the body gives them a value.
fn needed(clause: &Clause, sensitive: &Sensitive) -> HashSet<u32> {
    let mut bound: HashSet<u32> = HashSet::new();
    let mut needed: HashSet<u32> = HashSet::new();
    let binds = |bound: &mut HashSet<u32>, term: &Term| {
        term.for_each_variable(&mut |variable| {
            bound.insert(variable);
        });
    };
    for condition in &clause.body {
        let mut need = |variable: u32| {
            if !bound.contains(&variable) {
                needed.insert(variable);
            }
        };
        match condition {
            Condition::Fact(term, _) => binds(&mut bound, term),
            Condition::View(atom) => {
                let places = sensitive.get(&atom.signature());
                for (index, argument) in atom.arguments.iter().enumerate() {
                    if places.is_some_and(|places| places[index]) {
                        argument.for_each_variable(&mut need);
                    }
                }
                atom.arguments.iter().for_each(|it| binds(&mut bound, it));
            }
            Condition::Same(left, right) => {
                let is_bound = |term: &Term| {
                    let mut is_bound = true;
                    term.for_each_variable(&mut |it| is_bound &= bound.contains(&it));
                    is_bound
                };
                match (is_bound(left), is_bound(right)) {
                    (true, _) => binds(&mut bound, right),
                    (_, true) => binds(&mut bound, left),
                    (false, false) => for_each_variable(condition, &mut need),
                }
            }
            Condition::Compute(_, inputs, result, _) => {
                inputs
                    .iter()
                    .for_each(|term| term.for_each_variable(&mut need));
                binds(&mut bound, result);
            }
            Condition::Count(template, inner, count, span) => {
                let nothing = Term::Constant(keyword::TRUE);
                let asked = Condition::Count(template.clone(), inner.clone(), nothing, *span);
                for_each_variable(&asked, &mut need);
                binds(&mut bound, count);
            }
            Condition::Not(..) | Condition::Distinct(..) | Condition::Compare(..) => {
                for_each_variable(condition, &mut need);
            }
            Condition::Never => {}
        }
    }
    clause.head.for_each_variable(&mut |variable| {
        if !bound.contains(&variable) {
            needed.insert(variable);
        }
    });
    needed
}
