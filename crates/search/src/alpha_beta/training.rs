//! Training for the search by depth: TD-leaf(lambda).
//!
//! Games are played by searches of depth 1 with quiescence, which has fewer plies after the first
//! nodes of a search. Each search gives a target to the static value of the leaf that it ends in,
//! the end of its principal variation: the value of the searches that follow, and of the result, as
//! far as best moves were made (Baxter, Tridgell and Weaver, KnightCap, 1998). Earlier leaves are
//! trained on again, each time as another image under the symmetries of the rules.
//!
//! # Threads
//!
//! One thread owns the weights: it plays a game, and trains on it and on the games that others have
//! played meanwhile. The others play with a copy of the weights, which each takes anew before a
//! game. They send the leaves and targets of whole games over a bounded channel, so that they wait
//! where training is slower than playing. They end with the training: the game in progress stops at
//! its next move, and sending fails. When one panics, training ends with what it has.
//!
//! # In a match
//!
//! [`MatchTraining`] goes on with a preparation, by games from positions of the match. It runs in
//! slices of time, which are short beside a game. So a game that has begun is finished, unless the
//! training is cancelled.
//!
//! Invariants: on one thread the same evaluation, seed and number of games give the same weights; a
//! game has a bounded length.
//!
//! Never uses: the clock but by its budget.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use super::score::{Score, Window, share};
use super::searcher::{MAX_PLY, NodeSearch};
use super::{AlphaBetaValues, TrainingBase, Units};
use crate::parameters::AlphaBetaParameters;
use crate::turns::Turns;
use panza_gdl::{MoveId, RoleId};
use panza_learning::evaluation::Inputs;
use panza_learning::{Evaluation, GradientSums, Images, Known, Trainer};
use panza_machine::{Machine, Reasoner, with_wide_vectors};
use panza_sync::{Budget, Random, Table, catch_panic, lock, spawn_scoped};

/// Weight of later values in targets.
const LAMBDA: f32 = 0.8;
/// The step of the weights.
const RATE: f32 = 0.2;
/// A game begins with 0 to `OPENING - 1` random moves. After them each move is random with a
/// probability of `RANDOM_PERCENT` / 100.
const OPENING: u32 = 10;
const RANDOM_PERCENT: u32 = 8;
/// The same in a match, where games are to be about its position; and averages of the weights that
/// those of the preparation count as.
const MATCH_OPENING: u32 = 3;
const AVERAGES_BEFORE: u32 = 200;
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
/// The number of games at which progress is first logged; each next time at twice the number.
const FIRST_TOLD: usize = 64;
/// Games of each other thread that wait until they are trained on.
const QUEUED_GAMES: usize = 4;
/// Nodes of a search after which its quiescence has fewer plies. Most searches have no more, and
/// the few others would take most of the time.
const FULL_QUIESCENCE: u64 = 10;
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
    /// Those of them that other threads have played.
    pub games_of_others: usize,
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

/// A leaf and its target.
type Sample = (Vec<u64>, f32);

/// The sum of the differences of targets to the values of their searches, and their number.
type Errors = (f32, u32);

/// Trains on an evaluation by games of the search and the images of their positions, on this number
/// of threads. Steps of the budget are games; bytes are not counted. `None` where the evaluation
/// has no fixed sum of goals.
pub fn train_leaves(
    machine: &Arc<dyn Machine>,
    turns: Turns,
    known: &Known,
    images: &Images,
    budget: &Budget,
    threads: usize,
    seed: u64,
) -> Option<LeafTraining> {
    let evaluation = &known.evaluation;
    if evaluation.n_outputs() != 1 || evaluation.n_roles() != 2 {
        return None;
    }
    let seeds = (0..threads.max(1)).map(|index| seed.wrapping_add(index as u64));
    let mut team = Team {
        training: Training::new(known, images.clone()),
        players: seeds
            .map(|seed| Player::new(machine, turns, evaluation, seed))
            .collect(),
    };
    let setup = GameSetup {
        begin: &machine.initial_state(),
        opening: OPENING,
        may_stop: true,
    };
    team.run(&setup, budget);
    Some(team.training.finish(&mut team.players[0]))
}

/// Training that goes on in a match, by games from its positions.
pub(super) struct MatchTraining(Team);

impl MatchTraining {
    /// Goes on with what these values come from, on this number of threads. `None` where that is
    /// not known.
    pub fn new(
        machine: &Arc<dyn Machine>,
        values: &AlphaBetaValues,
        threads: usize,
    ) -> Option<Self> {
        let TrainingBase { known, images } = values.training.as_deref()?;
        let mut training = Training::new(known, images.clone());
        training.count_as_averaged(AVERAGES_BEFORE);
        let seeds = 1..=threads.max(1) as u64;
        let players = seeds.map(|seed| Player::new(machine, values.turns, &known.evaluation, seed));
        Some(Self(Team {
            players: players.collect(),
            training,
        }))
    }

    /// Plays games from a state and trains on them. A game that has begun goes on after the end of
    /// the time, and ends when the budget is stopped.
    pub fn run(&mut self, state: &[u64], budget: &Budget) {
        let setup = GameSetup {
            begin: state,
            opening: MATCH_OPENING,
            may_stop: false,
        };
        self.0.run(&setup, &budget.with_steps(u64::MAX));
    }

    /// The games so far.
    pub fn n_games(&self) -> usize {
        self.0.training.n_games
    }

    /// What was learned.
    pub fn evaluation(&self) -> &Evaluation {
        self.0.training.trainer.average()
    }
}

/// What plays and trains: a player for each thread.
struct Team {
    training: Training,
    /// The first one is that of the thread that owns the weights.
    players: Vec<Player>,
}

impl Team {
    /// Plays and trains until the budget is over.
    fn run(&mut self, setup: &GameSetup<'_>, budget: &Budget) {
        let Self { training, players } = self;
        let Some((player, players)) = players.split_first_mut() else {
            return;
        };
        let others = Others {
            weights: Mutex::new(Arc::new(training.trainer.evaluation.clone())),
            is_over: AtomicBool::new(false),
        };
        let queued = QUEUED_GAMES * players.len();
        thread::scope(|scope| {
            let (sender, games) = sync_channel(queued);
            for other in players {
                let (sender, others) = (sender.clone(), &others);
                let work = move || {
                    others.play(&sender, |weights| {
                        other.searcher.evaluation = weights;
                        other.play(setup, || others.are_over() || setup.stops(budget))
                    });
                };
                if let Err(error) = spawn_scoped(scope, "training", work) {
                    tracing::warn!(%error, "a thread of the training did not start");
                }
            }
            // Also after a panic here: the scope waits for the other threads.
            let _end = EndOnDrop(&others);
            training.run(player, setup, &others, &games, queued, budget);
        });
    }
}

/// How games begin and end.
struct GameSetup<'a> {
    /// The state that they begin in.
    begin: &'a [u64],
    /// They begin with less random moves than this.
    opening: u32,
    /// Whether those in progress stop at the end of the time.
    may_stop: bool,
}

impl GameSetup<'_> {
    /// Whether games in progress stop.
    fn stops(&self, budget: &Budget) -> bool {
        match self.may_stop {
            true => budget.is_over(),
            false => budget.is_stopped(),
        }
    }
}

/// Plays the games of a thread.
struct Player {
    searcher: NodeSearch,
    table: Arc<Table>,
    reasoner: Box<dyn Reasoner>,
    random: Random,
    /// Since it was told last.
    errors: Errors,
}

impl Player {
    fn new(machine: &Arc<dyn Machine>, turns: Turns, evaluation: &Evaluation, seed: u64) -> Self {
        let table = Arc::new(Table::new(TABLE_BYTES));
        let evaluation = &Arc::new(evaluation.clone());
        Self {
            searcher: NodeSearch::new(
                machine,
                evaluation,
                &table,
                turns,
                AlphaBetaParameters::TRAINING,
            ),
            table,
            reasoner: Arc::clone(machine).reasoner(),
            random: Random::new(seed),
            errors: Errors::default(),
        }
    }

    /// Plays a game with the evaluation of the searcher. Returns what is to be learned from it, in
    /// order; nothing where it did not end.
    fn play(&mut self, setup: &GameSetup<'_>, is_over: impl Fn() -> bool) -> Vec<Sample> {
        // The entries are of other weights.
        self.table.clear();
        let random = &mut self.random;
        let mut state = setup.begin.to_vec();
        let n_random = random.below(setup.opening) as usize;
        let mut searched = Vec::new();
        for length in 0..MAX_LENGTH {
            self.reasoner.set_state(&state);
            if self.reasoner.is_terminal() {
                let score = self.searcher.score(&state, DEPTH, Window::FULL);
                return samples(searched, share(score), &mut self.errors);
            }
            let moves = [0, 1].map(|role| self.reasoner.legal_moves(RoleId(role)).to_vec());
            if moves.iter().any(Vec::is_empty) || is_over() {
                break;
            }
            let mut joint_move = moves.each_ref().map(|it| *random.choose(it));
            let is_forced = moves.iter().all(|it| it.len() == 1);
            if !is_forced && length >= n_random {
                let (leaf, value, best) = search(&mut self.searcher, &state);
                let is_random = random.below(100) < RANDOM_PERCENT;
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
        Vec::new()
    }
}

/// The leaves of a game that ended with this share of the first role, the last one first.
fn samples(searched: Vec<Searched>, result: f32, errors: &mut Errors) -> Vec<Sample> {
    let mut later = result;
    let samples = searched.into_iter().rev().map(|it| {
        if !it.is_best {
            later = it.value;
        }
        let target = later;
        *errors = (errors.0 + (target - it.value).abs(), errors.1 + 1);
        later = it.value + LAMBDA * (later - it.value);
        (it.leaf, target)
    });
    samples.collect()
}

/// What the threads share that only play.
struct Others {
    /// The weights to play with.
    weights: Mutex<Arc<Evaluation>>,
    /// Set at the end of the training, and by a thread that panics.
    is_over: AtomicBool,
}

/// Ends the training when it goes out of scope.
struct EndOnDrop<'a>(&'a Others);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Others {
    fn weights(&self) -> Arc<Evaluation> {
        Arc::clone(&lock(&self.weights))
    }

    fn are_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Plays games with the weights and sends what is to be learned, until nobody takes it.
    fn play(
        &self,
        games: &SyncSender<Vec<Sample>>,
        mut play: impl FnMut(Arc<Evaluation>) -> Vec<Sample>,
    ) {
        let played = catch_panic(|| {
            while !self.are_over() {
                let game = play(self.weights());
                if !game.is_empty() && games.send(game).is_err() {
                    break;
                }
            }
        });
        if let Err(panic) = played {
            self.end();
            tracing::warn!("a thread of the training panicked: {panic}");
        }
    }
}

/// Training in progress, on the thread that owns the weights.
struct Training {
    trainer: Trainer,
    images: Images,
    /// `None` without prospects.
    inputs: Option<Inputs>,
    /// Earlier leaves and their targets, and the place of the oldest once there are many.
    replay: Vec<Sample>,
    oldest: usize,
    n_samples: u64,
    /// Averages of the weights that count as made before.
    n_averaged: u64,
    n_games: usize,
    n_games_of_others: usize,
    /// The number of games at which progress is logged next.
    next_told: usize,
}

impl Training {
    fn new(known: &Known, images: Images) -> Self {
        let evaluation = &known.evaluation;
        Self {
            trainer: Trainer::new(evaluation.clone(), known.sums.as_ref()),
            inputs: evaluation.prospects().map(Inputs::new),
            images,
            replay: Vec::new(),
            oldest: 0,
            n_samples: 0,
            n_averaged: 0,
            n_games: 0,
            n_games_of_others: 0,
            next_told: FIRST_TOLD,
        }
    }

    /// The known weights count as the average of as many.
    fn count_as_averaged(&mut self, number: u32) {
        self.n_averaged = number.into();
        self.trainer.count_as_averaged(number);
    }

    /// Plays and trains until the budget is over. Takes `most` games of other threads after each.
    fn run(
        &mut self,
        player: &mut Player,
        setup: &GameSetup<'_>,
        others: &Others,
        games: &Receiver<Vec<Sample>>,
        most: usize,
        budget: &Budget,
    ) {
        while !others.are_over() && !budget.is_over_at(self.n_games as u64) {
            let weights = Arc::make_mut(&mut player.searcher.evaluation);
            weights.clone_from(&self.trainer.evaluation);
            let game = player.play(setup, || others.are_over() || setup.stops(budget));
            self.n_games += 1;
            self.learn(game, &mut player.random);
            // As many as fit into the channel, since others go on sending.
            for game in games.try_iter().take(most) {
                let is_last = self.n_games as u64 >= budget.max_steps;
                if is_last || others.are_over() || setup.stops(budget) {
                    break;
                }
                self.n_games += 1;
                self.n_games_of_others += 1;
                self.learn(game, &mut player.random);
            }
            if self.n_games >= self.next_told {
                self.tell(player);
            }
            if most > 0 {
                *lock(&others.weights) = Arc::new(self.trainer.evaluation.clone());
            }
        }
    }

    /// Tells how far it has got.
    fn tell(&mut self, player: &mut Player) {
        self.next_told = 2 * self.n_games;
        let (sum, count) = std::mem::take(&mut player.errors);
        tracing::debug!(
            games = self.n_games,
            positions = self.n_samples,
            mean_error = sum / count.max(1) as f32,
            "training for alpha-beta"
        );
    }

    /// What was learned.
    fn finish(mut self, player: &mut Player) -> LeafTraining {
        self.tell(player);
        if self.n_samples < STEPS_PER_AVERAGE {
            self.trainer.update_average(1);
        }
        let evaluation = self.trainer.average().clone();
        player.searcher.evaluation = Arc::new(evaluation.clone());
        player.table.clear();
        let units = self.units(&mut player.searcher);
        LeafTraining {
            evaluation,
            sums: self.trainer.gradient_sums(),
            units,
            games: self.n_games,
            games_of_others: self.n_games_of_others,
            samples: self.n_samples,
        }
    }

    /// Trains on a game.
    fn learn(&mut self, game: Vec<Sample>, random: &mut Random) {
        for sample in game {
            self.add(sample, random);
        }
    }

    /// Trains on a leaf and on some earlier ones.
    fn add(&mut self, mut sample: Sample, random: &mut Random) {
        self.step(&mut sample, random);
        for _ in 0..REPLAYS.min(self.replay.len()) {
            let index = random.below(self.replay.len() as u32) as usize;
            let mut earlier = std::mem::take(&mut self.replay[index]);
            self.step(&mut earlier, random);
            self.replay[index] = earlier;
        }
        if self.replay.len() < MAX_REPLAY {
            self.replay.push(sample);
        } else {
            self.replay[self.oldest] = sample;
            self.oldest = (self.oldest + 1) % MAX_REPLAY;
        }
    }

    /// Replaces a sample by a random image, and trains on that.
    fn step(&mut self, (state, target): &mut Sample, random: &mut Random) {
        let targets = std::slice::from_mut(target);
        self.images.draw(state, targets, random);
        let (state, target) = (&state[..], *target);
        let input = match (&mut self.inputs, self.trainer.evaluation.prospects()) {
            (Some(inputs), Some(prospects)) => {
                inputs.load(prospects, std::iter::once(state));
                inputs.of(0)
            }
            _ => state,
        };
        let trainer = &mut self.trainer;
        with_wide_vectors(
            #[inline(always)]
            || trainer.train(input, &[target], RATE),
        );
        self.n_samples += 1;
        if self.n_samples.is_multiple_of(STEPS_PER_AVERAGE) {
            let parts = self.n_samples / STEPS_PER_AVERAGE / AVERAGED_PART + self.n_averaged;
            self.trainer.update_average(parts.clamp(1, 2_000) as u32);
        }
    }

    /// The changes of static scores by moves in positions of the last games.
    fn units(&self, searcher: &mut NodeSearch) -> Units {
        searcher.changes = Some(Vec::new());
        // Changes are those of the moves at the root.
        searcher.parameters = AlphaBetaParameters::PLAIN;
        let step = (self.replay.len() / MEASURED).max(1);
        for (state, _) in self.replay.iter().rev().step_by(step).take(MEASURED) {
            searcher.begin();
            searcher.score(state, DEPTH, Window::FULL);
        }
        units_of(searcher.changes.take().unwrap_or_default())
    }
}

/// Searches a state. Returns the leaf, the share of the first role, and the best move.
fn search(searcher: &mut NodeSearch, state: &[u64]) -> (Vec<u64>, f32, Option<MoveId>) {
    searcher.begin();
    searcher.root.clear();
    searcher.fewer_plies_from = searcher.counts.nodes.saturating_add(FULL_QUIESCENCE);
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

#[cfg(test)]
mod tests {
    use super::*;
    use panza_analysis::Symmetries;

    fn known(game: &panza_game::BuiltGame) -> Known {
        let n_facts = game.info().facts().unwrap().len();
        let random = &mut Random::new(1);
        Known {
            evaluation: Evaluation::new(2, n_facts, Some(100), None, random).unwrap(),
            games: 0,
            sums: None,
        }
    }

    fn trained(threads: usize, games: usize, images: &Images) -> (Known, LeafTraining) {
        let game = panza_testing::game("breakthrough");
        let turns = Turns::find(&game.machine, &mut Random::new(1), || false).unwrap();
        let known = known(&game);
        let budget = Budget::of_steps(games as u64);
        let found =
            train_leaves(&game.machine, turns, &known, images, &budget, threads, 1).unwrap();
        (known, found)
    }

    /// The mean difference between the values of a position after some random moves, and of its
    /// image.
    fn difference_of_images(evaluation: &Evaluation, images: &Images) -> f32 {
        const POSITIONS: u64 = 200;
        let machine = panza_testing::game("breakthrough").machine;
        let reasoner = &mut *Arc::clone(&machine).reasoner();
        let differences = (0..POSITIONS).map(|seed| {
            let random = &mut Random::new(seed);
            let mut state = machine.initial_state();
            for _ in 0..16 {
                reasoner.set_state(&state);
                let moves = [0, 1].map(|role| *random.choose(reasoner.legal_moves(RoleId(role))));
                state.clear();
                reasoner.next_state(&moves, &mut state);
            }
            let mut values = [0.0; 2];
            evaluation.values(&state, &mut values);
            let mut of_image = [values[0] / 100.0, values[1] / 100.0];
            images.draw(&mut state, &mut of_image, random);
            evaluation.values(&state, &mut values);
            (values[0] - 100.0 * of_image[0]).abs()
        });
        differences.sum::<f32>() / POSITIONS as f32
    }

    #[test]
    fn images_of_a_position_get_alike_values() {
        let game = panza_testing::game("breakthrough");
        let network = game.network.as_ref().unwrap();
        let n_facts = game.info().facts().unwrap().len();
        let symmetries = Symmetries::find(network, &mut Budget::of_steps(1 << 28));
        let images = Images::new(Some(&symmetries), n_facts);
        let [with, without] = [&images, &Images::default()].map(|trained_on| {
            let (_, found) = trained(1, 100, trained_on);
            difference_of_images(&found.evaluation, &images)
        });
        assert!(with < 0.5 * without, "{with} {without}");
    }

    #[test]
    fn two_threads_play_and_one_learns_from_both() {
        // More games where the other thread has not got the processor meanwhile.
        for games in [100, 1_000, 10_000] {
            let (known, found) = trained(2, games, &Images::default());
            assert_eq!(found.games, games);
            assert!(found.samples > 1_000 && found.games_of_others < games);
            assert_ne!(found.evaluation, known.evaluation);
            if found.games_of_others > 0 {
                return;
            }
        }
        panic!("the other thread has played nothing");
    }

    #[test]
    fn one_thread_repeats_exactly() {
        let (_, first) = trained(1, 20, &Images::default());
        let (_, second) = trained(1, 20, &Images::default());
        assert_eq!(first.games_of_others, 0);
        assert_eq!(first.evaluation, second.evaluation);
        assert_eq!(first.samples, second.samples);
    }

    #[test]
    fn training_goes_on_in_a_match() {
        let game = panza_testing::game("breakthrough");
        let turns = Turns::find(&game.machine, &mut Random::new(1), || false).unwrap();
        let known = known(&game);
        let values = AlphaBetaValues {
            evaluation: Arc::new(known.evaluation.clone()),
            units: Units::default(),
            turns,
            training: Some(Arc::new(TrainingBase {
                known: known.clone(),
                images: Images::default(),
            })),
        };
        let mut training = MatchTraining::new(&game.machine, &values, 2).unwrap();
        let state = game.machine.initial_state();
        // A game in progress ends where training is cancelled.
        let cancelled = Arc::new(AtomicBool::new(true));
        training.run(&state, &Budget::generous().stopped_by(&cancelled));
        assert_eq!(training.n_games(), 0);
        assert_eq!(*training.evaluation(), known.evaluation);
        while training.n_games() < 50 {
            training.run(
                &state,
                &Budget::lasting(std::time::Duration::from_millis(1)),
            );
        }
        assert_ne!(*training.evaluation(), known.evaluation);

        let without = AlphaBetaValues {
            training: None,
            ..values
        };
        assert!(MatchTraining::new(&game.machine, &without, 1).is_none());
    }

    #[test]
    fn a_panic_of_another_thread_ends_the_training() {
        let game = panza_testing::game("ticTacToe");
        let others = Others {
            weights: Mutex::new(Arc::new(known(&game).evaluation)),
            is_over: AtomicBool::new(false),
        };
        let (sender, games) = sync_channel(4);
        let mut n_played = 0;
        others.play(&sender, |_| {
            n_played += 1;
            assert!(n_played < 3, "the machine failed");
            vec![(vec![0], 0.5)]
        });
        assert!(others.are_over());
        assert_eq!(games.try_iter().count(), 2);
    }
}
