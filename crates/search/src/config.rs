//! The plain types of the interface: limits, reports and counters. No logic beyond means.

use super::move_stats::MoveStats;

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
    /// Every depth was searched, and nothing is proven.
    Exhausted,
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
    /// Our moves.
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
    /// Games by which alpha-beta has trained its evaluation since.
    pub training_games: u64,
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
