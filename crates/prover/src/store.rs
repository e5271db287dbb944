//! The prover's data: terms, facts and indexes, and the limits on them.
//!
//! What would exceed a limit is not stored, and sets the fault.

use super::dependency::RelationId;
use super::error::Limits;
use super::functions::{Build, FunctionId, Functions};
use super::index::{Index, Pattern};
use super::relation::Relation;
use panza_gdl::ids::define_id;
use panza_gdl::{IdVec, Symbol, TermId, TermTable};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    TooManyFacts,
    TooDeep,
    TooManyTerms,
    TooMuchWork,
    /// Goal-directed evaluation met undecidable negation within a recursion.
    Undecided,
    /// No answer is needed any more.
    Stopped,
}

define_id! { IndexId }

type KnownIndex = (Box<[Pattern]>, IndexId);

pub struct Store {
    pub terms: TermTable,
    pub functions: Functions,
    pub relations: IdVec<RelationId, Relation>,
    pub indexes: IdVec<IndexId, Index>,
    indexes_of: IdVec<RelationId, Vec<KnownIndex>>,
    limits: Limits,
    /// How many more facts may be derived.
    pub facts_left: usize,
    /// How many more rows may be visited.
    pub work_left: u64,
    work_refilled: u64,
    pub fault: Option<Fault>,
}

/// Argument lists up to this length are built on the stack.
const SHORT: usize = 8;
/// Arguments that count as one more fact, term or visited row against the limits.
const LONG: usize = 8;
/// Rows between two looks at whether an answer is still needed.
const LOOK_EVERY: u64 = 1 << 12;

impl Store {
    /// An empty store for relations of these arities.
    pub fn new(terms: TermTable, arities: impl Iterator<Item = usize>, limits: Limits) -> Self {
        let relations: IdVec<RelationId, Relation> = arities.map(Relation::new).collect();
        let indexes_of = IdVec::from_vec(vec![Vec::new(); relations.len()]);
        Self {
            terms,
            functions: Functions::default(),
            relations,
            indexes: IdVec::new(),
            indexes_of,
            facts_left: limits.facts,
            work_left: limits.work,
            work_refilled: 0,
            limits,
            fault: None,
        }
    }

    pub fn set_limits(&mut self, limits: Limits) {
        self.refill();
        self.work_left = limits.work;
        self.facts_left = limits.facts;
        self.limits = limits;
    }

    /// Resets the limits for a new evaluation.
    pub fn refill(&mut self) {
        self.work_refilled += self.limits.work - self.work_left;
        self.facts_left = self.limits.facts;
        self.work_left = self.limits.work;
        self.fault = None;
        self.functions.catch_up(&self.terms, &self.limits);
    }

    /// Counts visited rows. False beyond the limit, and when no answer is needed any more.
    #[inline]
    pub fn spend(&mut self, work: u64) -> bool {
        let Some(left) = self.work_left.checked_sub(work) else {
            self.fault = Some(Fault::TooMuchWork);
            return false;
        };
        let looks = left / LOOK_EVERY != self.work_left / LOOK_EVERY;
        self.work_left = left;
        if looks && self.limits.is_stopped() {
            self.fault = Some(Fault::Stopped);
            return false;
        }
        true
    }

    /// Whether no answer is needed any more.
    pub fn is_stopped(&self) -> bool {
        self.limits.is_stopped()
    }

    pub fn work_done(&self) -> u64 {
        self.work_refilled + (self.limits.work - self.work_left)
    }

    /// Stored facts and index entries: the memory that can be freed.
    pub fn n_remembered(&self) -> usize {
        let facts: usize = self.relations.iter().map(Relation::n_known).sum();
        let places: usize = self.indexes.iter().map(Index::n_known).sum();
        facts + places
    }

    /// The number of a function; new functions are added.
    pub fn function(&mut self, name: Symbol, arity: usize) -> FunctionId {
        self.functions
            .function(name, arity, &self.terms, &self.limits)
    }

    /// The relation's index with these patterns; new indexes are added.
    pub fn index(&mut self, relation: RelationId, patterns: Vec<Pattern>) -> IndexId {
        let mut known = self.indexes_of[relation].iter();
        if let Some((_, index)) = known.find(|(known, _)| **known == *patterns) {
            return *index;
        }
        let patterns: Box<[Pattern]> = patterns.into();
        let index = self.indexes.push(Index::new(patterns.clone()));
        self.indexes_of[relation].push((patterns, index));
        index
    }

    pub fn clear(&mut self, relation: RelationId) {
        if self.relations[relation].clear() {
            for (_, index) in &self.indexes_of[relation] {
                self.indexes[*index].restart();
            }
        }
    }

    #[inline]
    pub fn catch_up(&mut self, index: IndexId, relation: RelationId) {
        self.indexes[index].catch_up(&self.relations[relation], &self.terms);
    }

    /// Makes a fact hold. False when that is beyond the limits.
    #[inline]
    pub fn derive(&mut self, relation: RelationId, arguments: &[TermId]) -> bool {
        if self.relations[relation].insert(arguments) {
            // Long facts count as several.
            let Some(left) = self.facts_left.checked_sub(1 + arguments.len() / LONG) else {
                self.fault = Some(Fault::TooManyFacts);
                return false;
            };
            self.facts_left = left;
            if arguments.len() >= LONG {
                return self.spend((arguments.len() / LONG) as u64);
            }
        }
        true
    }

    /// The term that `build` describes, added when new. Nothing beyond the limits.
    #[inline]
    pub fn intern(&mut self, build: &Build, registers: &[TermId]) -> Option<TermId> {
        match build {
            Build::Known(term) => Some(*term),
            Build::Register(register) => Some(registers[*register as usize]),
            Build::Apply(function, arguments) => {
                self.intern_applied(*function, arguments, registers)
            }
        }
    }

    fn intern_applied(
        &mut self,
        function: FunctionId,
        builds: &[Build],
        registers: &[TermId],
    ) -> Option<TermId> {
        self.intern_all(builds, registers, |store, arguments| {
            store.intern_term(function, arguments)
        })
    }

    /// Passes the terms that `builds` describe to `then`, added when new. Nothing beyond the
    /// limits.
    #[inline]
    fn intern_all<T>(
        &mut self,
        builds: &[Build],
        registers: &[TermId],
        then: impl FnOnce(&mut Self, &[TermId]) -> Option<T>,
    ) -> Option<T> {
        let mut short = [TermId(0); SHORT];
        if let Some(arguments) = short.get_mut(..builds.len()) {
            for (argument, build) in arguments.iter_mut().zip(builds) {
                *argument = self.intern(build, registers)?;
            }
            then(self, arguments)
        } else {
            let arguments = builds.iter().map(|build| self.intern(build, registers));
            let arguments: Option<Vec<TermId>> = arguments.collect();
            then(self, &arguments?)
        }
    }

    #[inline]
    fn intern_term(&mut self, function: FunctionId, arguments: &[TermId]) -> Option<TermId> {
        match self.functions.find(function, arguments) {
            Some(term) => Some(term),
            None => self.add_term(function, arguments),
        }
    }

    #[cold]
    fn add_term(&mut self, function: FunctionId, arguments: &[TermId]) -> Option<TermId> {
        self.intern_within(self.functions.name(function), arguments)
    }

    /// Whether a term may be added. Terms of many arguments count as several.
    pub fn has_room(&self) -> bool {
        self.terms.len() + self.terms.n_arguments() / LONG < self.limits.terms
    }

    /// The term of a name and arguments, added when new. Nothing beyond the limits.
    pub fn intern_within(&mut self, name: Symbol, arguments: &[TermId]) -> Option<TermId> {
        let known = self.terms.find(name, arguments);
        if known.is_some() {
            return known;
        }
        if !self.has_room() {
            self.fault = Some(Fault::TooManyTerms);
            return None;
        }
        if !self.terms.fits(arguments, self.limits.depth) {
            self.fault = Some(Fault::TooDeep);
            return None;
        }
        let term = self.terms.intern(name, arguments);
        self.functions.catch_up(&self.terms, &self.limits);
        Some(term)
    }

    /// The term that `build` describes, if it is known.
    #[inline(always)]
    pub fn find(&self, build: &Build, registers: &[TermId]) -> Option<TermId> {
        match build {
            Build::Known(term) => Some(*term),
            Build::Register(register) => Some(registers[*register as usize]),
            Build::Apply(function, arguments) => self.find_applied(*function, arguments, registers),
        }
    }

    fn find_applied(
        &self,
        function: FunctionId,
        builds: &[Build],
        registers: &[TermId],
    ) -> Option<TermId> {
        self.find_all(builds, registers, |arguments| {
            self.functions.find(function, arguments)
        })
    }

    /// Passes the terms that `builds` describe to `then`, if all are known.
    #[inline]
    pub fn find_all<T>(
        &self,
        builds: &[Build],
        registers: &[TermId],
        then: impl FnOnce(&[TermId]) -> Option<T>,
    ) -> Option<T> {
        let mut short = [TermId(0); SHORT];
        if let Some(found) = short.get_mut(..builds.len()) {
            for (found, build) in found.iter_mut().zip(builds) {
                *found = self.find(build, registers)?;
            }
            then(found)
        } else {
            let found = builds.iter().map(|build| self.find(build, registers));
            let found: Option<Vec<TermId>> = found.collect();
            then(&found?)
        }
    }

    /// Makes the fact with the arguments that `builds` describe hold. False beyond the limits.
    #[inline]
    pub fn derive_built(
        &mut self,
        relation: RelationId,
        builds: &[Build],
        registers: &[TermId],
    ) -> bool {
        let derive = |store: &mut Self, arguments: &[TermId]| {
            store.derive(relation, arguments).then_some(())
        };
        self.intern_all(builds, registers, derive).is_some()
    }

    /// Whether two descriptions describe the same term. Neither needs to be known.
    pub fn is_same(&self, left: &Build, right: &Build, registers: &[TermId]) -> bool {
        match (left, right) {
            (Build::Apply(function, arguments), Build::Apply(other, others)) => {
                let mut pairs = arguments.iter().zip(others);
                function == other && pairs.all(|(left, right)| self.is_same(left, right, registers))
            }
            (Build::Apply(function, arguments), other)
            | (other, Build::Apply(function, arguments)) => {
                let Some(term) = self.find(other, registers) else {
                    return false;
                };
                let inner = self.terms.arguments(term);
                let is_same = |(build, &term)| self.is_same(build, &Build::Known(term), registers);
                self.terms.name(term) == self.functions.name(*function)
                    && inner.len() == arguments.len()
                    && arguments.iter().zip(inner).all(is_same)
            }
            (left, right) => self.find(left, registers) == self.find(right, registers),
        }
    }
}
