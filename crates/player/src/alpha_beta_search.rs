//! Alpha-beta as the search of a match.
//!
//! On the time of the opponent its evaluation is trained further, by games from the present state.
//! That is worth more than to search on: see docs/experiments.md.
//!
//! Invariants: the search of the present state goes on from call to call; its table is kept over
//! the match; its evaluation changes between states only.
//!
//! Never uses: the game graph.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::searcher::Searcher;
use super::studies::StudyOf;
use super::tree_search::MAX_SAMPLED_MOVES;
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Machine, Reasoner};
use panza_metagame::joint_line;
use panza_search::alpha_beta::{AlphaBeta, AlphaBetaConfig, DepthReport, MatchTraining};
use panza_search::{MoveStats, SearchConfig};
use panza_sync::{Budget, HAS_THREADS, Instant};
use panza_telemetry::SearchSample;

/// Bytes of the table, at most, and its part of the memory that a search may take.
const MAX_TABLE_BYTES: usize = 128 << 20;
const TABLE_PART: usize = 4;
/// Nodes of the first search of a state.
const FIRST_NODES: u64 = 100;
/// Nodes by which a state is searched before the time in it is used for training.
const NODES_BEFORE_TRAINING: u64 = 5_000;
/// How long a search that has nothing left to do waits at a time.
const REST: Duration = Duration::from_millis(10);

/// The search of a match by depth.
pub(super) struct AlphaBetaSearch {
    machine: Arc<dyn Machine>,
    reasoner: Box<dyn Reasoner>,
    role: RoleId,
    state: Vec<u64>,
    /// The sum of the goals.
    sum: f32,
    search: AlphaBeta,
    /// Our value by the last search that reached a depth.
    last_value: Option<f32>,
    /// Whether every depth was searched.
    is_exhausted: bool,
    /// What training begins with, until it does.
    untrained: Option<AlphaBetaConfig>,
    /// The training of the evaluation, and its games when the search got its weights.
    training: Option<MatchTraining>,
    n_games_in_use: usize,
    /// Whether the state was searched enough to train in it.
    is_seen: bool,
}

impl AlphaBetaSearch {
    /// A search of `state`. `None` where the settings have no values for it, and where it does not
    /// apply.
    pub fn new(
        machine: &Arc<dyn Machine>,
        role: RoleId,
        state: &[u64],
        config: &SearchConfig,
    ) -> Option<Self> {
        let values = config.depth_values.clone()?;
        let sum = values.evaluation.scale();
        let settings = AlphaBetaConfig {
            values,
            table_bytes: (config.max_bytes / TABLE_PART).min(MAX_TABLE_BYTES),
            threads: config.rollout_threads + 1,
            switches: config.switches,
        };
        let mut search = AlphaBeta::new(machine, &settings)?;
        search.set_state(state);
        let mut reasoner = Arc::clone(machine).reasoner();
        reasoner.set_state(state);
        let mut found = Self {
            machine: Arc::clone(machine),
            reasoner,
            role,
            sum,
            search,
            state: state.to_vec(),
            last_value: None,
            is_exhausted: false,
            // Where there are no threads, a page would wait for the end of a game.
            untrained: HAS_THREADS.then_some(settings),
            training: None,
            n_games_in_use: 0,
            is_seen: false,
        };
        found.look();
        Some(found)
    }

    /// Searches so little that a move and a value are there at once.
    fn look(&mut self) {
        self.search.run(&Budget::of_steps(FIRST_NODES), 1);
        self.keep_value();
    }

    /// Games of training so far.
    fn training_games(&self) -> usize {
        self.training.as_ref().map_or(0, MatchTraining::n_games)
    }

    fn keep_value(&mut self) {
        let report = self.search.report();
        if report.depth > 0 {
            self.last_value = Some(self.value(report.mover, report.share));
        }
    }

    fn run(&mut self, budget: &Budget) {
        self.is_exhausted = self.search.run(budget, u32::MAX);
        self.keep_value();
    }

    /// Our value in points where the mover's share of the goals is known, or that of the first role
    /// where no role chooses.
    fn value(&self, mover: Option<usize>, share: f32) -> f32 {
        let is_ours = mover.unwrap_or(0) == self.role.index();
        let value = self.sum * if is_ours { share } else { 1.0 - share };
        value.clamp(0.0, 100.0)
    }

    fn stats(&self, report: &DepthReport, mv: MoveId, share: f32, nodes: u64) -> MoveStats {
        let value = self.value(report.mover, share);
        let goal = value.round() as u8;
        let is_proven = report.is_proven && report.best == Some(mv);
        MoveStats {
            visits: nodes as f64,
            value: Some(value),
            bounds: if is_proven { (goal, goal) } else { (0, 100) },
            is_proven_best: is_proven && self.search.is_settled(),
            ..MoveStats::new(mv)
        }
    }
}

impl Searcher for AlphaBetaSearch {
    fn name(&self) -> &'static str {
        "alpha-beta search"
    }

    fn study_of(&self) -> StudyOf {
        StudyOf::Game
    }

    fn search(&mut self, until: Instant, interrupt: &Arc<AtomicBool>) {
        while self.is_exhausted && !self.search.is_settled() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !HAS_THREADS || interrupt.load(Ordering::Acquire) {
                return;
            }
            thread::sleep(left.min(REST));
        }
        self.run(&Budget::generous().until(Some(until)).stopped_by(interrupt));
    }

    fn processor_time(&self) -> Duration {
        self.search.processor_time()
    }

    /// Trains where the other role chooses and the result is open.
    fn ponder(&mut self, until: Instant, interrupt: &Arc<AtomicBool>) {
        if !self.is_seen {
            self.is_seen = true;
            return self.run(
                &Budget::of_steps(NODES_BEFORE_TRAINING)
                    .until(Some(until))
                    .stopped_by(interrupt),
            );
        }
        let report = self.search.report();
        let is_theirs = report.mover.is_some_and(|it| it != self.role.index());
        let is_open = is_theirs && !report.is_proven && !self.is_exhausted;
        if let Some(begin) = self.untrained.take_if(|_| is_open) {
            self.training = MatchTraining::new(&self.machine, &begin.values, begin.threads);
        }
        match self.training.as_mut().filter(|_| is_open) {
            Some(training) => training.run(&self.state, until, interrupt),
            None => self.search(until, interrupt),
        }
    }

    /// An iteration is a node.
    fn search_iterations(&mut self, iterations: u64, interrupt: &Arc<AtomicBool>) {
        self.run(&Budget::of_steps(iterations).stopped_by(interrupt));
    }

    fn advance(&mut self, _: &[MoveId], state: &[u64]) {
        self.set_state(state);
    }

    fn set_state(&mut self, state: &[u64]) {
        (self.is_exhausted, self.is_seen) = (false, false);
        let n_games = self.training_games();
        match &self.training {
            Some(training) if n_games > self.n_games_in_use => {
                self.n_games_in_use = n_games;
                let evaluation = training.evaluation();
                self.search.set_state_and_evaluation(state, evaluation);
            }
            _ => self.search.set_state(state),
        }
        self.reasoner.set_state(state);
        self.state = state.to_vec();
        self.look();
    }

    fn best_move(&mut self) -> Option<MoveStats> {
        let legal = self.reasoner.legal_moves(self.role);
        let (first, count) = (*legal.first()?, legal.len());
        let report = self.search.report();
        let best = report.best.filter(|best| {
            let is_ours = report.mover == Some(self.role.index());
            is_ours && self.reasoner.is_legal(self.role, *best)
        });
        let nodes = self.search.counts().nodes;
        match best {
            Some(best) if count > 1 => Some(self.stats(&report, best, report.share, nodes)),
            _ => {
                let mut stats = self.stats(&report, first, report.share, nodes);
                stats.value = stats.value.filter(|_| report.depth > 0).or(self.last_value);
                stats.is_proven_best = self.search.is_settled();
                Some(stats)
            }
        }
    }

    fn line(&mut self, most: usize) -> Vec<Vec<MoveId>> {
        let best = self.search.report().best;
        let line = best.map(|best| self.search.line(best)).unwrap_or_default();
        let line = joint_line(&mut *self.reasoner, &self.state, &line, most);
        self.reasoner.set_state(&self.state);
        line
    }

    fn sample(&mut self) -> SearchSample {
        let report = self.search.report();
        let counts = self.search.counts();
        let best = self.best_move();
        let info = self.machine.info();
        let is_ours = report.mover == Some(self.role.index());
        let ranked = report.moves.iter().filter(|_| is_ours);
        let root_moves = ranked.take(MAX_SAMPLED_MOVES).map(|ranked| {
            let stats = self.stats(&report, ranked.mv, ranked.share, ranked.nodes);
            stats.named(info.move_text(ranked.mv))
        });
        SearchSample {
            iterations: counts.nodes,
            nodes: counts.nodes,
            depth: report.depth,
            selective_depth: report.selective_depth,
            training_games: self.training_games() as u32,
            root_moves: root_moves.collect(),
            best_move: best.map_or(String::new(), |best| info.move_text(best.mv)),
            best_value: self.last_value.map_or(f64::NAN, f64::from),
            ..SearchSample::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_learning::{Images, Known};
    use panza_search::alpha_beta::{DepthValues, TrainingBase};

    /// A search of a role at the initial state of a game that nothing was learned of.
    fn search_of(role: u32) -> AlphaBetaSearch {
        let machine = panza_testing::game("breakthrough").machine;
        let values = DepthValues::unknown(&machine).unwrap();
        let base = TrainingBase {
            known: Known {
                evaluation: (*values.evaluation).clone(),
                games: 0,
                sums: None,
            },
            images: Images::default(),
        };
        let config = SearchConfig {
            depth_values: Some(DepthValues {
                training: Some(Arc::new(base)),
                ..values
            }),
            ..SearchConfig::deterministic(1)
        };
        AlphaBetaSearch::new(&machine, RoleId(role), &machine.initial_state(), &config).unwrap()
    }

    /// Ponders until the state was looked at, and then for a tenth of a second.
    fn ponder(search: &mut AlphaBetaSearch) {
        search.ponder(Instant::now() + Duration::from_secs(60), &Arc::default());
        search.ponder(Instant::now() + Duration::from_millis(100), &Arc::default());
    }

    #[test]
    fn the_time_of_the_opponent_is_for_training() {
        let mut search = search_of(1);
        while search.sample().training_games == 0 {
            ponder(&mut search);
        }
        let (sample, nodes) = (search.sample(), search.search.counts().nodes);
        assert!(nodes >= NODES_BEFORE_TRAINING);

        // The first role moves; then the search has the new weights.
        let moves = [0, 1].map(|role| search.reasoner.legal_moves(RoleId(role))[0]);
        let mut next = Vec::new();
        search.reasoner.next_state(&moves, &mut next);
        search.advance(&moves, &next);
        assert_eq!(search.n_games_in_use, sample.training_games as usize);
        search.search_iterations(1_000, &Arc::default());
        let best = search.best_move().unwrap();
        assert!(search.reasoner.is_legal(RoleId(1), best.mv));
        assert!(search.search.counts().nodes >= nodes + 1_000);
        ponder(&mut search);
        assert_eq!(search.sample().training_games, sample.training_games);
    }

    #[test]
    fn our_own_time_is_for_the_search() {
        let mut search = search_of(0);
        ponder(&mut search);
        assert_eq!(search.sample().training_games, 0);
        assert!(search.sample().depth > 1);
    }
}
