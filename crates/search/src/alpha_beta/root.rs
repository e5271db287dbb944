//! The moves of the root, and what is known of each.
//!
//! Invariant: the best move is one that was searched in full at the last depth that was begun, or
//! the best one of the depth before.
//!
//! Never uses: machines, the table.

use super::score::{Score, Window};
use panza_gdl::MoveId;

/// What is known of a move of the root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RootMove {
    pub mv: MoveId,
    /// The score as seen by the mover; an upper bound unless `is_exact`.
    pub score: Score,
    pub is_exact: bool,
    /// Nodes below it, over all depths.
    pub nodes: u64,
}

/// The moves of the root.
#[derive(Clone, Default, Debug)]
pub(super) struct RootMoves {
    pub moves: Vec<RootMove>,
    pub best: Option<MoveId>,
    /// Nodes of the search before the move in progress.
    nodes_before: u64,
}

impl RootMoves {
    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Takes the score of a move that was searched within this window, `nodes` being those of the
    /// search so far.
    pub fn add(&mut self, mv: MoveId, score: Score, window: Window, nodes: u64) {
        let is_better = score > window.alpha;
        if is_better {
            self.best = Some(mv);
        }
        let below = nodes.saturating_sub(self.nodes_before);
        self.nodes_before = nodes;
        match self.moves.iter_mut().find(|known| known.mv == mv) {
            Some(known) => {
                known.score = score;
                known.is_exact = is_better;
                known.nodes += below;
            }
            None => self.moves.push(RootMove {
                mv,
                score,
                is_exact: is_better,
                nodes: below,
            }),
        }
    }
}
