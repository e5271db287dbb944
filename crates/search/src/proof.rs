//! Proof: score-bounded MCTS (Cazenave and Saffidine 2010), for any number of roles.
//!
//! A goal is proven when its lower and upper bound meet. The bounds hold for best play: each role
//! maximises its own goal, and breaks ties against the other of two roles, or against the searching
//! role of several. That is minimax in zero-sum games and a pessimistic reading of all others.
//!
//! *One mover.* Its lower bound is the greatest lower bound of its children, its upper bound the
//! greatest upper one. A child is *possible* if its upper bound reaches the mover's lower bound,
//! and *sure* if its lower bound reaches the mover's upper bound. The role against which ties are
//! broken has at least the least lower bound of the possible children and at most the least upper
//! bound of the sure ones; any other role lies between the extremes of the possible ones. An
//! untried move is a child without known bounds. So one winning move proves a node, and a lost node
//! is proven with its last child.
//!
//! *Chance.* `chance` has the bounds of nodes in which the chance role draws. They are bounds of an
//! expected goal, rounded outwards.
//!
//! *Simultaneous moves.* `simultaneous` has the bounds of nodes in which several roles choose.
//!
//! Invariant: bounds only ever narrow.

use super::graph::{Graph, ProofBuffers};
use super::pool::PoolId;
use super::record::{Bounds, EdgeId, SIMULTANEOUS};
use panza_gdl::NodeId;

/// A changed proof of a child; its bounds travel beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ProofUpdate {
    /// Whether the child is solved.
    pub(super) solved: bool,
    /// Joint moves from the parent's state to the end of the child's proven line.
    pub(super) length: u16,
}

impl ProofUpdate {
    /// The update of a terminal child.
    pub(super) const TERMINAL: Self = Self {
        solved: true,
        length: 1,
    };
}

impl Graph {
    /// Updates the proof of a node from the child behind the `selected` edges, whose bounds are in
    /// `bounds`. If anything changed, returns the node's own update, with its bounds in `bounds`.
    pub(super) fn update_proof(
        &mut self,
        node: NodeId,
        selected: &[EdgeId],
        of_child: ProofUpdate,
        bounds: &mut [Bounds],
    ) -> Option<ProofUpdate> {
        let mut proof = std::mem::take(&mut self.proof);
        proof.bounds.clear();
        proof.bounds.extend_from_slice(&self.bounds[node]);
        let was_solved = self.nodes[node].solved;
        if self.is_chance_node(node) {
            self.update_chance(node, selected[0], of_child, &mut proof.bounds);
        } else if self.nodes[node].mover == SIMULTANEOUS {
            self.update_simultaneous(node, selected, of_child, &mut proof);
        } else {
            self.update_mover(node, selected[0], of_child, bounds, &mut proof);
        }
        let is_changed = proof.bounds != self.bounds[node];
        if is_changed {
            self.bounds[node].copy_from_slice(&proof.bounds);
        }
        let record = &mut self.nodes[node];
        record.solved |= proof.bounds.iter().all(|bounds| bounds.is_exact());
        bounds.copy_from_slice(&proof.bounds);
        self.proof = proof;
        let record = &self.nodes[node];
        (is_changed || record.solved != was_solved).then(|| record.proof_update())
    }

    /// Narrows `proof.bounds` of a node with one mover.
    fn update_mover(
        &mut self,
        node: NodeId,
        selected: EdgeId,
        of_child: ProofUpdate,
        child_bounds: &[Bounds],
        proof: &mut ProofBuffers,
    ) {
        let mover = self.nodes[node].mover as usize;
        let block = &mut self.edge_blocks[selected.block()];
        let slot = selected.slot();
        let edge_bounds = block.narrow(slot, child_bounds[mover]);
        block.solved |= u8::from(of_child.solved) << slot;

        let role_moves = *self.role_moves(node, mover);
        let has_untried = role_moves.has_untried();
        let own = &mut proof.bounds[mover];
        own.lower = own.lower.max(edge_bounds.lower);
        if has_untried && own.lower < own.upper {
            // An untried move may be better than all others, so nothing else can have changed.
            return;
        }
        if !has_untried {
            *own = own.intersect(Bounds::new(own.lower, self.greatest_upper(&role_moves)));
        }
        let own = *own;

        // An untried move, and a child that was freed, are possible children of unknown bounds.
        let start = if has_untried {
            Bounds::UNKNOWN
        } else {
            Bounds::EMPTY
        };
        proof.possible.clear();
        proof.possible.resize(self.roles, start);
        proof.sure.clear();
        proof.sure.resize(self.roles, u8::MAX);
        let mut is_solved = !has_untried;
        let mut length = None;
        for (id, block) in self.blocks_of(&role_moves) {
            for slot in 0..block.len as usize {
                if block.upper[slot] < own.lower {
                    continue;
                }
                is_solved &= block.is_solved(slot);
                let is_sure = block.lower[slot] >= own.upper;
                let edge = EdgeId::new(id, slot);
                let child = self.child_of(edge);
                let known = if edge == selected {
                    Some(child_bounds)
                } else if child.is_some() {
                    Some(&self.bounds[child])
                } else {
                    None
                };
                for role in 0..self.roles {
                    let known = known.map_or(Bounds::UNKNOWN, |known| known[role]);
                    proof.possible[role].widen(known);
                    if is_sure {
                        proof.sure[role] = proof.sure[role].min(known.upper);
                    }
                }
                if is_sure && child.is_some() {
                    let of_line = self.nodes[child].length_from_parent();
                    length = Some(preferred_length(own, of_line, length));
                }
            }
        }
        let opponent = self.tie_break_opponent(mover);
        for role in (0..self.roles).filter(|&role| role != mover) {
            let mut known = proof.possible[role];
            if opponent == Some(role) {
                known.upper = known.upper.min(proof.sure[role]);
            }
            proof.bounds[role] = proof.bounds[role].intersect(known);
        }
        let record = &mut self.nodes[node];
        record.solved |= is_solved;
        if own.is_exact() {
            record.proof_length = length.unwrap_or(of_child.length);
        }
    }

    /// The role against which a mover breaks ties.
    fn tie_break_opponent(&self, mover: usize) -> Option<usize> {
        match (self.roles, self.pair) {
            (1, _) => None,
            (_, Some([first, second])) => Some(if mover == first { second } else { first }),
            _ => (mover != self.searcher).then_some(self.searcher),
        }
    }
}

/// The preferred of two lines to the same proven goal: the shorter to a good one, the longer to a
/// bad one.
pub(super) fn preferred_length(goal: Bounds, line: u16, other: Option<u16>) -> u16 {
    match other {
        None => line,
        Some(other) if goal.lower > 50 => line.min(other),
        Some(other) => line.max(other),
    }
}
