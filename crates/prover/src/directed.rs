//! Chooses the relations to evaluate goal-directed, and the limits that apply.
//!
//! An evaluation beyond the soft limits makes relations goal-directed and restarts. The hard limits
//! apply when no such relation is left.

use super::dependency::ComponentId;
use super::engine::{Bounds, Engine, Stopped, is_asked_for};
use super::error::{Limits, ProverError};
use super::store::Fault;
use panza_gdl::Signature;

/// Soft limits: beyond them goal-directed evaluation is tried.
const SOFT_FACTS: usize = 300_000;
const SOFT_WORK: u64 = 50_000_000;

impl Engine {
    pub fn current_limits(&self) -> Limits {
        self.limits_within(self.choice.limits)
    }

    /// The limits of static evaluation, which a trial does not bound.
    pub fn static_limits(&self) -> Limits {
        self.limits_within(match self.choice.limits {
            Bounds::Trial(_) => Bounds::Soft,
            other => other,
        })
    }

    fn limits_within(&self, bounds: Bounds) -> Limits {
        let (facts, work) = match bounds {
            Bounds::Hard => return self.limits.clone(),
            Bounds::Soft => (SOFT_FACTS, SOFT_WORK),
            Bounds::Trial(work) => (SOFT_FACTS, work),
        };
        Limits {
            facts: self.limits.facts.min(facts),
            work: self.limits.work.min(work),
            ..self.limits.clone()
        }
    }

    pub fn set_bounds(&mut self, bounds: Bounds) {
        self.choice.limits = bounds;
        self.store.set_limits(self.current_limits());
    }

    /// After a stop, makes more relations goal-directed or lifts the soft limits, so that a rebuilt
    /// engine gets further. Fails when neither is possible.
    pub fn relent(&mut self, stopped: Stopped) -> Result<(), ProverError> {
        let is_final = matches!(
            stopped.fault,
            Fault::TooManyTerms | Fault::Undecided | Fault::Stopped
        );
        if self.choice.limits != Bounds::Soft || is_final {
            return Err(self.error(stopped));
        }
        if self.put_on_demand(stopped.component) {
            return Ok(());
        }
        if self.is_tuning {
            return Err(self.error(stopped));
        }
        self.choice.limits = Bounds::Hard;
        Ok(())
    }

    /// Makes the largest relations of a component goal-directed, or, where they are already, those
    /// whose rules call them. False when there are none.
    fn put_on_demand(&mut self, id: ComponentId) -> bool {
        let component = &self.dependencies.components[id];
        let sizes = component.relations.iter().map(|&relation| {
            let size = self.store.relations[relation].holding().len();
            (self.origin_of(relation), size)
        });
        let sizes: Vec<(Signature, usize)> = sizes.collect();
        let largest = sizes.iter().map(|(_, size)| *size).max().unwrap_or(0);
        let mut chosen: Vec<Signature> = sizes
            .iter()
            .filter(|(signature, size)| *size >= largest / 2 && self.may_be_on_demand(*signature))
            .map(|(signature, _)| *signature)
            .collect();
        if chosen.is_empty() {
            let called: Vec<Signature> = sizes.iter().map(|(signature, _)| *signature).collect();
            chosen = self.callers(&called);
        }
        let n_before = self.choice.on_demand.len();
        self.choice.on_demand.extend(chosen);
        self.choice.on_demand.len() > n_before
    }

    /// Whether a relation can be made goal-directed and is not yet.
    pub fn may_be_on_demand(&self, signature: Signature) -> bool {
        self.has_rules.contains(&signature)
            && !is_asked_for(signature)
            && !self.choice.on_demand.contains(&signature)
    }

    /// The relations that could be made goal-directed and whose rules call one of these, directly
    /// or by way of relations that are goal-directed already.
    pub fn callers(&self, called: &[Signature]) -> Vec<Signature> {
        let mut called = called.to_vec();
        let mut found = Vec::new();
        let mut position = 0;
        while position < called.len() {
            for rule in &self.source {
                let caller = rule.head.signature();
                let mut atoms = rule.body.iter().filter_map(|literal| literal.atom());
                if !atoms.any(|atom| atom.signature() == called[position]) {
                    continue;
                }
                if self.choice.on_demand.contains(&caller) {
                    if !called.contains(&caller) {
                        called.push(caller);
                    }
                } else if self.may_be_on_demand(caller) && !found.contains(&caller) {
                    found.push(caller);
                }
            }
            position += 1;
        }
        found
    }

    /// Whether goal-directed evaluation has brought negation into a recursion that had none.
    pub fn gained_inner_negation(&self) -> bool {
        let components = self.dependencies.components.iter();
        let relations = components
            .filter(|component| component.has_inner_negation)
            .flat_map(|component| &component.relations);
        relations
            .map(|&relation| self.origin_of(relation))
            .any(|signature| !self.with_inner_negation.contains(&signature))
    }

    /// Name and arity of the largest fact of the state, which grows from state to state.
    fn largest_fact(&self) -> Option<String> {
        let terms = &self.store.terms;
        let facts = self.state.as_ref()?.facts().iter();
        let largest = *facts.max_by_key(|fact| terms.size(**fact))?;
        let name = self.names.symbols.name(terms.name(largest));
        Some(format!("{name}/{}", terms.arguments(largest).len()))
    }

    pub fn error(&self, stopped: Stopped) -> ProverError {
        let relations = &self.dependencies.components[stopped.component].relations;
        let largest = relations
            .iter()
            .max_by_key(|relation| self.store.relations[**relation].holding().len());
        let relation = largest.map_or(String::new(), |&relation| {
            let (name, arity) = self.origin_of(relation);
            format!("{}/{arity}", self.names.symbols.name(name))
        });
        match stopped.fault {
            Fault::TooManyFacts => ProverError::TooManyFacts {
                limit: self.limits.facts,
                relation,
            },
            Fault::TooDeep => ProverError::TooDeep {
                limit: self.limits.depth,
                relation: match relation.as_str() {
                    "next/1" => self.largest_fact().unwrap_or(relation),
                    _ => relation,
                },
            },
            Fault::TooManyTerms => ProverError::TooManyTerms {
                limit: self.limits.terms,
            },
            Fault::Undecided => ProverError::Undecided { relation },
            Fault::Stopped => ProverError::Stopped,
            Fault::TooMuchWork => ProverError::TooMuchWork {
                limit: self.limits.work,
                relation,
            },
        }
    }
}
