//! Chance nodes: positions in which the chance role alone has a choice.
//!
//! The chance role draws uniformly among its legal moves, the *outcomes*, and has no aim: all its
//! values are 0. A descent takes the outcome with the fewest visits, so each is as frequent as it
//! is probable. The node is worth the mean of its outcomes for every role. An outcome that is not
//! known yet counts with the results of the node itself. Of more than [`MAX_OUTCOMES`] a growing
//! random sample stands for all.
//!
//! Bounds are the means of the children's bounds, rounded outwards. So the goal of a solved node is
//! not always a whole number, and its bounds may not meet: it is solved once all outcomes are, and
//! its mean is exact then. In games with chance the mean of a solved node of one mover is that of
//! its best edge.
//!
//! Invariant: games without a chance role never come here.

use super::Search;
use super::graph::Graph;
use super::pool::PoolId;
use super::proof::ProofUpdate;
use super::record::{Bounds, EdgeId, Node, RoleValue, SIMULTANEOUS};
use panza_gdl::NodeId;

/// Of more outcomes a sample is taken.
pub(super) const MAX_OUTCOMES: u32 = 64;
/// The number of outcomes in a sample: at least the first, and otherwise the square root of the
/// visits times the second (progressive widening).
const LEAST_SAMPLE: u32 = 8;
const SAMPLE_FACTOR: f32 = 2.0;

/// The number of outcomes of a node that may have an edge: all `n_legal`, or a sample of the size
/// that `visits` visits allow.
fn n_open(n_legal: u32, visits: u32) -> u32 {
    if n_legal <= MAX_OUTCOMES {
        return n_legal;
    }
    let sample = (SAMPLE_FACTOR * (visits as f32).sqrt()) as u32;
    sample.clamp(LEAST_SAMPLE, n_legal)
}

impl Search {
    /// The outcome that a descent takes.
    pub(super) fn select_outcome(&mut self, node: NodeId, record: &Node) -> Option<EdgeId> {
        let role = record.mover as usize;
        let role_moves = *self.graph.role_moves(node, role);
        let n_open = n_open(role_moves.n_legal, record.visits + record.in_flight);
        if role_moves.n_edges < n_open
            && let Some(new) = self.graph.add_edge(node, role)
        {
            return Some(new);
        }
        let visits = |edge: &EdgeId| {
            let (block, slot) = (&self.graph.edge_blocks[edge.block()], edge.slot());
            let is_solved = block.is_solved(slot) && self.graph.known_outcome(*edge).is_some();
            let in_flight = u32::from(block.in_flight[slot]);
            (is_solved, block.visits[slot].saturating_add(in_flight))
        };
        self.graph.edges(&role_moves).min_by_key(visits)
    }

    /// The move of the chance role where others choose too: uniform among all legal ones.
    pub(super) fn draw_chance_move(&mut self, node: NodeId, role: usize) -> Option<EdgeId> {
        let role_moves = *self.graph.role_moves(node, role);
        let drawn = self.game.random.below(role_moves.n_legal.max(1));
        // Untried moves are in random order.
        if drawn >= role_moves.n_edges
            && let Some(new) = self.graph.add_edge(node, role)
        {
            return Some(new);
        }
        let place = drawn.checked_rem(role_moves.n_edges)? as usize;
        self.graph.edges(&role_moves).nth(place)
    }
}

impl Graph {
    /// Whether a node is a chance node.
    #[inline]
    pub(super) fn is_chance_node(&self, node: NodeId) -> bool {
        self.chance.is_some() && self.chance == Some(self.nodes[node].mover)
    }

    /// Whether several roles that have an aim choose at once in an expanded node.
    pub(super) fn is_mixed(&self, node: NodeId) -> bool {
        let Some(chance) = self.chance else {
            return self.nodes[node].mover == SIMULTANEOUS;
        };
        let has_choice = |role: usize| self.role_moves(node, role).has_choice();
        let roles = (0..self.roles).filter(|&role| role != usize::from(chance));
        roles.filter(|&role| has_choice(role)).count() > 1
    }

    /// The child behind an edge of a chance node, if it has values.
    fn known_outcome(&self, edge: EdgeId) -> Option<NodeId> {
        let child = self.child_of(edge);
        let is_known =
            child.is_some() && (self.nodes[child].visits > 0 || self.nodes[child].terminal);
        is_known.then_some(child)
    }

    /// Narrows `bounds` of a chance node by those of its children.
    pub(super) fn update_chance(
        &mut self,
        node: NodeId,
        selected: EdgeId,
        of_child: ProofUpdate,
        bounds: &mut [Bounds],
    ) {
        let chance = self.nodes[node].mover as usize;
        let block = &mut self.edge_blocks[selected.block()];
        block.solved |= u8::from(of_child.solved) << selected.slot();
        let role_moves = *self.role_moves(node, chance);
        let n_legal = role_moves.n_legal;
        let mut n_solved = 0;
        let mut length = 0;
        for edge in self.edges(&role_moves) {
            let block = &self.edge_blocks[edge.block()];
            if let Some(child) = self.known_outcome(edge)
                && block.is_solved(edge.slot())
            {
                n_solved += 1;
                length = length.max(self.nodes[child].length_from_parent());
            }
        }
        for (role, bounds) in bounds.iter_mut().enumerate() {
            let (mut lower, mut upper) = (0, 100 * n_legal);
            for edge in self.edges(&role_moves) {
                let child = self.child_of(edge);
                if child.is_some() {
                    let of_child = self.bounds[child][role];
                    lower += u32::from(of_child.lower);
                    upper -= 100 - u32::from(of_child.upper);
                }
            }
            let (lower, upper) = (lower / n_legal, upper.div_ceil(n_legal));
            *bounds = bounds.intersect(Bounds::new(lower as u8, upper as u8));
        }
        if n_solved == n_legal {
            let record = &mut self.nodes[node];
            record.solved = true;
            record.proof_length = length;
        }
    }

    /// Recomputes the values of an expanded node of one mover or of chance, in a game with chance.
    pub(super) fn recompute_with_chance(&mut self, node: NodeId, has_evaluation: bool) {
        if self.is_chance_node(node) {
            self.average_outcomes(node);
        } else {
            self.recompute_mover(node, has_evaluation);
        }
    }

    fn average_outcomes(&mut self, node: NodeId) {
        let record = self.nodes[node];
        let role_moves = *self.role_moves(node, record.mover as usize);
        let n_known = self
            .edges(&role_moves)
            .filter(|&edge| self.known_outcome(edge).is_some())
            .count() as u32;
        let n_unknown = role_moves.n_legal - n_known;
        if n_known == 0 || (record.solved && n_unknown > 0) {
            return;
        }
        // A sample stands for all.
        let is_own_counted = record.own_visits > 0 && role_moves.n_legal <= MAX_OUTCOMES;
        let own_weight = if is_own_counted {
            n_unknown as f32
        } else {
            0.0
        };
        let factor = 1.0 / (n_known as f32 + own_weight);
        for role in 0..self.roles {
            let own = self.values[node][role].own * own_weight;
            let (mut mean, mut minimax) = (own, own);
            for edge in self.edges(&role_moves) {
                if let Some(child) = self.known_outcome(edge) {
                    let (bounds, value) = (self.bounds[child][role], self.values[child][role]);
                    mean += bounds.clamp(value.mean);
                    minimax += bounds.clamp(value.minimax);
                }
            }
            let bounds = self.bounds[node][role];
            let value = &mut self.values[node][role];
            value.mean = bounds.clamp(mean * factor);
            value.minimax = bounds.clamp(minimax * factor);
        }
    }

    /// As [`recompute`](Self::recompute) does, but solved edges have exact means whether or not
    /// their bounds meet.
    fn recompute_mover(&mut self, node: NodeId, has_evaluation: bool) {
        let record = self.nodes[node];
        let mover = record.mover as usize;
        let bounds = self.bounds[node][mover];
        let role_moves = *self.role_moves(node, mover);
        let RoleValue {
            own, mean: before, ..
        } = self.values[node][mover];
        // The solved edge with the greatest mean.
        let mut exact: Option<(f32, EdgeId)> = None;
        for edge in self.edges(&role_moves) {
            let (block, slot) = (&self.edge_blocks[edge.block()], edge.slot());
            let value = block.bounds(slot).clamp(block.means[slot]);
            if is_exact(block.is_solved(slot), block.bounds(slot))
                && exact.is_none_or(|(greatest, _)| value > greatest)
            {
                exact = Some((value, edge));
            }
        }
        let floor = exact
            .map_or(0.0, |(value, _)| value)
            .max(bounds.lower.into());
        let own_visits = record.own_visits as f32;
        let (mut sum, mut n_visits) = (own * own_visits, own_visits);
        // The greatest minimax value, and its edge.
        let untried = self.next_untried(record.untried);
        let of_untried = untried.and_then(|untried| untried.value());
        let mut minimax = of_untried.unwrap_or(f32::NEG_INFINITY);
        let mut best = None;
        for edge in self.edges(&role_moves) {
            let (block, slot) = (&self.edge_blocks[edge.block()], edge.slot());
            let known = block.bounds(slot);
            let value = known.clamp(block.means[slot]);
            let is_inferior = match is_exact(block.is_solved(slot), known) {
                true => value < before.max(floor),
                false => f32::from(known.upper) < floor,
            };
            if is_inferior {
                continue;
            }
            let visits = block.visits[slot] as f32;
            sum += visits * value;
            n_visits += visits;
            let of_edge = known.clamp(block.minimax[slot]);
            if has_evaluation && of_edge > minimax {
                minimax = of_edge;
                best = Some(edge);
            }
        }
        let mut mean = bounds.clamp((sum / n_visits.max(1.0)).max(floor));
        if record.solved
            && let Some((value, edge)) = exact
        {
            mean = bounds.clamp(value);
            minimax = mean;
            best = Some(edge);
        }
        let minimax = if minimax.is_finite() { minimax } else { mean };
        self.set_values(node, mover, (mean, bounds.clamp(minimax)), best);
    }

    /// Sets the values of a node for its mover, and what follows for the other roles.
    fn set_values(
        &mut self,
        node: NodeId,
        mover: usize,
        (mean, minimax): (f32, f32),
        line: Option<EdgeId>,
    ) {
        let is_solved = self.nodes[node].solved;
        let child = line.map_or(NodeId::NONE, |edge| self.child_of(edge));
        if child.is_some() {
            for role in 0..self.roles {
                let (bounds, of_child) = (self.bounds[child][role], self.values[child][role]);
                let value = &mut self.values[node][role];
                value.minimax = bounds.clamp(of_child.minimax);
                if is_solved {
                    value.mean = bounds.clamp(of_child.mean);
                }
            }
        }
        let value = &mut self.values[node][mover];
        (value.mean, value.minimax) = (mean, minimax);
        if let (Some(sum), Some(pair)) = (self.fixed_sum, self.pair) {
            let other = if pair[0] == mover { pair[1] } else { pair[0] };
            let value = &mut self.values[node][other];
            (value.mean, value.minimax) = (sum - mean, sum - minimax);
        }
    }

    /// Whether a solved edge is worse than the mean of its node, so that it will not be played.
    pub(super) fn is_solved_inferior(&self, node: NodeId, edge: EdgeId) -> bool {
        let (block, slot) = (&self.edge_blocks[edge.block()], edge.slot());
        let value = block.bounds(slot).clamp(block.means[slot]);
        is_exact(block.is_solved(slot), block.bounds(slot))
            && value < self.values[node][block.role as usize].mean
    }
}

/// Whether the mean of an edge within its bounds is exact.
fn is_exact(is_solved: bool, bounds: Bounds) -> bool {
    is_solved || bounds.is_exact()
}
