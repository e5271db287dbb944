//! Selection: the descent from the root to a leaf.
//!
//! Each role with a choice selects among its own edges by UCT (Kocsis and Szepesvári 2006) with the
//! bound UCB1-Tuned (Auer, Cesa-Bianchi and Fischer 2002); where several roles choose, each does so
//! independently (decoupled UCT; Finnsson and Björnsson 2008). Iterations in flight count as visits
//! in the exploration term but not in the mean (WU-UCT; Liu et al. 2020).
//!
//! At the root of simultaneous moves, roles with few moves select by `regret_matching`. Elsewhere
//! two roles that both take the greatest bound could repeat the same joint moves for ever, so a
//! role draws among the moves within [`NEAR_TIE`] points of it (Tak, Lanctot and Winands 2014).
//!
//! A solved move needs no more visits (MCTS-Solver; Winands, Björnsson and Saito 2008). It competes
//! with its exact score; where it has the greatest, the descent follows the best unsolved move, and
//! the solved score is backpropagated above this node. Moves whose upper bound is below the mover's
//! proven lower bound are not selected.
//!
//! Invariant: a descent increments `in_flight` of every node and edge on its path exactly once.

use super::Search;
use super::path::Path;
use super::pool::{Pool, PoolId};
use super::proof::ProofUpdate;
use super::record::{
    EDGES_PER_BLOCK, EdgeBlock, EdgeBlockId, EdgeId, Node, RoleMoves, SIMULTANEOUS,
};
use super::regret_matching;
use super::request::RequestKind;
use crate::ids::NodeId;

/// Where several roles choose, bounds that differ by at most this many points are equal.
const NEAR_TIE: f32 = 1.0;

/// Factor of the exploration weight where several roles choose: the exploration of the others adds
/// variance already. It won two matches of three in Connect Four on two boards, and half in Tron.
const SIMULTANEOUS_EXPLORATION: f32 = 0.5;

/// Factor of the exploration weight at the root of one mover, so that a move with unlucky first
/// results is tried again. Neutral in matches.
const ROOT_EXPLORATION: f32 = 2.0;

/// Greatest number of nodes on a path. Games without a step counter may have long cycles.
const MAX_PATH: usize = 4000;

/// The children of a node where a role has more legal moves than this are expanded at their second
/// visit only, to save memory.
const LARGE_BRANCHING: u32 = 64;

/// The end of a descent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Leaf {
    /// The last node of the path.
    LastNode(RequestKind),
    /// The child of the last node, which is not in the graph.
    NewChild(RequestKind),
    /// A solved node. The search's `values` hold its goals; the update, if any, is for its parent,
    /// with the bounds in `update_bounds`.
    Solved(Option<ProofUpdate>),
}

/// The edges of greatest bound.
#[derive(Clone, Copy, Debug)]
struct BestEdges {
    /// Of all edges.
    any: EdgeId,
    any_score: f32,
    any_solved: bool,
    /// Of the unsolved edges that can still reach `floor`.
    unsolved: EdgeId,
    unsolved_score: f32,
}

/// The terms of UCB1-Tuned that all edges of a node share.
#[derive(Clone, Copy, Debug)]
struct Exploration {
    /// Weight of the exploration term, in points.
    weight: f32,
    /// Logarithm of the node's visits.
    ln_visits: f32,
}

/// Scores all edges.
fn best_edges(
    blocks: &Pool<EdgeBlockId, EdgeBlock>,
    first: EdgeBlockId,
    exploration: Exploration,
    floor: u8,
) -> BestEdges {
    let mut best = BestEdges {
        any: EdgeId::NONE,
        any_score: f32::NEG_INFINITY,
        any_solved: false,
        unsolved: EdgeId::NONE,
        unsolved_score: f32::NEG_INFINITY,
    };
    let mut at = first;
    while at.is_some() {
        let block = &blocks[at];
        let scores = ucb_scores(block, exploration);
        for (slot, &score) in scores[..block.len as usize].iter().enumerate() {
            let solved = block.is_solved(slot);
            if score > best.any_score {
                best.any = EdgeId::new(at, slot);
                best.any_score = score;
                best.any_solved = solved;
            }
            let score = score - virtual_loss(block, slot);
            if score > best.unsolved_score && !solved && block.upper[slot] >= floor {
                best.unsolved = EdgeId::new(at, slot);
                best.unsolved_score = score;
            }
        }
        at = block.link;
    }
    best
}

/// The virtual loss of an edge whose child is being expanded.
#[inline]
fn virtual_loss(block: &EdgeBlock, slot: usize) -> f32 {
    /// Greater than any score: the edge is selected only if all others are being expanded too.
    const LOSS: f32 = 1000.0;
    if block.in_flight[slot] > 0 && !block.children[slot].is_some() {
        LOSS
    } else {
        0.0
    }
}

/// Factor of the exploration weight for means of `samples` playouts. In Connect Four the weight 0.4
/// beats 0.25 with single playouts, and 0.25 beats 0.5 with sixteen.
fn exploration_of_means(samples: u32) -> f32 {
    0.5 + 0.5 / (samples.max(1) as f32).sqrt()
}

/// UCB1-Tuned of all edges of a block, unused ones included; free of branches, so that the compiler
/// uses vector instructions.
#[inline]
fn ucb_scores(block: &EdgeBlock, exploration: Exploration) -> [f32; EDGES_PER_BLOCK] {
    /// The greatest variance of numbers from 0 to 100.
    const MAX_VARIANCE: f32 = 2500.0;
    let mut scores = [0.0; EDGES_PER_BLOCK];
    for (slot, score) in scores.iter_mut().enumerate() {
        // Vector instructions convert signed integers to floats, but not unsigned ones.
        let visits = block.visits[slot] as i32 + i32::from(block.in_flight[slot]);
        let visits = visits.max(1) as f32;
        let lower = i32::from(block.lower[slot]) as f32;
        let upper = i32::from(block.upper[slot]) as f32;
        let mean = block.means[slot].max(lower).min(upper);
        let ratio = exploration.ln_visits / visits;
        let variance = block.variances[slot] + 4.0 * MAX_VARIANCE * (2.0 * ratio).sqrt();
        let bonus = exploration.weight * (ratio * variance.min(MAX_VARIANCE)).sqrt();
        *score = mean + if lower < upper { bonus } else { 0.0 };
    }
    scores
}

impl Search {
    /// Descends from the root and records the path.
    pub(super) fn descend(&mut self, path: &mut Path) -> Leaf {
        path.clear();
        self.graph.descent = self.graph.descent.wrapping_add(1);
        let (descent, age) = (self.graph.descent, self.graph.age);
        self.exploration = self.config.exploration * exploration_of_means(self.pipeline.samples());
        let mut node = self.graph.root;
        // Whether the edge to this node is not yet marked as solved.
        let mut edge_unsolved = false;
        loop {
            let record = &mut self.graph.nodes[node];
            record.in_flight += 1;
            record.last_descent = descent;
            record.age = age;
            let at_root = path.steps.is_empty();
            path.push(node, record.generation);
            if !at_root {
                path.joint_moves += 1 + u32::from(record.forced_moves);
            }
            let record = *record;
            if record.terminal || (record.solved && !at_root) {
                return self.solved_leaf(node, edge_unsolved);
            }
            if !record.is_expanded() {
                return Leaf::LastNode(RequestKind::Expand);
            }
            if path.steps.len() >= MAX_PATH || !self.select_edges(&record, path) {
                return Leaf::LastNode(RequestKind::Rollout);
            }
            let selected = path.last_selected();
            let mut is_expanding = false;
            for &edge in selected {
                let in_flight = &mut self.graph.edge_blocks[edge.block()].in_flight[edge.slot()];
                *in_flight += 1;
                is_expanding |= *in_flight > 1;
            }
            let child = self.graph.child(node, selected);
            if !child.is_some() {
                path.joint_moves += 1;
                return Leaf::NewChild(if is_expanding && record.mover != SIMULTANEOUS {
                    RequestKind::Rollout
                } else if self.has_large_branching(node) {
                    RequestKind::AddLeaf
                } else {
                    RequestKind::Expand
                });
            }
            if self.graph.nodes[child].last_descent == descent {
                // A cycle.
                return Leaf::NewChild(RequestKind::Rollout);
            }
            edge_unsolved = record.mover != SIMULTANEOUS
                && !self.graph.edge_blocks[selected[0].block()].is_solved(selected[0].slot());
            node = child;
        }
    }

    fn has_large_branching(&self, node: NodeId) -> bool {
        let role_moves = &self.graph.role_moves[self.graph.nodes[node].role_moves];
        role_moves
            .iter()
            .any(|role_moves| role_moves.n_legal > LARGE_BRANCHING)
    }

    fn solved_leaf(&mut self, node: NodeId, needs_update: bool) -> Leaf {
        self.graph.read_values(node, &mut self.values);
        self.update_bounds.copy_from_slice(&self.graph.bounds[node]);
        Leaf::Solved(needs_update.then(|| self.graph.nodes[node].proof_update()))
    }

    /// Selects an edge for each role with a choice. `false`, with nothing selected, where there is
    /// no memory for a role's first edge.
    #[inline]
    fn select_edges(&mut self, record: &Node, path: &mut Path) -> bool {
        let node = path.last_node();
        if record.mover != SIMULTANEOUS {
            let Some((edge, solved_edge)) = self.select_for_mover(node, record) else {
                return false;
            };
            path.select(edge, solved_edge);
            return true;
        }
        for role in 0..self.graph.roles {
            if self.graph.role_moves(node, role).has_choice() {
                let Some(edge) = self.select_simultaneous(node, role) else {
                    path.deselect();
                    return false;
                };
                path.select(edge, EdgeId::NONE);
            }
        }
        true
    }

    /// The edge that a mover selects, and the solved edge whose value is backpropagated instead.
    fn select_for_mover(&mut self, node: NodeId, record: &Node) -> Option<(EdgeId, EdgeId)> {
        let role = record.mover as usize;
        let mut exploration = self.exploration(record);
        if node == self.graph.root {
            exploration.weight *= ROOT_EXPLORATION;
        }
        let floor = self.graph.bounds[node][role].lower;
        let best = best_edges(
            &self.graph.edge_blocks,
            record.first_block,
            exploration,
            floor,
        );
        let mut edge = best.unsolved;
        let mut score = best.unsolved_score;
        if record.untried.is_some()
            && let urgency = self.first_play_urgency(node, role, exploration)
            && (urgency >= score || !edge.is_some())
            && let Some(new) = self.graph.add_edge(node, role)
        {
            edge = new;
            score = urgency;
        }
        if !edge.is_some() {
            // All moves that can be played are solved.
            return best.any.is_some().then_some((best.any, EdgeId::NONE));
        }
        let solved_edge = if best.any_solved && best.any_score > score {
            best.any
        } else {
            EdgeId::NONE
        };
        Some((edge, solved_edge))
    }

    /// The edge that one of several roles with a choice selects.
    fn select_simultaneous(&mut self, node: NodeId, role: usize) -> Option<EdgeId> {
        let role_moves = *self.graph.role_moves(node, role);
        if node == self.graph.root && role_moves.n_legal <= regret_matching::MAX_MOVES {
            if role_moves.has_untried()
                && let Some(new) = self.graph.add_edge(node, role)
            {
                return Some(new);
            }
            return self.select_by_regret(node, role, &role_moves);
        }
        let mut exploration = self.exploration(&self.graph.nodes[node]);
        exploration.weight *= SIMULTANEOUS_EXPLORATION;
        let best = best_edges(
            &self.graph.edge_blocks,
            role_moves.first_block,
            exploration,
            0,
        );
        if role_moves.has_untried()
            && (!best.any.is_some()
                || self.first_play_urgency(node, role, exploration) >= best.any_score)
            && let Some(new) = self.graph.add_edge(node, role)
        {
            return Some(new);
        }
        self.draw_near_tie(&role_moves, exploration, best.any_score)
    }

    /// Draws uniformly among the edges of nearly the greatest bound, by reservoir sampling.
    fn draw_near_tie(
        &mut self,
        role_moves: &RoleMoves,
        exploration: Exploration,
        best_score: f32,
    ) -> Option<EdgeId> {
        let mut drawn = None;
        let mut n_tied = 0;
        for (id, block) in self.graph.blocks_of(role_moves) {
            let scores = ucb_scores(block, exploration);
            for (slot, &score) in scores[..block.len as usize].iter().enumerate() {
                if score >= best_score - NEAR_TIE {
                    n_tied += 1;
                    if n_tied == 1 || self.game.random.below(n_tied) == 0 {
                        drawn = Some(EdgeId::new(id, slot));
                    }
                }
            }
        }
        drawn
    }

    #[inline]
    fn exploration(&self, record: &Node) -> Exploration {
        let visits = (record.visits + record.in_flight).max(1) as f32;
        Exploration {
            weight: self.exploration * 2.0,
            ln_visits: visits.ln(),
        }
    }

    /// First-play urgency (Gelly and Wang 2006): the score of an untried move, with the mean of its
    /// node and `first_play_visits` visits.
    fn first_play_urgency(&self, node: NodeId, role: usize, exploration: Exploration) -> f32 {
        let visits = self.config.first_play_visits;
        if visits <= 0.0 {
            return f32::INFINITY;
        }
        let mean = if self.graph.nodes[node].visits > 0 {
            self.graph.means[node][role]
        } else {
            50.0
        };
        mean + exploration.weight * 50.0 * (exploration.ln_visits / visits).sqrt()
    }
}
