//! A search of one position, and its proof.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use panza_game::BuiltGame;
use panza_gdl::{Id, RoleId};
use panza_learning::Evaluation;
use panza_planner::{Findings, Planner, PlannerConfig, PlanningGame};
use panza_search::{
    LineLimits, MINIMAX_SHARE, Method, Search, SearchConfig, SearchReport, WhyTree, start,
};
use panza_sync::Budget;

/// How a position is searched.
#[derive(Clone, Debug)]
pub struct SearchOptions {
    /// The role that the search is for.
    pub role: usize,
    /// Iterations, if they are bounded.
    pub iterations: Option<u64>,
    /// The time, if it is bounded.
    pub time: Option<Duration>,
    /// Threads. With one, a seed and a number of iterations give the same result every time.
    pub threads: usize,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Weight of exploration.
    pub exploration: f32,
    /// Expansions of the proof-number search for each iteration.
    pub proof_effort: f32,
    /// Bytes of the graph.
    pub memory: usize,
    /// A learned evaluation, and its weight against playouts.
    pub evaluation: Option<(Arc<Evaluation>, f32)>,
    /// Which search it is.
    pub method: Method,
    /// The settings of searches that a study of both has found.
    pub learned: Option<Box<SearchConfig>>,
}

/// The lines that are told, at most.
const LINES: LineLimits = LineLimits {
    lines: 3,
    moves: 64,
};

impl SearchOptions {
    /// A tree at the initial state.
    pub fn start_tree(&self, game: &BuiltGame) -> Search {
        let role = RoleId::from_index(self.role);
        Search::new(Arc::clone(&game.machine), role, self.config())
    }

    fn config(&self) -> SearchConfig {
        let (evaluation, share) = match &self.evaluation {
            Some((evaluation, share)) => (Some(Arc::clone(evaluation)), *share),
            None => (None, 0.0),
        };
        let config = SearchConfig {
            method: self.method,
            exploration: self.exploration,
            rollout_threads: self.threads - 1,
            samples_per_request: u32::from(self.threads == 1),
            proof_effort: self.proof_effort,
            max_bytes: self.memory,
            max_nodes: 1 << 26,
            minimax_share: if share > 0.0 { MINIMAX_SHARE } else { 0.0 },
            evaluation,
            evaluation_share: share,
            ..SearchConfig::deterministic(self.seed)
        };
        match &self.learned {
            Some(learned) => config.with_values_of(learned),
            None => config,
        }
    }
}

/// Searches a position.
///
/// # Errors
/// Alpha-beta was asked for and does not play the game.
pub fn search(
    game: &BuiltGame,
    state: &[u64],
    options: &SearchOptions,
    stop: &Arc<AtomicBool>,
) -> Result<SearchReport, WhyTree> {
    let role = RoleId::from_index(options.role);
    let started = start(&game.machine, role, state, &options.config());
    let mut search = started.as_asked(options.method)?;
    search.run(
        &Budget::generous()
            .until(options.time.map(|time| Instant::now() + time))
            .with_steps(options.iterations.unwrap_or(u64::MAX))
            .stopped_by(stop),
    );
    search.settle();
    Ok(search.report(LINES))
}

/// Looks for the best plan of a game of one role. `None` where several roles play.
pub fn plan(
    game: &BuiltGame,
    state: &[u64],
    time: Duration,
    options: &SearchOptions,
    stop: &Arc<AtomicBool>,
) -> Option<Findings> {
    let planning = PlanningGame::new(&game.machine, game.network.as_ref())?;
    let config = PlannerConfig {
        threads: options.threads,
        max_bytes: options.memory,
        seed: options.seed,
    };
    let mut planner = Planner::new(&planning, state, config);
    let until = Instant::now() + time;
    while !stop.load(Ordering::Relaxed) {
        planner.run(until, stop);
        let findings = planner.findings();
        if findings.is_best || findings.is_finished || Instant::now() >= until {
            break;
        }
    }
    Some(planner.findings().clone())
}
