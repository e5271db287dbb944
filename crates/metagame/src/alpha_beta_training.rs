//! Training for alpha-beta that lasts, beside that of the tree.
//!
//! In each round TD-leaf goes on with the newest evaluation, from its weights and the sums that
//! its steps depend on. Then an evaluation plays the best one so far, until a sequential test is
//! decided, over several rounds if need be. If it is stronger, it is the next generation. The rest
//! of a round is for games of the best one against the best of the tree, which say which search
//! plays matches. The first evaluation is a generation without a test: those games judge it.
//!
//! Invariants: matches use the best generation only; what is kept between rounds fits into notes.
//!
//! Never uses: other processes, files, match clocks.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::alpha_beta::{AlphaBetaPreparation, turns, without_slow_prospects};
use super::choice::{AgainstTree, USUAL_SHARE};
use super::contest::{Contest, decision, test_opening};
use super::sprt::{PairTally, elo};
use panza_game::BuiltGame;
use panza_learning::{Images, Known, fixed_sum};
use panza_search::SearchConfig;
use panza_search::alpha_beta::{Turns, train_leaves};
use panza_sync::{Budget, Random};

/// A round trains up to this share of its time, tests up to that one, and then plays the tree.
const LEARNING_SHARE: f64 = 0.6;
const TESTING_SHARE: f64 = 0.8;
/// Nodes for a move in tests between generations.
const TEST_NODES: u64 = 1000;
/// Time for a move in games against the tree.
const TREE_TIME: Duration = Duration::from_millis(20);
/// Games against the tree, at most, and those from which on a clear score suffices.
const MAX_GAMES: u32 = 200;
const MIN_GAMES: u32 = 32;
/// Standard deviations from 50 % beyond which a score is clear, as if there were no draws.
const CLEAR: f32 = 3.0;
/// Games and generations above which a note is no note of a training.
const MOST_GAMES: u64 = 1 << 40;
const MOST_GENERATIONS: u32 = 1_000_000;

/// How far the training for alpha-beta is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AlphaBetaProgress {
    /// Games of training by searches.
    pub games: usize,
    /// The best generation. The first one has the number 1; 0 is what a preparation left.
    pub generation: u32,
    /// The Elo difference of the best generation to the first one tested against: the sum of those
    /// of all successful tests.
    pub elo: f64,
    /// Tests decided.
    pub tests: u32,
    /// Games of the best generation against the best one of the tree, and its points in them.
    /// Games of earlier generations count as some.
    pub games_against_tree: u32,
    /// See `games_against_tree`.
    pub points_against_tree: f32,
}

impl fmt::Display for AlphaBetaProgress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            games,
            generation,
            elo,
            ..
        } = self;
        write!(
            out,
            "{games:>11} games  alpha-beta, generation {generation} ({elo:+.0} Elo), "
        )?;
        match self.games_against_tree {
            0 => write!(out, "no games against the tree")?,
            games => {
                let score = 100.0 * f64::from(self.points_against_tree) / f64::from(games);
                write!(out, "{score:.1} % of {games} games against the tree")?;
            }
        }
        out.write_str(if self.plays() { ", plays" } else { "" })
    }
}

impl AlphaBetaProgress {
    /// Whether alpha-beta plays matches.
    pub fn plays(&self) -> bool {
        self.games_against_tree > 0 && self.against_tree().is_stronger(USUAL_SHARE)
    }

    fn against_tree(&self) -> AgainstTree {
        AgainstTree {
            games: self.games_against_tree as f32,
            points: self.points_against_tree,
        }
    }

    /// As told to scripts.
    pub fn to_json(&self) -> Value {
        json!({
            "games": self.games,
            "generation": self.generation,
            "elo": self.elo,
            "tests": self.tests,
            "games_against_tree": self.games_against_tree,
            "points_against_tree": self.points_against_tree,
            "plays": self.plays(),
        })
    }

    /// Whether the numbers are those of a training.
    pub(super) fn is_sound(&self) -> bool {
        self.games as u64 <= MOST_GAMES
            && self.generation <= MOST_GENERATIONS
            && self.elo.is_finite()
            && (0.0..=self.games_against_tree as f32).contains(&self.points_against_tree)
    }

    /// Whether alpha-beta is clearly the stronger search.
    pub(super) fn is_stronger(&self) -> bool {
        self.plays() && self.is_clear()
    }

    /// Whether more games against the tree would hardly change which search plays.
    fn is_clear(&self) -> bool {
        let games = self.games_against_tree as f32;
        let from_even = (self.points_against_tree - 0.5 * games).abs();
        self.games_against_tree >= MAX_GAMES
            || self.games_against_tree >= MIN_GAMES && from_even > 0.5 * CLEAR * games.sqrt()
    }

    /// Another generation plays from now on: of the games against the tree the share of points
    /// remains.
    pub(super) fn forget_games(&mut self) {
        let kept = self.against_tree().as_earlier();
        self.games_against_tree = kept.games as u32;
        self.points_against_tree = kept.points;
    }
}

/// A test in progress.
struct Pending {
    tested: AlphaBetaPreparation,
    tally: PairTally,
    /// Pairs begun.
    begun: u64,
}

/// A round of it.
pub(super) struct AlphaBetaRound<'a> {
    pub game: &'a BuiltGame,
    /// The search without an evaluation.
    pub config: SearchConfig,
    /// The best of the tree.
    pub tree: SearchConfig,
    /// Positions in which games begin.
    pub book: &'a [Vec<u64>],
    /// The images of positions.
    pub images: Images,
    pub budget: Budget,
    pub seed: u64,
}

/// The training of a game for alpha-beta.
#[derive(Default)]
pub(super) struct AlphaBetaTraining {
    /// `None` where nothing is trained, as alpha-beta does not apply or is not wanted.
    turns: Option<Turns>,
    pub progress: AlphaBetaProgress,
    /// The newest evaluation, which is trained.
    pub newest: Option<AlphaBetaPreparation>,
    /// The best generation.
    pub best: Option<AlphaBetaPreparation>,
    pending: Option<Pending>,
}

impl AlphaBetaTraining {
    /// A training that has not begun.
    pub fn new(game: &BuiltGame, config: &SearchConfig, budget: &Budget) -> Self {
        let turns = turns(game, config, budget).ok().filter(|_| {
            let random = &mut Random::new(config.seed);
            fixed_sum(&game.machine, random, || budget.is_over()).is_some()
        });
        Self {
            turns,
            ..Self::default()
        }
    }

    /// Whether there is something to train.
    pub fn applies(&self) -> bool {
        self.turns.is_some()
    }

    /// Trains, tests and plays against the tree for a round. The first one begins with what is
    /// known of the tree's evaluation.
    pub fn round(&mut self, of_tree: &Known, round: &AlphaBetaRound<'_>) {
        let budget = &round.budget;
        let [learning, testing] = [LEARNING_SHARE, TESTING_SHARE].map(|share| budget.share(share));
        if !learning.is_stopped() {
            self.learn(of_tree, round, &learning);
        }
        if !testing.is_stopped() {
            self.test(round, testing);
        }
        if !budget.is_stopped() {
            self.play_tree(round);
        }
    }

    fn learn(&mut self, of_tree: &Known, round: &AlphaBetaRound<'_>, budget: &Budget) {
        let Some(turns) = self.turns else { return };
        let known = match &self.newest {
            Some(newest) => newest.known(),
            None => {
                let of_tree = Known {
                    games: 0,
                    ..of_tree.clone()
                };
                without_slow_prospects(&round.game.machine, turns, &of_tree).unwrap_or(of_tree)
            }
        };
        let seed = round.seed.wrapping_add(known.games as u64);
        let (machine, images) = (&round.game.machine, &round.images);
        let Some(trained) = train_leaves(machine, turns, &known, images, budget, 1, seed) else {
            // An earlier version may have left an evaluation of another form.
            self.turns = None;
            return;
        };
        if trained.samples > 0 {
            let newest = AlphaBetaPreparation::of(trained, turns, known.games);
            self.progress.games = newest.games;
            self.newest = Some(newest);
        }
    }

    /// Plays on with the test, or begins one, within this budget.
    fn test(&mut self, round: &AlphaBetaRound<'_>, budget: Budget) {
        let Some(newest) = &self.newest else { return };
        let Some(best) = &self.best else {
            self.best = Some(newest.clone());
            self.progress.generation += 1;
            return;
        };
        let pending = self.pending.get_or_insert_with(|| Pending {
            tested: newest.clone(),
            tally: PairTally::default(),
            begun: 0,
        });
        let contest = Contest {
            machine: &round.game.machine,
            configs: [&pending.tested, best].map(|it| with(&round.config, it)),
            of_move: || Budget::of_steps(TEST_NODES),
            budget,
        };
        while decision(&pending.tally).is_none() {
            let machine = &round.game.machine;
            let opening = test_opening(machine, round.book, round.seed, pending.begun);
            pending.begun += 1;
            let Some(played) = contest.round(&opening, pending.begun) else {
                break;
            };
            let points = 2.0 * f64::from(played.points) / f64::from(played.games);
            pending.tally.add(points);
        }
        let decided = decision(&pending.tally).zip(pending.tally.score());
        if let Some((is_stronger, score)) = decided {
            self.end_test(is_stronger, score);
        }
    }

    /// Ends the test; a stronger evaluation is the next generation.
    fn end_test(&mut self, is_stronger: bool, score: f64) {
        let Some(Pending { tested, .. }) = self.pending.take() else {
            return;
        };
        self.progress.tests = self.progress.tests.saturating_add(1);
        if is_stronger {
            self.best = Some(tested);
            self.progress.generation += 1;
            self.progress.elo += elo(score.clamp(0.01, 0.99));
            self.progress.forget_games();
        }
    }

    /// Plays the best one against the tree to the end of the round, or until it is clear which is
    /// stronger.
    fn play_tree(&mut self, round: &AlphaBetaRound<'_>) {
        let Some(best) = &self.best else { return };
        let contest = Contest {
            machine: &round.game.machine,
            configs: [with(&round.config, best), round.tree.clone()],
            of_move: || Budget::lasting(TREE_TIME),
            budget: round.budget.clone(),
        };
        let progress = &mut self.progress;
        while !progress.is_clear() {
            // A round is two games.
            let number = u64::from(progress.games_against_tree / 2);
            // Each run and each game against the tree has other random numbers.
            let seed = round.seed.wrapping_add(progress.games as u64);
            let opening = test_opening(contest.machine, round.book, seed, number);
            let Some(played) = contest.round(&opening, number) else {
                break;
            };
            progress.games_against_tree += played.games;
            progress.points_against_tree += played.points;
        }
    }
}

/// The settings of alpha-beta with these values.
fn with(config: &SearchConfig, preparation: &AlphaBetaPreparation) -> SearchConfig {
    SearchConfig {
        alpha_beta_values: Ok(preparation.values()),
        ..config.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use crate::training::{RoundPlan, Training};
    use crate::{PreparationBudget, find_prospects, prepare, prior_preparation};
    use panza_config::Settings;
    use panza_memory::{GameHistory, Kind};
    use panza_search::Method;

    #[test]
    fn games_of_earlier_generations_count_as_some() {
        let mut progress = AlphaBetaProgress {
            games_against_tree: 100,
            points_against_tree: 80.0,
            ..AlphaBetaProgress::default()
        };
        assert!(progress.plays() && progress.is_clear() && progress.is_sound());
        progress.forget_games();
        let kept = (progress.games_against_tree, progress.points_against_tree);
        assert_eq!(kept, (10, 8.0));
        assert!(progress.plays() && !progress.is_clear());
    }

    #[test]
    fn nothing_plays_before_games_against_the_tree() {
        let mut progress = AlphaBetaProgress::default();
        assert!(!progress.plays());
        progress.forget_games();
        assert_eq!(progress, AlphaBetaProgress::default());
        progress.points_against_tree = 1.0;
        assert!(!progress.is_sound());
        progress.points_against_tree = f32::NAN;
        assert!(!progress.is_sound());
    }

    /// Rounds of training, until alpha-beta has games against the tree.
    fn train(training: &mut Training<'_>, threads: usize) {
        let cancelled = Arc::default();
        let plan = RoundPlan {
            time: Duration::from_secs(1),
            threads,
            seed: 1,
            cancelled: &cancelled,
            members: None,
        };
        let before = training.progress().alpha_beta.clone().unwrap_or_default();
        for _ in 0..100 {
            training.round(&plan).unwrap();
            let progress = training.progress().alpha_beta.as_ref();
            if progress.is_some_and(|it| it.games_against_tree > 0 && it.games > before.games) {
                return;
            }
        }
        panic!("{:?}", training.progress());
    }

    fn history(training: &Training<'_>) -> GameHistory {
        GameHistory {
            is_exact: true,
            notes: training.notes().unwrap(),
            matches: Vec::new(),
        }
    }

    #[test]
    fn training_for_alpha_beta_goes_on_and_matches_use_it() {
        let game = panza_testing::game_of(panza_testing::rulesheet("ticTacToe"));
        let config = SearchConfig {
            method: Method::Auto,
            ..SearchConfig::deterministic(1)
        };
        let mut training = Training::new(&game, config.clone(), None).unwrap();
        train(&mut training, 1);
        let first = training.progress().alpha_beta.clone().unwrap();
        assert!(first.generation > 0 && first.is_sound(), "{first:?}");
        let mut history = history(&training);

        // With two threads it has one of its own.
        let mut training = Training::new(&game, config.clone(), Some(&history)).unwrap();
        assert_eq!(training.progress().alpha_beta.as_ref(), Some(&first));
        let newest = training.alpha_beta().newest.as_ref().unwrap();
        assert!(newest.games == first.games && newest.sums.is_some());
        train(&mut training, 2);
        assert!(training.progress().alpha_beta.as_ref().unwrap().games > first.games);

        // A match uses the best generation, whether the tree has one or not.
        for of_tree in [0, 3] {
            for (kind, note) in &mut history.notes {
                match kind {
                    Kind::Training => note["progress"]["generation"] = json!(of_tree),
                    Kind::Parameters => note["parameters"]["alpha_beta"] = json!(true),
                    _ => {}
                }
            }
            let prior = prior_preparation(game.info(), &history, || find_prospects(&game)).unwrap();
            assert!(prior.apply(&config).alpha_beta_values.is_ok());
            if of_tree == 0 {
                let resumed = Training::new(&game, config.clone(), Some(&history)).unwrap();
                assert!(!resumed.has_generation());
            }
            let settings = Settings::load(None, &[]).unwrap().metagame;
            let budget =
                PreparationBudget::from_now(&settings, Duration::from_secs(60), &Arc::default());
            let preparation = prepare(&game, Some(prior), &config, &budget);
            let expected = if of_tree == 0 {
                first.generation
            } else {
                of_tree
            };
            assert_eq!(preparation.generation, Some(expected));
            assert!(preparation.apply(&config).alpha_beta_values.is_ok());
        }
        // Where the tree is stronger and has no generation, matches go on with the preparation.
        for (kind, note) in &mut history.notes {
            match kind {
                Kind::Training => note["progress"]["generation"] = json!(0),
                Kind::Parameters => note["parameters"]["alpha_beta"] = json!(false),
                _ => {}
            }
        }
        let prior = prior_preparation(game.info(), &history, || find_prospects(&game)).unwrap();
        assert!(prior.trained.is_none() && prior.alpha_beta.is_some());
        let chosen = Method::ALL.map(|method| {
            let config = SearchConfig {
                method,
                ..SearchConfig::deterministic(1)
            };
            prior.apply(&config).alpha_beta_values.is_ok()
        });
        assert_eq!(chosen, [false, false, true], "{:?}", Method::ALL);
    }

    #[test]
    fn training_of_the_tree_alone_keeps_that_for_alpha_beta() {
        let game = panza_testing::game_of(panza_testing::rulesheet("ticTacToe"));
        let of = |method| SearchConfig {
            method,
            ..SearchConfig::deterministic(1)
        };
        let mut training = Training::new(&game, of(Method::Auto), None).unwrap();
        train(&mut training, 1);
        let history = history(&training);
        let kept = training.progress().alpha_beta.clone();
        let mut training = Training::new(&game, of(Method::Tree), Some(&history)).unwrap();
        let cancelled = Arc::new(AtomicBool::new(true));
        let plan = RoundPlan {
            time: Duration::from_millis(10),
            threads: 1,
            seed: 1,
            cancelled: &cancelled,
            members: None,
        };
        assert!(!training.alpha_beta().applies());
        training.round(&plan).unwrap();
        assert_eq!(training.progress().alpha_beta, kept);
        let notes = training.notes().unwrap();
        assert!(
            notes
                .iter()
                .any(|(kind, _)| *kind == Kind::AlphaBetaEvaluation)
        );
    }

    #[test]
    fn nothing_is_trained_where_alpha_beta_does_not_apply() {
        let config = SearchConfig {
            method: Method::Auto,
            ..SearchConfig::deterministic(1)
        };
        for name in ["connectFourSimultaneous", "eightPuzzle"] {
            let game = panza_testing::game_of(panza_testing::rulesheet(name));
            let training = Training::new(&game, config.clone(), None).unwrap();
            assert!(!training.alpha_beta().applies(), "{name}");
        }
    }
}
