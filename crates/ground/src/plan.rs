//! Join plans: the order in which the literals of a body are looked up.
//!
//! A plan starts from one new atom, its trigger, or from nothing. The order is greedy: conditions
//! as soon as their variables are bound, then the literal with the fewest expected matches.

use std::collections::{HashMap, HashSet};

use super::index::{Indexes, Skeleton};
use super::pattern::Pattern;
use panza_gdl::{Literal, Rule, Signature, Symbol, TermTable};
use panza_sync::Budget;

#[derive(Debug)]
pub enum Step {
    /// Continue with each atom of a bucket that matches.
    Join {
        index: usize,
        keys: Vec<Pattern>,
        pattern: Pattern,
        place: usize,
        /// Whether the trigger is excluded, because another plan meets it at this place.
        excludes_trigger: bool,
    },
    /// Continue if the atom was found.
    Holds {
        pattern: Pattern,
        place: usize,
        excludes_trigger: bool,
    },
    /// Continue if the atom is absent for good.
    Fails(Pattern),
    Distinct(Pattern, Pattern),
}

/// How to find the instances of one rule that a new atom completes.
#[derive(Debug)]
pub struct JoinPlan {
    pub rule: usize,
    /// The pattern of the new atom; nothing for a plan that runs once at the start.
    pub trigger: Option<Pattern>,
    pub trigger_place: usize,
    pub steps: Vec<Step>,
    pub head: Pattern,
    /// The places of the positive literals that stay in the ground rule.
    pub kept_places: Vec<usize>,
    /// The negated atoms that stay in the ground rule.
    pub kept_negatives: Vec<Pattern>,
    pub n_variables: usize,
    pub n_literals: usize,
}

pub struct Context<'a> {
    /// Whether atoms of the relation are found while the plan runs.
    pub is_growing: &'a dyn Fn(Signature) -> bool,
    /// Whether atoms of the relation stay in ground rules.
    pub is_dynamic: &'a HashMap<Signature, bool>,
    /// Relations that grow, but whose atoms are taken for true once found.
    pub domains: &'a HashSet<Symbol>,
    pub budget: &'a Budget,
}

/// Expected matches of a literal of a growing relation, per unbound variable.
const GROWING_FAN_OUT: f64 = 12.0;

/// Plans are run by one nested call per condition.
const MAX_CONDITIONS: usize = 10_000;

/// Steps of all plans of one rule: one plan per trigger, one step per condition.
const MAX_STEPS: usize = 1 << 22;

/// The plans of a rule: one per positive literal of a growing relation, or one that runs once.
/// Nothing when the time is up or the rule has too many conditions.
pub fn plans_of(
    number: usize,
    rule: &Rule,
    context: &Context<'_>,
    indexes: &mut Indexes,
    terms: &mut TermTable,
) -> Option<Vec<JoinPlan>> {
    let triggers: Vec<usize> = (0..rule.body.len())
        .filter(|&place| match &rule.body[place] {
            Literal::Positive(atom) => (context.is_growing)(atom.signature()),
            _ => false,
        })
        .collect();
    if context.budget.is_over()
        || rule.body.len() > MAX_CONDITIONS
        || rule.body.len() * triggers.len() > MAX_STEPS
    {
        return None;
    }
    let starts: Vec<Option<usize>> = match triggers.as_slice() {
        [] => vec![None],
        some => some.iter().copied().map(Some).collect(),
    };
    (starts.into_iter())
        .map(|start| plan(number, rule, start, &triggers, context, indexes, terms))
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
) -> Option<JoinPlan> {
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
        if context.budget.is_over() {
            return None;
        }
        let costs = waiting.iter().enumerate().filter_map(|(position, &place)| {
            let cost = cost(&rule.body[place], &is_bound, context, indexes, terms)?;
            Some((cost, position))
        });
        // Every variable of a condition is bound by some positive literal, so something can always
        // be taken.
        let best = costs.min_by(|(one, _), (other, _)| one.total_cmp(other));
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
    Some(JoinPlan {
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

/// Expected matches of a literal; nothing when it has to wait for a variable.
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
