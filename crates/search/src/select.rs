//! Selection: the descent from the root to a leaf.
//!
//! Each role with a choice selects the edge with the greatest sum of value and exploration term.
//! The value is the mean, mixed with the minimax value by `SearchConfig::minimax_share` (implicit
//! minimax; Lanctot, Winands, Pepels and Sturtevant 2014). The exploration term is that of PUCT
//! where moves have priors (Rosin 2011; AlphaZero, Silver et al. 2018), else that of UCT (Kocsis
//! and Szepesvári 2006). Both are in units of the spread of results, so that one weight suits
//! single playouts, means of several and evaluations alike. Games of one role and games in which
//! several roles choose at once have UCB1-Tuned instead of UCT. Where several roles choose, each
//! does so independently (decoupled UCT; Finnsson and Björnsson 2008). Iterations in flight count
//! as visits in the exploration term but not in the mean (WU-UCT; Liu et al. 2020).
//!
//! Where moves have no priors and leave lasting facts, AMAF values take the place of the
//! exploration term (GRAVE; Cazenave 2015).
//!
//! Untried moves are in the order of rising static values, so only the next one competes with the
//! edges: wide nodes widen as far as it pays.
//!
//! At the root of simultaneous moves, roles with few moves select by `regret_matching`. Elsewhere
//! two roles that both take the greatest bound could repeat the same joint moves for ever, so a
//! role draws among the moves within [`NEAR_TIE`] points of it (Tak, Lanctot and Winands 2014), and
//! with the probability [`UNIFORM_SHARE`] among all its edges.
//!
//! The chance role draws: see `chance`. Where it alone chooses with one other role, that role has
//! no reason to mix its moves and takes upper confidence bounds at the root too.
//!
//! A solved move needs no more visits (MCTS-Solver; Winands, Björnsson and Saito 2008), and moves
//! whose upper bound is below the mover's proven lower bound are not selected.
//!
//! Invariant: a descent increments `in_flight` of every node and edge on its path exactly once.

use super::Search;
use super::amaf::TableId;
use super::path::Path;
use super::pool::{Pool, PoolId};
use super::proof::ProofUpdate;
use super::record::{
    EdgeBlock, EdgeBlockId, EdgeId, Node, Prior, RoleMoves, SIMULTANEOUS, UntriedMove, clamped,
};
use super::regret_matching;
use super::request::RequestKind;
use super::slots::{EDGES_PER_BLOCK, Slots, each, first_greatest, greater, lesser};
use super::spread::MAX_DEVIATION;
use panza_gdl::NodeId;
use panza_sync::pages::prefetch;

/// Where several roles choose, bounds that differ by at most this many points are equal.
const NEAR_TIE: f32 = 1.0;

/// Where several roles choose below the root: probability that a role draws among all its edges.
const UNIFORM_SHARE: f32 = 0.02;

/// Factor of the exploration weight where several roles choose: the exploration of the others adds
/// variance already. It won two matches of three in Connect Four on two boards, and half in Tron.
/// The unit is the deviation of the move's own results: where one joint move is played most, the
/// spread of all results says nothing of the others, and bids lost three times as much by it.
const SIMULTANEOUS_EXPLORATION: f32 = 0.5;

/// Factor of the exploration weight at the root of one mover, so that a move with unlucky first
/// results is tried again. Neutral in matches.
const ROOT_EXPLORATION: f32 = 2.0;

/// Factor of the exploration weight of PUCT, so that one setting serves it and UCT.
const PUCT_FACTOR: f32 = 5.0;

/// The greatest variance of numbers from 0 to 100.
const MAX_VARIANCE: f32 = 2500.0;

/// Greatest number of nodes on a path. Games without a step counter may have long cycles.
const MAX_PATH: usize = 4000;

/// The children of a node where a role has more legal moves than this are expanded at their second
/// visit only, if there is no evaluation.
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

/// The edges that are compared.
#[derive(Clone, Copy, Debug)]
enum Candidates {
    All,
    /// The edges whose upper bound reaches this goal.
    Reaching(u8),
    /// The unsolved ones of these.
    Open(u8),
}

/// The edge of greatest score, the first one where several are equal.
#[derive(Clone, Copy, Debug)]
struct BestEdge {
    edge: EdgeId,
    score: f32,
}

impl BestEdge {
    const NONE: Self = Self {
        edge: EdgeId::NONE,
        score: f32::NEG_INFINITY,
    };

    fn found(self) -> Option<EdgeId> {
        self.edge.is_some().then_some(self.edge)
    }

    /// Compares the edges of a block.
    #[inline(always)]
    fn add(&mut self, (id, block): (EdgeBlockId, &EdgeBlock), scores: Slots, of: Candidates) {
        let mut left_out = block.unused_slots();
        let mut scores = scores;
        if let Candidates::Open(_) = of {
            left_out |= u32::from(block.solved);
            let losses = virtual_losses(block);
            scores = each(|slot| scores[slot] - losses[slot]);
        }
        if let Candidates::Open(floor) | Candidates::Reaching(floor) = of {
            let floor = i32::from(floor) as f32;
            let (_, upper) = block.limits();
            scores = each(|slot| {
                if upper[slot] >= floor {
                    scores[slot]
                } else {
                    f32::NEG_INFINITY
                }
            });
        }
        let scores = each(|slot| match left_out & 1 << slot {
            0 => scores[slot],
            _ => f32::NEG_INFINITY,
        });
        let (slot, greatest) = first_greatest(scores);
        if greatest > self.score {
            self.edge = EdgeId::new(id, slot);
            self.score = greatest;
        }
    }
}

/// What the scores of all edges of a node share.
#[derive(Clone, Copy, Debug)]
struct Scoring {
    /// Weight of the exploration term: for PUCT in points and times the square root of the node's
    /// visits, for UCT in points, with variances a factor.
    weight: f32,
    /// Logarithm of the node's visits; 0 for PUCT.
    ln_visits: f32,
    has_priors: bool,
    /// Whether the variances that edges store in place of minimax values count.
    has_variances: bool,
    minimax_share: f32,
}

impl Scoring {
    /// The exploration term of PUCT for an edge with `visits` visits, those in flight included.
    #[inline(always)]
    fn puct(self, visits: f32, prior: Prior) -> f32 {
        self.weight * prior.probability() / (1.0 + visits)
    }

    /// The same of UCB1-Tuned (Auer, Cesa-Bianchi and Fischer 2002), for results of this variance.
    #[inline(always)]
    fn tuned(self, variance: f32, visits: f32) -> f32 {
        let ratio = self.ln_visits / greater(visits, 1.0);
        let variance = variance + 4.0 * MAX_VARIANCE * (2.0 * ratio).sqrt();
        self.weight * (ratio * lesser(variance, MAX_VARIANCE)).sqrt()
    }

    /// The same of UCT.
    #[inline(always)]
    fn uct(self, visits: f32) -> f32 {
        self.weight * (self.ln_visits / greater(visits, 1.0)).sqrt()
    }

    /// The exploration term without priors, for results of this variance.
    #[inline(always)]
    fn without_prior(self, variance: f32, visits: f32) -> f32 {
        match self.has_variances {
            true => self.tuned(variance, visits),
            false => self.uct(visits),
        }
    }
}

/// The best of the candidates among all edges.
#[inline(always)]
fn best_edge(
    blocks: &Pool<EdgeBlockId, EdgeBlock>,
    first: EdgeBlockId,
    scoring: Scoring,
    candidates: Candidates,
) -> BestEdge {
    let mut best = BestEdge::NONE;
    let mut at = first;
    while at.is_some() {
        let block = &blocks[at];
        best.add((at, block), scores(block, scoring), candidates);
        at = block.link;
    }
    best
}

/// The virtual losses of edges whose children are being expanded.
#[inline(always)]
fn virtual_losses(block: &EdgeBlock) -> Slots {
    /// Greater than any score: the edge is selected only if all others are being expanded too.
    const LOSS: f32 = 1000.0;
    let in_flight = each(|slot| i32::from(block.in_flight[slot]) as f32);
    let losses = each(|slot| if in_flight[slot] > 0.0 { LOSS } else { 0.0 });
    each(|slot| {
        if block.children[slot].is_some() {
            0.0
        } else {
            losses[slot]
        }
    })
}

/// The scores of all edges of a block, unused ones included.
#[inline(always)]
fn scores(block: &EdgeBlock, scoring: Scoring) -> Slots {
    let limits = block.limits();
    let visits = each(|slot| (block.visits[slot] as i32 + i32::from(block.in_flight[slot])) as f32);
    let (means, minimax) = (&block.means, &block.minimax);
    let share = scoring.minimax_share;
    let values = each(|slot| means[slot] + (minimax[slot] - means[slot]) * share);
    let values = clamped(&limits, &values);
    let bonuses = if scoring.has_priors {
        each(|slot| scoring.puct(visits[slot], block.priors[slot]))
    } else if scoring.has_variances {
        each(|slot| scoring.tuned(minimax[slot], visits[slot]))
    } else {
        each(|slot| scoring.uct(visits[slot]))
    };
    let (lower, upper) = &limits;
    let bonuses = each(|slot| {
        if lower[slot] < upper[slot] {
            bonuses[slot]
        } else {
            0.0
        }
    });
    each(|slot| values[slot] + bonuses[slot])
}

impl Search {
    /// Descends from the root and records the path.
    #[inline(always)]
    pub(super) fn descend(&mut self, path: &mut Path) -> Leaf {
        path.clear();
        self.amaf_table = None;
        self.graph.descent = self.graph.descent.wrapping_add(1);
        let (descent, age) = (self.graph.descent, self.graph.age);
        let mut node = self.graph.root;
        // Whether the edge to this node is not yet marked as solved.
        let mut edge_unsolved = false;
        loop {
            let place = &mut self.graph.nodes[node];
            // Copied before the writes: reading a line as a whole waits for writes to it.
            let mut record = *place;
            record.in_flight += 1;
            place.in_flight = record.in_flight;
            place.last_descent = descent;
            place.age = age;
            let at_root = path.steps.is_empty();
            path.push(node, record.generation);
            if !at_root {
                path.joint_moves += 1 + u32::from(record.forced_moves);
            }
            if let Some(amaf) = &self.amaf {
                let table = amaf.table(node, record.generation);
                self.amaf_table = table.or(self.amaf_table);
            }
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
            let child = if record.mover == SIMULTANEOUS {
                self.graph.child(node, selected)
            } else {
                self.graph.child_of(selected[0])
            };
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
            prefetch(&self.graph.bounds[child]);
            prefetch(&self.graph.values[child]);
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
        if self.config.evaluation.is_some() {
            return false;
        }
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
    #[inline(always)]
    fn select_edges(&mut self, record: &Node, path: &mut Path) -> bool {
        let node = path.last_node();
        if record.mover != SIMULTANEOUS {
            let edge = match self.graph.is_chance_node(node) {
                true => self.select_outcome(node, record),
                false => self.select_for_mover(node, record),
            };
            let Some(edge) = edge else {
                return false;
            };
            path.select(edge);
            return true;
        }
        for role in 0..self.graph.roles {
            if self.graph.role_moves(node, role).has_choice() {
                let edge = match self.graph.chance.is_some_and(|it| usize::from(it) == role) {
                    true => self.draw_chance_move(node, role),
                    false => self.select_simultaneous(node, role),
                };
                let Some(edge) = edge else {
                    path.deselect();
                    return false;
                };
                path.select(edge);
            }
        }
        true
    }

    /// The edge that a mover selects.
    #[inline(always)]
    fn select_for_mover(&mut self, node: NodeId, record: &Node) -> Option<EdgeId> {
        let role = record.mover as usize;
        let floor = self.graph.bounds[node][role].lower;
        if let Some(table) = self.amaf_table {
            return self.select_by_amaf(node, record, table, floor);
        }
        let scoring = self.scoring(record, node == self.graph.root);
        let (blocks, first) = (&self.graph.edge_blocks, record.first_block);
        let best = best_edge(blocks, first, scoring, Candidates::Open(floor));
        if let Some(untried) = self.graph.next_untried(record.untried)
            && (!best.edge.is_some() || self.urgency(node, role, untried, scoring) >= best.score)
            && let Some(new) = self.graph.add_edge(node, role)
        {
            return Some(new);
        }
        // Where all moves that can be played are solved, the best of any.
        best.found().or_else(|| {
            let blocks = &self.graph.edge_blocks;
            best_edge(blocks, first, scoring, Candidates::All).found()
        })
    }

    /// The edge that a mover selects where a table values moves (GRAVE; Cazenave 2015). The fewer
    /// playouts an edge has, the more its AMAF value counts (Gelly and Silver 2007). That explores
    /// enough: in Hex an exploration term beside it played worse. Moves that leave no fact have no
    /// AMAF value, so they get the exploration term.
    fn select_by_amaf(
        &mut self,
        node: NodeId,
        record: &Node,
        table: TableId,
        floor: u8,
    ) -> Option<EdgeId> {
        let role = record.mover as usize;
        let mean = self.mean_or_middle(node, role);
        let amaf = self.amaf.as_ref()?;
        let scoring = self.scoring(record, node == self.graph.root);
        let mut best = BestEdge::NONE;
        let mut best_of_all = BestEdge::NONE;
        let mut at = record.first_block;
        while at.is_some() {
            let block = &self.graph.edge_blocks[at];
            let mut scores = [0.0; EDGES_PER_BLOCK];
            for (slot, score) in scores[..block.len as usize].iter_mut().enumerate() {
                let bounds = block.bounds(slot);
                let visits = block.visits[slot] as f32;
                let in_flight = f32::from(block.in_flight[slot]);
                *score = match amaf.advantage(table, role, block.moves[slot]) {
                    Some(advantage) => {
                        let (value, playouts) =
                            (block.means[slot], visits * self.playouts_per_result);
                        let (value, _) = amaf.mixed(advantage, mean, value, playouts);
                        bounds.clamp(value)
                    }
                    None => {
                        let variance = block.minimax[slot];
                        let bonus = scoring.without_prior(variance, visits + in_flight);
                        bounds.clamp(block.means[slot]) + bonus
                    }
                };
            }
            best.add((at, block), scores, Candidates::Open(floor));
            best_of_all.add((at, block), scores, Candidates::All);
            at = block.link;
        }
        let urgency = scoring.without_prior(MAX_VARIANCE, self.config.first_play_visits);
        let score = |mv| match amaf.advantage(table, role, mv) {
            Some(advantage) => mean + advantage.points,
            None => mean + urgency,
        };
        if let Some(score) = self.graph.bring_best_untried_forward(node, role, score)
            && (!best.edge.is_some() || score >= best.score)
            && let Some(new) = self.graph.add_edge(node, role)
        {
            return Some(new);
        }
        best.found().or_else(|| best_of_all.found())
    }

    /// The mean of a node, 50 before its first result.
    fn mean_or_middle(&self, node: NodeId, role: usize) -> f32 {
        match self.graph.nodes[node].visits {
            0 => 50.0,
            _ => self.graph.values[node][role].mean,
        }
    }

    /// The edge that one of several roles with a choice selects.
    fn select_simultaneous(&mut self, node: NodeId, role: usize) -> Option<EdgeId> {
        self.has_simultaneous = true;
        let role_moves = *self.graph.role_moves(node, role);
        let is_mixed_root = node == self.graph.root && self.graph.is_mixed(node);
        if is_mixed_root && role_moves.n_legal <= regret_matching::MAX_MOVES {
            if role_moves.has_untried()
                && let Some(new) = self.graph.add_edge(node, role)
            {
                return Some(new);
            }
            return self.select_by_regret(node, role, &role_moves);
        }
        let record = self.graph.nodes[node];
        let mut scoring = self.scoring(&record, false);
        let factor = SIMULTANEOUS_EXPLORATION * self.exploration_of_means();
        scoring.weight = 2.0 * self.config.exploration * factor;
        scoring.has_variances = true;
        scoring.minimax_share = 0.0;
        let floor = self.graph.bounds[node][role].lower;
        let candidates = Candidates::Reaching(floor);
        let blocks = &self.graph.edge_blocks;
        let best = best_edge(blocks, role_moves.first_block, scoring, candidates);
        if let Some(untried) = self.graph.next_untried(role_moves.untried)
            && (!best.edge.is_some() || self.urgency(node, role, untried, scoring) >= best.score)
            && let Some(new) = self.graph.add_edge(node, role)
        {
            return Some(new);
        }
        // Upper confidence bounds alone may leave the only good reply at a few unlucky visits.
        let explores = regret_matching::unit_interval(&mut self.game.random) < UNIFORM_SHARE;
        let least = if explores {
            f32::NEG_INFINITY
        } else {
            best.score - NEAR_TIE
        };
        self.draw_at_least(&role_moves, scoring, least, floor)
    }

    /// Draws uniformly among the edges whose score is at least `least` and whose upper bound is at
    /// least `floor`, by reservoir sampling; the first where there are none.
    fn draw_at_least(
        &mut self,
        role_moves: &RoleMoves,
        scoring: Scoring,
        least: f32,
        floor: u8,
    ) -> Option<EdgeId> {
        let mut drawn = None;
        let mut n_tied = 0;
        for (id, block) in self.graph.blocks_of(role_moves) {
            let scores = scores(block, scoring);
            for (slot, &score) in scores[..block.len as usize].iter().enumerate() {
                if score >= least && block.upper[slot] >= floor {
                    n_tied += 1;
                    if n_tied == 1 || self.game.random.below(n_tied) == 0 {
                        drawn = Some(EdgeId::new(id, slot));
                    }
                }
            }
        }
        drawn.or_else(|| self.graph.edges(role_moves).next())
    }

    #[inline(always)]
    fn scoring(&self, record: &Node, is_root: bool) -> Scoring {
        let visits = (record.visits + record.in_flight).max(1) as f32;
        // Where several roles choose, one joint move may have most of the results, whose spread
        // says nothing of the others. In a puzzle the best line is far from the usual results.
        let is_far_from_usual = self.has_simultaneous || self.graph.roles == 1;
        let has_variances = is_far_from_usual && self.config.evaluation.is_none();
        let factor = if is_root { ROOT_EXPLORATION } else { 1.0 };
        let unit = if record.has_priors {
            PUCT_FACTOR * self.spread.deviation() * visits.sqrt()
        } else if has_variances {
            factor * self.exploration_of_means()
        } else if is_far_from_usual {
            factor * MAX_DEVIATION
        } else {
            factor * self.spread.deviation()
        };
        Scoring {
            weight: 2.0 * self.config.exploration * unit,
            ln_visits: if record.has_priors { 0.0 } else { visits.ln() },
            has_priors: record.has_priors,
            has_variances,
            minimax_share: self.config.minimax_share,
        }
    }

    /// Factor of the exploration weight for means of several playouts, where edges have variances.
    fn exploration_of_means(&self) -> f32 {
        0.5 + 0.5 / self.playouts_per_result.sqrt()
    }

    /// First-play urgency (Gelly and Wang 2006): the score of an untried move. Its value is the
    /// static one, or else the mean of the node with `first_play_visits` visits.
    fn urgency(&self, node: NodeId, role: usize, untried: UntriedMove, scoring: Scoring) -> f32 {
        let mean = self.mean_or_middle(node, role);
        match untried.value() {
            Some(value) if scoring.has_priors => value + scoring.puct(0.0, untried.prior),
            value => {
                let visits = self.config.first_play_visits;
                if visits <= 0.0 {
                    return f32::INFINITY;
                }
                value.unwrap_or(mean) + scoring.without_prior(MAX_VARIANCE, visits)
            }
        }
    }
}
