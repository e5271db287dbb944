//! Whether two rulesheets describe the same game.
//!
//! 1. Rules that are the same up to names and order have the same canonical text
//!    (`panza_analysis::signature`). The games are then equal, and nothing is played.
//! 2. Otherwise both games are played in lockstep (`lockstep`): breadth-first from the initial
//!    state, which is exhaustive for small games, and then in random games. Legal moves, ends and
//!    goals at ends are compared in every state; facts too where both rulesheets have the same
//!    kinds of facts.
//! 3. Where a difference is seen, the statements in which the rulesheets differ and on which it
//!    depends are looked for (`blame`).
//!
//! Roles and moves correspond by name. Roles without a common name correspond by their order, and
//! two moves that are the only legal ones of a role correspond under any names.
//!
//! Invariants: a difference has a position that shows it; the work ends soon after its budget.
//!
//! Never uses: search trees, files.

mod blame;
mod difference;
mod lockstep;

use std::collections::BTreeSet;

use panza_analysis::signature::{self, Canonical};
use panza_gdl::{Rules, keyword};
use panza_sync::Budget;

use super::evidence::Evidence;
use super::quick;
pub use difference::{Aspect, CompareError, Comparison, Difference, Naming};
use lockstep::Lockstep;

/// Compares two games. The steps of the budget are states; without a limit in time it has to have
/// one in steps.
///
/// # Errors
/// A game cannot be played, or the names of moves cannot be matched.
pub fn compare(
    first: &Rules,
    second: &Rules,
    naming: Naming,
    budget: &Budget,
) -> Result<Comparison, CompareError> {
    let (names, other_names) = (first.role_names(), second.role_names());
    let Some(roles) = matching_roles(&names, &other_names, naming) else {
        return Ok(different_roles(names, other_names));
    };
    if are_same(first, second, naming) {
        return Ok(Comparison {
            is_exhaustive: true,
            ..Comparison::default()
        });
    }
    quick::watched(budget, |stop| {
        // Building the two takes at most six tenths of the time.
        let unplayable = |which| move |why| CompareError::Unplayable { which, why };
        let one = quick::machine(first, &budget.share(0.6), stop).map_err(unplayable("first"))?;
        // Where one network takes too long, so does the other.
        let is_slow = one.kind() == "prover";
        let other = match is_slow {
            true => quick::prover(second, budget, stop),
            false => quick::machine(second, &budget.share(0.8), stop),
        };
        let machines = [one, other.map_err(unplayable("second"))?];
        let has_same_facts = kinds_of_facts(first).is_some_and(|kinds| {
            let others = kinds_of_facts(second);
            others == Some(kinds)
        });
        let mut lockstep = Lockstep::new(machines, roles, naming, has_same_facts);
        let mut result = lockstep.compare(budget, stop)?;
        if let Some(difference) = &mut result.difference {
            difference.statements = blame::statements(first, second, difference, has_same_facts);
        }
        Ok(result)
    })
}

/// Whether the rules are the same up to order, and up to names where these do not matter.
fn are_same(first: &Rules, second: &Rules, naming: Naming) -> bool {
    match naming {
        Naming::Same => {
            let [one, other] = blame::differing(first, second);
            one.is_empty() && other.is_empty()
        }
        Naming::Any => {
            let (own, canonical) = signature::identify(first, signature::WORK);
            let Some(canonical) = canonical else {
                return false;
            };
            own == signature::signature(second, signature::WORK)
                && Canonical::matching(second, canonical.text(), signature::WORK).is_some()
        }
    }
}

/// For each role of the first game the number of its role in the second.
fn matching_roles(first: &[String], second: &[String], naming: Naming) -> Option<Vec<usize>> {
    if first.len() != second.len() {
        return None;
    }
    let by_name = first
        .iter()
        .map(|name| second.iter().position(|other| other == name));
    match by_name.collect::<Option<Vec<usize>>>() {
        Some(roles) => Some(roles),
        None if naming == Naming::Same => None,
        None => Some((0..first.len()).collect()),
    }
}

fn different_roles(first: Vec<String>, second: Vec<String>) -> Comparison {
    Comparison {
        difference: Some(Difference {
            aspect: Aspect::Roles,
            role: None,
            first,
            second,
            evidence: Evidence::default(),
            statements: [None, None],
        }),
        ..Comparison::default()
    }
}

/// Names and arities of the facts that rules make; nothing where a fact may be any term.
fn kinds_of_facts(rules: &Rules) -> Option<BTreeSet<(&str, usize)>> {
    let heads = rules.rules.iter().map(|rule| &rule.head);
    let of_facts =
        heads.filter(|head| [(keyword::INIT, 1), (keyword::NEXT, 1)].contains(&head.signature()));
    let kinds = of_facts.map(|head| {
        let (name, arity) = head.arguments.first()?.signature()?;
        Some((rules.symbols.name(name), arity))
    });
    kinds.collect()
}

#[cfg(test)]
mod tests;
