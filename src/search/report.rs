//! What the search tells: the move to play, the state of the root, its counters.
//!
//! A move is chosen by what it is surely worth: exact scores as they are, estimated ones less one
//! standard error, so that a high mean of few visits does not win over a tried one. Proven bests
//! come before everything, proven worst after everything.
//!
//! Where several roles choose at once, the move is drawn from what the role wants to play on
//! average (see `mixing`), once for each state.
//!
//! Invariant: whenever our role has a legal move, one is returned, whatever the search has done so
//! far.

use std::cmp::Ordering;

use super::Search;
use super::config::{MoveReport, RootReport, SearchStatistics, Times};
use super::pool::Place;
use super::proof::better_line;
use super::record::{Bounds, EntryId, SEVERAL};
use crate::ids::{Id, MoveId};

/// Standard deviation, in points, that the goal of one playout is taken to have: that of a coin
/// toss between 0 and 100.
const SPREAD: f32 = 50.0;

/// How a move ranks for being played; the greatest is played.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Rank {
    /// 2 for a proven best, 0 for a proven worst, 1 for what lies between.
    class: u8,
    /// What the move is surely worth, in points.
    worth: f32,
    visits: u32,
    /// Among proven moves of one score: how good their line's length is.
    line: i32,
}

impl Rank {
    fn compare(&self, other: &Self) -> Ordering {
        self.class
            .cmp(&other.class)
            .then(self.worth.total_cmp(&other.worth))
            .then(self.line.cmp(&other.line))
            .then(self.visits.cmp(&other.visits))
    }
}

impl Search {
    /// The move to play in the current state. `None` only when our role has no legal move there.
    ///
    /// A move that is proven best comes first, by the shortest line when it wins; proven losses
    /// come last, the longest first; otherwise visits and score decide together.
    pub fn best_move(&mut self) -> Option<MoveId> {
        self.open_root();
        let root = self.graph.root;
        let record = self.graph.nodes[root];
        let role = self.role.index();
        if record.is_open() && self.ahead == 0 && self.graph.choice(root, role).decides() {
            let mut left = self.dice;
            let mixture = self.mixture_here();
            let drawn = mixture.iter().find(|&&(_, share)| {
                left -= share;
                left < 0.0
            });
            if let Some(&(entry, _)) = drawn.or(mixture.last()) {
                return Some(self.graph.chunks[entry.chunk()].moves[entry.slot()]);
            }
            let choice = self.graph.choice(root, role);
            let best = self
                .graph
                .entries(choice)
                .map(|entry| (self.rank(entry), entry))
                .reduce(|best, next| {
                    if next.0.compare(&best.0) == Ordering::Greater {
                        next
                    } else {
                        best
                    }
                });
            let untried = self.graph.untried(choice).next();
            return match (best, untried) {
                (Some((rank, _)), Some(untried)) if rank.class == 0 => Some(untried),
                (Some((_, entry)), _) => Some(self.graph.chunks[entry.chunk()].moves[entry.slot()]),
                (None, untried) => untried,
            };
        }
        self.hands.reasoner.set_state(&self.current);
        self.hands.reasoner.legal_moves(self.role).first().copied()
    }

    /// What is known about the current state.
    pub fn root(&mut self) -> RootReport {
        self.open_root();
        let root = self.graph.root;
        let record = self.graph.nodes[root];
        let role = self.role.index();
        let bounds = self.graph.bounds[root][role];
        self.graph.read_values(root, &mut self.values);
        let value = (record.visits > 0 || bounds.is_exact()).then(|| self.values[role]);
        let mut moves = Vec::new();
        if record.is_open() && self.ahead == 0 && self.graph.choice(root, role).decides() {
            let choice = self.graph.choice(root, role);
            for entry in self.graph.entries(choice) {
                moves.push(self.move_report(entry));
            }
            moves.extend(self.graph.untried(choice).map(|mv| MoveReport {
                mv,
                visits: 0,
                value: None,
                proven: None,
                share: None,
            }));
            for (entry, share) in self.mixture_here() {
                let mv = self.graph.chunks[entry.chunk()].moves[entry.slot()];
                if let Some(report) = moves.iter_mut().find(|report| report.mv == mv) {
                    report.share = Some(share);
                }
            }
            moves.sort_by(|a, b| b.visits.cmp(&a.visits).then(a.mv.cmp(&b.mv)));
        } else {
            self.hands.reasoner.set_state(&self.current);
            let legal = self.hands.reasoner.legal_moves(self.role);
            // With one legal move, whatever is known of the position is known of the move.
            let sole = legal.len() == 1;
            moves.extend(legal.iter().map(|&mv| MoveReport {
                mv,
                visits: if sole { record.visits } else { 0 },
                value: value.filter(|_| sole),
                proven: (sole && bounds.is_exact()).then_some(bounds.lower),
                share: None,
            }));
        }
        RootReport {
            moves,
            value,
            proven: bounds.is_exact().then_some(bounds.lower),
            iterations: self.counters.iterations - self.counters_before.iterations,
            playouts: self.counters.playouts - self.counters_before.playouts,
            nodes: self.graph.nodes.in_use() as u32,
            max_depth: self.max_depth,
        }
    }

    /// All counters, and the levels as they are now.
    pub fn statistics(&self) -> SearchStatistics {
        let counters = &self.counters;
        SearchStatistics {
            iterations: counters.iterations,
            playouts: counters.playouts,
            playout_steps: counters.playout_steps,
            cut_off: counters.cut_off,
            own_playouts: counters.own_playouts,
            requests: counters.requests,
            answers: counters.answers,
            stale_answers: counters.stale_answers,
            lost_requests: counters.lost_requests,
            refused: self.graph.refused,
            recycled: self.graph.recycled,
            nodes: self.graph.nodes.in_use() as u32,
            bytes: self.graph.bytes(),
            node_limit: self.graph.nodes.limit() as u32,
            in_flight: self.pipeline.in_flight(),
            queued_requests: self.pipeline.queued_requests(),
            queued_results: self.pipeline.queued_results(),
            ring_slots: self.pipeline.slots(),
            samples_per_request: self.pipeline.samples(),
            rollout_threads: self.pipeline.threads() as u32,
        }
    }

    /// How long the parts of an iteration took so far.
    pub fn times(&self) -> Times {
        self.counters.times
    }

    fn move_report(&self, entry: EntryId) -> MoveReport {
        let chunk = &self.graph.chunks[entry.chunk()];
        let slot = entry.slot();
        let bounds = chunk.bounds(slot);
        let visits = chunk.visits[slot];
        MoveReport {
            mv: chunk.moves[slot],
            visits,
            value: (visits > 0 || bounds.is_exact()).then(|| bounds.clamp(chunk.means[slot])),
            proven: bounds.is_exact().then_some(bounds.lower),
            share: None,
        }
    }

    /// How often our role is to play each of its moves, where several roles choose at once and
    /// nothing is proven.
    fn mixture_here(&self) -> Vec<(EntryId, f32)> {
        let root = self.graph.root;
        let role = self.role.index();
        let bounds = self.graph.bounds[root][role];
        let record = &self.graph.nodes[root];
        if !self.config.mixing
            || record.decider != SEVERAL
            || !record.is_open()
            || bounds.is_exact()
        {
            return Vec::new();
        }
        let choice = self.graph.choice(root, role);
        if !choice.decides() || choice.has_untried() {
            return Vec::new();
        }
        self.graph.mixture(choice, bounds.lower)
    }

    fn rank(&self, entry: EntryId) -> Rank {
        let chunk = &self.graph.chunks[entry.chunk()];
        let slot = entry.slot();
        let bounds = chunk.bounds(slot);
        let visits = chunk.visits[slot];
        let known: Bounds = self.graph.bounds[self.graph.root][self.role.index()];
        let class = if bounds.lower >= known.upper {
            2
        } else if bounds.upper == 0 || bounds.upper < known.lower {
            0
        } else {
            1
        };
        let worth = match visits {
            0 => f32::NEG_INFINITY,
            _ => chunk.means[slot] - SPREAD / (visits as f32).sqrt(),
        };
        let child = self.graph.child_of(entry);
        let line = if bounds.is_exact() && child.is_some() {
            let line = self.graph.nodes[child].length_from_parent();
            let shorter_is_better = better_line(bounds, 0, Some(1)) == 0;
            if shorter_is_better {
                -i32::from(line)
            } else {
                i32::from(line)
            }
        } else {
            0
        };
        Rank {
            class,
            worth: bounds.clamp(worth),
            visits,
            line,
        }
    }
}
