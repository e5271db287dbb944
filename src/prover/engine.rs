//! Naive bottom-up evaluation.

use std::collections::{HashMap, HashSet};

use super::dependency::{Dependencies, RelationId, Stage};
use super::error::{Limits, ProverError};
use super::state::State;
use crate::gdl::{Atom, Literal, Rule, Rules, Symbols, Term, TermTable, keyword};
use crate::ids::TermId;

/// The instances of each relation that hold.
type Facts = HashMap<RelationId, HashSet<Vec<TermId>>>;

pub struct Engine {
    pub terms: TermTable,
    pub symbols: Symbols,
    rules: Vec<Rule>,
    dependencies: Dependencies,
    limits: Limits,
    fixed: Facts,
    current: Option<(State, Vec<(TermId, TermId)>, Facts)>,
}

impl Engine {
    pub fn new(rules: &Rules, limits: Limits) -> Result<Self, ProverError> {
        let is_derived = |rule: &&Rule| {
            ![(keyword::TRUE, 1), (keyword::DOES, 2)].contains(&rule.head.signature())
        };
        let mut rules_kept: Vec<Rule> = rules.rules.iter().filter(is_derived).cloned().collect();
        for rule in &mut rules_kept {
            let is_check = |literal: &Literal| !matches!(literal, Literal::Positive(_));
            rule.body.sort_by_key(is_check);
        }
        let dependencies = Dependencies::of(&rules_kept);
        let mut engine = Self {
            terms: TermTable::new(),
            symbols: rules.symbols.clone(),
            rules: rules_kept,
            dependencies,
            limits,
            fixed: Facts::new(),
            current: None,
        };
        let mut fixed = Facts::new();
        engine.evaluate(&mut fixed, |stage| stage == Stage::Static)?;
        engine.fixed = fixed;
        Ok(engine)
    }

    pub fn initial_facts(&self) -> Vec<TermId> {
        self.unary(&self.fixed, keyword::INIT)
    }

    fn unary(&self, facts: &Facts, name: crate::ids::Symbol) -> Vec<TermId> {
        let relation = self.dependencies.find((name, 1));
        relation
            .and_then(|relation| facts.get(&relation))
            .into_iter()
            .flatten()
            .map(|arguments| arguments[0])
            .collect()
    }

    fn facts(&mut self, state: &State, moves: &[(TermId, TermId)]) -> Result<&Facts, ProverError> {
        let is_current =
            matches!(&self.current, Some((known, made, _)) if known == state && made == moves);
        if !is_current {
            let mut facts = self.fixed.clone();
            if let Some(relation) = self.dependencies.find((keyword::TRUE, 1)) {
                let holding = state.facts().iter().map(|&fact| vec![fact]).collect();
                facts.insert(relation, holding);
            }
            if let Some(relation) = self.dependencies.find((keyword::DOES, 2)) {
                let holding = moves.iter().map(|&(role, mv)| vec![role, mv]).collect();
                facts.insert(relation, holding);
            }
            self.evaluate(&mut facts, |stage| stage != Stage::Static)?;
            self.current = Some((state.clone(), moves.to_vec(), facts));
        }
        match &self.current {
            Some((_, _, facts)) => Ok(facts),
            None => Ok(&self.fixed),
        }
    }

    pub fn is_terminal(&mut self, state: &State) -> Result<bool, ProverError> {
        let relation = self.dependencies.find((keyword::TERMINAL, 0));
        let facts = self.facts(state, &[])?;
        Ok(relation.is_some_and(|relation| {
            facts
                .get(&relation)
                .is_some_and(|instances| !instances.is_empty())
        }))
    }

    pub fn legal_moves(&mut self, state: &State, role: TermId) -> Result<Vec<TermId>, ProverError> {
        self.of_role(state, keyword::LEGAL, role)
    }

    pub fn goal_values(&mut self, state: &State, role: TermId) -> Result<Vec<TermId>, ProverError> {
        self.of_role(state, keyword::GOAL, role)
    }

    fn of_role(
        &mut self,
        state: &State,
        name: crate::ids::Symbol,
        role: TermId,
    ) -> Result<Vec<TermId>, ProverError> {
        let relation = self.dependencies.find((name, 2));
        let facts = self.facts(state, &[])?;
        Ok(relation
            .and_then(|relation| facts.get(&relation))
            .into_iter()
            .flatten()
            .filter(|arguments| arguments[0] == role)
            .map(|arguments| arguments[1])
            .collect())
    }

    pub fn next_facts(
        &mut self,
        state: &State,
        moves: &[(TermId, TermId)],
    ) -> Result<Vec<TermId>, ProverError> {
        let relation = self.dependencies.find((keyword::NEXT, 1));
        let facts = self.facts(state, moves)?;
        Ok(relation
            .and_then(|relation| facts.get(&relation))
            .into_iter()
            .flatten()
            .map(|arguments| arguments[0])
            .collect())
    }

    pub fn facts_of(
        &mut self,
        relation: &str,
        arity: usize,
    ) -> Result<Vec<Box<[TermId]>>, ProverError> {
        let Some(relation) = self
            .symbols
            .find(relation)
            .and_then(|name| self.dependencies.find((name, arity)))
        else {
            return Ok(Vec::new());
        };
        let empty = State::of(&mut Vec::new());
        let facts = self.facts(&empty, &[])?;
        Ok(facts
            .get(&relation)
            .into_iter()
            .flatten()
            .map(|arguments| arguments.as_slice().into())
            .collect())
    }

    fn evaluate(
        &mut self,
        facts: &mut Facts,
        is_wanted: impl Fn(Stage) -> bool,
    ) -> Result<(), ProverError> {
        for component in self.dependencies.components.iter() {
            if !is_wanted(component.stage) {
                continue;
            }
            loop {
                let mut n_new = 0;
                for &rule in &component.rules {
                    let rule = &self.rules[rule];
                    let mut bound = vec![None; rule.variables.len()];
                    let mut found = Vec::new();
                    let mut join = Join {
                        terms: &mut self.terms,
                        dependencies: &self.dependencies,
                        facts,
                        found: &mut found,
                    };
                    join.run(&rule.head, &rule.body, &mut bound);
                    let Some(head) = self.dependencies.find(rule.head.signature()) else {
                        continue;
                    };
                    let known = facts.entry(head).or_default();
                    for instance in found {
                        for term in &instance {
                            if self.terms.depth(*term) > self.limits.depth {
                                return Err(ProverError::TooDeep {
                                    limit: self.limits.depth,
                                    relation: self.symbols.name(rule.head.relation).to_string(),
                                });
                            }
                        }
                        n_new += usize::from(known.insert(instance));
                    }
                    if known.len() > self.limits.facts {
                        return Err(ProverError::TooManyFacts {
                            limit: self.limits.facts,
                            relation: self.symbols.name(rule.head.relation).to_string(),
                        });
                    }
                }
                if self.terms.len() > self.limits.terms {
                    return Err(ProverError::TooManyTerms {
                        limit: self.limits.terms,
                    });
                }
                if n_new == 0 || !component.is_recursive {
                    break;
                }
            }
        }
        Ok(())
    }
}

struct Join<'a> {
    terms: &'a mut TermTable,
    dependencies: &'a Dependencies,
    facts: &'a Facts,
    found: &'a mut Vec<Vec<TermId>>,
}

impl Join<'_> {
    fn run(&mut self, head: &Atom, body: &[Literal], bound: &mut Vec<Option<TermId>>) {
        let Some((literal, rest)) = body.split_first() else {
            if let Some(arguments) = self.arguments(head, bound) {
                self.found.push(arguments);
            }
            return;
        };
        match literal {
            Literal::Positive(atom) => {
                let instances = self
                    .dependencies
                    .find(atom.signature())
                    .and_then(|relation| self.facts.get(&relation));
                for instance in instances.into_iter().flatten() {
                    let before = bound.clone();
                    if self.matches(&atom.arguments, instance, bound) {
                        self.run(head, rest, bound);
                    }
                    *bound = before;
                }
            }
            Literal::Negative(atom) => {
                let instances = self
                    .dependencies
                    .find(atom.signature())
                    .and_then(|relation| self.facts.get(&relation));
                let holds = instances.into_iter().flatten().any(|instance| {
                    let mut bound = bound.clone();
                    self.matches(&atom.arguments, instance, &mut bound)
                });
                if !holds {
                    self.run(head, rest, bound);
                }
            }
            Literal::Distinct(left, right, _) => {
                let (left, right) = (self.term(left, bound), self.term(right, bound));
                if left.is_none() || left != right {
                    self.run(head, rest, bound);
                }
            }
        }
    }

    fn matches(
        &self,
        patterns: &[Term],
        instance: &[TermId],
        bound: &mut [Option<TermId>],
    ) -> bool {
        patterns
            .iter()
            .zip(instance)
            .all(|(pattern, &term)| match pattern {
                Term::Variable(variable) => {
                    let known = &mut bound[*variable as usize];
                    *known.get_or_insert(term) == term
                }
                Term::Constant(name) => {
                    self.terms.name(term) == *name && self.terms.arguments(term).is_empty()
                }
                Term::Function(name, patterns) => {
                    let arguments = self.terms.arguments(term);
                    self.terms.name(term) == *name
                        && arguments.len() == patterns.len()
                        && self.matches(patterns, arguments, bound)
                }
            })
    }

    fn arguments(&mut self, atom: &Atom, bound: &[Option<TermId>]) -> Option<Vec<TermId>> {
        atom.arguments
            .iter()
            .map(|argument| self.term(argument, bound))
            .collect()
    }

    fn term(&mut self, term: &Term, bound: &[Option<TermId>]) -> Option<TermId> {
        match term {
            Term::Variable(variable) => bound[*variable as usize],
            Term::Constant(name) => Some(self.terms.intern(*name, &[])),
            Term::Function(name, arguments) => {
                let arguments: Option<Vec<TermId>> = arguments
                    .iter()
                    .map(|argument| self.term(argument, bound))
                    .collect();
                Some(self.terms.intern(*name, &arguments?))
            }
        }
    }
}
