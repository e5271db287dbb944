//! Which role is in control in a match of Gamemaster, followed with the prover.
//!
//! The role in control is the one for which waiting is not legal. Where the prover fails beyond its
//! limits, as it may with costly rules, roles are taken to move in turn.
//!
//! Never uses: networks, searches.

use panza_gdl::{Id, RoleId, Rules};
use panza_hrf::NOOP;
use panza_prover::{Limits, Prover, State};

/// Matches that the prover may look at for a question, which bounds its time to about a second.
const WORK: u64 = 20_000_000;
/// Facts of a state, and terms of a match.
const MAX_FACTS: usize = 200_000;
const MAX_TERMS: usize = 1_000_000;

/// The role in control, move by move.
pub struct ControlTracker {
    n_roles: usize,
    /// The role that makes the next move.
    mover: usize,
    tracked: Option<Tracked>,
}

struct Tracked {
    prover: Prover,
    state: State,
}

impl ControlTracker {
    /// The start of a game.
    pub fn new(rules: &Rules) -> Self {
        let limits = Limits {
            facts: MAX_FACTS,
            terms: MAX_TERMS,
            work: WORK,
            ..Limits::default()
        };
        let n_roles = rules.roles().len();
        let mut tracked = Prover::untuned(rules, limits).ok().map(|prover| {
            let state = prover.initial_state();
            Tracked { prover, state }
        });
        let first = tracked.as_mut().and_then(|it| it.mover(n_roles));
        Self {
            n_roles,
            mover: first.unwrap_or(0),
            tracked,
        }
    }

    /// Follows a move of the role in control, a term of KIF. Returns the moves of all roles.
    pub fn follow(&mut self, text: &str) -> Vec<String> {
        let mut texts = vec![NOOP.to_string(); self.n_roles];
        if let Some(own) = texts.get_mut(self.mover) {
            *own = text.to_string();
        }
        if let Some(tracked) = &mut self.tracked
            && !tracked.advance(&texts)
        {
            tracing::warn!("who moves is not known beyond {text}: roles are taken to move in turn");
            self.tracked = None;
        }
        let next = match &mut self.tracked {
            Some(tracked) => tracked.mover(self.n_roles),
            None => Some((self.mover + 1) % self.n_roles.max(1)),
        };
        // Nobody may move where the game is over.
        self.mover = next.unwrap_or(self.mover);
        texts
    }
}

impl Tracked {
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
