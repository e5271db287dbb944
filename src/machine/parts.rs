//! A machine that knows of parts: games within its game, each with a machine of its own.
//!
//! It runs the game as the machine it was made from does. What is new is [`Machine::parts`].

use std::sync::Arc;

use super::random::Random;
use super::{Expander, GameInfo, Machine, Playouts, Reasoner};
use crate::ids::{BaseId, Id, IdVec, MoveId};

/// A part of a game.
#[derive(Clone)]
pub struct Part {
    /// What runs it.
    pub machine: Arc<dyn Machine>,
    /// For each bit of its states the bit of the whole game's states that it is.
    pub bases: Vec<BaseId>,
    /// For each move of the whole game the move that it is in the part; nothing where it leaves the
    /// part to itself.
    pub moves: IdVec<MoveId, Option<MoveId>>,
    /// For each of the part's moves whether it stands for doing nothing in the part, while
    /// something is done elsewhere.
    pub is_pass: IdVec<MoveId, bool>,
}

impl Part {
    /// What is left of a state of the whole game, written over `out`.
    pub fn project(&self, state: &[u64], out: &mut Vec<u64>) {
        out.clear();
        out.resize(self.bases.len().div_ceil(64), 0);
        for (place, base) in self.bases.iter().enumerate() {
            let word = state.get(base.index() / 64).copied().unwrap_or(0);
            out[place / 64] |= (word >> (base.index() % 64) & 1) << (place % 64);
        }
    }
}

/// The parts of a game.
#[derive(Clone)]
pub struct Parts {
    /// Each of them.
    pub parts: Vec<Part>,
    /// Whether each move is made in all parts at once.
    pub is_joint: bool,
}

/// A machine, and the parts of its game.
pub struct MachineWithParts {
    whole: Arc<dyn Machine>,
    parts: Arc<Parts>,
}

impl MachineWithParts {
    /// A machine that knows of these parts.
    pub fn new(whole: Arc<dyn Machine>, parts: Parts) -> Self {
        Self {
            whole,
            parts: Arc::new(parts),
        }
    }
}

impl Machine for MachineWithParts {
    fn kind(&self) -> &'static str {
        self.whole.kind()
    }

    fn info(&self) -> &dyn GameInfo {
        self.whole.info()
    }

    fn initial_state(&self) -> Vec<u64> {
        self.whole.initial_state()
    }

    fn reasoner(self: Arc<Self>) -> Box<dyn Reasoner> {
        Arc::clone(&self.whole).reasoner()
    }

    fn playouts(self: Arc<Self>, random: &mut Random, max_steps: u32) -> Option<Box<dyn Playouts>> {
        Arc::clone(&self.whole).playouts(random, max_steps)
    }

    fn expander(self: Arc<Self>) -> Box<dyn Expander> {
        Arc::clone(&self.whole).expander()
    }

    fn parts(&self) -> Option<&Arc<Parts>> {
        Some(&self.parts)
    }
}
