//! Games within a game, each with a machine of its own.

use std::sync::Arc;

use super::Machine;
use panza_gdl::{BaseId, Id, IdVec, MoveId};
use panza_propnet::Network;

/// A fact that has to have this value.
pub type Condition = (BaseId, bool);

/// Moves elsewhere that are counted: the part knows how many are left, not which.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Supply {
    /// For each of these moves, the facts without which it cannot be made.
    pub tokens: Vec<Vec<Condition>>,
}

impl Supply {
    /// How many moves are left in a state of the whole game.
    pub fn left_in(&self, state: &[u64]) -> usize {
        let is_left = |token: &&Vec<Condition>| {
            let mut conditions = token.iter();
            conditions.all(|&(base, value)| holds(state, base) == value)
        };
        self.tokens.iter().filter(is_left).count()
    }
}

fn holds(state: &[u64], base: BaseId) -> bool {
    let word = state.get(base.index() / 64).copied().unwrap_or(0);
    word >> (base.index() % 64) & 1 == 1
}

/// A game within a game.
#[derive(Clone)]
pub struct GamePart {
    /// What runs it.
    pub machine: Arc<dyn Machine>,
    /// For each bit of its states, the bit of the whole game's states.
    pub bases: Vec<BaseId>,
    /// What the bits after these count: the first bit of a supply is on where a move is left, the
    /// second where two are, and so on.
    pub supplies: Vec<Supply>,
    /// For each move of the whole game, the part's move. `None` where it does nothing in the part.
    pub moves: IdVec<MoveId, Option<MoveId>>,
    /// For each of the part's moves, whether it stands for a move elsewhere.
    pub is_pass: IdVec<MoveId, bool>,
}

impl GamePart {
    /// Projects a state of the whole game, written over `out`.
    pub fn project(&self, state: &[u64], out: &mut Vec<u64>) {
        let left = self.supplies.iter().flat_map(|supply| {
            let left = supply.left_in(state);
            (0..supply.tokens.len()).map(move |place| place < left)
        });
        let bits = self
            .bases
            .iter()
            .map(|&base| holds(state, base))
            .chain(left);
        out.clear();
        for (place, is_on) in bits.enumerate() {
            if place % 64 == 0 {
                out.push(0);
            }
            out[place / 64] |= u64::from(is_on) << (place % 64);
        }
    }
}

/// All relevant parts of a game.
#[derive(Clone)]
pub struct GameParts {
    /// Each of them.
    pub parts: Vec<GamePart>,
    /// The network of each before the passes.
    pub networks: Vec<Arc<Network>>,
    /// Whether each move acts in all parts at once.
    pub is_joint: bool,
}
