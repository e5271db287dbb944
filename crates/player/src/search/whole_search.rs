//! The search of the whole game in a match, by the tree or by alpha-beta, and its settings.
//!
//! Never uses: the graph or the table, so that another search needs no change here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, available_parallelism};
use std::time::Duration;

use super::match_searcher::{Effort, MatchSearcher};
use super::preparations::PreparationOf;
use panza_config::{SearchMethod, SearchSettings};
use panza_gdl::{MoveId, RoleId};
use panza_machine::{GameInfo, Machine, PlayoutTotals};
use panza_search::{
    IterationTimes, LineLimits, Method, MoveStats, RootEstimates, SearchConfig, SearchReport,
    SearchStatistics, Searcher, Started, StopReason, WhyTree, start,
};
use panza_sync::{Budget, HAS_THREADS, Instant, Random, Stopwatch, thread_cpu_time};
use panza_telemetry::{SearchSample, StageTimes};

/// Bytes of the game graph for each node that it may hold; a node with its moves and state takes
/// about that much.
const BYTES_PER_NODE: usize = 512;
/// Processor time for measuring playouts.
const MEASURING_TIME: Duration = Duration::from_millis(10);
/// The writer's time for an iteration without its playouts.
const ITERATION_TIME: Duration = Duration::from_micros(3);
/// Playouts per request without rollout threads, at most: more say little more about a position.
const MAX_OWN_SAMPLES: u32 = 16;
/// Expansions of the proof-number search for each iteration. With 0.25 the tree loses as much as
/// proofs gain.
const PROOF_EFFORT: f32 = 0.1;
/// How long a search that has nothing left to do waits at a time.
const REST: Duration = Duration::from_millis(10);
/// Root moves in a sample.
pub(crate) const MAX_SAMPLED_MOVES: usize = 32;
/// Joint moves of a line in the debug log.
const MAX_LOGGED_LINE: usize = 12;

/// A search's settings from the file's, with the seed of a match.
pub fn search_config(settings: &SearchSettings, seed: u64) -> SearchConfig {
    let rollout_threads = match settings.threads {
        0 => default_threads(available_parallelism().map_or(1, usize::from)),
        threads => threads,
    };
    SearchConfig {
        exploration: settings.exploration as f32,
        max_nodes: u32::try_from(settings.max_nodes).unwrap_or(u32::MAX),
        max_bytes: settings.max_nodes.saturating_mul(BYTES_PER_NODE),
        samples_per_request: 0,
        rollout_threads,
        pin_threads: settings.pin_threads,
        proof_effort: PROOF_EFFORT,
        method: match settings.method {
            SearchMethod::Auto => Method::Auto,
            SearchMethod::Tree => Method::Tree,
            SearchMethod::AlphaBeta => Method::AlphaBeta,
        },
        ..SearchConfig::deterministic(seed)
    }
}

/// Rollout threads on `cores` cores: one core is for the thread that writes the graph, and from
/// eight cores on another one for everything else.
fn default_threads(cores: usize) -> usize {
    let others = if cores >= 8 { 2 } else { 1 };
    cores.saturating_sub(others)
}

/// Playouts per request for a search without rollout threads: as many as take about
/// [`ITERATION_TIME`]. `None` where the machine plays one at a time.
fn own_samples(machine: &Arc<dyn Machine>, state: &[u64], max_playout_steps: u32) -> Option<u32> {
    let mut playouts = Arc::clone(machine).playouts(&mut Random::new(1), max_playout_steps)?;
    let width = playouts.width() as u64;
    let mut tally = PlayoutTotals::default();
    let mut done = 0;
    let stopwatch = Stopwatch::start();
    while stopwatch.is_within(MEASURING_TIME) {
        while playouts.n_outstanding() < 2 * width {
            playouts.submit(state, width as u32)?;
        }
        playouts.advance();
        while playouts.take_finished(&mut tally).is_some() {
            done += u64::from(tally.playouts);
        }
    }
    let a_second = done as f64 / stopwatch.elapsed().as_secs_f64();
    let samples = (a_second * ITERATION_TIME.as_secs_f64()).round() as u32;
    Some(samples.clamp(1, MAX_OWN_SAMPLES))
}

/// The times of the writer's stages so far, in seconds, estimated from the timed iterations.
pub(crate) fn stage_times(times: &IterationTimes, statistics: &SearchStatistics) -> StageTimes {
    let seconds = |sum: u64, timed: u64, all: u64| {
        let mean = sum as f64 / timed.max(1) as f64;
        mean * all as f64 * 1e-9
    };
    StageTimes {
        select: seconds(times.select, times.timed_requests, statistics.requests),
        send: seconds(times.send, times.timed_requests, statistics.requests),
        grow: seconds(times.expand, times.timed_answers, statistics.answers),
        back_up: seconds(times.backpropagate, times.timed_answers, statistics.answers),
        ..StageTimes::default()
    }
}

/// Starts the search of the whole game in a state, with settings that fit the machine.
pub fn whole_search(
    machine: &Arc<dyn Machine>,
    role: RoleId,
    state: &[u64],
    mut config: SearchConfig,
) -> Started {
    if config.rollout_threads == 0 && config.samples_per_request == 0 {
        config.samples_per_request =
            own_samples(machine, state, config.max_playout_steps).unwrap_or(1);
    }
    if machine.kind() == "prover" {
        // It generates one child at a time, which may take longer than a clock allows.
        config.proof_effort = 0.0;
    }
    start(machine, role, state, &config)
}

/// The root moves for a sample, in the order of the report.
pub(crate) fn root_moves(info: &dyn GameInfo, moves: &[MoveStats]) -> Vec<MoveStats<String>> {
    let moves = moves.iter().take(MAX_SAMPLED_MOVES);
    let named = moves.map(|stats| stats.named(info.move_text(stats.mv)));
    named.collect()
}

/// The search of the whole game in a match, by the tree or by alpha-beta.
pub(crate) struct WholeSearch {
    machine: Arc<dyn Machine>,
    search: Box<dyn Searcher>,
    why_tree: Option<WhyTree>,
    /// What was searched in the state so far.
    effort: Effort,
    /// The time of the calling thread for training, while our role does not choose.
    training: Duration,
}

impl WholeSearch {
    /// A search of `state`.
    pub fn new(
        machine: &Arc<dyn Machine>,
        role: RoleId,
        state: &[u64],
        config: SearchConfig,
    ) -> Self {
        let Started {
            mut search,
            why_tree,
        } = whole_search(machine, role, state, config);
        search.glance();
        Self {
            machine: Arc::clone(machine),
            search,
            why_tree,
            effort: Effort::default(),
            training: Duration::ZERO,
        }
    }

    /// Sees how far the search of the state has got. Depths of alpha-beta are events, at most one
    /// at a time.
    fn look(&mut self) {
        if self.search.method() != Method::AlphaBeta {
            self.effort.nodes = self.search.statistics().nodes.into();
            return;
        }
        let report = self.search.report(LineLimits::NONE);
        let SearchReport { depth, nodes, .. } = report;
        let is_deeper = depth > self.effort.depth;
        self.effort = Effort { depth, nodes };
        if is_deeper && tracing::enabled!(tracing::Level::DEBUG) {
            let line = self.line(MAX_LOGGED_LINE).into_iter();
            let info = self.machine.info();
            let text = |moves: Vec<MoveId>| {
                let moves = moves.iter().map(|&mv| info.move_text(mv));
                moves.collect::<Vec<_>>().join(" ")
            };
            let line: Vec<String> = line.map(text).collect();
            tracing::debug!(
                "depth {depth} to {}, value {:.1}, {nodes} nodes, line {}",
                report.selective_depth,
                report.value.unwrap_or(f32::NAN),
                line.join(", ")
            );
        }
    }

    /// The search is in another state.
    fn enter(&mut self) {
        self.search.glance();
        self.effort = Effort::default();
    }
}

impl MatchSearcher for WholeSearch {
    fn name(&self) -> &'static str {
        match self.search.method() {
            Method::AlphaBeta => "alpha-beta search",
            Method::Auto | Method::Tree => "search",
        }
    }

    fn why_tree(&self) -> Option<WhyTree> {
        self.why_tree
    }

    fn preparation_of(&self) -> PreparationOf {
        PreparationOf::Game
    }

    fn processor_time(&self) -> Duration {
        self.search.processor_time()
    }

    fn effort(&self) -> Effort {
        self.effort
    }

    fn search(&mut self, until: Instant, interrupt: &Arc<AtomicBool>) {
        while !interrupt.load(Ordering::Acquire) {
            let budget = Budget::generous().until(Some(until)).stopped_by(interrupt);
            let reason = self.search.run(&budget);
            self.look();
            let left = until.saturating_duration_since(Instant::now());
            if reason != StopReason::Exhausted || left.is_zero() || !HAS_THREADS {
                return;
            }
            thread::sleep(left.min(REST));
        }
    }

    fn ponder(&mut self, until: Instant, interrupt: &Arc<AtomicBool>) {
        let budget = Budget::generous().until(Some(until)).stopped_by(interrupt);
        let begun = thread_cpu_time();
        let reason = self.search.ponder(&budget);
        if let (Method::AlphaBeta, Some((now, begun))) =
            (self.search.method(), thread_cpu_time().zip(begun))
        {
            self.training += now.saturating_sub(begun);
        }
        self.look();
        if reason == StopReason::Exhausted {
            self.search(until, interrupt);
        }
    }

    fn search_iterations(&mut self, iterations: u64, interrupt: &Arc<AtomicBool>) {
        self.search
            .run(&Budget::of_steps(iterations).stopped_by(interrupt));
    }

    fn advance(&mut self, joint_move: &[MoveId], state: &[u64]) {
        self.search.advance(joint_move, state);
        self.enter();
    }

    fn set_state(&mut self, state: &[u64]) {
        self.search.set_state(state);
        self.enter();
    }

    fn best_move(&mut self) -> Option<MoveStats> {
        self.search.choose()
    }

    fn line(&mut self, most: usize) -> Vec<Vec<MoveId>> {
        let limits = LineLimits {
            lines: 1,
            moves: most,
        };
        let lines = self.search.report(limits).lines;
        let first = lines.into_iter().next();
        first.map_or(Vec::new(), |line| line.joint_moves)
    }

    fn estimates(&mut self) -> Option<RootEstimates> {
        self.search.estimates()
    }

    fn sample(&mut self) -> SearchSample {
        let statistics = self.search.statistics();
        let report = self.search.report(LineLimits::NONE);
        let info = self.machine.info();
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let fill = |queued: u32| ratio(queued.into(), statistics.ring_slots.into());
        let best = self.search.choose();
        let value = report.value.or(best.and_then(|best| best.value));
        SearchSample {
            iterations: statistics.iterations,
            playouts: statistics.playouts,
            nodes: report.nodes,
            pool_used: ratio(statistics.nodes.into(), statistics.node_limit.into()),
            request_rings: fill(statistics.queued_requests),
            result_rings: fill(statistics.queued_results),
            times: StageTimes {
                training: self.training.as_secs_f64(),
                ..stage_times(&report.times, &statistics)
            },
            samples_per_request: ratio(statistics.playouts as f64, statistics.iterations as f64),
            depth: report.depth,
            selective_depth: report.selective_depth,
            training_games: statistics.training_games as u32,
            best_move: best.map_or(String::new(), |best| info.move_text(best.mv)),
            best_value: value.map_or(f64::NAN, f64::from),
            root_moves: root_moves(info, &report.moves),
            ..SearchSample::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_left_for_the_writer_and_the_rest() {
        assert_eq!([1, 2, 4, 8, 16].map(default_threads), [0, 1, 3, 6, 14]);
    }
}
