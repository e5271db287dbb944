//! Walks through the variables and terms of conditions.

use std::collections::HashMap;

use super::sheet::Condition;
use panza_gdl::Term;

/// Calls `visit` for each variable of a condition.
pub fn for_each_variable(condition: &Condition, visit: &mut impl FnMut(u32)) {
    fn inside(conditions: &[Vec<Condition>], visit: &mut dyn FnMut(u32)) {
        for condition in conditions.iter().flatten() {
            for_each_variable(condition, &mut |variable| visit(variable));
        }
    }
    match condition {
        Condition::View(atom) => atom.for_each_variable(visit),
        Condition::Fact(term, _) => term.for_each_variable(visit),
        Condition::Not(inner, _) => inside(inner, visit),
        Condition::Same(left, right)
        | Condition::Distinct(left, right, _)
        | Condition::Compare(_, left, right, _) => {
            left.for_each_variable(visit);
            right.for_each_variable(visit);
        }
        Condition::Compute(_, inputs, result, _) => {
            inputs.iter().for_each(|term| term.for_each_variable(visit));
            result.for_each_variable(visit);
        }
        Condition::Count(template, inner, count, _) => {
            template.for_each_variable(visit);
            inside(inner, visit);
            count.for_each_variable(visit);
        }
        Condition::Never => {}
    }
}

/// Calls `visit` for each term of a condition.
pub fn for_each_term(condition: &mut Condition, visit: &mut dyn FnMut(&mut Term)) {
    let inside = |conditions: &mut Vec<Vec<Condition>>, visit: &mut dyn FnMut(&mut Term)| {
        let conditions = conditions.iter_mut().flatten();
        conditions.for_each(|condition| for_each_term(condition, visit));
    };
    match condition {
        Condition::View(atom) => atom.arguments.iter_mut().for_each(visit),
        Condition::Fact(term, _) => visit(term),
        Condition::Not(inner, _) => inside(inner, visit),
        Condition::Same(left, right)
        | Condition::Distinct(left, right, _)
        | Condition::Compare(_, left, right, _) => {
            visit(left);
            visit(right);
        }
        Condition::Compute(_, inputs, result, _) => {
            inputs.iter_mut().for_each(&mut *visit);
            visit(result);
        }
        Condition::Count(template, inner, count, _) => {
            visit(template);
            inside(inner, visit);
            visit(count);
        }
        Condition::Never => {}
    }
}

/// The arguments and conditions of a helper with variables of their own, and the names of these.
pub fn alone(
    mut head: Vec<Term>,
    mut conditions: Vec<Condition>,
    names: &[Box<str>],
) -> (Vec<Term>, Vec<Condition>, Vec<Box<str>>) {
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
    for condition in &mut conditions {
        for_each_term(condition, &mut renumber);
    }
    (head, conditions, own)
}
