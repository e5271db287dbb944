//! Alpha-beta: a search by depth for games of two roles in turns whose gains oppose.
//!
//! Principal variation search with iterative deepening, over families: one pass of the lanes gives
//! a node all its children with their ends, and the evaluation their static scores. Threads share
//! one table and search the same root; moves that another thread searches come last in a node (Tom
//! Kerrigan, Simplified ABDADA). The values come from an evaluation that was trained for this
//! search, or from that of the tree.
//!
//! Modules, in reading order:
//! * `score`: what positions are worth; `entry`: what the table knows of them;
//! * `frame`: a node on the path, and the order of its moves;
//! * `root`: the moves of the root;
//! * `searcher`: the nodes, on one thread, and in `selective` what it searches less or more;
//!   `threads` and `rest`: how threads work in runs and rest between them;
//! * `training`: TD-leaf, which trains an evaluation by games of this search;
//! * `search`: it as one of the searches of this crate.
//!
//! It applies to games in which two roles take turns ([`Turns`]) and the sum of goals is fixed, as
//! an evaluation of a single output says.
//!
//! Invariants: a proven result holds with best play; with one thread, a state, an evaluation and a
//! limit in nodes give the same search; a search never holds more memory than its table and some
//! hundred frames.
//!
//! Never uses: the game graph, GDL.

mod entry;
mod frame;
mod rest;
mod root;
mod score;
mod search;
mod searcher;
mod threads;
mod training;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use self::rest::Found;
use self::root::RootMove;
use self::score::PROVEN;
use self::searcher::NodeSearch;
use self::threads::Threads;
use crate::parameters::AlphaBetaParameters;
use panza_gdl::MoveId;
use panza_learning::Evaluation;
use panza_machine::Machine;
use panza_sync::{Budget, Claims, HAS_THREADS, Table};

pub(super) use self::search::AlphaBetaSearch;
pub use self::training::{LeafTraining, train_leaves};
pub use crate::turns::Turns;
pub use crate::values::{AlphaBetaValues, TrainingBase, Units};

/// Depths of a search, at most.
const MAX_DEPTH: i32 = 100;
/// The part of the memory of a search that the table may take.
const TABLE_PART: usize = 4;

/// Counters since a search was made.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Counts {
    /// Positions entered, those in quiescence search included.
    nodes: u64,
    /// Positions entered in quiescence search.
    quiet_nodes: u64,
    /// Nodes left by an entry of the table, and by their static score.
    table_cuts: u64,
    /// See `table_cuts`.
    static_cuts: u64,
    /// Nodes that a move refuted, and those that the first move did.
    cuts: u64,
    /// See `cuts`.
    first_cuts: u64,
    /// Moves searched to less depth first, and those of them that were searched again.
    reduced: u64,
    /// See `reduced`.
    searched_again: u64,
    /// Nodes cut by probcut.
    probable_cuts: u64,
    /// Singular moves, which were searched deeper.
    singular: u64,
    /// Nodes in which both roles choose, where the search has no meaning.
    simultaneous: u64,
    /// The longest path from the present state, in joint moves without forced ones.
    deepest: u32,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.nodes += other.nodes;
        self.quiet_nodes += other.quiet_nodes;
        self.table_cuts += other.table_cuts;
        self.static_cuts += other.static_cuts;
        self.cuts += other.cuts;
        self.first_cuts += other.first_cuts;
        self.reduced += other.reduced;
        self.searched_again += other.searched_again;
        self.probable_cuts += other.probable_cuts;
        self.singular += other.singular;
        self.simultaneous += other.simultaneous;
        self.deepest = self.deepest.max(other.deepest);
    }
}

impl AlphaBetaParameters {
    /// Nothing that changes the result of a minimax search to the same depth.
    const PLAIN: Self = Self {
        quiescence: 0,
        reductions: 0.0,
        late_pruning: 0.0,
        reverse_futility: 0.0,
        futility: 0.0,
        probcut: 0.0,
        singular: 0.0,
        continuation: 0.0,
        unknown_move: 0,
        trend: 0.0,
        sharing: 0,
        ..Self::USUAL
    };

    /// As training searches: nothing is left out.
    const TRAINING: Self = Self {
        quiescence: 4,
        sharing: 1,
        ..Self::PLAIN
    };
}

/// What the search runs with.
#[derive(Clone, Debug)]
struct AlphaBetaConfig {
    /// Static values.
    values: AlphaBetaValues,
    /// Bytes of the table, at most.
    table_bytes: usize,
    /// Threads that search. With 0, and where there are no threads, the calling thread searches; a
    /// depth that it does not finish in a run is begun again in the next one.
    threads: usize,
    parameters: AlphaBetaParameters,
}

/// What a search has found about its root.
#[derive(Clone, PartialEq, Debug, Default)]
struct AlphaBetaReport {
    /// The best move of the role that chooses.
    best: Option<MoveId>,
    /// The role that chooses, 0 or 1; `None` before a search and where none does.
    mover: Option<usize>,
    /// The mover's share of the goals, 0 to 1; that of the first role where no role chooses.
    share: f32,
    /// Whether `share` is the result of best play: a win or a loss.
    is_proven: bool,
    /// The last depth that was searched in full.
    depth: u32,
    /// The longest line that was searched, in joint moves.
    selective_depth: u32,
    /// The mover's moves, the best first and the others by their nodes.
    moves: Vec<RootMove>,
}

/// The search of a game by depth.
struct AlphaBeta {
    machine: Arc<dyn Machine>,
    config: AlphaBetaConfig,
    threads: Threads,
    /// Follows lines.
    reader: NodeSearch,
    table: Arc<Table>,
    state: Vec<u64>,
    /// What the first of the threads that have got deepest has found.
    found: Found,
    counts: Counts,
    processor_time: Duration,
    /// Both of threads that have ended.
    earlier: (Counts, Duration),
}

impl AlphaBeta {
    /// A search of the initial state. `None` where the evaluation has no fixed sum of goals, so
    /// that one role's gain may not be the other's loss, and where the system gives no thread.
    fn new(machine: &Arc<dyn Machine>, config: &AlphaBetaConfig) -> Option<Self> {
        let evaluation = &config.values.evaluation;
        if evaluation.n_outputs() != 1 || evaluation.n_roles() != 2 {
            return None;
        }
        let table = Arc::new(Table::new(config.table_bytes));
        let (threads, reader) = start(machine, config, &table)?;
        let mut search = Self {
            machine: Arc::clone(machine),
            config: config.clone(),
            threads,
            reader,
            table,
            state: Vec::new(),
            found: Found::default(),
            counts: Counts::default(),
            processor_time: Duration::ZERO,
            earlier: (Counts::default(), Duration::ZERO),
        };
        search.set_state(&machine.initial_state());
        Some(search)
    }

    /// Goes to a state of the game, with other weights of the evaluation. The table is kept: what
    /// it knows of the earlier weights is near to what these would give.
    fn set_state_and_evaluation(&mut self, state: &[u64], evaluation: &Evaluation) {
        self.config.values.evaluation = Arc::new(evaluation.clone());
        if let Some(found) = start(&self.machine, &self.config, &self.table) {
            (self.threads, self.reader) = found;
            let counts = Counts {
                deepest: 0,
                ..self.counts
            };
            self.earlier = (counts, self.processor_time);
        }
        self.set_state(state);
    }

    /// Goes to a state of the game. The table is kept.
    fn set_state(&mut self, state: &[u64]) {
        self.state.clear();
        self.state.extend_from_slice(state);
        self.threads.set_state(state);
        self.found = Found::default();
        self.counts.deepest = 0;
    }

    /// Searches deeper and deeper within a budget, whose steps are nodes of each thread, up to
    /// `max_depth`. A later call goes on where this one ended. Returns whether there is nothing
    /// left to search.
    fn run(&mut self, budget: &Budget, max_depth: u32) -> bool {
        let max_depth = i32::try_from(max_depth).unwrap_or(i32::MAX).min(MAX_DEPTH);
        let Self {
            found,
            counts,
            processor_time,
            earlier,
            ..
        } = self;
        let mut is_finished = false;
        self.threads.run(budget, max_depth, |all| {
            let deepest = all.iter().rev().max_by_key(|found| found.depth);
            if let Some(deepest) = deepest {
                found.clone_from(deepest);
            }
            *counts = earlier.0;
            all.iter().for_each(|found| counts.add(&found.counts));
            let spent = all.iter().map(|found| found.processor_time);
            *processor_time = spent.fold(earlier.1, |sum, it| sum + it);
            is_finished = all.iter().any(|found| found.is_finished);
        });
        is_finished || self.is_settled() || self.found.depth >= max_depth
    }

    /// The processor time of all threads since the search was made, where the system reports it.
    fn processor_time(&self) -> Duration {
        self.processor_time
    }

    /// Whether the result is proven and cannot be had sooner.
    fn is_settled(&self) -> bool {
        NodeSearch::is_settled(self.found.score, self.found.depth)
    }

    /// Counters since the search was made, of all threads.
    fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes of the table.
    fn n_bytes(&self) -> usize {
        self.table.n_bytes()
    }

    /// What is known of the state.
    fn report(&self) -> AlphaBetaReport {
        let found = &self.found;
        let Some(best) = found.root.best else {
            return AlphaBetaReport {
                share: score::share(found.score),
                is_proven: found.score.abs() > PROVEN,
                depth: found.depth as u32,
                ..AlphaBetaReport::default()
            };
        };
        let sign = if found.mover == 0 { 1 } else { -1 };
        let mut moves = found.root.moves.clone();
        moves.sort_by_key(|known| (known.mv != best, u64::MAX - known.nodes));
        AlphaBetaReport {
            best: Some(best),
            mover: Some(found.mover),
            share: score::share(sign * found.score),
            is_proven: found.score.abs() > PROVEN,
            depth: found.depth as u32,
            selective_depth: self.counts.deepest,
            moves,
        }
    }

    /// A move of the root and the moves with which both roles go on, as far as the table knows
    /// them. Empty where the move is not legal.
    fn line(&mut self, mv: MoveId) -> Vec<MoveId> {
        let most = self.found.depth.max(1) as usize;
        self.reader.line(&self.state, mv, most)
    }
}

/// The threads of a search, and what follows its lines. `None` where the system gives no thread.
fn start(
    machine: &Arc<dyn Machine>,
    config: &AlphaBetaConfig,
    table: &Arc<Table>,
) -> Option<(Threads, NodeSearch)> {
    let values = &config.values;
    let claims = (config.threads > 1).then(|| Arc::new(Claims::new()));
    let searcher = || {
        let (evaluation, turns) = (&values.evaluation, values.turns);
        let mut searcher = NodeSearch::new(machine, evaluation, table, turns, config.parameters);
        searcher.units = values.units;
        searcher.claims.clone_from(&claims);
        searcher
    };
    let threads = match HAS_THREADS && config.threads > 0 {
        true => Threads::start((0..config.threads).map(|_| searcher())),
        false => Threads::of_caller(searcher()),
    };
    (!threads.is_empty()).then(|| (threads, searcher()))
}
