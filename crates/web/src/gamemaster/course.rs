//! The course of a match, followed with the prover: who made each move.
//!
//! The role in control is the one for which waiting is not legal. Where the prover fails beyond its
//! limits, as it may with costly rules, roles are taken to move in turn.
//!
//! Never uses: networks, searches.

use panza_gdl::Rules;
use panza_gdl::ids::{Id, RoleId};
use panza_hrf::names::NOOP;
use panza_prover::{Limits, Prover, State};

/// Matches that the prover may look at for a question, which bounds its time to about a second.
const WORK: u64 = 20_000_000;
/// Facts of a state, and terms of a match.
const MAX_FACTS: usize = 200_000;
const MAX_TERMS: usize = 1_000_000;

/// A match that is followed.
pub struct Course {
    n_roles: usize,
    /// The role that makes the next move.
    mover: usize,
    followed: Option<Followed>,
}

struct Followed {
    prover: Prover,
    state: State,
}

impl Course {
    /// The course of a game at its start.
    pub fn new(rules: &Rules) -> Self {
        let limits = Limits {
            facts: MAX_FACTS,
            terms: MAX_TERMS,
            work: WORK,
            ..Limits::default()
        };
        let n_roles = rules.roles().len();
        let mut followed = Prover::untuned(rules, limits).ok().map(|prover| {
            let state = prover.initial_state();
            Followed { prover, state }
        });
        let first = followed.as_mut().and_then(|it| it.mover(n_roles));
        Self {
            n_roles,
            mover: first.unwrap_or(0),
            followed,
        }
    }

    /// Follows a move of the role in control, a term of KIF. Returns the moves of all roles.
    pub fn follow(&mut self, text: &str) -> Vec<String> {
        let mut texts = vec![NOOP.to_string(); self.n_roles];
        if let Some(own) = texts.get_mut(self.mover) {
            *own = text.to_string();
        }
        if let Some(followed) = &mut self.followed
            && !followed.advance(&texts)
        {
            tracing::warn!("who moves is not known beyond {text}: roles are taken to move in turn");
            self.followed = None;
        }
        let next = match &mut self.followed {
            Some(followed) => followed.mover(self.n_roles),
            None => Some((self.mover + 1) % self.n_roles.max(1)),
        };
        // Nobody may move where the game is over.
        self.mover = next.unwrap_or(self.mover);
        texts
    }
}

impl Followed {
    /// The first role that may not wait.
    fn mover(&mut self, n_roles: usize) -> Option<usize> {
        if n_roles == 1 {
            return Some(0);
        }
        let waits = self.prover.read_term(NOOP)?;
        (0..n_roles).find(|&role| {
            let role = RoleId::from_index(role);
            self.prover.is_legal(&self.state, role, waits) == Ok(false)
        })
    }

    /// Whether the moves could be followed.
    fn advance(&mut self, texts: &[String]) -> bool {
        let moves: Option<Vec<_>> = texts
            .iter()
            .map(|text| self.prover.read_term(text))
            .collect();
        let next = moves.and_then(|moves| self.prover.next_state(&self.state, &moves).ok());
        match next {
            Some(state) => {
                self.state = state;
                true
            }
            None => false,
        }
    }
}
