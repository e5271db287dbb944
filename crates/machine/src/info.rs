//! Names of a game: its roles, moves and facts.

use std::ops::Range;

use panza_gdl::{BaseId, CHANCE_ROLE, Id, IdVec, MoveId, RoleId};
use panza_propnet::Network;

/// Names of a game's roles, moves and facts, and states as sets of facts.
pub trait GameInfo: Send + Sync {
    /// Number of roles, at least 1.
    fn n_roles(&self) -> usize;

    /// The role's name.
    fn role_name(&self, role: RoleId) -> &str;

    /// The role that draws uniformly among its legal moves and has no aim, if there is one.
    fn chance_role(&self) -> Option<RoleId> {
        let mut roles = (0..self.n_roles()).map(RoleId::from_index);
        roles.find(|&role| self.role_name(role) == CHANCE_ROLE)
    }

    /// The move as canonical GDL text: one space between elements, none inside the parentheses.
    fn move_text(&self, mv: MoveId) -> String;

    /// The role's move with this canonical text, if it can ever be legal.
    fn find_move(&self, role: RoleId, text: &str) -> Option<MoveId>;

    /// The facts that the bits of a state stand for, in order, as canonical GDL text without
    /// `true`. `None` where a state is not one bit per fact.
    fn facts(&self) -> Option<&[String]> {
        None
    }

    /// The facts that hold in a state, sorted.
    fn state_facts(&self, state: &[u64]) -> Vec<String>;

    /// The state in which exactly these facts hold.
    ///
    /// # Errors
    /// Names the first fact that no reachable state can hold.
    fn state_from_facts(&self, facts: &[String]) -> Result<Vec<u64>, UnknownFact>;

    /// The names of all roles, in order.
    fn roles(&self) -> Vec<String> {
        let roles = (0..self.n_roles()).map(RoleId::from_index);
        roles.map(|role| self.role_name(role).to_string()).collect()
    }
}

/// A fact that no reachable state can hold, as it was given.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` holds in no state that can be reached")]
pub struct UnknownFact(pub String);

/// The names of a compiled network. States have one bit per base.
#[derive(Debug)]
pub struct NetworkInfo {
    /// The roles' names.
    pub roles: IdVec<RoleId, String>,
    /// Each move's role and text.
    pub moves: IdVec<MoveId, (RoleId, String)>,
    /// The facts of a state's bits.
    pub facts: IdVec<BaseId, String>,
    /// Per role, the range of its moves.
    pub role_moves: IdVec<RoleId, Range<u32>>,
}

impl NetworkInfo {
    /// The names of a network.
    pub fn new(network: &Network) -> Self {
        Self {
            roles: network.roles.clone(),
            moves: network.moves.clone(),
            facts: network.facts.clone(),
            role_moves: network.role_moves(),
        }
    }

    /// Words of a state.
    pub fn state_words(&self) -> usize {
        self.facts.len().div_ceil(64).max(1)
    }
}

impl GameInfo for NetworkInfo {
    fn n_roles(&self) -> usize {
        self.roles.len()
    }

    fn role_name(&self, role: RoleId) -> &str {
        &self.roles[role]
    }

    fn move_text(&self, mv: MoveId) -> String {
        self.moves[mv].1.clone()
    }

    fn find_move(&self, role: RoleId, text: &str) -> Option<MoveId> {
        let mut range = self.role_moves.get(role)?.clone().map(MoveId);
        range.find(|&mv| self.moves[mv].1 == text)
    }

    fn facts(&self) -> Option<&[String]> {
        Some(self.facts.as_slice())
    }

    fn state_facts(&self, state: &[u64]) -> Vec<String> {
        let holds = |base: usize| {
            let word = state.get(base / 64).copied().unwrap_or(0);
            word >> (base % 64) & 1 == 1
        };
        let facts = self.facts.enumerate();
        let facts = facts.filter(|(base, _)| holds(base.index()));
        let mut facts: Vec<String> = facts.map(|(_, text)| text.clone()).collect();
        facts.sort_unstable();
        facts
    }

    fn state_from_facts(&self, facts: &[String]) -> Result<Vec<u64>, UnknownFact> {
        let mut state = vec![0u64; self.state_words()];
        for fact in facts {
            let base = self.facts.iter().position(|text| text == fact);
            let base = base.ok_or_else(|| UnknownFact(fact.clone()))?;
            state[base / 64] |= 1 << (base % 64);
        }
        Ok(state)
    }
}
