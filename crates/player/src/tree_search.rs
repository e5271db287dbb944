//! The tree search of a match, and its settings.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use super::searcher::Searcher;
use super::studies::StudyOf;
use panza_config::{SearchMethod, SearchSettings};
use panza_gdl::{MoveId, RoleId};
use panza_machine::{GameInfo, Machine, PlayoutTotals};
use panza_search::{
    Method, MoveStats, RootEstimates, RootReport, Search, SearchConfig, StopReason,
};
use panza_sync::{Budget, Instant, Random, Stopwatch};
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
/// Root moves in a sample.
pub(super) const MAX_SAMPLED_MOVES: usize = 32;

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
        samples_per_request: u32::try_from(settings.samples_per_request).unwrap_or(u32::MAX),
        ring_capacity: settings.ring_capacity,
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
pub(super) fn stage_times(search: &Search) -> StageTimes {
    let statistics = search.statistics();
    let times = search.times();
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

/// The search of the whole game in a state, with settings that fit the machine.
pub fn whole_search(
    machine: &Arc<dyn Machine>,
    role: RoleId,
    state: &[u64],
    mut config: SearchConfig,
) -> Search {
    if config.rollout_threads == 0 && config.samples_per_request == 0 {
        config.samples_per_request =
            own_samples(machine, state, config.max_playout_steps).unwrap_or(1);
    }
    if machine.kind() == "prover" {
        // It generates one child at a time, which may take longer than a clock allows.
        config.proof_effort = 0.0;
    }
    let mut search = Search::new(Arc::clone(machine), role, config);
    if state != machine.initial_state() {
        search.set_state(state);
    }
    search
}

/// The root moves for a sample, in the order of the report.
pub(super) fn root_moves(info: &dyn GameInfo, root: &RootReport) -> Vec<MoveStats<String>> {
    let moves = root.moves.iter().take(MAX_SAMPLED_MOVES);
    let named = moves.map(|stats| stats.named(info.move_text(stats.mv)));
    named.collect()
}

/// The tree search of a match.
pub(super) struct TreeSearch {
    machine: Arc<dyn Machine>,
    search: Search,
    is_proven: bool,
}

impl TreeSearch {
    /// A search of `state`.
    pub fn new(
        machine: &Arc<dyn Machine>,
        role: RoleId,
        state: &[u64],
        config: SearchConfig,
    ) -> Self {
        let search = whole_search(machine, role, state, config);
        Self {
            machine: Arc::clone(machine),
            search,
            is_proven: false,
        }
    }
}

impl Searcher for TreeSearch {
    fn name(&self) -> &'static str {
        "search"
    }

    fn study_of(&self) -> StudyOf {
        StudyOf::Game
    }

    fn search(&mut self, until: Instant, interrupt: &Arc<AtomicBool>) {
        if interrupt.load(Ordering::Acquire) {
            return;
        }
        let limit = Budget::generous().until(Some(until)).stopped_by(interrupt);
        self.is_proven = self.search.run(&limit) == StopReason::Proven;
    }

    fn search_iterations(&mut self, iterations: u64, interrupt: &Arc<AtomicBool>) {
        let limit = Budget::of_steps(iterations).stopped_by(interrupt);
        self.is_proven = self.search.run(&limit) == StopReason::Proven;
    }

    fn advance(&mut self, joint_move: &[MoveId], _: &[u64]) {
        self.is_proven = false;
        self.search.advance(joint_move);
    }

    fn set_state(&mut self, state: &[u64]) {
        self.is_proven = false;
        self.search.set_state(state);
    }

    fn best_move(&mut self) -> Option<MoveStats> {
        let best = self.search.best_move()?;
        let root = self.search.root();
        let stats = root.moves.into_iter().find(|stats| stats.mv == best);
        let stats = stats.unwrap_or(MoveStats::new(best));
        Some(MoveStats {
            value: stats.value.or(root.value),
            is_proven_best: self.is_proven,
            ..stats
        })
    }

    fn line(&mut self, most: usize) -> Vec<Vec<MoveId>> {
        self.search.principal_line(most)
    }

    fn estimates(&mut self) -> Option<RootEstimates> {
        self.search.estimates()
    }

    fn sample(&mut self) -> SearchSample {
        let statistics = self.search.statistics();
        let root = self.search.root();
        let best = self.search.best_move();
        let root_moves = root_moves(self.machine.info(), &root);
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        SearchSample {
            iterations: statistics.iterations,
            playouts: statistics.playouts,
            nodes: u64::from(statistics.nodes),
            pool_used: ratio(
                f64::from(statistics.nodes),
                f64::from(statistics.node_limit),
            ),
            request_rings: ratio(
                f64::from(statistics.queued_requests),
                f64::from(statistics.ring_slots),
            ),
            result_rings: ratio(
                f64::from(statistics.queued_results),
                f64::from(statistics.ring_slots),
            ),
            times: stage_times(&self.search),
            samples_per_request: ratio(statistics.playouts as f64, statistics.iterations as f64),
            best_move: best.map_or(String::new(), |best| self.machine.info().move_text(best)),
            best_value: root.value.map_or(f64::NAN, f64::from),
            root_moves,
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
