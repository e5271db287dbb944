//! Backpropagation: a result travels from the leaf of its path to the root.
//!
//! Steps whose nodes were freed meanwhile are skipped. The result is averaged over all visits, with
//! two exceptions. Where selection passed over a solved edge, the value of that edge is
//! backpropagated. Where the selected move is proven worse than the mean of its node, that mean is,
//! since the move will not be played; in Connect Four this won two matches of three.
//!
//! A [`ProofUpdate`] travels along: each step updates its bounds from its child's (see `proof`),
//! and the update ends where nothing changes.
//!
//! Invariant: in every node and edge that is still alive, backpropagation undoes the increments of
//! the descent.

use super::Search;
use super::graph::Graph;
use super::path::Path;
use super::pool::PoolId;
use super::proof::ProofUpdate;
use super::record::{EdgeId, Node, SIMULTANEOUS};
use super::regret_matching;
use crate::ids::NodeId;

impl Node {
    /// The update for the node's parent.
    #[inline]
    pub(super) fn proof_update(&self) -> ProofUpdate {
        ProofUpdate {
            solved: self.solved,
            length: self.length_from_parent(),
        }
    }
}

impl Search {
    /// Backpropagates `self.values`. `update` is the proof update of the leaf, with its bounds in
    /// `self.update_bounds`. Returns whether all nodes of the path were alive.
    pub(super) fn backpropagate(&mut self, path: &Path, mut update: Option<ProofUpdate>) -> bool {
        let graph = &mut self.graph;
        let values = &mut self.values;
        let mut is_complete = true;
        // The next node of the path, if it is alive.
        let mut child = NodeId::NONE;
        for (index, step) in path.steps.iter().enumerate().rev() {
            let node = step.node;
            if graph.nodes[node].generation != step.generation {
                is_complete = false;
                update = None;
                child = NodeId::NONE;
                continue;
            }
            let selected = path.selected(index);
            let has_mover = selected.len() == 1 && graph.nodes[node].mover != SIMULTANEOUS;
            let has_regrets = node == graph.root && !has_mover && !selected.is_empty();
            if has_regrets {
                graph.update_regrets(node, selected);
            }
            for &edge in selected {
                let role = graph.edge_blocks[edge.block()].role as usize;
                let stores_regret = has_regrets
                    && graph.role_moves(node, role).n_legal <= regret_matching::MAX_MOVES;
                let block = &mut graph.edge_blocks[edge.block()];
                let slot = edge.slot();
                block.in_flight[slot] -= 1;
                block.visits[slot] += 1;
                // Welford's online mean and variance.
                let visits = block.visits[slot] as f32;
                let before = values[role] - block.means[slot];
                block.means[slot] += before / visits;
                if !stores_regret {
                    let after = values[role] - block.means[slot];
                    block.variances[slot] += (before * after - block.variances[slot]) / visits;
                }
                if has_mover && child.is_some() {
                    // The child's mean includes visits from its other parents.
                    block.means[slot] = graph.means[child][role];
                    let known = graph.bounds[child][role];
                    let is_stale = block.bounds(slot) != block.bounds(slot).intersect(known)
                        || graph.nodes[child].solved != block.is_solved(slot);
                    if update.is_none() && is_stale {
                        self.update_bounds.copy_from_slice(&graph.bounds[child]);
                        update = Some(graph.nodes[child].proof_update());
                    }
                }
            }
            if !selected.is_empty()
                && let Some(of_child) = update
            {
                update = graph.update_proof(node, selected, of_child, &mut self.update_bounds);
            }
            if step.solved_edge.is_some() {
                graph.use_solved_edge(step.solved_edge, values);
            } else if has_mover {
                graph.discard_refuted_move(node, selected[0], values);
            }
            for (value, bounds) in values.iter_mut().zip(&graph.bounds[node]) {
                *value = bounds.clamp(*value);
            }
            let record = &mut graph.nodes[node];
            record.in_flight -= 1;
            record.visits += 1;
            let weight = 1.0 / record.visits as f32;
            for (mean, &value) in graph.means[node].iter_mut().zip(&*values) {
                *mean += (value - *mean) * weight;
            }
            child = node;
        }
        is_complete
    }
}

impl Graph {
    /// The mean values of a node within its bounds; the middle of the bounds before any visit.
    pub(super) fn read_values(&self, node: NodeId, values: &mut [f32]) {
        let is_unvisited = self.nodes[node].visits == 0;
        let known = self.bounds[node].iter().zip(&self.means[node]);
        for (value, (bounds, &mean)) in values.iter_mut().zip(known) {
            *value = if is_unvisited {
                f32::from(bounds.lower).midpoint(f32::from(bounds.upper))
            } else {
                bounds.clamp(mean)
            };
        }
    }

    /// Replaces the result of a move that is proven worse than the mean of its node by that mean.
    /// Earlier results of the move stay in the mean; removing them played worse.
    fn discard_refuted_move(&self, node: NodeId, edge: EdgeId, values: &mut [f32]) {
        let (block, slot) = (&self.edge_blocks[edge.block()], edge.slot());
        let record = &self.nodes[node];
        let is_refuted = block.is_solved(slot)
            && block.bounds(slot).is_exact()
            && record.visits > 0
            && f32::from(block.upper[slot]) < self.means[node][block.role as usize]
            && !record.solved;
        if is_refuted {
            values.copy_from_slice(&self.means[node]);
        }
    }

    /// Replaces a result by the value of a solved edge, and counts a visit of that edge.
    fn use_solved_edge(&mut self, edge: EdgeId, values: &mut [f32]) {
        let block = &mut self.edge_blocks[edge.block()];
        let slot = edge.slot();
        let role = block.role as usize;
        let value = block.bounds(slot).clamp(block.means[slot]);
        block.visits[slot] += 1;
        block.means[slot] = value;
        let child = self.child_of(edge);
        if child.is_some() {
            self.read_values(child, values);
        }
        values[role] = value;
    }
}
