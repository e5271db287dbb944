//! Plans: moves from the start to a final state.

use std::sync::Arc;

use panza_gdl::{MoveId, RoleId};
use panza_machine::Machine;

/// The only role.
pub(super) const PLAYER: RoleId = RoleId(0);

/// Moves from a state to the end of the game.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The moves, in order.
    pub moves: Vec<MoveId>,
    /// The goal of the final state, 0 to 100.
    pub goal: u8,
}

impl Plan {
    /// Plays the moves from a state, and returns the plan with the goal that it reaches. `None` if
    /// a move is illegal, or the game does not end with the last one.
    pub fn replay(machine: &Arc<dyn Machine>, start: &[u64], moves: &[MoveId]) -> Option<Self> {
        let mut reasoner = Arc::clone(machine).reasoner();
        let mut next = Vec::with_capacity(start.len());
        reasoner.set_state(start);
        for mv in moves {
            if reasoner.is_terminal() || !reasoner.legal_moves(PLAYER).contains(mv) {
                return None;
            }
            reasoner.next_state(&[*mv], &mut next);
            reasoner.set_state(&next);
        }
        if !reasoner.is_terminal() {
            return None;
        }
        let mut goals = [None];
        reasoner.goals(&mut goals);
        Some(Self {
            moves: moves.to_vec(),
            goal: goals[0].unwrap_or(0).min(100),
        })
    }
}
