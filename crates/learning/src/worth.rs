//! What moves and states are worth: the logits of the outputs of an evaluation, or those of goals.
//!
//! Never uses: games, machines.

use crate::evaluation::MAX_ROLES;
use panza_gdl::MoveId;

/// The absolute value of the logits of a win and a loss in a terminal state, at most.
pub(super) const MAX_LOGIT: f32 = 8.0;
/// The same of an evaluation.
pub(super) const MAX_ESTIMATE: f32 = 7.5;

/// The logits of the outputs.
pub(super) type Logits = [f32; MAX_ROLES];

/// What a move, or a state, is worth.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Worth {
    pub logits: Logits,
    /// Whether no estimate is in it.
    pub is_exact: bool,
}

/// A move of the role that moves in the present state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub mv: MoveId,
    /// It is exact where the game ends with the move.
    pub worth: Worth,
}

/// The logit of a role among those of the outputs.
#[inline]
pub(super) fn logit_of(role: usize, logits: &[f32]) -> f32 {
    match logits.get(role) {
        Some(&logit) => logit,
        // A single output is that of the first of two roles.
        None => -logits[0],
    }
}
