//! Reports: the move to play, the statistics of the root, counters.
//!
//! The move has the greatest lower confidence bound: exact scores as they are, values less one
//! standard error. Where several roles choose at once, it is drawn from the role's average
//! strategy, once for each state; once all joint moves are proven, from an exact solution.
//!
//! Invariant: whenever our role has a legal move, one is returned.

use super::Search;
use super::config::{IterationTimes, RootEstimates, RootReport, SearchStatistics};
use super::move_stats::MoveStats;
use super::outlook::ProofClass;
use super::record::{EdgeBlock, EdgeId, Node, SIMULTANEOUS};
use panza_gdl::{Id, MoveId};

/// The order of moves, field by field; the greatest is played.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
struct MoveRank {
    class: ProofClass,
    /// In points.
    lower_confidence_bound: f32,
    /// Among proven moves of one score: greater is the better length of the line.
    line: i32,
    visits: u32,
}

impl Search {
    /// The move to play in the current state; `None` only when our role has no legal move there.
    ///
    /// A proven best move comes first, by the shortest line if it wins; proven losses come last, by
    /// the longest line. Else visits and value decide together.
    pub fn best_move(&mut self) -> Option<MoveId> {
        self.expand_root();
        if !self.has_choice_at_root() {
            return self.only_move().or_else(|| {
                self.game.reasoner.set_state(&self.current);
                self.game.reasoner.legal_moves(self.role).first().copied()
            });
        }
        let mut left = self.strategy_draw;
        let strategy = self.root_strategy();
        let drawn = strategy.iter().find(|&&(_, probability)| {
            left -= probability;
            left < 0.0
        });
        if let Some(&(edge, _)) = drawn.or(strategy.last()) {
            return Some(self.graph.move_of(edge));
        }
        let role_moves = self.graph.role_moves(self.graph.root, self.role.index());
        let edges = self.graph.edges(role_moves);
        let best = edges
            .map(|edge| (self.rank(edge), edge))
            .reduce(|best, next| if next.0 > best.0 { next } else { best });
        let untried = self.graph.untried(role_moves).next();
        match best {
            Some((rank, edge)) if rank.class != ProofClass::Worst || untried.is_none() => {
                Some(self.graph.move_of(edge))
            }
            _ => untried,
        }
    }

    /// The statistics of the current state.
    pub fn root(&mut self) -> RootReport {
        self.expand_root();
        let root = self.graph.root;
        let record = self.graph.nodes[root];
        let role = self.role.index();
        let bounds = self.graph.bounds[root][role];
        self.graph.read_values(root, &mut self.values);
        let value = (record.visits > 0 || bounds.is_exact()).then(|| self.values[role]);
        let moves = if self.has_choice_at_root() {
            self.move_reports()
        } else {
            self.forced_move_reports(&record, value)
        };
        RootReport {
            moves,
            value,
            proven: bounds.is_exact().then_some(bounds.lower),
            iterations: self.counters.iterations - self.counters_at_current.iterations,
            playouts: self.counters.playouts - self.counters_at_current.playouts,
            nodes: self.graph.nodes.in_use as u32,
            max_depth: self.max_depth,
        }
    }

    /// What the choice of a move weighs. `None` where we have no choice, or where it is drawn from
    /// a mixed strategy.
    pub fn estimates(&mut self) -> Option<RootEstimates> {
        self.expand_root();
        if !self.has_choice_at_root() || !self.root_strategy().is_empty() {
            return None;
        }
        let role_moves = self.graph.role_moves(self.graph.root, self.role.index());
        let of_edge = |edge: EdgeId| {
            let (block, slot) = (&self.graph.edge_blocks[edge.block()], edge.slot());
            let bounds = block.bounds(slot);
            let (value, visits) = self.estimate(block, slot);
            MoveStats {
                visits: f64::from(visits),
                value: (block.visits[slot] > 0).then(|| bounds.clamp(value)),
                bounds: (bounds.lower, bounds.upper),
                ..MoveStats::new(block.moves[slot])
            }
        };
        let tried = self.graph.edges(role_moves).map(of_edge);
        let untried = self.graph.untried(role_moves).map(MoveStats::new);
        Some(RootEstimates {
            moves: tried.chain(untried).collect(),
            deviation: self.spread.deviation(),
        })
    }

    /// All counters and current levels.
    pub fn statistics(&self) -> SearchStatistics {
        SearchStatistics {
            allocation_failures: self.graph.allocation_failures,
            evicted: self.graph.evicted,
            nodes: self.graph.nodes.in_use as u32,
            bytes: self.graph.budget.used,
            node_limit: self.graph.nodes.limit as u32,
            in_flight: self.pipeline.in_flight(),
            queued_requests: self.pipeline.queued_requests(),
            queued_results: self.pipeline.queued_results(),
            ring_slots: self.pipeline.ring_slots(),
            rollout_threads: self.pipeline.n_threads() as u32,
            ..self.counters
        }
    }

    /// The time of the stages of an iteration so far.
    pub fn times(&self) -> IterationTimes {
        self.times
    }

    /// Whether our role has a choice in the current state and the root has its moves.
    fn has_choice_at_root(&self) -> bool {
        let root = self.graph.root;
        self.graph.nodes[root].is_expanded()
            && self.forced_ahead == 0
            && self.graph.role_moves(root, self.role.index()).has_choice()
    }

    /// The only move of ours that the root has, where the current state is that of the root.
    fn only_move(&self) -> Option<MoveId> {
        let root = self.graph.root;
        let is_there = self.graph.nodes[root].is_expanded() && self.forced_ahead == 0;
        let role_moves = is_there.then(|| self.graph.role_moves(root, self.role.index()))?;
        (!role_moves.has_choice()).then_some(role_moves.only_move)
    }

    fn move_reports(&self) -> Vec<MoveStats> {
        let role_moves = self.graph.role_moves(self.graph.root, self.role.index());
        let strategy = self.root_strategy();
        let mut moves: Vec<MoveStats> = self
            .graph
            .edges(role_moves)
            .map(|edge| {
                let (block, slot) = (&self.graph.edge_blocks[edge.block()], edge.slot());
                let bounds = block.bounds(slot);
                let visits = block.visits[slot];
                let has_value = visits > 0 || bounds.is_exact();
                let of_strategy = strategy.iter().find(|&&(other, _)| other == edge);
                MoveStats {
                    visits: f64::from(visits),
                    value: has_value.then(|| bounds.clamp(block.means[slot])),
                    bounds: (bounds.lower, bounds.upper),
                    probability: of_strategy.map(|&(_, probability)| probability),
                    ..MoveStats::new(block.moves[slot])
                }
            })
            .collect();
        moves.extend(self.graph.untried(role_moves).map(MoveStats::new));
        moves.sort_by(|a, b| b.visits.total_cmp(&a.visits).then(a.mv.cmp(&b.mv)));
        moves
    }

    /// Reports on the legal moves of a state in which our role has no choice. The only move, or the
    /// only one worth playing, comes first and has the statistics of the root.
    fn forced_move_reports(&mut self, root: &Node, value: Option<f32>) -> Vec<MoveStats> {
        let bounds = self.graph.bounds[self.graph.root][self.role.index()];
        self.game.reasoner.set_state(&self.current);
        let mut only = self.only_move();
        let legal = self.game.reasoner.legal_moves(self.role);
        if let &[single] = legal {
            only = Some(single);
        }
        let report = |&mv| {
            if only != Some(mv) {
                return MoveStats::new(mv);
            }
            MoveStats {
                visits: f64::from(root.visits),
                value,
                bounds: (bounds.lower, bounds.upper),
                ..MoveStats::new(mv)
            }
        };
        let mut reports: Vec<MoveStats> = legal.iter().map(report).collect();
        reports.sort_by_key(|report| only != Some(report.mv));
        reports
    }

    /// Our strategy at the root: that which solves the matrix game, once all joint moves are
    /// proven, else the average one. Empty unless several roles choose and no single move is proven
    /// best.
    fn root_strategy(&self) -> Vec<(EdgeId, f32)> {
        let root = self.graph.root;
        let role = self.role.index();
        let bounds = self.graph.bounds[root][role];
        let record = &self.graph.nodes[root];
        let is_unmixed = record.mover != SIMULTANEOUS || !record.is_expanded();
        if is_unmixed || !self.graph.is_mixed(root) {
            return Vec::new();
        }
        let role_moves = self.graph.role_moves(root, role);
        let is_pure = || {
            let mut blocks = self.graph.blocks_of(role_moves);
            let reaches = |&lower: &u8| lower >= bounds.lower;
            bounds.is_exact()
                && blocks.any(|(_, block)| block.lower[..block.len as usize].iter().any(reaches))
        };
        if !role_moves.has_choice() || role_moves.has_untried() || is_pure() {
            return Vec::new();
        }
        let proven = self.graph.proven_strategy(root, role);
        proven.unwrap_or_else(|| self.graph.average_strategy(role_moves, bounds.lower))
    }

    /// The value of a root edge mixed with its AMAF value, and the visits that both are worth.
    fn with_amaf(&self, block: &EdgeBlock, slot: usize, value: f32) -> (f32, f32) {
        let visits = block.visits[slot] as f32;
        let root = self.graph.root;
        let record = &self.graph.nodes[root];
        let table = self.amaf.as_ref().filter(|_| record.mover != SIMULTANEOUS);
        let Some((amaf, table)) =
            table.and_then(|amaf| Some((amaf, amaf.table(root, record.generation)?)))
        else {
            return (value, visits);
        };
        let role = block.role as usize;
        let Some(advantage) = amaf.advantage(table, role, block.moves[slot]) else {
            return (value, visits);
        };
        let mean = self.graph.values[root][role].mean;
        let (value, share) = amaf.mixed(advantage, mean, value, visits * self.playouts_per_result);
        (value, visits / (1.0 - share))
    }

    /// The value of a root edge by its mean, its minimax value and its AMAF value, and the visits
    /// that it rests on.
    fn estimate(&self, block: &EdgeBlock, slot: usize) -> (f32, f32) {
        let (mean, minimax) = (block.means[slot], block.minimax[slot]);
        // Edges of a simultaneous choice have no minimax value.
        let share = match self.graph.nodes[self.graph.root].mover {
            SIMULTANEOUS => 0.0,
            _ => self.config.minimax_share,
        };
        self.with_amaf(block, slot, mean + (minimax - mean) * share)
    }

    fn rank(&self, edge: EdgeId) -> MoveRank {
        let block = &self.graph.edge_blocks[edge.block()];
        let slot = edge.slot();
        let bounds = block.bounds(slot);
        let visits = block.visits[slot];
        let of_root = self.graph.bounds[self.graph.root][self.role.index()];
        let (class, line) = self.proof_of(of_root, edge);
        let lower_confidence_bound = match visits {
            // A solved edge may have no whole goal in games with chance.
            _ if self.graph.chance.is_some() && block.is_solved(slot) => block.means[slot],
            0 => f32::NEG_INFINITY,
            _ => {
                let (value, visits) = self.estimate(block, slot);
                value - self.spread.deviation() / visits.sqrt()
            }
        };
        MoveRank {
            class,
            lower_confidence_bound: bounds.clamp(lower_confidence_bound),
            line,
            visits,
        }
    }
}
