//! Alpha-beta as one of the searches of this crate: for a role, in goals.
//!
//! On the time of the opponent its evaluation is trained further, by games from the present state.
//! That is worth more than to search on: see docs/strength.md.
//!
//! Invariants: the search of a state goes on from call to call; its table is kept; its evaluation
//! changes between states only.
//!
//! Never uses: the game graph.

use std::sync::Arc;
use std::time::Duration;

use super::root::RootMove;
use super::score;
use super::training::MatchTraining;
use super::{AlphaBeta, AlphaBetaConfig, AlphaBetaReport, AlphaBetaValues, Counts, TABLE_PART};
use crate::config::{IterationTimes, SearchStatistics, StopReason};
use crate::searcher::{Line, LineLimits, SearchReport, Searcher};
use crate::{Method, MoveStats, RoleOutlook, SearchConfig, WhyTree};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Machine, Reasoner};
use panza_sync::{Budget, HAS_THREADS};

/// Nodes of a glance at a state.
const GLANCE_NODES: u64 = 100;
/// Nodes by which a state is searched before the time in it is used for training.
const NODES_BEFORE_TRAINING: u64 = 5_000;

/// Alpha-beta for a role.
pub(crate) struct AlphaBetaSearch {
    machine: Arc<dyn Machine>,
    reasoner: Box<dyn Reasoner>,
    role: RoleId,
    state: Vec<u64>,
    /// The sum of the goals.
    sum: f32,
    search: AlphaBeta,
    /// Our value by the last search that reached a depth, also of an earlier state.
    last_value: Option<f32>,
    /// Nodes of earlier states.
    nodes_before: u64,
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
    /// A search of `state`.
    ///
    /// # Errors
    /// The evaluation has no fixed sum of goals, or the system gives no thread.
    pub fn new(
        machine: &Arc<dyn Machine>,
        role: RoleId,
        state: &[u64],
        values: AlphaBetaValues,
        config: &SearchConfig,
    ) -> Result<Self, WhyTree> {
        let sum = values.evaluation.scale();
        let settings = AlphaBetaConfig {
            values,
            table_bytes: (config.max_bytes / TABLE_PART).min(config.alpha_beta.table_bytes),
            threads: config.rollout_threads + 1,
            parameters: config.alpha_beta,
        };
        let search = AlphaBeta::new(machine, &settings).ok_or(WhyTree::SumNotFixed)?;
        // Where there are no threads, a page would wait for the end of a game.
        let trains = HAS_THREADS && config.alpha_beta.training > 0;
        let mut found = Self {
            machine: Arc::clone(machine),
            reasoner: Arc::clone(machine).reasoner(),
            role,
            state: Vec::new(),
            sum,
            search,
            last_value: None,
            nodes_before: 0,
            is_exhausted: false,
            untrained: trains.then_some(settings),
            training: None,
            n_games_in_use: 0,
            is_seen: false,
        };
        found.set_state(state);
        Ok(found)
    }

    /// Games of training so far.
    fn training_games(&self) -> usize {
        self.training.as_ref().map_or(0, MatchTraining::n_games)
    }

    fn keep_value(&mut self) {
        let report = self.search.report();
        if report.depth > 0 {
            self.last_value = Some(self.value(&report, self.role.index(), report.share));
        }
    }

    /// The value of a role where the mover has this share of the goals, or the first role where no
    /// role chooses.
    fn value(&self, report: &AlphaBetaReport, role: usize, share: f32) -> f32 {
        let is_movers = report.mover.unwrap_or(0) == role;
        let value = self.sum * if is_movers { share } else { 1.0 - share };
        value.clamp(0.0, 100.0)
    }

    /// What is known of one of our moves, after which the mover has this share. A proof is of the
    /// best one.
    fn stats(&self, report: &AlphaBetaReport, mv: MoveId, share: f32, nodes: u64) -> MoveStats {
        let value = self.value(report, self.role.index(), share);
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

    /// What is known of a move of the root.
    fn stats_of(&self, report: &AlphaBetaReport, known: &RootMove) -> MoveStats {
        MoveStats {
            is_bound: !known.is_exact,
            ..self.stats(report, known.mv, score::share(known.score), known.nodes)
        }
    }

    /// Whether the moves of a report are ours, in this state: where we have one move, the search
    /// goes on to the next choice.
    fn chooses(&mut self, report: &AlphaBetaReport) -> bool {
        report.mover == Some(self.role.index())
            && self.reasoner.legal_moves(self.role).len() > 1
            && (report.best).is_none_or(|best| self.reasoner.is_legal(self.role, best))
    }

    fn lines(&mut self, report: &AlphaBetaReport, limits: LineLimits) -> Vec<Line> {
        // The best line has an exact value. Bounds of the other role would be lower ones.
        let is_ours = report.mover == Some(self.role.index());
        let n_lines = if is_ours {
            limits.lines
        } else {
            limits.lines.min(1)
        };
        let mut lines = Vec::with_capacity(n_lines);
        for known in report.moves.iter().take(n_lines) {
            let moves = self.search.line(known.mv);
            let reasoner = &mut *self.reasoner;
            let joint_moves = joint_line(reasoner, &self.state, &moves, limits.moves);
            let first = self.stats_of(report, known);
            lines.push(Line { first, joint_moves });
        }
        self.reasoner.set_state(&self.state);
        lines
    }
}

impl Searcher for AlphaBetaSearch {
    fn method(&self) -> Method {
        Method::AlphaBeta
    }

    fn run(&mut self, budget: &Budget) -> StopReason {
        self.is_exhausted = self.search.run(budget, u32::MAX);
        self.keep_value();
        match () {
            () if self.search.is_settled() => StopReason::Proven,
            () if self.is_exhausted => StopReason::Exhausted,
            () if budget.is_stopped() => StopReason::Flag,
            () if budget.is_over() => StopReason::Deadline,
            () => StopReason::Iterations,
        }
    }

    fn glance(&mut self) {
        self.search.run(&Budget::of_steps(GLANCE_NODES), 1);
        self.keep_value();
    }

    /// Trains where the other role chooses and the result is open.
    fn ponder(&mut self, budget: &Budget) -> StopReason {
        if !self.is_seen {
            self.is_seen = true;
            return self.run(&budget.with_steps(NODES_BEFORE_TRAINING));
        }
        let report = self.search.report();
        let is_theirs = report.mover.is_some_and(|it| it != self.role.index());
        let is_open = is_theirs && !report.is_proven && !self.is_exhausted;
        if let Some(begin) = self.untrained.take_if(|_| is_open) {
            self.training = MatchTraining::new(&self.machine, &begin.values, begin.threads);
        }
        match self.training.as_mut().filter(|_| is_open) {
            Some(training) => {
                training.run(&self.state, budget);
                StopReason::Deadline
            }
            None => self.run(budget),
        }
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
        self.state.clear();
        self.state.extend_from_slice(state);
        self.nodes_before = self.search.counts().nodes;
    }

    fn set_role(&mut self, role: RoleId) {
        if role != self.role && role.index() < 2 {
            self.role = role;
            self.last_value = self.last_value.map(|value| self.sum - value);
        }
    }

    fn choose(&mut self) -> Option<MoveStats> {
        let first = *self.reasoner.legal_moves(self.role).first()?;
        let report = self.search.report();
        let nodes = self.search.counts().nodes;
        let best = report.best.filter(|_| self.chooses(&report));
        let stats = self.stats(&report, best.unwrap_or(first), report.share, nodes);
        match best {
            Some(_) => Some(stats),
            None => Some(MoveStats {
                value: stats.value.filter(|_| report.depth > 0).or(self.last_value),
                is_proven_best: self.search.is_settled(),
                ..stats
            }),
        }
    }

    fn report(&mut self, limits: LineLimits) -> SearchReport {
        let found = self.search.report();
        let counts = self.search.counts();
        let chooses = self.chooses(&found);
        let is_known = found.depth > 0;
        let outlook = [0, 1].map(|role| {
            let value = self.value(&found, role, found.share);
            let goal = value.round() as u8;
            let is_proven = found.is_proven && is_known;
            RoleOutlook {
                value: is_known.then_some(value),
                bounds: if is_proven { (goal, goal) } else { (0, 100) },
            }
        });
        let ranked = found.moves.iter().filter(|_| chooses);
        let moves = ranked.map(|known| self.stats_of(&found, known)).collect();
        let ours = outlook[self.role.index()];
        let nodes = counts.nodes - self.nodes_before;
        let best = self.choose().map(|stats| stats.mv);
        SearchReport {
            method: Method::AlphaBeta,
            steps: nodes,
            playouts: 0,
            nodes,
            bytes: self.search.n_bytes(),
            depth: found.depth,
            selective_depth: found.selective_depth,
            best,
            value: ours.value,
            proven: ours.proven(),
            roles: outlook.to_vec(),
            moves,
            outcomes: Vec::new(),
            lines: self.lines(&found, limits),
            sum: Some(self.sum as u16),
            times: IterationTimes::default(),
            shares: shares(&counts).to_vec(),
        }
    }

    fn statistics(&self) -> SearchStatistics {
        let nodes = self.search.counts().nodes;
        SearchStatistics {
            iterations: nodes,
            bytes: self.search.n_bytes(),
            training_games: self.training_games() as u64,
            ..SearchStatistics::default()
        }
    }

    fn processor_time(&self) -> Duration {
        self.search.processor_time()
    }
}

/// Shares of the nodes that are in quiescence, known by the table or cut by their static score; of
/// the cuts that the first move makes; and of the reduced searches that are searched again.
fn shares(counts: &Counts) -> [(&'static str, f64); 5] {
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    [
        ("quiescence", share(counts.quiet_nodes, counts.nodes)),
        ("known_by_table", share(counts.table_cuts, counts.nodes)),
        ("static_enough", share(counts.static_cuts, counts.nodes)),
        ("cuts_by_first_move", share(counts.first_cuts, counts.cuts)),
        (
            "reduced_searched_again",
            share(counts.searched_again, counts.reduced),
        ),
    ]
}

/// The joint moves of a line of moves in turns from a state, with the forced ones between them:
/// `most` joint moves at most. It ends before a move that is not legal.
fn joint_line(
    reasoner: &mut dyn Reasoner,
    state: &[u64],
    line: &[MoveId],
    most: usize,
) -> Vec<Vec<MoveId>> {
    let (mut state, mut next) = (state.to_vec(), Vec::new());
    let mut line = line.iter().peekable();
    let mut joint_moves = Vec::new();
    while let Some(&&mv) = line.peek()
        && joint_moves.len() < most
    {
        reasoner.set_state(&state);
        let legal = [0, 1].map(|role| reasoner.legal_moves(RoleId(role)).to_vec());
        let [Some(&first), Some(&second)] = [legal[0].first(), legal[1].first()] else {
            break;
        };
        let mut joint_move = vec![first, second];
        match legal.iter().position(|moves| moves.len() > 1) {
            Some(mover) if legal[mover].contains(&mv) => {
                joint_move[mover] = mv;
                line.next();
            }
            Some(_) => break,
            // No role chooses.
            None => {}
        }
        next.clear();
        reasoner.next_state(&joint_move, &mut next);
        std::mem::swap(&mut state, &mut next);
        joint_moves.push(joint_move);
    }
    joint_moves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alpha_beta::TrainingBase;
    use panza_learning::{Images, Known};

    /// A search of a role at the initial state of a game that nothing was learned of.
    fn search_of(role: u32) -> AlphaBetaSearch {
        let machine = panza_testing::game("breakthrough").machine;
        let values = AlphaBetaValues::unknown(&machine).unwrap();
        let base = TrainingBase {
            known: Known {
                evaluation: (*values.evaluation).clone(),
                games: 0,
                sums: None,
            },
            images: Images::default(),
        };
        let values = AlphaBetaValues {
            training: Some(Arc::new(base)),
            ..values
        };
        let (state, config) = (machine.initial_state(), SearchConfig::deterministic(1));
        AlphaBetaSearch::new(&machine, RoleId(role), &state, values, &config).unwrap()
    }

    /// Ponders until the state was looked at, and then for a tenth of a second.
    fn ponder(search: &mut AlphaBetaSearch) {
        search.ponder(&Budget::lasting(Duration::from_secs(60)));
        search.ponder(&Budget::lasting(Duration::from_millis(100)));
    }

    #[test]
    fn the_time_of_the_opponent_is_for_training() {
        let mut search = search_of(1);
        while search.training_games() == 0 {
            ponder(&mut search);
        }
        let (n_games, nodes) = (search.training_games(), search.search.counts().nodes);
        assert!(nodes >= NODES_BEFORE_TRAINING);

        // The first role moves; then the search has the new weights.
        let moves = [0, 1].map(|role| search.reasoner.legal_moves(RoleId(role))[0]);
        let mut next = Vec::new();
        search.reasoner.next_state(&moves, &mut next);
        search.advance(&moves, &next);
        assert_eq!(search.n_games_in_use, n_games);
        search.run(&Budget::of_steps(1_000));
        let best = search.choose().unwrap();
        assert!(search.reasoner.is_legal(RoleId(1), best.mv));
        assert!(search.search.counts().nodes >= nodes + 1_000);
        ponder(&mut search);
        assert_eq!(search.training_games(), n_games);
    }

    #[test]
    fn our_own_time_is_for_the_search() {
        let mut search = search_of(0);
        ponder(&mut search);
        assert_eq!(search.training_games(), 0);
        assert!(search.report(LineLimits::NONE).depth > 1);
    }

    #[test]
    fn a_line_has_the_moves_of_both_roles() {
        let machine = panza_testing::game("ticTacToe").machine;
        let info = machine.info();
        let find = |(role, text)| info.find_move(RoleId(role), text).unwrap();
        // The third mark is of a cell that is taken.
        let line = [(0, "(mark 1 1)"), (1, "(mark 2 2)"), (0, "(mark 2 2)")].map(find);
        let mut reasoner = Arc::clone(&machine).reasoner();
        let state = machine.initial_state();
        let joint = joint_line(&mut *reasoner, &state, &line, 9);
        let texts: Vec<Vec<String>> = joint
            .iter()
            .map(|joint| joint.iter().map(|&mv| info.move_text(mv)).collect())
            .collect();
        assert_eq!(texts, [["(mark 1 1)", "noop"], ["noop", "(mark 2 2)"]]);
        assert_eq!(joint_line(&mut *reasoner, &state, &line, 1).len(), 1);
    }
}
