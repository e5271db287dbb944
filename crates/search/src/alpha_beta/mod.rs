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
//! * `turns`: whose turn it is; `frame`: a node on the path, and the order of its moves;
//! * `switches`: what can be switched off; `root`: the moves of the root;
//! * `searcher`: the nodes, on one thread, and in `selective` what it searches less or more;
//! * `training`: TD-leaf, which trains an evaluation by games of this search.
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
mod root;
mod score;
mod searcher;
mod switches;
mod training;
mod turns;

#[cfg(test)]
mod tests;

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use self::score::{INFINITE, PROVEN, Score, WIN, Window};
use self::searcher::{Limits, Searcher};
use panza_gdl::MoveId;
use panza_learning::evaluation::{Row, Weights};
use panza_learning::{Evaluation, fixed_sum};
use panza_machine::Machine;
use panza_sync::{Budget, Claims, Random, Table, spawn_scoped};

pub use self::switches::Switches;
pub use self::training::{LeafTraining, train_leaves};
pub use self::turns::Turns;

/// Depths from which on the window is narrow at first.
const NARROW_DEPTH: i32 = 4;
/// The first width of a narrow window, at least, and the width from which on it is full.
const MIN_WIDTH: Score = 20;
const MAX_WIDTH: Score = 3_000;
/// Depths of a search, at most.
const MAX_DEPTH: i32 = 100;

/// What static scores are counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Units {
    /// The change by a move that seven of ten moves do not exceed, beside `turn`.
    pub change: i32,
    /// The median change by a move, as seen by its mover: what it is worth to have moved.
    pub turn: i32,
}

impl Default for Units {
    fn default() -> Self {
        Self {
            change: 40,
            turn: 0,
        }
    }
}

/// Counters since a search was made.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Positions entered, those in quiescence search included.
    pub nodes: u64,
    /// Positions entered in quiescence search.
    pub quiet_nodes: u64,
    /// Nodes left by an entry of the table, and by their static score.
    pub table_cuts: u64,
    /// See `table_cuts`.
    pub static_cuts: u64,
    /// Nodes that a move refuted, and those that the first move did.
    pub cuts: u64,
    /// See `cuts`.
    pub first_cuts: u64,
    /// Moves searched to less depth first, and those of them that were searched again.
    pub reduced: u64,
    /// See `reduced`.
    pub searched_again: u64,
    /// Nodes cut by probcut.
    pub probable_cuts: u64,
    /// Singular moves, which were searched deeper.
    pub singular: u64,
    /// Nodes in which both roles choose, where the search has no meaning.
    pub simultaneous: u64,
    /// The longest path from the present state, in joint moves without forced ones.
    pub deepest: u32,
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

/// What gives positions their static scores.
#[derive(Clone, Debug)]
pub struct DepthValues {
    /// The evaluation, of a single output.
    pub evaluation: Arc<Evaluation>,
    /// What its changes are counted in.
    pub units: Units,
    /// Whose turn it is.
    pub turns: Turns,
}

impl DepthValues {
    /// Values that know nothing, with which only ends and proofs count. `None` where two roles do
    /// not take turns in the game, or the sum of their goals differs between random games.
    pub fn unknown(machine: &Arc<dyn Machine>) -> Option<Self> {
        let n_facts = machine.info().facts()?.len();
        let mut random = Random::new(1);
        let turns = Turns::find(machine, &mut random, || false)?;
        let sum = fixed_sum(machine, &mut random, || false)?;
        let evaluation = Evaluation::new(2, n_facts, Some(sum), None, &mut random)?;
        let outputs = evaluation.weights().outputs.iter();
        let weights = Weights {
            outputs: outputs.map(|_| Row::ZERO).collect(),
            ..evaluation.weights().clone()
        };
        let evaluation = Evaluation::from_weights(2, None, None, weights)?;
        Some(Self {
            evaluation: Arc::new(evaluation),
            units: Units::default(),
            turns,
        })
    }
}

/// What the search runs with.
#[derive(Clone, Debug)]
pub struct AlphaBetaConfig {
    /// Static values.
    pub values: DepthValues,
    /// Bytes of the table, at most.
    pub table_bytes: usize,
    /// Threads that search, one of which is the caller's.
    pub threads: usize,
    /// Parts of the search.
    pub switches: Switches,
}

/// A move of the root in a report.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RankedMove {
    /// The move.
    pub mv: MoveId,
    /// The mover's share of the goals after it, 0 to 1; an upper bound unless `is_exact`.
    pub share: f32,
    /// Whether `share` is no bound.
    pub is_exact: bool,
    /// Nodes searched below it.
    pub nodes: u64,
}

/// What a search has found about its root.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DepthReport {
    /// The best move of the role that chooses.
    pub best: Option<MoveId>,
    /// The role that chooses, 0 or 1; `None` before a search and where none does.
    pub mover: Option<usize>,
    /// The mover's share of the goals, 0 to 1; that of the first role where no role chooses.
    pub share: f32,
    /// Whether `share` is the result of best play: a win or a loss.
    pub is_proven: bool,
    /// The last depth that was searched in full.
    pub depth: u32,
    /// The longest line that was searched, in joint moves.
    pub selective_depth: u32,
    /// The mover's moves, the best first and the others by their nodes.
    pub moves: Vec<RankedMove>,
}

/// The search of a game by depth.
pub struct AlphaBeta {
    searchers: Vec<Searcher>,
    table: Arc<Table>,
    state: Vec<u64>,
    /// The score of the last depth that was searched in full.
    score: Score,
    depth: i32,
    /// The place of the searcher that has searched that depth, whose moves of the root count.
    leader: usize,
    counts: Counts,
}

impl AlphaBeta {
    /// A search of the initial state. `None` where the evaluation has no fixed sum of goals, so
    /// that one role's gain may not be the other's loss.
    pub fn new(machine: &Arc<dyn Machine>, config: &AlphaBetaConfig) -> Option<Self> {
        let evaluation = &config.values.evaluation;
        if evaluation.n_outputs() != 1 || evaluation.n_roles() != 2 {
            return None;
        }
        let turns = config.values.turns;
        let table = Arc::new(Table::new(config.table_bytes));
        let claims = (config.threads > 1).then(|| Arc::new(Claims::new()));
        let searcher = || {
            let mut searcher = Searcher::new(machine, evaluation, &table, turns, config.switches);
            searcher.units = config.values.units;
            searcher.claims.clone_from(&claims);
            searcher
        };
        let searchers = (0..config.threads.max(1)).map(|_| searcher()).collect();
        Some(Self {
            searchers,
            table,
            state: machine.initial_state(),
            score: 0,
            depth: 0,
            leader: 0,
            counts: Counts::default(),
        })
    }

    /// Goes to a state of the game. The table is kept.
    pub fn set_state(&mut self, state: &[u64]) {
        self.state.clear();
        self.state.extend_from_slice(state);
        (self.score, self.depth, self.leader) = (0, 0, 0);
        for searcher in &mut self.searchers {
            searcher.begin();
            searcher.root.clear();
            searcher.counts.deepest = 0;
        }
        self.counts.deepest = 0;
    }

    /// Searches deeper and deeper within a budget, whose steps are nodes of each thread, up to
    /// `max_depth`. A later call goes on. Returns whether there is nothing left to search.
    pub fn run(&mut self, budget: Budget<'_>, max_depth: u32) -> bool {
        let max_depth = i32::try_from(max_depth).unwrap_or(i32::MAX).min(MAX_DEPTH);
        let is_done = Arc::new(AtomicBool::new(false));
        let (first, others) = self
            .searchers
            .split_first_mut()
            .expect("there is a searcher");
        for searcher in others.iter_mut().chain([&mut *first]) {
            searcher.is_over = false;
            searcher.limits = Limits {
                until: budget.until,
                max_nodes: searcher.counts.nodes.saturating_add(budget.max_steps),
                stop: budget.stop.cloned(),
                is_done: Arc::clone(&is_done),
            };
        }
        let (state, score, depth) = (&self.state, self.score, self.depth);
        let found = std::thread::scope(|scope| {
            let begin = |searcher| {
                let work = move || deepen(searcher, state, score, depth, max_depth);
                spawn_scoped(scope, "alpha-beta", work)
            };
            let threads: Vec<_> = others.iter_mut().map(begin).collect();
            let mut found = vec![deepen(first, state, score, depth, max_depth)];
            is_done.store(true, Ordering::Relaxed);
            for thread in threads {
                found.push(match thread {
                    Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                    Err(error) => {
                        tracing::warn!(%error, "a thread of the search did not start");
                        (score, depth)
                    }
                });
            }
            found
        });
        // The first of those that have got deepest.
        for (index, &(score, depth)) in found.iter().enumerate() {
            if depth > self.depth {
                (self.leader, self.score, self.depth) = (index, score, depth);
            }
        }
        self.counts = Counts::default();
        for searcher in &self.searchers {
            self.counts.add(&searcher.counts);
        }
        self.is_settled() || self.depth >= max_depth
    }

    /// Whether the result is proven and cannot be had sooner.
    pub fn is_settled(&self) -> bool {
        Searcher::is_settled(self.score, self.depth)
    }

    /// Counters since the search was made, of all threads.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes of the table.
    pub fn n_bytes(&self) -> usize {
        self.table.n_bytes()
    }

    /// What is known of the state.
    pub fn report(&mut self) -> DepthReport {
        let searcher = &mut self.searchers[self.leader];
        let Some(best) = searcher.root.best else {
            return DepthReport {
                share: score::share(self.score),
                is_proven: self.score.abs() > PROVEN,
                depth: self.depth as u32,
                ..DepthReport::default()
            };
        };
        let mover = searcher.root_mover();
        let sign = if mover == 0 { 1 } else { -1 };
        let mut moves: Vec<RankedMove> = searcher
            .root
            .moves
            .iter()
            .map(|known| RankedMove {
                mv: known.mv,
                share: score::share(known.score),
                is_exact: known.is_exact,
                nodes: known.nodes,
            })
            .collect();
        moves.sort_by_key(|known| (known.mv != best, u64::MAX - known.nodes));
        DepthReport {
            best: Some(best),
            mover: Some(mover),
            share: score::share(sign * self.score),
            is_proven: self.score.abs() > PROVEN,
            depth: self.depth as u32,
            selective_depth: self.counts.deepest,
            moves,
        }
    }

    /// A move of the root and the moves with which both roles go on, as far as the table knows
    /// them. Empty where the move is not legal.
    pub fn line(&mut self, mv: MoveId) -> Vec<MoveId> {
        let most = self.depth.max(1) as usize;
        self.searchers[0].line(&self.state, mv, most)
    }
}

/// Searches to greater and greater depths from `depth` on, whose score is given, until the limits
/// are reached. Returns the score and the depth of the last search that was finished.
fn deepen(
    searcher: &mut Searcher,
    state: &[u64],
    mut score: Score,
    mut depth: i32,
    max_depth: i32,
) -> (Score, i32) {
    while depth < max_depth && !Searcher::is_settled(score, depth) {
        let found = narrowing(searcher, state, score, depth + 1);
        if searcher.is_over {
            break;
        }
        score = found;
        depth += 1;
        // A forced end, or no choice: nothing depends on the depth.
        if searcher.root.best.is_none() {
            break;
        }
    }
    (score, depth)
}

/// The score of a search to a depth, with a window around the expected one that grows where the
/// score lies outside.
fn narrowing(searcher: &mut Searcher, state: &[u64], expected: Score, depth: i32) -> Score {
    let mut width = searcher.units.change.max(MIN_WIDTH);
    let mut window = match depth < NARROW_DEPTH || expected.abs() > PROVEN {
        true => Window::FULL,
        false => Window {
            alpha: expected - width,
            beta: expected + width,
        },
    };
    loop {
        let score = searcher.score(state, depth, window);
        if searcher.is_over {
            return score;
        }
        width *= 3;
        let is_wide = width > MAX_WIDTH;
        if score <= window.alpha && window.alpha > -INFINITE {
            window.alpha = if is_wide { -INFINITE } else { score - width };
        } else if score >= window.beta && window.beta < INFINITE {
            window.beta = if is_wide { INFINITE } else { score + width };
        } else {
            debug_assert!(score.abs() <= WIN);
            return score;
        }
    }
}
