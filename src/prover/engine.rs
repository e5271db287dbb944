//! Answers questions about a state by evaluating just the components that they need.
//!
//! A component is planned when it is first needed and evaluated when its last contents belong to another state or
//! joint move. Positive recursion is semi-naive: each rule is run once for each new fact that one of its recursive
//! literals matches. Negation within a component is answered by the alternating fixpoint, which gives the
//! well-founded model: exact for locally stratified rules, and what it leaves undefined does not hold.

use super::dependency::{ComponentId, DOES, Dependencies, RelationId, Stage, TRUE};
use super::error::{Limits, ProverError};
use super::estimate::Estimates;
use super::join::Outcome;
use super::plan::{Op, Plan, Planner, Scan};
use super::prepare::prepare;
use super::state::State;
use super::store::{Fault, Store};
use crate::gdl::{Literal, Rule, Rules, Symbols, TermTable, keyword};
use crate::ids::{IdVec, TermId};

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// Whether the game is over.
    Terminal,
    /// The legal moves of all roles.
    Legal,
    /// The goals of all roles.
    Goal,
    /// The facts of the next state.
    Next,
    /// The facts of the initial state.
    Init,
}

impl Question {
    const ALL: [Question; 5] = [
        Question::Init,
        Question::Terminal,
        Question::Legal,
        Question::Goal,
        Question::Next,
    ];

    fn signature(self) -> (crate::ids::Symbol, usize) {
        match self {
            Question::Terminal => (keyword::TERMINAL, 0),
            Question::Legal => (keyword::LEGAL, 2),
            Question::Goal => (keyword::GOAL, 2),
            Question::Next => (keyword::NEXT, 1),
            Question::Init => (keyword::INIT, 1),
        }
    }
}

/// A question's relation and the components to evaluate for it, in order.
#[derive(Default)]
struct Needed {
    relation: Option<RelationId>,
    components: Vec<ComponentId>,
}

/// The plans of one component.
#[derive(Default)]
struct Compiled {
    /// The rules without recursive literals.
    start: Vec<Plan>,
    /// For each recursive literal of each other rule, the plan that begins with it.
    deltas: Vec<Delta>,
}

/// A plan that is run once for each new match of its first literal.
struct Delta {
    scan: Scan,
    rest: Vec<Op>,
}

/// Rules at work.
pub struct Engine {
    pub symbols: Symbols,
    pub store: Store,
    rules: Vec<Rule>,
    dependencies: Dependencies,
    limits: Limits,
    estimates: Estimates,
    compiled: IdVec<ComponentId, Option<Compiled>>,
    /// The serial number of the state or joint move that the component's contents belong to, 0 for none.
    evaluated_for: IdVec<ComponentId, u64>,
    needed: [Needed; Question::ALL.len()],
    serial: u64,
    state: Option<State>,
    state_serial: u64,
    moves: Vec<(TermId, TermId)>,
    moves_serial: u64,
    registers: Vec<TermId>,
}

/// The serial number under which what is static is evaluated.
const FOR_EVER: u64 = u64::MAX;

impl Engine {
    /// Plans the rules and evaluates what is static.
    pub fn new(rules: &Rules, limits: Limits) -> Result<Self, ProverError> {
        let mut symbols = rules.symbols.clone();
        let prepared = prepare(&rules.rules, &mut symbols);
        let dependencies = Dependencies::of(&prepared);
        let mut engine = Self {
            symbols,
            store: Store::new(TermTable::new(), std::iter::empty(), limits.clone()),
            rules: prepared,
            dependencies,
            limits,
            estimates: Estimates::default(),
            compiled: IdVec::new(),
            evaluated_for: IdVec::new(),
            needed: Default::default(),
            serial: 0,
            state: None,
            state_serial: 0,
            moves: Vec::new(),
            moves_serial: 0,
            registers: Vec::new(),
        };
        engine.rebuild()?;
        Ok(engine)
    }

    /// Forgets all but the terms and plans anew.
    fn rebuild(&mut self) -> Result<(), ProverError> {
        let terms = std::mem::take(&mut self.store.terms);
        let arities = self.dependencies.relations.iter().map(|(_, arity)| *arity);
        self.store = Store::new(terms, arities, self.limits.clone());
        let n_components = self.dependencies.components.len();
        self.compiled = (0..n_components).map(|_| None).collect();
        self.evaluated_for = IdVec::from_vec(vec![0; n_components]);
        self.state = None;
        self.moves.clear();
        self.estimates.restart();
        for question in Question::ALL {
            let relation = self.dependencies.find(question.signature());
            let mut components = match relation {
                Some(relation) => self.dependencies.needed_for(relation),
                None => Vec::new(),
            };
            for component in &components {
                self.compile(*component)?;
            }
            components.retain(|component| self.evaluated_for[*component] != FOR_EVER);
            self.needed[question as usize] = Needed {
                relation,
                components,
            };
        }
        Ok(())
    }

    /// The facts of the initial state.
    pub fn initial_facts(&mut self) -> Result<Vec<TermId>, ProverError> {
        self.set_state(&State::of(&mut Vec::new()));
        self.ask(Question::Init)?;
        Ok(self.column(Question::Init))
    }

    /// Whether the game is over.
    pub fn is_terminal(&mut self, state: &State) -> Result<bool, ProverError> {
        self.stand_on(state, None);
        let relation = self.ask(Question::Terminal)?;
        Ok(relation.is_some_and(|relation| !self.store.relations[relation].holding().is_empty()))
    }

    /// The role's legal moves.
    pub fn legal_moves(
        &mut self,
        state: &State,
        role: TermId,
    ) -> Result<Vec<TermId>, ProverError> {
        self.stand_on(state, None);
        self.ask(Question::Legal)?;
        Ok(self.of_role(Question::Legal, role))
    }

    /// The role's goal values.
    pub fn goal_values(
        &mut self,
        state: &State,
        role: TermId,
    ) -> Result<Vec<TermId>, ProverError> {
        self.stand_on(state, None);
        self.ask(Question::Goal)?;
        Ok(self.of_role(Question::Goal, role))
    }

    /// The facts after a joint move.
    pub fn next_facts(
        &mut self,
        state: &State,
        moves: &[(TermId, TermId)],
    ) -> Result<Vec<TermId>, ProverError> {
        self.stand_on(state, Some(moves));
        self.ask(Question::Next)?;
        Ok(self.column(Question::Next))
    }

    /// All instances of a relation.
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
        self.stand_on(&State::of(&mut Vec::new()), None);
        self.store.refill();
        for component in self.dependencies.needed_for(relation) {
            self.compile(component)?;
            self.evaluate(component)?;
        }
        let relation = &self.store.relations[relation];
        Ok(relation
            .holding()
            .iter()
            .map(|&fact| relation.arguments(fact).into())
            .collect())
    }

    /// The first arguments of all facts of the question's relation.
    fn column(&self, question: Question) -> Vec<TermId> {
        let Some(relation) = self.needed[question as usize].relation else {
            return Vec::new();
        };
        let relation = &self.store.relations[relation];
        let facts = relation.holding().iter();
        facts.map(|&fact| relation.arguments(fact)[0]).collect()
    }

    /// The second arguments of those facts whose first argument is the role.
    fn of_role(&self, question: Question, role: TermId) -> Vec<TermId> {
        let Some(relation) = self.needed[question as usize].relation else {
            return Vec::new();
        };
        let relation = &self.store.relations[relation];
        let facts = relation.holding().iter().map(|&fact| relation.arguments(fact));
        facts
            .filter(|arguments| arguments[0] == role)
            .map(|arguments| arguments[1])
            .collect()
    }

    /// Makes `state` the one that questions are about, and `moves` what the roles do. Without moves, those made
    /// last stay where they do not matter: a question that depends on none.
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
        if let Some(relation) = self.dependencies.find(DOES) {
            self.store.clear(relation);
        }
        if let Some(relation) = self.dependencies.find(TRUE) {
            self.store.clear(relation);
            for &fact in state.facts() {
                self.store.relations[relation].insert(&[fact]);
            }
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
        if let Some(relation) = self.dependencies.find(DOES) {
            self.store.clear(relation);
            for &(role, mv) in moves {
                self.store.relations[relation].insert(&[role, mv]);
            }
        }
    }

    /// Evaluates what a question needs; gives its relation.
    fn ask(&mut self, question: Question) -> Result<Option<RelationId>, ProverError> {
        for position in 0..self.needed[question as usize].components.len() {
            let component = self.needed[question as usize].components[position];
            let stage = self.dependencies.components[component].stage;
            // Only the next state may depend on what the roles do. Anything else that does is asked as if they
            // did nothing.
            if stage == Stage::Moves && question != Question::Next {
                self.set_moves(&[]);
            }
            self.evaluate(component)?;
        }
        Ok(self.needed[question as usize].relation)
    }

    /// Plans a component, once. What it needs must have been planned.
    fn compile(&mut self, id: ComponentId) -> Result<(), ProverError> {
        if self.compiled[id].is_some() {
            return Ok(());
        }
        let component = &self.dependencies.components[id];
        let mut planner = Planner {
            store: &mut self.store,
            dependencies: &self.dependencies,
            estimates: &mut self.estimates,
            component: id,
        };
        let mut compiled = Compiled::default();
        let mut n_registers = 0;
        for &rule in &component.rules {
            let rule = &self.rules[rule];
            let recursive: Vec<usize> = rule
                .body
                .iter()
                .enumerate()
                .filter_map(|(position, literal)| match literal {
                    Literal::Positive(atom) => {
                        let relation = self.dependencies.find(atom.signature())?;
                        (self.dependencies.component_of[relation] == id).then_some(position)
                    }
                    _ => None,
                })
                .collect();
            if recursive.is_empty() {
                if let Some(plan) = planner.plan(rule, None) {
                    n_registers = n_registers.max(plan.n_registers);
                    compiled.start.push(plan);
                }
                continue;
            }
            for position in recursive {
                if let Some(plan) = planner.plan(rule, Some(position)) {
                    n_registers = n_registers.max(plan.n_registers);
                    let mut ops = plan.ops.into_iter();
                    if let Some(Op::Scan(scan)) = ops.next() {
                        compiled.deltas.push(Delta {
                            scan,
                            rest: ops.collect(),
                        });
                    }
                }
            }
        }
        if self.registers.len() < n_registers {
            self.registers.resize(n_registers, TermId(0));
        }
        self.compiled[id] = Some(compiled);
        if component.stage == Stage::Static {
            self.store.refill();
            self.evaluate(id)?;
        }
        Ok(())
    }

    /// Evaluates a component if its contents belong to another state or joint move.
    fn evaluate(&mut self, id: ComponentId) -> Result<(), ProverError> {
        let component = &self.dependencies.components[id];
        let serial = match component.stage {
            Stage::Static => FOR_EVER,
            Stage::State => self.state_serial,
            Stage::Moves => self.moves_serial,
        };
        if self.evaluated_for[id] == serial {
            return Ok(());
        }
        let Some(compiled) = &self.compiled[id] else {
            return Ok(());
        };
        if component.rules.is_empty() {
            self.evaluated_for[id] = serial;
            return Ok(());
        }
        let mut evaluation = Evaluation {
            relations: &component.relations,
            compiled,
            store: &mut self.store,
            registers: &mut self.registers,
        };
        let outcome = if component.has_inner_negation {
            evaluation.alternating_fixpoint()
        } else {
            evaluation.least_fixpoint()
        };
        match outcome {
            Ok(()) => {
                self.evaluated_for[id] = serial;
                Ok(())
            }
            Err(fault) => {
                self.evaluated_for[id] = 0;
                let relation = component
                    .relations
                    .first()
                    .map(|&relation| self.dependencies.relations[relation]);
                Err(self.error(fault, relation))
            }
        }
    }

    fn error(&self, fault: Fault, relation: Option<(crate::ids::Symbol, usize)>) -> ProverError {
        let relation = match relation {
            Some((name, arity)) => format!("{}/{arity}", self.symbols.name(name)),
            None => String::new(),
        };
        match fault {
            Fault::TooManyFacts => ProverError::TooManyFacts {
                limit: self.limits.facts,
                relation,
            },
            Fault::TooDeep => ProverError::TooDeep {
                limit: self.limits.depth,
                relation,
            },
            Fault::TooManyTerms => ProverError::TooManyTerms {
                limit: self.limits.terms,
            },
            Fault::TooMuchWork => ProverError::TooMuchWork {
                limit: self.limits.work,
                relation,
            },
        }
    }
}

/// One component being evaluated.
struct Evaluation<'a> {
    relations: &'a [RelationId],
    compiled: &'a Compiled,
    store: &'a mut Store,
    registers: &'a mut [TermId],
}

impl Evaluation<'_> {
    fn fault(&self) -> Fault {
        self.store.fault.unwrap_or(Fault::TooMuchWork)
    }

    fn n_holding(&self) -> usize {
        let relations = self.relations.iter();
        relations
            .map(|&relation| self.store.relations[relation].holding().len())
            .sum()
    }

    /// Everything that the rules derive, with negation within the component held against the reference.
    fn least_fixpoint(&mut self) -> Result<(), Fault> {
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

    /// The well-founded model: ever larger sets that surely hold and ever smaller ones that possibly hold.
    fn alternating_fixpoint(&mut self) -> Result<(), Fault> {
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
                return Ok(());
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
