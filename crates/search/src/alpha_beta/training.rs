//! Training for the search by depth: TD-leaf(lambda).
//!
//! Games are played by searches of depth 1 with quiescence. Each search gives a target to the
//! static value of the leaf that it ends in, the end of its principal variation: the value of the
//! searches that follow, and of the result, as far as best moves were made (Baxter, Tridgell and
//! Weaver, KnightCap, 1998). Earlier leaves are trained on again.
//!
//! Invariants: the same evaluation, seed and number of games give the same weights; a game has a
//! bounded length.
//!
//! Never uses: the clock but by its budget.

use std::sync::Arc;

use super::Units;
use super::score::{Score, Window, share};
use super::searcher::{MAX_PLY, Searcher};
use super::switches::Switches;
use super::turns::Turns;
use panza_gdl::{MoveId, RoleId};
use panza_learning::evaluation::Inputs;
use panza_learning::{Evaluation, GradientSums, Known, LearningBudget, Trainer};
use panza_machine::{Machine, Reasoner};
use panza_sync::{Random, Table};

/// Weight of later values in targets.
const LAMBDA: f32 = 0.8;
/// The step of the weights.
const RATE: f32 = 0.05;
/// A game begins with 0 to `OPENING - 1` random moves. After them each move is random with a
/// probability of `RANDOM_PERCENT` / 100.
const OPENING: u32 = 10;
const RANDOM_PERCENT: u32 = 8;
/// Joint moves of a game; longer ones are dropped.
const MAX_LENGTH: usize = 500;
/// Earlier leaves, and how many of them are trained on with each new one.
const MAX_REPLAY: usize = 20_000;
const REPLAYS: usize = 4;
/// Steps between additions to the average of the weights. The average is over the last third of
/// the steps.
const STEPS_PER_AVERAGE: u64 = 512;
const AVERAGED_PART: u64 = 3;
/// Bytes of the table.
const TABLE_BYTES: usize = 1 << 18;
/// Positions in which changes by moves are measured.
const MEASURED: usize = 300;
/// The depth of the searches.
const DEPTH: i32 = 1;

/// The result of training.
#[derive(Clone, Debug)]
pub struct LeafTraining {
    /// The trained evaluation.
    pub evaluation: Evaluation,
    /// What its training goes on with.
    pub sums: GradientSums,
    /// What changes of its values are counted in.
    pub units: Units,
    /// Games played.
    pub games: usize,
    /// Steps of the weights.
    pub samples: u64,
}

/// A search of a game in progress.
struct Searched {
    /// The end of its principal variation.
    leaf: Vec<u64>,
    /// The share of the first role by the search.
    value: f32,
    /// Whether its best move was made.
    is_best: bool,
}

/// Trains on an evaluation by games of the search, within the games and the time of a budget.
/// `None` where the evaluation has no fixed sum of goals.
pub fn train_leaves(
    machine: &Arc<dyn Machine>,
    turns: Turns,
    known: &Known,
    budget: LearningBudget<'_>,
) -> Option<LeafTraining> {
    let evaluation = &known.evaluation;
    if evaluation.n_outputs() != 1 || evaluation.n_roles() != 2 {
        return None;
    }
    let mut training = Training {
        table: Arc::new(Table::new(TABLE_BYTES)),
        reasoner: Arc::clone(machine).reasoner(),
        initial: machine.initial_state(),
        trainer: Trainer::new(evaluation.clone(), known.sums.as_ref()),
        inputs: evaluation.prospects().map(Inputs::new),
        replay: Vec::new(),
        oldest: 0,
        n_samples: 0,
        random: Random::new(budget.seed),
    };
    let mut searcher = training.searcher(machine, turns, evaluation);
    let mut n_games = 0;
    while n_games < budget.games && !budget.is_over() {
        training.play(&mut searcher, &budget);
        n_games += 1;
    }
    if training.n_samples < STEPS_PER_AVERAGE {
        training.trainer.update_average(1);
    }
    let evaluation = training.trainer.average().clone();
    let mut searcher = training.searcher(machine, turns, &evaluation);
    let units = training.units(&mut searcher);
    Some(LeafTraining {
        evaluation,
        sums: training.trainer.gradient_sums(),
        units,
        games: n_games,
        samples: training.n_samples,
    })
}

/// Training in progress.
struct Training {
    table: Arc<Table>,
    reasoner: Box<dyn Reasoner>,
    initial: Vec<u64>,
    trainer: Trainer,
    /// `None` without prospects.
    inputs: Option<Inputs>,
    /// Earlier leaves and their targets, and the place of the oldest once there are many.
    replay: Vec<(Vec<u64>, f32)>,
    oldest: usize,
    n_samples: u64,
    random: Random,
}

impl Training {
    fn searcher(
        &self,
        machine: &Arc<dyn Machine>,
        turns: Turns,
        evaluation: &Evaluation,
    ) -> Searcher {
        let evaluation = Arc::new(evaluation.clone());
        Searcher::new(machine, &evaluation, &self.table, turns, Switches::TRAINING)
    }

    /// Plays a game and trains on it.
    fn play(&mut self, searcher: &mut Searcher, budget: &LearningBudget<'_>) {
        // The entries are of other weights.
        self.table.clear();
        Arc::make_mut(&mut searcher.evaluation).clone_from(&self.trainer.evaluation);
        let mut state = self.initial.clone();
        let n_random = self.random.below(OPENING) as usize;
        let mut searched = Vec::new();
        for length in 0..MAX_LENGTH {
            self.reasoner.set_state(&state);
            if self.reasoner.is_terminal() {
                let score = searcher.score(&state, DEPTH, Window::FULL);
                return self.learn(&searched, share(score));
            }
            let moves = [0, 1].map(|role| self.reasoner.legal_moves(RoleId(role)).to_vec());
            if moves.iter().any(Vec::is_empty) || budget.is_over() {
                return;
            }
            let mut joint_move = moves.each_ref().map(|it| *self.random.choose(it));
            let is_forced = moves.iter().all(|it| it.len() == 1);
            if !is_forced && length >= n_random {
                let (leaf, value, best) = search(searcher, &state);
                let is_random = self.random.below(100) < RANDOM_PERCENT;
                let best = best.filter(|_| !is_random);
                let mover = usize::from(moves[0].len() == 1);
                if let Some(best) = best {
                    joint_move[mover] = best;
                }
                searched.push(Searched {
                    leaf,
                    value,
                    is_best: best.is_some(),
                });
            }
            let mut next = Vec::with_capacity(state.len());
            self.reasoner.next_state(&joint_move, &mut next);
            state = next;
        }
    }

    /// Trains on a game that ended with this share of the first role.
    fn learn(&mut self, searched: &[Searched], result: f32) {
        let mut later = result;
        for it in searched.iter().rev() {
            if !it.is_best {
                later = it.value;
            }
            self.add(&it.leaf, later);
            later = it.value + LAMBDA * (later - it.value);
        }
    }

    /// Trains on a leaf and on some earlier ones.
    fn add(&mut self, leaf: &[u64], target: f32) {
        self.step(leaf, target);
        for _ in 0..REPLAYS.min(self.replay.len()) {
            let index = self.random.below(self.replay.len() as u32) as usize;
            let (state, target) = std::mem::take(&mut self.replay[index]);
            self.step(&state, target);
            self.replay[index] = (state, target);
        }
        if self.replay.len() < MAX_REPLAY {
            self.replay.push((leaf.to_vec(), target));
        } else {
            self.replay[self.oldest] = (leaf.to_vec(), target);
            self.oldest = (self.oldest + 1) % MAX_REPLAY;
        }
    }

    fn step(&mut self, state: &[u64], target: f32) {
        let input = match (&mut self.inputs, self.trainer.evaluation.prospects()) {
            (Some(inputs), Some(prospects)) => {
                inputs.load(prospects, std::iter::once(state));
                inputs.of(0)
            }
            _ => state,
        };
        self.trainer.train(input, &[target], RATE);
        self.n_samples += 1;
        if self.n_samples.is_multiple_of(STEPS_PER_AVERAGE) {
            let parts = self.n_samples / STEPS_PER_AVERAGE / AVERAGED_PART;
            self.trainer.update_average(parts.clamp(1, 2_000) as u32);
        }
    }

    /// The changes of static scores by moves in positions of the last games.
    fn units(&self, searcher: &mut Searcher) -> Units {
        searcher.changes = Some(Vec::new());
        // Changes are those of the moves at the root.
        searcher.switches = Switches::PLAIN;
        let step = (self.replay.len() / MEASURED).max(1);
        for (state, _) in self.replay.iter().rev().step_by(step).take(MEASURED) {
            searcher.begin();
            searcher.score(state, DEPTH, Window::FULL);
        }
        units_of(searcher.changes.take().unwrap_or_default())
    }
}

/// Searches a state. Returns the leaf, the share of the first role, and the best move.
fn search(searcher: &mut Searcher, state: &[u64]) -> (Vec<u64>, f32, Option<MoveId>) {
    searcher.begin();
    searcher.root.clear();
    let score = searcher.score(state, DEPTH, Window::FULL);
    let best = searcher.root.best;
    let leaf = searcher.follow(state, MAX_PLY, |_| {});
    (leaf, share(score), best)
}

/// The median of changes, and what seven of ten are within around it.
fn units_of(mut changes: Vec<Score>) -> Units {
    if changes.is_empty() {
        return Units::default();
    }
    changes.sort_unstable();
    let turn = changes[changes.len() / 2];
    let mut around: Vec<Score> = changes.iter().map(|it| (it - turn).abs()).collect();
    around.sort_unstable();
    Units {
        change: around[around.len() * 7 / 10].clamp(4, 800),
        turn,
    }
}
