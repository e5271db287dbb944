//! Backpropagation: a result travels from the leaf of its path to the root.
//!
//! Steps whose nodes were freed meanwhile are skipped. Where one role has a choice, the edge takes
//! the values of its child, and the node's values are recomputed from its edges: the mean over own
//! results and visited edges, and the greatest minimax value. So a node with several parents is
//! worth the same to all of them. Elsewhere, and for the other roles of games without a fixed sum
//! of goals, results are averaged; the result of a move that is proven inferior is replaced by the
//! values of its node.
//!
//! In games with a chance role, `chance` recomputes the values of nodes.
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
use super::record::{EdgeId, Node, RoleValue, SIMULTANEOUS};
use super::regret_matching;
use super::slots::{greater, lesser};
use panza_gdl::NodeId;

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
    #[inline(always)]
    pub(super) fn backpropagate(&mut self, path: &Path, mut update: Option<ProofUpdate>) -> bool {
        let graph = &mut self.graph;
        let values = &mut self.values;
        let has_evaluation = self.config.evaluation.is_some();
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
            if has_mover && !child.is_some() && graph.chance.is_some() {
                // A path that ends here must not change the mean of a solved edge, whose bounds may
                // not meet.
                child = graph.child_of(selected[0]);
            }
            let has_regrets =
                node == graph.root && !has_mover && !selected.is_empty() && graph.is_mixed(node);
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
                if (!has_mover || !has_evaluation) && !stores_regret {
                    let after = values[role] - block.means[slot];
                    block.minimax[slot] += (before * after - block.minimax[slot]) / visits;
                }
                if has_mover && child.is_some() {
                    let of_child = graph.values[child][role];
                    block.means[slot] = of_child.mean;
                    if has_evaluation {
                        block.minimax[slot] = of_child.minimax;
                    }
                    let known = graph.bounds[child][role];
                    let is_chance = graph.chance == Some(graph.nodes[node].mover);
                    let is_stale = is_chance
                        || block.bounds(slot) != block.bounds(slot).intersect(known)
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
            } else if !has_mover && !selected.is_empty() {
                update = graph.update_by_sum(node, &mut self.update_bounds);
            }
            if has_mover && graph.fixed_sum.is_none() {
                graph.prefer_solved_edge(node, values);
            }
            graph.average(node, selected.is_empty(), values);
            graph.recompute(node, has_evaluation);
            if has_mover && graph.replaces_results(node, selected[0]) {
                graph.read_values(node, values);
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
        let known = self.bounds[node].iter().zip(&self.values[node]);
        for (value, (bounds, known)) in values.iter_mut().zip(known) {
            *value = if is_unvisited {
                f32::from(bounds.lower).midpoint(f32::from(bounds.upper))
            } else {
                bounds.clamp(known.mean)
            };
        }
    }

    /// Whether the result of a move is replaced by the values of its node. In a chance node these
    /// have less noise.
    #[inline]
    fn replaces_results(&self, node: NodeId, edge: EdgeId) -> bool {
        match self.chance {
            None => self.is_refuted(node, edge),
            Some(_) => self.is_chance_node(node) || self.is_solved_inferior(node, edge),
        }
    }

    /// Whether a move is proven worse than the mean of its node, so that it will not be played.
    fn is_refuted(&self, node: NodeId, edge: EdgeId) -> bool {
        let (block, slot) = (&self.edge_blocks[edge.block()], edge.slot());
        block.bounds(slot).is_exact()
            && f32::from(block.upper[slot]) < self.values[node][block.role as usize].mean
    }

    /// Replaces a result by the values of the best edge where that is solved: solved edges get no
    /// more visits, so the means of the other roles would leave them behind.
    fn prefer_solved_edge(&self, node: NodeId, results: &mut [f32]) {
        let mut greatest = f32::NEG_INFINITY;
        // None where the best edge is not solved.
        let mut best = None;
        let mut at = self.nodes[node].first_block;
        while at.is_some() {
            let block = &self.edge_blocks[at];
            for slot in 0..block.len as usize {
                let mean = block.bounds(slot).clamp(block.means[slot]);
                if mean > greatest {
                    greatest = mean;
                    best = block.is_solved(slot).then(|| EdgeId::new(at, slot));
                }
            }
            at = block.link;
        }
        if let Some(child) = best.map(|edge| self.child_of(edge))
            && child.is_some()
        {
            self.read_values(child, results);
        }
    }

    /// Counts a visit of a node and averages its result, limited to what is proven. `is_own` says
    /// that the result passed through no edge.
    #[inline(always)]
    fn average(&mut self, node: NodeId, is_own: bool, results: &mut [f32]) {
        let record = &mut self.nodes[node];
        record.in_flight -= 1;
        record.visits += 1;
        record.own_visits += u32::from(is_own);
        let step = 1.0 / record.visits as f32;
        let own_step = 1.0 / record.own_visits.max(1) as f32;
        let bounds = &self.bounds[node];
        match (self.fixed_sum, &mut *results) {
            (Some(sum), [a, b]) if bounds[0].clamp(*a) == *a => {
                *b = bounds[1].clamp(*b);
                *a = sum - *b;
            }
            (Some(sum), [a, b]) => {
                *a = bounds[0].clamp(*a);
                *b = sum - *a;
            }
            (sum, results) => {
                for (result, bounds) in results.iter_mut().zip(bounds) {
                    *result = bounds.clamp(*result);
                }
                if let (Some(sum), Some([first, second])) = (sum, self.pair) {
                    results[first] = bounds[first].clamp(sum - results[second]);
                    results[second] = sum - results[first];
                }
            }
        }
        for (value, result) in self.values[node].iter_mut().zip(&*results) {
            value.mean += (*result - value.mean) * step;
            value.minimax = value.mean;
            if is_own {
                value.own += (*result - value.own) * own_step;
            }
        }
    }

    /// Recomputes the values of an expanded node with one mover from its edges. Without an
    /// evaluation there are no minimax values.
    #[inline(always)]
    fn recompute(&mut self, node: NodeId, has_evaluation: bool) {
        let record = &self.nodes[node];
        if record.mover == SIMULTANEOUS || !record.is_expanded() {
            return;
        }
        if self.chance.is_some() {
            self.recompute_with_chance(node, has_evaluation);
            return;
        }
        let (first_block, untried) = (record.first_block, record.untried);
        let mover = record.mover as usize;
        let bounds = self.bounds[node][mover];
        let RoleValue {
            own, mean: before, ..
        } = self.values[node][mover];
        let own_visits = record.own_visits as f32;
        let mut sum = own * own_visits;
        let mut n_visits = own_visits;
        let untried = has_evaluation.then(|| self.next_untried(untried));
        let of_untried = untried.flatten().map(|it| it.value_or(f32::NEG_INFINITY));
        let mut minimax = of_untried.unwrap_or(f32::NEG_INFINITY);
        let mut best = EdgeId::NONE;
        // The greatest upper bounds of moves that will not be played, if proven and in general.
        let floor = f32::from(bounds.lower);
        let of_exact = greater(before, floor);
        let mut at = first_block;
        while at.is_some() {
            let block = &self.edge_blocks[at];
            for slot in 0..usize::from(block.len) {
                let (lower, upper) = (f32::from(block.lower[slot]), f32::from(block.upper[slot]));
                let least = if lower == upper { of_exact } else { floor };
                let is_inferior = upper < least;
                let visits = if is_inferior {
                    0.0
                } else {
                    // Signed integers are converted faster.
                    block.visits[slot] as i32 as f32
                };
                sum += visits * lesser(greater(block.means[slot], lower), upper);
                n_visits += visits;
                if has_evaluation && !is_inferior {
                    let value = lesser(greater(block.minimax[slot], lower), upper);
                    if value > minimax {
                        minimax = value;
                        best = EdgeId::new(at, slot);
                    }
                }
            }
            at = block.link;
        }
        let mean = bounds.clamp(sum / greater(n_visits, 1.0));
        let minimax = bounds.clamp(if minimax.is_finite() { minimax } else { mean });
        if let Some(fixed_sum) = self.fixed_sum {
            let [a, b] = &mut self.values[node] else {
                return;
            };
            let (own, other) = if mover == 0 { (a, b) } else { (b, a) };
            (own.mean, own.minimax) = (mean, minimax);
            (other.mean, other.minimax) = (fixed_sum - mean, fixed_sum - minimax);
            return;
        }
        let child = if best.is_some() {
            self.child_of(best)
        } else {
            NodeId::NONE
        };
        for role in 0..self.roles {
            let of_child = child.is_some().then(|| self.values[child][role].minimax);
            let value = &mut self.values[node][role];
            value.minimax = of_child.unwrap_or(value.mean);
        }
        let value = &mut self.values[node][mover];
        (value.mean, value.minimax) = (mean, minimax);
    }
}
