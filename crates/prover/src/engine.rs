//! Answers questions about a state by evaluating the components that they need.
//!
//! A component is evaluated again when its contents belong to another state or joint move. After an
//! evaluation beyond the soft limits the engine is rebuilt goal-directed ([`super::directed`]).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::demand::on_demand;
use super::dependency::{ComponentId, DOES, Dependencies, RelationId, Stage, TRUE};
use super::error::{Limits, ProverError};
use super::estimate::Estimates;
use super::evaluate::{Compiled, Evaluation};
use super::first::{Clauses, Derivation, Prove, STEPS, Verdict};
use super::names::Names;
use super::prepare::{guard, prepare};
use super::state::State;
use super::store::{Fault, Store};
use panza_gdl::modes::Modes;
use panza_gdl::{
    Id, IdVec, Literal, Rule, Rules, Signature, Symbol, Symbols, TermId, TermTable, keyword,
};

/// Which limits of an evaluation apply.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Bounds {
    /// The soft ones; beyond them goal-directed evaluation is tried.
    #[default]
    Soft,
    /// The soft ones, but no more than this much work; beyond them the trial has failed.
    Trial(u64),
    /// Those of the caller; beyond them there is no answer.
    Hard,
}

#[derive(Clone, Default, Debug)]
pub struct Choice {
    pub on_demand: BTreeSet<Signature>,
    pub limits: Bounds,
}

/// Whether questions are about this relation, or a state or joint move gives it.
pub fn is_asked_for(signature: Signature) -> bool {
    [TRUE, DOES, (keyword::ROLE, 1)].contains(&signature)
        || Question::ALL.map(Question::signature).contains(&signature)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    Init,
    Terminal,
    Legal,
    Goal,
    Next,
}

impl Question {
    /// All questions, the static one first.
    pub const ALL: [Question; 5] = [
        Question::Init,
        Question::Terminal,
        Question::Legal,
        Question::Goal,
        Question::Next,
    ];

    pub fn signature(self) -> Signature {
        match self {
            Question::Init => (keyword::INIT, 1),
            Question::Terminal => (keyword::TERMINAL, 0),
            Question::Legal => (keyword::LEGAL, 2),
            Question::Goal => (keyword::GOAL, 2),
            Question::Next => (keyword::NEXT, 1),
        }
    }
}

#[derive(Default)]
struct Needed {
    relation: Option<RelationId>,
    components: Vec<ComponentId>,
}

#[derive(Clone, Copy, Debug)]
pub struct Stopped {
    pub fault: Fault,
    pub component: ComponentId,
}

pub struct Engine {
    pub names: Names,
    pub store: Store,
    pub estimates: Estimates,
    pub source: Vec<Rule>,
    pub has_rules: HashSet<Signature>,
    /// `source`, for questions that one derivation answers.
    clauses: Clauses,
    search: Derivation,
    source_dependencies: Dependencies,
    pub choice: Choice,
    /// `source`, rewritten and prepared.
    rules: Vec<Rule>,
    /// From rewritten relations to the relation of the rulesheet they stand for.
    pub origins: HashMap<Signature, Signature>,
    pub dependencies: Dependencies,
    pub limits: Limits,
    compiled: IdVec<ComponentId, Option<Compiled>>,
    /// Serial number of the state or joint move of the component's contents; 0 for none.
    evaluated_for: IdVec<ComponentId, u64>,
    needed: [Needed; Question::ALL.len()],
    /// Why a question has no answer in any state.
    failed: [Option<ProverError>; Question::ALL.len()],
    serial: u64,
    pub state: Option<State>,
    state_serial: u64,
    moves: Vec<(TermId, TermId)>,
    moves_serial: u64,
    registers: Vec<TermId>,
    /// Relations of the rulesheet with negation within their component.
    pub with_inner_negation: HashSet<Signature>,
    work_of: IdVec<ComponentId, u64>,
    work_forgotten: u64,
    /// The state number of the next memory check, and the limit.
    pub next_inspection: u64,
    pub most_remembered: usize,
    /// The work after which the memory is checked in any case.
    next_inspection_work: u64,
    /// Whether plans are being fitted: hard limits are not tried then.
    pub is_tuning: bool,
}

/// Serial number of static components.
const FOR_EVER: u64 = u64::MAX;
/// Stored facts and index entries, about 20 bytes each; beyond this the store is emptied.
const MOST_REMEMBERED: usize = 20_000_000;
const LONGEST_BODY: usize = 400;
const INSPECTION: u64 = 4096;
/// Rows visited between two memory checks: a row adds a few facts and index entries at most.
const INSPECTION_WORK: u64 = 4_000_000;

impl Engine {
    /// Plans the rules and evaluates what is static.
    pub fn new(rules: &Rules, limits: Limits) -> Result<Self, ProverError> {
        let source = guard(&rules.rules);
        check_lengths(&source, &rules.symbols)?;
        let dependencies = Dependencies::of(&source);
        let with_inner_negation = dependencies
            .components
            .iter()
            .filter(|component| component.has_inner_negation)
            .flat_map(|component| &component.relations)
            .map(|&relation| dependencies.relations[relation])
            .collect();
        let (mut names, mut terms) = (Names::new(rules.symbols.clone()), TermTable::new());
        // A head variable that the body leaves open can only be bound by a call.
        let called: BTreeSet<Signature> =
            Modes::new(&source).open_relations().into_iter().collect();
        let clauses = Clauses::new(&source, called.iter().copied(), &mut names, &mut terms);
        let mut engine = Self {
            clauses,
            search: Derivation::default(),
            names,
            store: Store::new(terms, std::iter::empty(), limits.clone()),
            estimates: Estimates::default(),
            choice: Choice {
                on_demand: called,
                ..Choice::default()
            },
            has_rules: source.iter().map(|rule| rule.head.signature()).collect(),
            source,
            rules: Vec::new(),
            origins: HashMap::new(),
            source_dependencies: dependencies.clone(),
            dependencies,
            limits,
            compiled: IdVec::new(),
            evaluated_for: IdVec::new(),
            needed: Default::default(),
            failed: Default::default(),
            serial: 0,
            state: None,
            state_serial: 0,
            moves: Vec::new(),
            moves_serial: 0,
            registers: Vec::new(),
            with_inner_negation,
            work_of: IdVec::new(),
            work_forgotten: 0,
            next_inspection: INSPECTION,
            most_remembered: MOST_REMEMBERED,
            next_inspection_work: INSPECTION_WORK,
            is_tuning: false,
        };
        engine.rebuild();
        Ok(engine)
    }

    /// Drops all but terms and samples, and plans anew. A question whose static part cannot be
    /// evaluated keeps the error; the others are still answered.
    pub fn rebuild(&mut self) {
        if self.store.is_stopped() {
            self.failed = Question::ALL.map(|_| Some(ProverError::Stopped));
            return;
        }
        self.failed = Default::default();
        let limits = self.choice.limits;
        while let Err((question, stopped)) = self.try_rebuild() {
            if let Err(error) = self.relent(stopped) {
                if error == ProverError::Stopped {
                    return self.rebuild();
                }
                self.failed[question as usize] = Some(error);
                self.choice.limits = limits;
            }
        }
    }

    fn try_rebuild(&mut self) -> Result<(), (Question, Stopped)> {
        let rewritten = on_demand(
            &self.source,
            &self.choice.on_demand,
            &self.source_dependencies,
            &mut self.names,
        );
        self.origins = rewritten.origins;
        self.rules = prepare(&rewritten.rules, &mut self.names);
        self.dependencies = Dependencies::of(&self.rules);
        let terms = std::mem::take(&mut self.store.terms);
        let arities = self.dependencies.relations.iter().map(|(_, arity)| *arity);
        self.work_forgotten += self.store.work_done();
        self.store = Store::new(terms, arities, self.current_limits());
        let n_components = self.dependencies.components.len();
        self.compiled = (0..n_components).map(|_| None).collect();
        self.evaluated_for = IdVec::from_vec(vec![0; n_components]);
        self.clear_work();
        self.state = None;
        self.moves.clear();
        self.estimates.restart();
        for question in Question::ALL {
            let relation = self.dependencies.find(question.signature());
            let answered = relation.filter(|_| self.failed[question as usize].is_none());
            let needed = answered.map(|relation| self.dependencies.needed_for(relation));
            let mut components = needed.unwrap_or_default();
            for component in &components {
                let compiled = self.compile(*component);
                compiled.map_err(|stopped| (question, stopped))?;
            }
            components.retain(|component| self.evaluated_for[*component] != FOR_EVER);
            self.needed[question as usize] = Needed {
                relation,
                components,
            };
        }
        Ok(())
    }

    /// Whether the relation's facts are those of the current state or joint move.
    pub fn is_evaluated(&self, relation: RelationId) -> bool {
        let component = self.dependencies.component_of[relation];
        self.evaluated_for[component] == self.serial_of(component)
            || self.dependencies.components[component].rules.is_empty()
    }

    pub fn work_done(&self) -> u64 {
        self.work_forgotten + self.store.work_done()
    }

    pub fn clear_work(&mut self) {
        self.work_of = IdVec::from_vec(vec![0; self.dependencies.components.len()]);
    }

    /// The relation of the rulesheet that a relation stands for.
    pub fn origin_of(&self, relation: RelationId) -> Signature {
        let signature = self.dependencies.relations[relation];
        self.origins.get(&signature).copied().unwrap_or(signature)
    }

    /// The work since the last clear, by relation of the rulesheet. A component's work counts for
    /// its first relation.
    pub fn work_by_relation(&self) -> Vec<(Signature, u64)> {
        let mut by_relation: BTreeMap<Signature, u64> = BTreeMap::new();
        for (id, work) in self.work_of.enumerate() {
            let relations = self.dependencies.components[id].relations.iter();
            if let Some(signature) = relations.map(|&relation| self.origin_of(relation)).min() {
                *by_relation.entry(signature).or_default() += work;
            }
        }
        by_relation.into_iter().collect()
    }

    pub fn show(&self, term: TermId) -> String {
        self.store.terms.show(&self.names.symbols, term)
    }

    pub fn initial_facts(&mut self) -> Result<Vec<TermId>, ProverError> {
        self.answer(Question::Init, &State::of(&mut Vec::new()), None)?;
        Ok(self.column(Question::Init))
    }

    pub fn is_terminal(&mut self, state: &State) -> Result<bool, ProverError> {
        self.answer(Question::Terminal, state, None)?;
        Ok(self.answers(Question::Terminal).next().is_some())
    }

    /// The role's legal moves or goal values.
    pub fn of_role(
        &mut self,
        question: Question,
        state: &State,
        role: TermId,
    ) -> Result<Vec<TermId>, ProverError> {
        self.answer(question, state, None)?;
        let answers = self.answers(question);
        let of_role = answers.filter(|arguments| arguments[0] == role);
        Ok(of_role.map(|arguments| arguments[1]).collect())
    }

    /// A move that is legal for a role in every state.
    pub fn unconditional_move(&self, role: TermId) -> Option<TermId> {
        self.clauses.fact(Question::Legal.signature(), role)
    }

    /// A legal move of a role, if one derivation is found soon.
    pub fn find_legal(
        &mut self,
        state: &State,
        role: TermId,
    ) -> Result<Option<TermId>, ProverError> {
        let mut prove = self.prove(state, None)?;
        Ok(prove.first(state, Question::Legal.signature(), role, STEPS))
    }

    /// Whether a move is legal, if that is found soon.
    pub fn decide_legal(
        &mut self,
        state: &State,
        role: TermId,
        mv: TermId,
    ) -> Result<Verdict, ProverError> {
        let mut prove = self.prove(state, Some(mv))?;
        Ok(prove.holds(state, Question::Legal.signature(), &[role, mv], STEPS))
    }

    /// A search for one derivation, in a state and about a move, if any.
    fn prove(&mut self, state: &State, mv: Option<TermId>) -> Result<Prove<'_>, ProverError> {
        self.check_terms(state, mv)?;
        self.store.refill();
        Ok(Prove {
            clauses: &self.clauses,
            store: &mut self.store,
            search: &mut self.search,
        })
    }

    pub fn next_facts(
        &mut self,
        state: &State,
        moves: &[(TermId, TermId)],
    ) -> Result<Vec<TermId>, ProverError> {
        self.answer(Question::Next, state, Some(moves))?;
        Ok(self.column(Question::Next))
    }

    pub fn facts_of(
        &mut self,
        relation: &str,
        arity: usize,
    ) -> Result<Vec<Box<[TermId]>>, ProverError> {
        let Some(name) = self.names.symbols.find(relation) else {
            return Ok(Vec::new());
        };
        // On demand there are only the instances that were called for.
        let choice = self.choice.clone();
        let was_on_demand = self.choice.on_demand.remove(&(name, arity));
        if was_on_demand {
            self.rebuild();
        }
        self.stand_on(&State::of(&mut Vec::new()), None);
        let bounds = self.choice.limits;
        self.set_bounds(Bounds::Hard);
        let found = self.instances(name, arity);
        self.set_bounds(bounds);
        if was_on_demand {
            self.choice = choice;
            self.rebuild();
        }
        found
    }

    fn instances(&mut self, name: Symbol, arity: usize) -> Result<Vec<Box<[TermId]>>, ProverError> {
        let Some(relation) = self.dependencies.find((name, arity)) else {
            return Ok(Vec::new());
        };
        for component in self.dependencies.needed_for(relation) {
            self.store.refill();
            self.compile(component)
                .and_then(|()| self.evaluate(component))
                .map_err(|stopped| self.error(stopped))?;
        }
        let relation = &self.store.relations[relation];
        let facts = relation.holding().iter();
        Ok(facts.map(|&fact| relation.arguments(fact).into()).collect())
    }

    /// The arguments of all facts of the question's relation.
    fn answers(&self, question: Question) -> impl Iterator<Item = &[TermId]> {
        let relation = self.needed[question as usize].relation;
        let relation = relation.map(|relation| &self.store.relations[relation]);
        relation.into_iter().flat_map(|relation| {
            let facts = relation.holding().iter();
            facts.map(|&fact| relation.arguments(fact))
        })
    }

    /// The first arguments of all facts of the question's relation.
    fn column(&self, question: Question) -> Vec<TermId> {
        let answers = self.answers(question);
        answers.map(|arguments| arguments[0]).collect()
    }

    /// Evaluates what a question needs, for a state and what the roles do there.
    pub fn answer(
        &mut self,
        question: Question,
        state: &State,
        moves: Option<&[(TermId, TermId)]>,
    ) -> Result<(), ProverError> {
        let moved = moves.unwrap_or_default().iter().map(|(_, mv)| *mv);
        self.check_terms(state, moved)?;
        if self.serial >= self.next_inspection || self.work_done() >= self.next_inspection_work {
            self.inspect();
        }
        loop {
            if let Some(error) = &self.failed[question as usize] {
                return Err(error.clone());
            }
            self.stand_on(state, moves);
            match self.ask(question) {
                Ok(()) => return Ok(()),
                Err(stopped) => {
                    self.relent(stopped)?;
                    self.rebuild();
                }
            }
        }
    }

    /// Refuses terms that are not of this prover.
    fn check_terms(
        &self,
        state: &State,
        moved: impl IntoIterator<Item = TermId>,
    ) -> Result<(), ProverError> {
        let n_terms = self.store.terms.len();
        // Facts are sorted.
        let mut largest = state.facts().last().copied().into_iter().chain(moved);
        match largest.find(|term| term.index() >= n_terms) {
            Some(strange) => Err(ProverError::NoSuchTerm {
                term: strange.index(),
                n_terms,
            }),
            None => Ok(()),
        }
    }

    /// Empties the store when it holds too much.
    fn inspect(&mut self) {
        self.next_inspection = self.serial + INSPECTION;
        self.next_inspection_work = self.work_done() + INSPECTION_WORK;
        if self.store.n_remembered() > self.most_remembered {
            self.rebuild();
            // Static facts are evaluated again at once and do not count.
            self.most_remembered = MOST_REMEMBERED + self.store.n_remembered();
        }
    }

    /// Makes `state`, and `moves` if given, the subject of all questions.
    fn stand_on(&mut self, state: &State, moves: Option<&[(TermId, TermId)]>) {
        self.store.refill();
        if self.state.as_ref() != Some(state) {
            self.set_state(state);
        }
        if let Some(moves) = moves {
            self.set_moves(moves);
        }
    }

    fn set_state(&mut self, state: &State) {
        self.serial += 1;
        self.state_serial = self.serial;
        self.moves_serial = self.serial;
        self.moves.clear();
        self.store.clear(RelationId::DOES);
        self.store.clear(RelationId::TRUE);
        for &fact in state.facts() {
            self.store.relations[RelationId::TRUE].insert(&[fact]);
        }
        self.state = Some(state.clone());
    }

    fn set_moves(&mut self, moves: &[(TermId, TermId)]) {
        if self.moves == moves {
            return;
        }
        self.serial += 1;
        self.moves_serial = self.serial;
        self.moves.clear();
        self.moves.extend_from_slice(moves);
        self.store.clear(RelationId::DOES);
        for &(role, mv) in moves {
            self.store.relations[RelationId::DOES].insert(&[role, mv]);
        }
    }

    fn ask(&mut self, question: Question) -> Result<(), Stopped> {
        for position in 0..self.needed[question as usize].components.len() {
            let component = self.needed[question as usize].components[position];
            let stage = self.dependencies.components[component].stage;
            // Only the next state may depend on what the roles do. Anything else that does is asked
            // as if they did nothing.
            if stage == Stage::Moves && question != Question::Next {
                self.set_moves(&[]);
            }
            self.evaluate(component)?;
        }
        Ok(())
    }

    /// Plans a component, once. What it needs must have been planned.
    fn compile(&mut self, id: ComponentId) -> Result<(), Stopped> {
        if self.compiled[id].is_some() {
            return Ok(());
        }
        let compiled = Compiled::new(
            id,
            &self.rules,
            &self.dependencies,
            &mut self.store,
            &mut self.estimates,
        );
        if self.store.is_stopped() {
            let fault = Fault::Stopped;
            return Err(Stopped {
                fault,
                component: id,
            });
        }
        if self.registers.len() < compiled.n_registers {
            self.registers.resize(compiled.n_registers, TermId(0));
        }
        self.compiled[id] = Some(compiled);
        if self.dependencies.components[id].stage == Stage::Static {
            self.store.set_limits(self.static_limits());
            let outcome = self.evaluate(id);
            self.store.set_limits(self.current_limits());
            outcome?;
        }
        Ok(())
    }

    /// The serial number that the component's contents should have.
    fn serial_of(&self, id: ComponentId) -> u64 {
        match self.dependencies.components[id].stage {
            Stage::Static => FOR_EVER,
            Stage::State => self.state_serial,
            Stage::Moves => self.moves_serial,
        }
    }

    /// Evaluates a component if its contents belong to another state or joint move.
    fn evaluate(&mut self, id: ComponentId) -> Result<(), Stopped> {
        let component = &self.dependencies.components[id];
        let serial = self.serial_of(id);
        if self.evaluated_for[id] == serial {
            return Ok(());
        }
        // What a state or a joint move gives has no rules, and is there already.
        if let Some(compiled) = &self.compiled[id]
            && !component.rules.is_empty()
        {
            let mut evaluation = Evaluation {
                relations: &component.relations,
                compiled,
                store: &mut self.store,
                registers: &mut self.registers,
            };
            let work_before = evaluation.store.work_done();
            let outcome = match component.has_inner_negation {
                true => evaluation.alternating_fixpoint(),
                false => evaluation.least_fixpoint().map(|()| true),
            };
            self.work_of[id] += self.store.work_done() - work_before;
            let is_copied = |relation: &RelationId| {
                let signature = self.dependencies.relations[*relation];
                self.origins.contains_key(&signature)
            };
            let fault = match outcome {
                Ok(is_total) if is_total || !component.relations.iter().any(is_copied) => None,
                // What a rulesheet leaves undefined does not hold, but the calls of a goal-directed
                // relation must be known.
                Ok(_) => Some(Fault::Undecided),
                Err(fault) => Some(fault),
            };
            if let Some(fault) = fault {
                self.evaluated_for[id] = 0;
                let component = id;
                return Err(Stopped { fault, component });
            }
        }
        self.evaluated_for[id] = serial;
        Ok(())
    }
}

/// Refuses bodies so long that planning and joining them would take too much time and stack.
fn check_lengths(rules: &[Rule], symbols: &Symbols) -> Result<(), ProverError> {
    for rule in rules {
        let positive = |literal: &&Literal| matches!(literal, Literal::Positive(_));
        let found = rule.body.iter().filter(positive).count();
        if found > LONGEST_BODY {
            let (name, arity) = rule.head.signature();
            return Err(ProverError::RuleTooLong {
                relation: format!("{}/{arity}", symbols.name(name)),
                found,
                limit: LONGEST_BODY,
            });
        }
    }
    Ok(())
}
