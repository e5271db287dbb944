//! A rule under construction: its head, its variables and the conditions compiled so far.

use std::collections::VecDeque;

use super::conditions::for_each_term;
use super::sheet::Condition;
use panza_gdl::sexpr::MAX_DEPTH;
use panza_gdl::{Atom, Literal, Span, Symbol, Term};

/// Terms written to solve equalities, per rulesheet.
const MAX_SOLVED: usize = 1 << 22;

/// A rule whose conditions are compiled one after the other.
pub struct Frame {
    /// The arguments of the head.
    pub head: Vec<Term>,
    pub variables: Vec<Box<str>>,
    /// By variable: whether it has a value at this point.
    pub bound: Vec<bool>,
    pub literals: Vec<Literal>,
    pub span: Span,
}

impl Frame {
    pub fn new(head: Vec<Term>, variables: &[Box<str>], span: Span) -> Self {
        Self {
            head,
            variables: variables.to_vec(),
            bound: vec![false; variables.len()],
            literals: Vec::new(),
            span,
        }
    }

    pub fn is_bound(&self, term: &Term) -> bool {
        let mut is_bound = true;
        term.for_each_variable(&mut |variable| is_bound &= self.bound[variable as usize]);
        is_bound
    }

    pub fn bind(&mut self, term: &Term) {
        let bound = &mut self.bound;
        term.for_each_variable(&mut |variable| bound[variable as usize] = true);
    }

    pub fn fresh(&mut self, name: &str) -> Term {
        let mut name = name.to_string();
        while self.variables.iter().any(|other| **other == *name) {
            name.push('$');
        }
        self.variables.push(name.into());
        self.bound.push(false);
        Term::Variable(self.variables.len() as u32 - 1)
    }

    pub fn push(&mut self, relation: Symbol, arguments: Vec<Term>, span: Span) {
        self.literals
            .push(Literal::Positive(atom(relation, arguments, span)));
    }

    /// Makes two terms one, from here on and in what was compiled before.
    pub fn solve(
        &mut self,
        conditions: &mut VecDeque<Condition>,
        left: Term,
        right: Term,
        n_solved: &mut usize,
    ) -> Result<(), Unsolved> {
        let mut pairs = vec![(left, right)];
        while let Some((left, right)) = pairs.pop() {
            let (variable, term) = match (left, right) {
                (left, right) if left == right => continue,
                (Term::Variable(variable), term) if !self.bound[variable as usize] => {
                    (variable, term)
                }
                (term, Term::Variable(variable)) => (variable, term),
                (Term::Variable(variable), term) => (variable, term),
                (Term::Function(name, left), Term::Function(other, right))
                    if name == other && left.len() == right.len() =>
                {
                    pairs.extend(left.into_iter().zip(right));
                    continue;
                }
                _ => return Err(Unsolved::Never),
            };
            let mut is_inside = false;
            term.for_each_variable(&mut |inner| is_inside |= inner == variable);
            if is_inside {
                return Err(Unsolved::Never);
            }
            if self.bound[variable as usize] {
                self.bind(&term);
            }
            let (size, depth) = (size_of(&term), depth_of(&term));
            let mut is_too_large = false;
            let mut put = |target: &mut Term| {
                let target_depth = depth_of(target);
                *n_solved = n_solved.saturating_add(size_of(target));
                let mut has_it = false;
                target.for_each_variable(&mut |inner| {
                    has_it |= inner == variable;
                    *n_solved = n_solved.saturating_add(size * usize::from(inner == variable));
                });
                is_too_large |=
                    *n_solved > MAX_SOLVED || has_it && depth + target_depth > MAX_DEPTH;
                if has_it && !is_too_large {
                    target.for_each_leaf(&mut |leaf| {
                        if *leaf == Term::Variable(variable) {
                            *leaf = term.clone();
                        }
                    });
                }
            };
            self.head.iter_mut().for_each(&mut put);
            let literals = self.literals.iter_mut();
            literals.flat_map(Literal::terms_mut).for_each(&mut put);
            let conditions = conditions.iter_mut();
            conditions.for_each(|condition| for_each_term(condition, &mut put));
            for (left, right) in &mut pairs {
                put(left);
                put(right);
            }
            if is_too_large {
                return Err(Unsolved::TooLarge);
            }
        }
        Ok(())
    }
}

/// Why an equality has no solution.
pub enum Unsolved {
    /// The terms differ.
    Never,
    /// The rule would become too large.
    TooLarge,
}

pub fn atom(relation: Symbol, arguments: impl Into<Box<[Term]>>, span: Span) -> Atom {
    Atom {
        relation,
        arguments: arguments.into(),
        span,
    }
}

fn size_of(term: &Term) -> usize {
    match term {
        Term::Variable(_) | Term::Constant(_) => 1,
        Term::Function(_, arguments) => 1 + arguments.iter().map(size_of).sum::<usize>(),
    }
}

fn depth_of(term: &Term) -> usize {
    match term {
        Term::Variable(_) | Term::Constant(_) => 0,
        Term::Function(_, arguments) => 1 + arguments.iter().map(depth_of).max().unwrap_or(0),
    }
}
