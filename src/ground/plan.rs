//! Join plans: in which order the literals of a body are looked up.
//!
//! A plan starts from one atom that was just found (its trigger) or from nothing, and visits the
//! other literals in an order chosen greedily: conditions as soon as their variables are bound,
//! then the literal with the fewest expected matches.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use super::index::{Indexes, Skeleton};
use super::pattern::Pattern;
use super::relations::Signature;
use crate::gdl::TermTable;
use crate::gdl::rules::{Literal, Rule};
use crate::ids::Symbol;

/// One step of a plan.
#[derive(Debug)]
pub enum Step {
    /// Look atoms up by key and go on with each that fits.
    Join {
        /// Which index.
        index: usize,
        /// What makes the key.
        keys: Vec<Pattern>,
        /// What the atom must look like.
        pattern: Pattern,
        /// The literal's place in the body.
        place: usize,
        /// Whether the trigger itself is no candidate, because it was met at this place in another
        /// plan.
        excludes_trigger: bool,
    },
    /// Go on if the atom is there.
    Holds {
        /// The atom, all bound.
        pattern: Pattern,
        /// The literal's place in the body.
        place: usize,
        /// As in `Join`.
        excludes_trigger: bool,
    },
    /// Go on if the atom is not there, and never will be.
    Fails(Pattern),
    /// Go on if the terms differ.
    Distinct(Pattern, Pattern),
}

/// How to find the instances of one rule that a new atom completes.
#[derive(Debug)]
pub struct Plan {
    /// Which rule it is for.
    pub rule: usize,
    /// What the new atom must look like; nothing for a plan that runs once at the start.
    pub trigger: Option<Pattern>,
    /// The trigger's place in the body.
    pub trigger_place: usize,
    /// The other literals.
    pub steps: Vec<Step>,
    /// The head, all bound at the end.
    pub head: Pattern,
    /// The places of the positive literals that stay in the ground rule.
    pub kept_places: Vec<usize>,
    /// The negated atoms that stay in the ground rule.
    pub kept_negatives: Vec<Pattern>,
    /// How many variables there are.
    pub n_variables: usize,
    /// How many literals the body has.
    pub n_literals: usize,
}

/// Which relations are still growing while a plan runs, and what is known of the others.
pub struct Context<'a> {
    /// Whether atoms of the relation are still being found.
    pub is_growing: &'a dyn Fn(Signature) -> bool,
    /// Whether atoms of the relation stay in ground rules.
    pub is_dynamic: &'a HashMap<Signature, bool>,
    /// Relations that grow, but whose atoms are taken for true once found.
    pub domains: &'a HashSet<Symbol>,
    /// When to give up.
    pub until: Option<Instant>,
}

/// Expected matches of a literal of a growing relation, per unbound variable.
const GROWING_FAN_OUT: f64 = 12.0;

/// A plan is followed by one call within another per condition, so a rule may not have more.
const MAX_CONDITIONS: usize = 10_000;

/// All plans of one rule together have at most so many steps. Each condition can be a trigger and
/// then has all others as steps, so only rules of thousands of conditions come near.
const MAX_STEPS: usize = 1 << 22;

/// The plans of a rule: one per positive literal of a growing relation, or one that runs once.
/// Nothing when the time is up or the rule has too many conditions.
pub fn plans_of(
    number: usize,
    rule: &Rule,
    context: &Context<'_>,
    indexes: &mut Indexes,
    terms: &mut TermTable,
) -> Option<Vec<Plan>> {
    let triggers: Vec<usize> = (0..rule.body.len())
        .filter(|&place| match &rule.body[place] {
            Literal::Positive(atom) => (context.is_growing)(atom.signature()),
            _ => false,
        })
        .collect();
    if rule.body.len() > MAX_CONDITIONS || rule.body.len() * triggers.len() > MAX_STEPS {
        return None;
    }
    if triggers.is_empty() {
        let plan = plan(number, rule, None, &triggers, context, indexes, terms)?;
        return Some(vec![plan]);
    }
    triggers
        .iter()
        .map(|&place| {
            plan(
                number,
                rule,
                Some(place),
                &triggers,
                context,
                indexes,
                terms,
            )
        })
        .collect()
}

fn plan(
    number: usize,
    rule: &Rule,
    trigger: Option<usize>,
    triggers: &[usize],
    context: &Context<'_>,
    indexes: &mut Indexes,
    terms: &mut TermTable,
) -> Option<Plan> {
    let mut is_bound = vec![false; rule.variables.len()];
    let mut waiting: Vec<usize> = (0..rule.body.len())
        .filter(|&place| Some(place) != trigger)
        .collect();
    let trigger_pattern = trigger
        .and_then(|place| rule.body[place].atom())
        .map(|atom| Pattern::of_atom(atom, &mut is_bound, terms));
    let stays = |signature: Signature| {
        context.is_dynamic.get(&signature).copied().unwrap_or(false)
            && !context.domains.contains(&signature.0)
    };
    let mut steps = Vec::new();
    let mut kept_negatives = Vec::new();
    while !waiting.is_empty() {
        if context.until.is_some_and(|until| Instant::now() >= until) {
            return None;
        }
        let mut best: Option<(f64, usize)> = None;
        for (position, &place) in waiting.iter().enumerate() {
            let Some(cost) = cost(&rule.body[place], &is_bound, context, indexes, terms) else {
                continue;
            };
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, position));
            }
        }
        // Every variable of a condition is bound by some positive literal, so something can always
        // be taken.
        let Some((_, position)) = best else { break };
        let place = waiting.remove(position);
        match &rule.body[place] {
            Literal::Positive(atom) => {
                let pattern = Pattern::of_atom(atom, &mut is_bound, terms);
                // An instance is met when its last atom is found; when an atom fits several places,
                // at the last of them. So places before the trigger's take only older atoms.
                let excludes_trigger =
                    trigger.is_some_and(|at| place > at) && triggers.contains(&place);
                if pattern.is_bound() {
                    steps.push(Step::Holds {
                        pattern,
                        place,
                        excludes_trigger,
                    });
                } else {
                    let (skeleton, keys) = Skeleton::of(&pattern);
                    let index = indexes.index(atom.signature(), skeleton, terms);
                    steps.push(Step::Join {
                        index,
                        keys,
                        pattern,
                        place,
                        excludes_trigger,
                    });
                }
            }
            Literal::Negative(atom) => {
                let pattern = Pattern::of_atom(atom, &mut is_bound, terms);
                if stays(atom.signature()) {
                    kept_negatives.push(pattern);
                } else {
                    steps.push(Step::Fails(pattern));
                }
            }
            Literal::Distinct(left, right, _) => {
                let left = Pattern::of_term(left, &mut is_bound, terms);
                let right = Pattern::of_term(right, &mut is_bound, terms);
                steps.push(Step::Distinct(left, right));
            }
        }
    }
    let kept_places = (0..rule.body.len())
        .filter(|&place| match &rule.body[place] {
            Literal::Positive(atom) => stays(atom.signature()),
            _ => false,
        })
        .collect();
    Some(Plan {
        rule: number,
        trigger: trigger_pattern,
        trigger_place: trigger.unwrap_or(usize::MAX),
        steps,
        head: Pattern::of_atom(&rule.head, &mut is_bound, terms),
        kept_places,
        kept_negatives,
        n_variables: rule.variables.len(),
        n_literals: rule.body.len(),
    })
}

/// Expected matches of a literal under these bindings; nothing when it has to wait for a variable.
fn cost(
    literal: &Literal,
    is_bound: &[bool],
    context: &Context<'_>,
    indexes: &mut Indexes,
    terms: &mut TermTable,
) -> Option<f64> {
    let mut free: Vec<u32> = Vec::new();
    literal.for_each_variable(&mut |variable| {
        if !is_bound[variable as usize] && !free.contains(&variable) {
            free.push(variable);
        }
    });
    match literal {
        Literal::Positive(atom) if !free.is_empty() => {
            if (context.is_growing)(atom.signature()) {
                return Some(GROWING_FAN_OUT.powi(free.len() as i32));
            }
            let pattern = Pattern::of_atom(atom, &mut is_bound.to_vec(), terms);
            let (skeleton, _) = Skeleton::of(&pattern);
            let index = indexes.index(atom.signature(), skeleton, terms);
            Some(indexes.mean_bucket(index))
        }
        _ if free.is_empty() => Some(0.0),
        _ => None,
    }
}
