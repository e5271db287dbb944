//! The plain types of the interface: settings, limits, reports and counters. No logic beyond means.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::move_stats::MoveStats;
use panza_analysis::placements::Placements;
use panza_analysis::score_ranges::ScoreRange;
use panza_analysis::symmetry::Symmetries;
use panza_learning::evaluation::Evaluation;

/// The settings of one search.
#[derive(Clone, Debug)]
pub struct SearchConfig {
    /// Weight of the exploration term `sqrt(ln N / n)` in units of twice the spread of results;
    /// usually 0.2 to 1. Higher spreads the visits over more moves, lower deepens the best line.
    /// Where moves have priors, the term is that of PUCT in units of ten times the spread. Games
    /// of one role and of simultaneous moves have UCB1-Tuned, in units of 100 points.
    pub exploration: f32,
    /// First-play urgency where moves have no priors: an untried move is scored with its static
    /// value or the mean of its node, and this many visits. 0 tries every move once before any move
    /// twice; higher values follow good moves sooner.
    pub first_play_visits: f32,
    /// Weight of the minimax value against the mean in the value of a move, 0 to 1. Without an
    /// evaluation it is 0.
    pub minimax_share: f32,
    /// Temperature of the softmax that makes priors of static values, in points. 0: no priors.
    pub prior_temperature: f32,
    /// Greatest number of nodes; at least 2.
    pub max_nodes: u32,
    /// Greatest number of bytes of the graph; nodes with their states get at most half of it. Every
    /// pool may hold 1024 records regardless. The table of the
    /// proof-number search takes up to a sixteenth more.
    pub max_bytes: usize,
    /// Playouts averaged into one result. 0 adapts the number to the rollout threads. Without them
    /// it is a minimum: while few requests may be in flight, each asks for more to fill the lanes.
    pub samples_per_request: u32,
    /// Greatest number of requests in flight to one rollout thread, raised to twice its lanes.
    pub ring_capacity: usize,
    /// Rollout threads beside the writer. 0 lets the writer run the playouts, deterministically.
    pub rollout_threads: usize,
    /// Whether rollout threads are pinned to cores, where there are enough cores.
    pub pin_threads: bool,
    /// A playout is cut off after this many joint moves and scored by the goals of its last state.
    pub max_playout_steps: u32,
    /// The evaluation function learned for this game, which gives moves their static values.
    pub evaluation: Option<Arc<Evaluation>>,
    /// Weight of the evaluation against playouts, 0 to 1. At 1 nothing is played out.
    pub evaluation_share: f32,
    /// Goal ranges that follow from settled facts (latches). Wrong ranges make proofs wrong.
    pub score_ranges: Arc<[ScoreRange]>,
    /// Expansions of the proof-number search for each iteration, in games of two roles without
    /// chance; 0 leaves it out.
    pub proof_effort: f32,
    /// The lasting facts that moves make true, for AMAF values. Searches with priors have none.
    pub placements: Option<Arc<Placements>>,
    /// Weight of AMAF values: playouts through a move after which its AMAF value counts as much as
    /// its own results, at most.
    pub amaf_playouts: f32,
    /// Symmetries of the game: where only our role has a choice at the root, one of each class of
    /// equivalent moves is searched. Wrong symmetries hide moves.
    pub symmetries: Option<Arc<Symmetries>>,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl SearchConfig {
    /// A reproducible search on the calling thread, one playout a request, no analysis of the game.
    /// All others start from it: tests, benchmarks, and matches with the user's settings.
    pub fn deterministic(seed: u64) -> Self {
        Self {
            exploration: 0.4,
            first_play_visits: 1.0,
            minimax_share: 0.0,
            prior_temperature: 0.0,
            max_nodes: 1 << 20,
            max_bytes: 1 << 30,
            samples_per_request: 1,
            ring_capacity: 32,
            rollout_threads: 0,
            pin_threads: false,
            max_playout_steps: 10_000,
            evaluation: None,
            evaluation_share: 0.0,
            score_ranges: Arc::from([]),
            proof_effort: 0.0,
            placements: None,
            amaf_playouts: 200.0,
            symmetries: None,
            seed,
        }
    }

    /// The settings without what is known about states and moves of one machine, for another.
    pub fn for_other_machine(&self) -> Self {
        Self {
            evaluation: None,
            evaluation_share: 0.0,
            score_ranges: Arc::from([]),
            placements: None,
            symmetries: None,
            ..self.clone()
        }
    }
}

/// When [`run`](super::Search::run) returns. Without any limit it returns once the position is
/// proven.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limit<'a> {
    /// The deadline, exceeded by at most a millisecond in fast games and one playout in slow ones.
    pub until: Option<Instant>,
    /// Iterations of this run.
    pub iterations: Option<u64>,
    /// A flag that another thread may set.
    pub stop: Option<&'a AtomicBool>,
}

impl Limit<'_> {
    /// A limit in iterations only, which is reproducible without rollout threads.
    pub fn iterations(count: u64) -> Self {
        Self {
            iterations: Some(count),
            ..Self::default()
        }
    }
}

/// Why a run returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopReason {
    /// The deadline passed.
    Deadline,
    /// The requested iterations are done.
    Iterations,
    /// The stop flag is set.
    Flag,
    /// The game is over, or our goal is proven together with a move that reaches it.
    Proven,
}

/// The statistics of the current position.
#[derive(Clone, PartialEq, Debug)]
pub struct RootReport {
    /// Our legal moves, most visited first.
    pub moves: Vec<MoveStats>,
    /// Our mean value, 0 to 100; `None` before the first result.
    pub value: Option<f32>,
    /// Our goal with best play by all roles, once proven.
    pub proven: Option<u8>,
    /// Iterations finished at this position.
    pub iterations: u64,
    /// Playouts finished at this position.
    pub playouts: u64,
    /// Nodes in use.
    pub nodes: u32,
    /// Longest descent at this position, in joint moves.
    pub max_depth: u32,
}

/// What the choice of a move weighs at the root.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RootEstimates {
    /// Our moves; of equivalent ones the first.
    pub moves: Vec<MoveStats>,
    /// The standard deviation of results, in points.
    pub deviation: f32,
}

/// Counters since the search was made, and current levels.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct SearchStatistics {
    /// Results backpropagated, exact ones included.
    pub iterations: u64,
    /// Playouts backpropagated.
    pub playouts: u64,
    /// Joint moves of these playouts.
    pub playout_steps: u64,
    /// Playouts cut off at the step limit.
    pub cut_off: u64,
    /// Playouts run by the writer.
    pub writer_playouts: u64,
    /// Positions expanded by the proof-number search.
    pub proof_expansions: u64,
    /// Requests sent.
    pub requests: u64,
    /// Requests answered.
    pub answers: u64,
    /// Answers whose path was no longer whole, or no longer started at the root.
    pub stale_answers: u64,
    /// Requests lost with a rollout thread that panicked.
    pub lost_requests: u64,
    /// Allocations that failed although the graph tried to evict nodes.
    pub allocation_failures: u64,
    /// Nodes evicted to make room.
    pub evicted: u64,
    /// Nodes in use, unreachable ones included.
    pub nodes: u32,
    /// Bytes allocated.
    pub bytes: usize,
    /// Greatest number of nodes: `max_nodes`, or fewer where `max_bytes` bounds them.
    pub node_limit: u32,
    /// Requests in flight: queued, being played out, or queued as results.
    pub in_flight: u32,
    /// Requests still in a ring.
    pub queued_requests: u32,
    /// Results still in a ring.
    pub queued_results: u32,
    /// Total capacity of the request rings, and likewise of the result rings.
    pub ring_slots: u32,
    /// Rollout threads alive.
    pub rollout_threads: u32,
}

/// Time of the stages of an iteration on the writer: sums over the timed ones, in nanoseconds.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct IterationTimes {
    /// Requests of which selection and sending was timed.
    pub timed_requests: u64,
    /// Selection: the descent.
    pub select: u64,
    /// Filling and sending the request.
    pub send: u64,
    /// Answers of which expansion and backpropagation was timed.
    pub timed_answers: u64,
    /// Expansion of the graph.
    pub expand: u64,
    /// Backpropagation.
    pub backpropagate: u64,
}

impl IterationTimes {
    /// Mean nanoseconds of selection, sending, expansion and backpropagation; `None` before each
    /// was timed.
    pub fn means(&self) -> Option<[f64; 4]> {
        let mean = |sum: u64, count: u64| (count > 0).then(|| sum as f64 / count as f64);
        Some([
            mean(self.select, self.timed_requests)?,
            mean(self.send, self.timed_requests)?,
            mean(self.expand, self.timed_answers)?,
            mean(self.backpropagate, self.timed_answers)?,
        ])
    }
}
