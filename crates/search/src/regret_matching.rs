//! Regret matching at the root of simultaneous moves.
//!
//! Each role plays a move in proportion to its cumulative regret (Hart and Mas-Colell 2000); the
//! average strategy approaches an equilibrium. Counterfactual values are the means of the joint
//! children (SM-MCTS; Lisý, Kovařík, Lanctot and Bošanský 2013), which vary less than the single
//! result. A share [`EXPLORATION`] of the visits is uniform and not part of the average.
//!
//! Early values are poor. So regrets are cut at 0, which lets a move return as soon as it does
//! better (regret matching plus), and visit t counts in the average in proportion to t (linear
//! averaging; both Tammelin 2014). Regrets are weighted by the probability that the others' moves
//! came from their strategies and not from exploration.
//!
//! Below the root, upper confidence bounds find moves that are good against every reply much
//! sooner: regret matching in all nodes won a third of the matches of Tron and a fifth of those of
//! a bidding game against it.
//!
//! Invariants: a visit costs a role one look-up for each of its moves, and a role of more than
//! [`MAX_MOVES`] moves uses upper confidence bounds. A move whose upper bound is below the role's
//! proven lower bound is not played.

use super::Search;
use super::graph::Graph;
use super::pool::PoolId;
use super::record::{EdgeId, RoleMoves, SIMULTANEOUS};
use super::slots::EDGES_PER_BLOCK;
use panza_gdl::NodeId;
use panza_sync::Random;

/// A role with more moves uses upper confidence bounds.
pub(super) const MAX_MOVES: u32 = 32;
/// Probability of a uniform move.
const EXPLORATION: f32 = 0.1;
/// Moves of a smaller probability, relative to the greatest, are noise and not played.
const MIN_RELATIVE_PROBABILITY: f32 = 0.1;
/// Later visits have equal weight in the average: `f32` would lose smaller steps.
const LAST_LINEAR_VISIT: u32 = 1 << 20;

/// The step of a linear average at a visit, numbered from 1.
#[inline]
fn linear_step(visit: u32) -> f32 {
    2.0 / (visit.clamp(1, LAST_LINEAR_VISIT) + 1) as f32
}

/// The current strategy of a role: probabilities in proportion to regrets.
#[derive(Clone, Copy)]
struct Strategy {
    regret_sum: f32,
    /// The probability of each move where all regrets are 0.
    uniform: f32,
}

impl Strategy {
    #[inline]
    fn probability(self, regret: f32) -> f32 {
        if self.regret_sum > 0.0 {
            regret / self.regret_sum
        } else {
            self.uniform
        }
    }
}

pub(super) fn unit_interval(random: &mut Random) -> f32 {
    (random.bits() >> 40) as f32 / (1u64 << 24) as f32
}

impl Search {
    /// Resets regrets and strategies of a new root, whose edges stored minimax values so far.
    pub(super) fn reset_regrets(&mut self) {
        let root = self.graph.root;
        let record = &self.graph.nodes[root];
        self.visits_before_root = record.visits;
        if !record.is_expanded() || record.mover != SIMULTANEOUS || !self.graph.is_mixed(root) {
            return;
        }
        for role in 0..self.graph.roles {
            let mut at = self.graph.role_moves(root, role).first_block;
            while at.is_some() {
                let block = &mut self.graph.edge_blocks[at];
                block.minimax = [0.0; EDGES_PER_BLOCK];
                block.average_strategy = [0.0; EDGES_PER_BLOCK];
                at = block.link;
            }
        }
    }

    /// Draws an edge from the role's strategy and updates its average strategy.
    pub(super) fn select_by_regret(
        &mut self,
        node: NodeId,
        role: usize,
        role_moves: &RoleMoves,
    ) -> Option<EdgeId> {
        let graph = &mut self.graph;
        let floor = graph.bounds[node][role].lower;
        let strategy = graph.strategy(role_moves, floor);
        let record = &graph.nodes[node];
        let visits = record.visits + record.in_flight;
        let step = linear_step(visits.saturating_sub(self.visits_before_root));
        let random = &mut self.game.random;
        let explores = unit_interval(random) < EXPLORATION;
        let mut left = unit_interval(random);
        let mut drawn = None;
        let mut at = role_moves.first_block;
        while at.is_some() {
            let block = &mut graph.edge_blocks[at];
            for slot in 0..block.len as usize {
                if block.upper[slot] < floor {
                    continue;
                }
                let probability = strategy.probability(block.minimax[slot]);
                let average = &mut block.average_strategy[slot];
                *average += (probability - *average) * step;
                let probability = if explores {
                    strategy.uniform
                } else {
                    probability
                };
                // Rounding may leave a rest, which goes to the last possible move.
                if left >= 0.0 && probability > 0.0 {
                    drawn = Some(EdgeId::new(at, slot));
                    left -= probability;
                }
            }
            at = block.link;
        }
        drawn
    }
}

impl Graph {
    /// A role's strategy over its edges that can still reach `floor`.
    fn strategy(&self, role_moves: &RoleMoves, floor: u8) -> Strategy {
        let mut regret_sum = 0.0;
        let mut count = 0;
        for (_, block) in self.blocks_of(role_moves) {
            for slot in 0..block.len as usize {
                if block.upper[slot] >= floor {
                    regret_sum += block.minimax[slot];
                    count += 1;
                }
            }
        }
        Strategy {
            regret_sum,
            uniform: 1.0 / count.max(1) as f32,
        }
    }

    pub(super) fn update_regrets(&mut self, node: NodeId, selected: &[EdgeId]) {
        let mut joint = std::mem::take(&mut self.joint_edges);
        let mut probabilities = std::mem::take(&mut self.probabilities);
        joint.clear();
        joint.extend_from_slice(selected);
        probabilities.clear();
        probabilities.extend(
            selected
                .iter()
                .map(|&edge| self.on_policy_probability(node, edge)),
        );
        for index in 0..selected.len() {
            let others = probabilities[..index]
                .iter()
                .chain(&probabilities[index + 1..]);
            let weight = others.product();
            self.update_role_regrets(node, index, weight, &mut joint);
        }
        self.joint_edges = joint;
        self.probabilities = probabilities;
    }

    /// The probability that an edge was drawn from the role's strategy and not by exploration.
    fn on_policy_probability(&self, node: NodeId, edge: EdgeId) -> f32 {
        let (block, slot) = (&self.edge_blocks[edge.block()], edge.slot());
        let role = block.role as usize;
        let role_moves = self.role_moves(node, role);
        if role_moves.n_legal > MAX_MOVES {
            return 1.0;
        }
        let floor = self.bounds[node][role].lower;
        if block.upper[slot] < floor {
            return 0.0;
        }
        let strategy = self.strategy(role_moves, floor);
        let on_policy = (1.0 - EXPLORATION) * strategy.probability(block.minimax[slot]);
        on_policy / (on_policy + EXPLORATION * strategy.uniform)
    }

    /// Updates the regrets of the role whose edge is `joint[index]`, with weight 0 to 1.
    fn update_role_regrets(
        &mut self,
        node: NodeId,
        index: usize,
        weight: f32,
        joint: &mut [EdgeId],
    ) {
        let selected = joint[index];
        let role = self.edge_blocks[selected.block()].role as usize;
        let role_moves = *self.role_moves(node, role);
        if role_moves.n_legal > MAX_MOVES {
            return;
        }
        let floor = self.bounds[node][role].lower;
        let strategy = self.strategy(&role_moves, floor);
        let mut values = [None; MAX_MOVES as usize];
        // The strategy's expected value over the moves of known value.
        let mut sum = 0.0;
        let mut total_probability = 0.0;
        for (edge, value) in self.edges(&role_moves).zip(&mut values) {
            joint[index] = edge;
            *value = self.counterfactual_value(node, role, joint, edge);
            let (block, slot) = (&self.edge_blocks[edge.block()], edge.slot());
            if let Some(value) = *value
                && block.upper[slot] >= floor
            {
                let probability = strategy.probability(block.minimax[slot]);
                sum += probability * value;
                total_probability += probability;
            }
        }
        joint[index] = selected;
        if total_probability <= 0.0 {
            return;
        }
        let expected = sum / total_probability;
        let mut values = values.iter();
        let mut at = role_moves.first_block;
        while at.is_some() {
            let block = &mut self.edge_blocks[at];
            for (slot, value) in (0..block.len as usize).zip(&mut values) {
                if let Some(value) = value {
                    let regret = &mut block.minimax[slot];
                    *regret = (*regret + (value - expected) * weight).max(0.0);
                }
            }
            at = block.link;
        }
    }

    /// The mean value of a joint move for a role; that of the role's own edge where the joint child
    /// has no visits.
    fn counterfactual_value(
        &self,
        node: NodeId,
        role: usize,
        joint: &[EdgeId],
        own: EdgeId,
    ) -> Option<f32> {
        let child = self.child(node, joint);
        if child.is_some() && (self.nodes[child].visits > 0 || self.nodes[child].solved) {
            return Some(self.bounds[child][role].clamp(self.values[child][role].mean));
        }
        let (block, slot) = (&self.edge_blocks[own.block()], own.slot());
        (block.visits[slot] > 0).then(|| block.means[slot])
    }

    /// A role's average strategy without noise; empty where the role uses upper confidence bounds.
    pub(super) fn average_strategy(&self, role_moves: &RoleMoves, floor: u8) -> Vec<(EdgeId, f32)> {
        if role_moves.n_legal > MAX_MOVES {
            return Vec::new();
        }
        let mut strategy: Vec<(EdgeId, f32)> = self
            .edges(role_moves)
            .map(|edge| (edge, &self.edge_blocks[edge.block()]))
            .filter(|(edge, block)| block.upper[edge.slot()] >= floor)
            .map(|(edge, block)| (edge, block.average_strategy[edge.slot()]))
            .collect();
        let greatest = strategy.iter().map(|&(_, p)| p).fold(0.0, f32::max);
        strategy.retain(|&(_, p)| p > MIN_RELATIVE_PROBABILITY * greatest);
        let total: f32 = strategy.iter().map(|&(_, p)| p).sum();
        for (_, probability) in &mut strategy {
            *probability /= total;
        }
        strategy
    }
}
