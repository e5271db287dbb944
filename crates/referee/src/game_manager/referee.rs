//! The state of a match, evaluated by the reference prover.

use panza_gdl::{Id, RoleId, Rules, TermId, sexpr};
use panza_prover::{Prover, ProverError, State};

pub struct Referee {
    prover: Prover,
    state: State,
    roles: Vec<String>,
}

impl Referee {
    pub fn new(rules: &Rules) -> Result<Self, ProverError> {
        let prover = Prover::new(rules)?;
        Ok(Self {
            state: prover.initial_state(),
            roles: prover
                .roles()
                .iter()
                .map(|&role| prover.show(role))
                .collect(),
            prover,
        })
    }

    pub fn roles(&self) -> &[String] {
        &self.roles
    }

    pub fn is_over(&mut self) -> Result<bool, ProverError> {
        self.prover.is_terminal(&self.state)
    }

    /// Each role's legal moves, sorted by their text.
    pub fn legal_moves(&mut self) -> Result<Vec<Vec<TermId>>, ProverError> {
        (0..self.roles.len())
            .map(|role| {
                let role = RoleId::from_index(role);
                let mut moves = self.prover.legal_moves(&self.state, role)?;
                moves.sort_by_cached_key(|&mv| self.prover.show(mv));
                Ok(moves)
            })
            .collect()
    }

    /// The first expression of an answer as a move, as in ggp-base. None where that is no term.
    pub fn read_move(&mut self, answer: &str) -> Option<TermId> {
        let (expressions, faults) = sexpr::parse(answer);
        if !faults.is_empty() {
            return None;
        }
        self.prover.term_from_sexpr(expressions.first()?)
    }

    pub fn show(&self, mv: TermId) -> String {
        self.prover.show(mv)
    }

    pub fn advance(&mut self, joint_move: &[TermId]) -> Result<(), ProverError> {
        self.state = self.prover.next_state(&self.state, joint_move)?;
        Ok(())
    }

    pub fn goals(&mut self) -> Result<Vec<Option<u8>>, ProverError> {
        (0..self.roles.len())
            .map(|role| self.prover.goal(&self.state, RoleId::from_index(role)))
            .collect()
    }

    /// The facts that hold, sorted.
    pub fn facts(&self) -> Vec<String> {
        let facts = self.prover.facts(&self.state);
        let mut facts: Vec<String> = facts.iter().map(|&fact| self.prover.show(fact)).collect();
        facts.sort();
        facts
    }
}
