#![doc = include_str!("../README.md")]
//!
//! Rules are evaluated bottom-up, component by component, for one state at a time, without
//! grounding. The prover is the oracle that every faster machine is tested against, the referee of
//! matches, and the fallback for games that no faster machine takes.
//!
//! ```text
//! rules ─▶ guard ─▶ demand ─▶ prepare ─▶ dependency ─▶ plan ─▶ join ─▶ relation, index
//!          roles    calls     unsafe     components    order   loops   facts
//!          └──────── directed, tune: which relations are goal-directed ────────┘
//! ```
//!
//! A fact holds when its stamp is current. Facts, terms and index entries are kept from state to
//! state, so that a warm state allocates little. A component is evaluated only when a question
//! needs it: once, per state, or per joint move. A first legal move is searched top-down, by its
//! first derivation. Relations that bottom-up evaluation does not
//! finish or makes too large are derived for the calls made to them, as are those for which samples
//! show less work.
//!
//! The semantics are stratified least fixpoints; where negation stands inside a recursion, the
//! well-founded model, in which undefined facts do not hold. Unsafe rules are defined in `prepare`.
//! `true` and `does` are never derived.
//!
//! Invariants: a term keeps its number for the life of a prover, so states stay valid; equal states
//! are equal values; every evaluation ends within [`Limits`] or with an error.
//!
//! Never uses: ground programs, networks, machines, time.

#![cfg_attr(test, allow(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

mod demand;
mod dependency;
mod directed;
mod engine;
mod error;
mod estimate;
mod evaluate;
mod first;
mod functions;
mod index;
mod join;
mod names;
mod order;
mod plan;
mod prepare;
mod relation;
mod state;
mod store;
#[cfg(test)]
mod tests;
mod tune;
mod tuple_map;

pub use error::{Limits, ProverError};
pub use state::State;

use engine::{Engine, Question};
use first::Verdict;
use order::TextOrder;
use panza_gdl::{Id, RoleId, Rules, Sexpr, TermId, sexpr};

/// A game's rules, ready to answer questions about any state.
pub struct Prover {
    engine: Engine,
    roles: Vec<TermId>,
    initial: State,
    order: TextOrder,
}

impl Prover {
    /// Compiles the rules with the default [`Limits`] and evaluates what holds in every state.
    /// Fails as [`Prover::with_limits`].
    pub fn new(rules: &Rules) -> Result<Self, ProverError> {
        Self::with_limits(rules, Limits::default())
    }

    /// Compiles the rules and evaluates what holds in every state. Fails without roles, for a body
    /// too long to be planned, and for an initial state beyond the limits.
    pub fn with_limits(rules: &Rules, limits: Limits) -> Result<Self, ProverError> {
        let mut prover = Self::untuned(rules, limits)?;
        prover.tune();
        Ok(prover)
    }

    /// As [`with_limits`](Self::with_limits), ready sooner: the plans are not fitted to the game.
    pub fn untuned(rules: &Rules, limits: Limits) -> Result<Self, ProverError> {
        let mut engine = Engine::new(rules, limits)?;
        let roles = rules.roles();
        let roles = roles
            .iter()
            .filter_map(|role| engine.store.terms.intern_term(role));
        let roles: Vec<TermId> = roles.collect();
        if roles.is_empty() {
            return Err(ProverError::NoRoles);
        }
        let initial = State::of(&mut engine.initial_facts()?);
        Ok(Self {
            engine,
            roles,
            initial,
            order: TextOrder::default(),
        })
    }

    /// Fits the plans to the game, by some random moves from its start.
    pub fn tune(&mut self) {
        // Plans that do not fit are slow, not wrong: a sample that fails leaves the game as it was.
        let _ = tune::tune(&mut self.engine, &self.roles, &self.initial);
    }

    /// The roles, in the order of the text.
    pub fn roles(&self) -> &[TermId] {
        &self.roles
    }

    /// The state in which the game starts.
    pub fn initial_state(&self) -> State {
        self.initial.clone()
    }

    /// The state in which just these facts hold.
    pub fn state_from_facts(&mut self, facts: &[TermId]) -> State {
        State::of(&mut facts.to_vec())
    }

    /// The facts that hold in a state, without the word `true`.
    pub fn facts<'a>(&self, state: &'a State) -> &'a [TermId] {
        state.facts()
    }

    /// Whether the game is over. Fails beyond the limits.
    pub fn is_terminal(&mut self, state: &State) -> Result<bool, ProverError> {
        self.engine.is_terminal(state)
    }

    /// The role's legal moves, each once, in the order of their canonical text. Fails for an
    /// unknown role and beyond the limits.
    pub fn legal_moves(&mut self, state: &State, role: RoleId) -> Result<Vec<TermId>, ProverError> {
        self.sorted(Question::Legal, state, role)
    }

    /// One legal move of the role, found without the others where that is possible. `None` where
    /// it has none. Fails for an unknown role and beyond the limits.
    pub fn first_legal(
        &mut self,
        state: &State,
        role: RoleId,
    ) -> Result<Option<TermId>, ProverError> {
        let term = self.role_term(role)?;
        let found = match self.engine.unconditional_move(term) {
            Some(mv) => Some(mv),
            None => self.engine.find_legal(state, term)?,
        };
        match found {
            Some(mv) => Ok(Some(mv)),
            None => Ok(self.legal_moves(state, role)?.first().copied()),
        }
    }

    /// Whether a move is legal for the role. Fails for an unknown role or move and beyond the
    /// limits.
    pub fn is_legal(
        &mut self,
        state: &State,
        role: RoleId,
        mv: TermId,
    ) -> Result<bool, ProverError> {
        let term = self.role_term(role)?;
        match self.engine.decide_legal(state, term, mv)? {
            Verdict::Holds => Ok(true),
            Verdict::HoldsNot => Ok(false),
            Verdict::Unknown => Ok(self
                .engine
                .of_role(Question::Legal, state, term)?
                .contains(&mv)),
        }
    }

    /// A move that is legal for the role in every state, if the rules have one as a fact. Fails for
    /// an unknown role.
    pub fn unconditional_move(&self, role: RoleId) -> Result<Option<TermId>, ProverError> {
        Ok(self.engine.unconditional_move(self.role_term(role)?))
    }

    /// The state after a joint move: one move per role, in role order. Moves need not be legal.
    /// Fails for a wrong number of moves and beyond the limits.
    pub fn next_state(
        &mut self,
        state: &State,
        joint_move: &[TermId],
    ) -> Result<State, ProverError> {
        if joint_move.len() != self.roles.len() {
            return Err(ProverError::WrongJointMove {
                found: joint_move.len(),
                expected: self.roles.len(),
            });
        }
        let moves = self.roles.iter().copied().zip(joint_move.iter().copied());
        let moves: Vec<(TermId, TermId)> = moves.collect();
        let mut facts = self.engine.next_facts(state, &moves)?;
        Ok(State::of(&mut facts))
    }

    /// All values that the rules derive for the role's goal, each once, in the order of their
    /// canonical text. Fails for an unknown role and beyond the limits.
    pub fn goal_values(&mut self, state: &State, role: RoleId) -> Result<Vec<TermId>, ProverError> {
        self.sorted(Question::Goal, state, role)
    }

    /// The highest of the role's goals that are integers from 0 to 100, if it has one. Fails for an
    /// unknown role and beyond the limits.
    pub fn goal(&mut self, state: &State, role: RoleId) -> Result<Option<u8>, ProverError> {
        let values = self.goal_values(state, role)?.into_iter();
        let values = values.filter_map(|value| self.show(value).parse().ok());
        Ok(values.filter(|value: &u8| *value <= 100).max())
    }

    /// A term as canonical text: one space between elements, none inside the parentheses.
    pub fn show(&self, term: TermId) -> String {
        self.engine.show(term)
    }

    /// The ground term that a text writes. Nothing for any other text, or when the term table is
    /// full.
    pub fn read_term(&mut self, text: &str) -> Option<TermId> {
        let (expressions, diagnostics) = sexpr::parse(text);
        match expressions.as_slice() {
            [expression] if diagnostics.is_empty() => self.term_from_sexpr(expression),
            _ => None,
        }
    }

    /// The ground term that an s-expression writes. Nothing for what is no ground term, or when the
    /// term table is full.
    pub fn term_from_sexpr(&mut self, expression: &Sexpr) -> Option<TermId> {
        let engine = &mut self.engine;
        let has_room = engine.store.has_room();
        let (terms, symbols) = (&mut engine.store.terms, &mut engine.names.symbols);
        match has_room {
            true => terms.intern_sexpr(symbols, expression),
            false => terms.find_sexpr(symbols, expression),
        }
    }

    /// All instances of a relation that depends on no state, such as `base` or `input`, as lists of
    /// arguments. Instances that hold in the empty state, when it does depend on one; none when
    /// there is no such relation. Fails beyond the limits.
    pub fn facts_of(
        &mut self,
        relation: &str,
        arity: usize,
    ) -> Result<Vec<Box<[TermId]>>, ProverError> {
        self.engine.facts_of(relation, arity)
    }

    fn role_term(&self, role: RoleId) -> Result<TermId, ProverError> {
        let term = self.roles.get(role.index());
        term.copied().ok_or(ProverError::NoSuchRole {
            role: role.index(),
            n_roles: self.roles.len(),
        })
    }

    fn sorted(
        &mut self,
        question: Question,
        state: &State,
        role: RoleId,
    ) -> Result<Vec<TermId>, ProverError> {
        let term = self.role_term(role)?;
        let mut terms = self.engine.of_role(question, state, term)?;
        self.order.sort(&mut terms, |term| self.engine.show(term));
        Ok(terms)
    }
}
