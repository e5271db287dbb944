//! Games within a game, each with a machine of its own.

use std::sync::Arc;

use super::Machine;
use panza_gdl::{BaseId, Id, IdVec, MoveId};

/// A game within a game.
#[derive(Clone)]
pub struct GamePart {
    /// What runs it.
    pub machine: Arc<dyn Machine>,
    /// For each bit of its states, the bit of the whole game's states.
    pub bases: Vec<BaseId>,
    /// For each move of the whole game, the part's move. `None` where it does nothing in the part.
    pub moves: IdVec<MoveId, Option<MoveId>>,
    /// For each of the part's moves, whether it stands for a move elsewhere.
    pub is_pass: IdVec<MoveId, bool>,
}

impl GamePart {
    /// Projects a state of the whole game, written over `out`.
    pub fn project(&self, state: &[u64], out: &mut Vec<u64>) {
        out.clear();
        out.resize(self.bases.len().div_ceil(64), 0);
        for (place, base) in self.bases.iter().enumerate() {
            let word = state.get(base.index() / 64).copied().unwrap_or(0);
            out[place / 64] |= (word >> (base.index() % 64) & 1) << (place % 64);
        }
    }
}

/// All relevant parts of a game.
#[derive(Clone)]
pub struct GameParts {
    /// Each of them.
    pub parts: Vec<GamePart>,
    /// Whether each move acts in all parts at once.
    pub is_joint: bool,
}
