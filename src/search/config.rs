//! What goes into a search and what it tells: settings, limits, reports, counters. Plain data, no
//! logic.

use std::sync::Arc;
use std::time::Instant;

use crate::analysis::evaluation::Evaluation;
use crate::analysis::score_ranges::ScoreRange;
use crate::analysis::symmetry::Symmetries;
use crate::ids::MoveId;
use crate::sync::stop::StopFlag;

/// The settings of one search. There is no default: the outermost layer decides.
#[derive(Clone, Debug)]
pub struct SearchConfig {
    /// Weight of the exploration term `sqrt(ln N / n)` for single playouts and scores scaled to
    /// 0..1; 0.4 to 1.4 are usual. Higher spreads visits more evenly over the moves, lower follows
    /// the best one deeper. Means of several playouts stray less and get less of it, half at least.
    pub exploration: f32,
    /// An untried move competes as if it were worth what its node is on average and had been
    /// visited so often. 0: each move is tried once before any is tried twice. Higher values let a
    /// good move be followed before hundreds of others were tried.
    pub untried_visits: f32,
    /// Whether the children of a new position are looked at together with it, where the machine
    /// looks at many positions at once: a win in one is then certain from the first.
    pub look_ahead: bool,
    /// Whether moves that were never tried in a position are tried in the order of what they came
    /// to elsewhere (MAST; Finnsson and Björnsson 2008), as far as they lie together, rather than
    /// at random.
    pub move_averages: bool,
    /// Whether at the root roles that choose at the same time, among few moves, mix them by regret
    /// matching; else, and elsewhere, each goes by upper confidence bounds as if it were alone.
    pub mixing: bool,
    /// Playouts from each child, rather than from the position itself, once a request has so many
    /// for each: they give all its moves a first estimate.
    pub samples_per_child: u32,
    /// The most nodes held at once. At least 2.
    pub max_nodes: u32,
    /// The most bytes taken for nodes, their states, moves and statistics; nodes with their states
    /// get at most half of it. There may always be 1024 records of each kind, so very small bounds
    /// are exceeded.
    pub max_bytes: usize,
    /// Playouts averaged into one result. 0 lets the search adapt it, between 1 and 1000, so that
    /// rollout threads are never short of work. Without rollout threads it is a least number: while
    /// only few requests may be under way, more are asked for, so that lanes are busy.
    pub samples_per_request: u32,
    /// The most requests under way to one rollout thread. At least 1. Where the machine plays many
    /// abreast it is at least what keeps them busy with one playout a request.
    pub ring_capacity: usize,
    /// Threads that play out beside the searching one; 0 makes the searching thread do it itself,
    /// which is the deterministic mode.
    pub rollout_threads: usize,
    /// Whether rollout threads are pinned to cores, where there are cores to spare.
    pub pin_threads: bool,
    /// Joint moves after which a playout is cut off and counts as the goals where it stands.
    pub max_playout_steps: u32,
    /// The sum of all roles' goals in every terminal state, if analysis knows that it is always the
    /// same. It lets proofs go further; a wrong value makes them wrong.
    pub fixed_sum: Option<u32>,
    /// What states promise, as learned for this game. New moves then begin with what their
    /// positions promise.
    pub evaluation: Option<Arc<Evaluation>>,
    /// How much of a result is what the position promises, the rest being what playouts came to:
    /// from 0 to 1. At 1 nothing is played out. Without an evaluation it says nothing.
    pub evaluation_share: f32,
    /// What settled facts make certain about goals: in a state in which such a fact is settled,
    /// whatever is played, the goal ends in its range. Wrong ones make proofs wrong.
    pub score_ranges: Arc<[ScoreRange]>,
    /// Symmetries of the game. Where we alone choose at the root, one of each class of equivalent
    /// moves is searched, and the others are not told of. Wrong ones make it blind to moves.
    pub symmetries: Option<Arc<Symmetries>>,
    /// Fixes all random choices. With no rollout threads and a limit in iterations the whole search
    /// repeats exactly.
    pub seed: u64,
}

/// When [`run`](super::Search::run) returns. With everything absent it returns only when the
/// position is proven.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limit<'a> {
    /// The moment to be back at, missed by a millisecond at most in fast games and by one playout
    /// in slow ones.
    pub until: Option<Instant>,
    /// Iterations to do in this run.
    pub iterations: Option<u64>,
    /// A flag that somebody else may set.
    pub stop: Option<&'a StopFlag>,
}

/// Why a run returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// The clock.
    Deadline,
    /// The iterations asked for are done.
    Iterations,
    /// The stop flag.
    Stop,
    /// There is nothing left to learn: the game is over here, or a move of ours that proves our
    /// value is known.
    Proven,
}

/// What the search knows about the position it stands on.
#[derive(Clone, PartialEq, Debug)]
pub struct RootReport {
    /// Our legal moves, most visited first.
    pub moves: Vec<MoveReport>,
    /// Our expected goal, 0 to 100; `None` before the first result.
    pub value: Option<f32>,
    /// Our goal with best play by everyone, once proven.
    pub proven: Option<u8>,
    /// Iterations finished since the search came to this position.
    pub iterations: u64,
    /// Playouts finished since the search came to this position.
    pub playouts: u64,
    /// Nodes in use.
    pub nodes: u32,
    /// Longest line looked at since the search came to this position, in joint moves.
    pub max_depth: u32,
}

/// What the search knows about one of our moves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MoveReport {
    /// The move.
    pub mv: MoveId,
    /// Finished iterations that went through it.
    pub visits: u32,
    /// Our expected goal after it, 0 to 100; `None` before the first result.
    pub value: Option<f32>,
    /// Our goal after it with best play by everyone, once proven.
    pub proven: Option<u8>,
    /// How often it is to be played, where several roles choose at once and moves are mixed; all of
    /// them sum to 1.
    pub share: Option<f32>,
}

/// Counters of a search since it was made, and levels as they are now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SearchStatistics {
    /// Results backed up, exact ones included.
    pub iterations: u64,
    /// Playouts whose goals were backed up, wherever they were played.
    pub playouts: u64,
    /// Joint moves made in these playouts.
    pub playout_steps: u64,
    /// Playouts that ended at the step limit.
    pub cut_off: u64,
    /// Playouts that the searching thread did itself.
    pub own_playouts: u64,
    /// Requests sent to rollout threads.
    pub requests: u64,
    /// Requests that came back.
    pub answers: u64,
    /// Answers that arrived after the position they were asked for had left the tree, in whole or
    /// in part.
    pub stale_answers: u64,
    /// Requests lost with a rollout thread that panicked.
    pub lost_requests: u64,
    /// Times that no memory was left for a node or for its moves, so that the tree did not grow.
    pub refused: u64,
    /// Nodes given back because memory was needed for others.
    pub recycled: u64,
    /// Nodes in use now, those waiting to be freed included.
    pub nodes: u32,
    /// Bytes taken from the system now.
    pub bytes: usize,
    /// The most nodes that fit: `max_nodes`, or fewer where `max_bytes` bounds them.
    pub node_limit: u32,
    /// Requests under way now: queued, being played out, or queued as results.
    pub in_flight: u32,
    /// Requests that no rollout thread has taken up yet.
    pub queued_requests: u32,
    /// Results that were not taken in yet.
    pub queued_results: u32,
    /// What the request rings, and likewise the result rings, of all living rollout threads hold
    /// together.
    pub ring_slots: u32,
    /// Playouts that the next request will ask for.
    pub samples_per_request: u32,
    /// Rollout threads alive.
    pub rollout_threads: u32,
}

/// How long the parts of an iteration take the writer: the sums over those that were timed, in
/// nanoseconds.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Times {
    /// Iterations of which going down and asking was timed.
    pub asked: u64,
    /// Going down.
    pub select: u64,
    /// Filling and sending the request.
    pub send: u64,
    /// Answers of which taking in was timed.
    pub answered: u64,
    /// Making the graph grow.
    pub grow: u64,
    /// Backing up.
    pub back_up: u64,
}

impl Times {
    /// What each part takes on average, in nanoseconds, in the order of the fields: going down,
    /// sending, growing, backing up. Nothing before both halves of an iteration were timed.
    pub fn means(&self) -> Option<[f64; 4]> {
        let share = |sum: u64, count: u64| (count > 0).then(|| sum as f64 / count as f64);
        Some([
            share(self.select, self.asked)?,
            share(self.send, self.asked)?,
            share(self.grow, self.answered)?,
            share(self.back_up, self.answered)?,
        ])
    }
}
