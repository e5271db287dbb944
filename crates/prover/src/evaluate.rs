//! Evaluates the plans of one component to a fixpoint.
//!
//! Positive recursion is semi-naive: each rule runs once per new fact that one of its recursive
//! literals matches. Negation within a component uses the alternating fixpoint (Van Gelder, 1989),
//! which gives the well-founded model. It is exact for locally stratified rules; undefined facts do
//! not hold.

use super::dependency::{ComponentId, Dependencies, RelationId};
use super::estimate::Estimates;
use super::join::Outcome;
use super::plan::{Op, Planner, QueryPlan, Scan};
use super::store::{Fault, Store};
use panza_gdl::{Literal, Rule, TermId};

#[derive(Default)]
pub struct Compiled {
    /// The rules without recursive literals.
    start: Vec<QueryPlan>,
    /// For each recursive literal of each other rule, the plan that begins with it.
    deltas: Vec<Delta>,
    pub n_registers: usize,
}

struct Delta {
    scan: Scan,
    rest: Vec<Op>,
}

impl Compiled {
    /// Plans a component. The static components it needs must be evaluated.
    pub fn new(
        id: ComponentId,
        rules: &[Rule],
        dependencies: &Dependencies,
        store: &mut Store,
        estimates: &mut Estimates,
    ) -> Self {
        let mut planner = Planner {
            store,
            dependencies,
            estimates,
            component: id,
        };
        let mut compiled = Compiled::default();
        for &rule in &dependencies.components[id].rules {
            if planner.store.is_stopped() {
                break;
            }
            let rule = &rules[rule];
            let is_recursive = |literal: &Literal| match literal {
                Literal::Positive(atom) => dependencies
                    .find(atom.signature())
                    .is_some_and(|relation| dependencies.component_of[relation] == id),
                _ => false,
            };
            let recursive: Vec<usize> = (0..rule.body.len())
                .filter(|&position| is_recursive(&rule.body[position]))
                .collect();
            if recursive.is_empty()
                && let Some(plan) = planner.plan(rule, None)
            {
                compiled.n_registers = compiled.n_registers.max(plan.n_registers);
                compiled.start.push(plan);
            }
            for position in recursive {
                let Some(plan) = planner.plan(rule, Some(position)) else {
                    continue;
                };
                compiled.n_registers = compiled.n_registers.max(plan.n_registers);
                let mut ops = plan.ops.into_iter();
                if let Some(Op::Scan(scan)) = ops.next() {
                    compiled.deltas.push(Delta {
                        scan,
                        rest: ops.collect(),
                    });
                }
            }
        }
        compiled
    }
}

pub struct Evaluation<'a> {
    pub relations: &'a [RelationId],
    pub compiled: &'a Compiled,
    pub store: &'a mut Store,
    pub registers: &'a mut [TermId],
}

impl Evaluation<'_> {
    fn fault(&self) -> Fault {
        self.store.fault.unwrap_or(Fault::TooMuchWork)
    }

    fn n_holding(&self) -> usize {
        let holding = |&relation: &RelationId| self.store.relations[relation].holding().len();
        self.relations.iter().map(holding).sum()
    }

    /// The least fixpoint, with negation within the component tested against the reference.
    pub fn least_fixpoint(&mut self) -> Result<(), Fault> {
        for &relation in self.relations {
            self.store.clear(relation);
        }
        for plan in &self.compiled.start {
            if self.store.run(&plan.ops, self.registers) == Outcome::Stopped {
                return Err(self.fault());
            }
        }
        if self.compiled.deltas.is_empty() {
            return Ok(());
        }
        let mut n_done = vec![0; self.compiled.deltas.len()];
        loop {
            let mut is_done = true;
            for (delta, n_done) in self.compiled.deltas.iter().zip(&mut n_done) {
                let (position, outcome) =
                    self.store
                        .run_from(&delta.scan, &delta.rest, *n_done, self.registers);
                if outcome == Outcome::Stopped {
                    return Err(self.fault());
                }
                is_done &= position == *n_done;
                *n_done = position;
            }
            if is_done {
                return Ok(());
            }
        }
    }

    /// The well-founded model: growing underestimates alternate with shrinking overestimates. False
    /// when they do not meet, so that some fact is undefined.
    pub fn alternating_fixpoint(&mut self) -> Result<bool, Fault> {
        for &relation in self.relations {
            self.store.relations[relation].clear_reference();
        }
        let facts_left = self.store.facts_left;
        let mut n_surely = 0;
        loop {
            self.least_fixpoint()?;
            let n_possibly = self.n_holding();
            self.keep_as_reference();
            self.store.facts_left = facts_left;
            self.least_fixpoint()?;
            let n_now = self.n_holding();
            if n_now == n_possibly || n_now == n_surely {
                return Ok(n_now == n_possibly);
            }
            n_surely = n_now;
            self.keep_as_reference();
            self.store.facts_left = facts_left;
        }
    }

    fn keep_as_reference(&mut self) {
        for &relation in self.relations {
            self.store.relations[relation].keep_as_reference();
        }
    }
}
