//! Walks through the variables and terms of conditions.

use std::collections::HashMap;

use super::sheet::Goal;
use panza_gdl::rules::Term;

/// Calls `visit` for each variable of a condition.
pub fn for_each_variable(goal: &Goal, visit: &mut impl FnMut(u32)) {
    fn inside(goals: &[Vec<Goal>], visit: &mut dyn FnMut(u32)) {
        for goal in goals.iter().flatten() {
            for_each_variable(goal, &mut |variable| visit(variable));
        }
    }
    match goal {
        Goal::View(atom) => atom.for_each_variable(visit),
        Goal::Fact(term, _) => term.for_each_variable(visit),
        Goal::Not(inner, _) => inside(inner, visit),
        Goal::Same(left, right)
        | Goal::Distinct(left, right, _)
        | Goal::Compare(_, left, right, _) => {
            left.for_each_variable(visit);
            right.for_each_variable(visit);
        }
        Goal::Compute(_, inputs, result, _) => {
            inputs.iter().for_each(|term| term.for_each_variable(visit));
            result.for_each_variable(visit);
        }
        Goal::Count(template, inner, count, _) => {
            template.for_each_variable(visit);
            inside(inner, visit);
            count.for_each_variable(visit);
        }
        Goal::Never => {}
    }
}

/// Calls `visit` for each term of a condition.
pub fn for_each_term(goal: &mut Goal, visit: &mut dyn FnMut(&mut Term)) {
    let inside = |goals: &mut Vec<Vec<Goal>>, visit: &mut dyn FnMut(&mut Term)| {
        let goals = goals.iter_mut().flatten();
        goals.for_each(|goal| for_each_term(goal, visit));
    };
    match goal {
        Goal::View(atom) => atom.arguments.iter_mut().for_each(visit),
        Goal::Fact(term, _) => visit(term),
        Goal::Not(inner, _) => inside(inner, visit),
        Goal::Same(left, right)
        | Goal::Distinct(left, right, _)
        | Goal::Compare(_, left, right, _) => {
            visit(left);
            visit(right);
        }
        Goal::Compute(_, inputs, result, _) => {
            inputs.iter_mut().for_each(&mut *visit);
            visit(result);
        }
        Goal::Count(template, inner, count, _) => {
            visit(template);
            inside(inner, visit);
            visit(count);
        }
        Goal::Never => {}
    }
}

/// The arguments and conditions of a helper with variables of their own, and the names of these.
pub fn alone(
    mut head: Vec<Term>,
    mut goals: Vec<Goal>,
    names: &[Box<str>],
) -> (Vec<Term>, Vec<Goal>, Vec<Box<str>>) {
    let mut number_of: HashMap<u32, u32> = HashMap::new();
    let mut own: Vec<Box<str>> = Vec::new();
    let mut renumber = |term: &mut Term| {
        term.for_each_leaf(&mut |leaf| {
            if let Term::Variable(variable) = leaf {
                *variable = *number_of.entry(*variable).or_insert_with(|| {
                    own.push(names[*variable as usize].clone());
                    own.len() as u32 - 1
                });
            }
        });
    };
    head.iter_mut().for_each(&mut renumber);
    for goal in &mut goals {
        for_each_term(goal, &mut renumber);
    }
    (head, goals, own)
}
