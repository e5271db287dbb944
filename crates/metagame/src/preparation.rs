//! The preparation of a game: all analyses and training, each with its share of the time.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::{Value, json};

use super::alpha_beta::{self, AlphaBetaPreparation};
use super::choice::{self, AgainstTree, Features};
use super::contest::{Contest, small_search};
use super::parameters::{Parameters, most_share};
use super::structure::{STEPS, Structure};
use panza_analysis::distances::distances;
use panza_analysis::{Autonomous, Distances, Prospects, Tuples, autonomous};
use panza_config::MetagameSettings;
use panza_game::BuiltGame;
use panza_learning::statistics::{SampleSize, Sampled, Spread, sample};
use panza_learning::validation::Validation;
use panza_learning::{
    Evaluation, GradientSums, Heuristic, Images, Known, Learned, LearningPlan, heuristics,
};
use panza_search::alpha_beta::{AlphaBetaValues, TrainingBase, Turns, train_leaves};
use panza_search::{Method, SearchConfig, WhyTree};
use panza_sync::{Budget, Instant, thread_cpu_time};

/// What a preparation does, and its budget.
#[derive(Clone, Debug)]
pub struct PreparationBudget {
    /// The time of the preparation. Without a deadline nothing is trained.
    pub limits: Budget,
    /// Where alpha-beta is chosen, its training goes on for this long after that.
    pub extension: Duration,
    /// Whether an evaluation is trained.
    pub learning: bool,
    /// Threads that train.
    pub threads: usize,
    /// Random games for statistics, which only people read.
    pub sampling: Option<SampleSize>,
    /// Inputs of the evaluation beside facts that are left out.
    pub without: WithoutInputs,
    /// Whether training is limited by the processor time of this thread, so that other programs do
    /// not shorten it. The deadline then moves. For one thread only.
    pub processor_time: bool,
}

/// Inputs that an evaluation does not get, to measure what they are worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WithoutInputs {
    /// No combinations of facts on lines.
    pub tuples: bool,
    /// No numbers of moves and distances.
    pub prospects: bool,
}

/// What an earlier preparation of the same game has found.
#[derive(Clone, Debug)]
pub struct PriorPreparation {
    /// The evaluation and its training.
    pub known: Known,
    /// What alpha-beta searches with, where it was kept.
    pub alpha_beta: Option<AlphaBetaPreparation>,
    /// Whether alpha-beta was the stronger search.
    pub prefers_alpha_beta: bool,
    /// The games of alpha-beta against the tree, if there were any.
    pub against_tree: Option<AgainstTree>,
    /// What long training has found, if there was any. Then nothing is trained.
    pub trained: Option<Trained>,
}

/// The settings of a generation of long training.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trained {
    /// Its number, from 1.
    pub generation: u32,
    /// Its settings.
    pub parameters: Parameters,
}

/// What is known about a game.
#[derive(Clone, Debug, Default)]
pub struct Preparation {
    /// What the network proves.
    pub structure: Structure,
    /// The trained evaluation, if any.
    pub evaluation: Option<Arc<Evaluation>>,
    /// What alpha-beta searches with, where it applies.
    pub alpha_beta: Option<AlphaBetaPreparation>,
    /// Why there is nothing for alpha-beta, where there is not.
    pub why_tree: WhyTree,
    /// The games of alpha-beta against the tree that chose the search, with earlier ones.
    pub contest: Option<AgainstTree>,
    /// Such games of earlier preparations.
    pub earlier: Option<AgainstTree>,
    /// The share of points that alpha-beta was expected to have in them.
    pub expected_share: Option<f32>,
    /// The training games of the evaluation.
    pub games: usize,
    /// The mean number of joint moves of those of this preparation.
    pub mean_length: f64,
    /// The joint moves of each game for its validation.
    pub length: Option<Spread>,
    /// The moves of each role that had a choice in those games.
    pub branching: Option<Spread>,
    /// The generation of long training that it is from, if it is.
    pub generation: Option<u32>,
    /// What its training goes on with.
    pub sums: Option<GradientSums>,
    /// How well it predicts.
    pub validation: Validation,
    /// Values of kinds of facts, for people.
    pub heuristics: Vec<Heuristic>,
    /// The chosen search settings.
    pub parameters: Parameters,
    /// Facts that no move changes; only with [`PreparationBudget::sampling`].
    pub autonomous: Option<Autonomous>,
    /// Distances of facts and moves to goals and the end; only with
    /// [`PreparationBudget::sampling`].
    pub distances: Option<Vec<Distances>>,
    /// Statistics of random games; only with [`PreparationBudget::sampling`].
    pub sampled: Option<Sampled>,
}

/// Nothing is trained in less time.
const MIN_LEARNING_TIME: Duration = Duration::from_millis(150);
/// The share of the time before the first move in which alpha-beta's evaluation is trained.
const MOST_FOR_ALPHA_BETA: f64 = 0.95;
/// The share of the time for the structure.
const STRUCTURE_SHARE: f64 = 0.15;
/// The share of the time left for autonomous facts, for distances and for random games, where
/// wanted.
const AUTONOMOUS_SHARE: f64 = 0.25;
const DISTANCES_SHARE: f64 = 0.1;
const SAMPLING_SHARE: f64 = 0.5;
/// Of the time left, the tuples of the evaluation.
const TUPLES_SHARE: f64 = 0.05;
/// Steps for prospects, some tens of milliseconds.
const PROSPECT_STEPS: u64 = 1 << 24;
/// The share of the time left for finding out whether two roles take turns.
const TURNS_SHARE: f64 = 0.05;
/// The share of the time left for training, where an evaluation for alpha-beta is trained as well.
const SHARED_LEARNING_SHARE: f64 = 0.5;
/// Heuristics in the log.
const MAX_LOGGED_HEURISTICS: usize = 40;

/// Prepares for a game. `config` is what the search would run with otherwise.
pub fn prepare(
    game: &BuiltGame,
    prior: Option<PriorPreparation>,
    config: &SearchConfig,
    budget: &PreparationBudget,
) -> Preparation {
    let begun = begin_preparation(game, budget);
    finish_preparation(begun, game, prior, config, budget)
}

/// The first part of a preparation: the structure, in its share of the time. A search can use it
/// while the preparation goes on.
pub fn begin_preparation(game: &BuiltGame, budget: &PreparationBudget) -> Preparation {
    Preparation {
        structure: Structure::find(game, &budget.limits.share(STRUCTURE_SHARE)),
        ..Preparation::default()
    }
}

/// The rest of a preparation in the time left. `prior` and `config` are as in [`prepare`].
pub fn finish_preparation(
    mut preparation: Preparation,
    game: &BuiltGame,
    prior: Option<PriorPreparation>,
    config: &SearchConfig,
    budget: &PreparationBudget,
) -> Preparation {
    if let Some(prior) = prior {
        preparation.games = prior.known.games;
        preparation.sums = prior.known.sums;
        preparation.evaluation = Some(Arc::new(prior.known.evaluation));
        preparation.alpha_beta = prior.alpha_beta;
        preparation.earlier = prior.against_tree;
        if let Some(trained) = prior.trained {
            preparation.parameters = trained.parameters;
            preparation.generation = Some(trained.generation);
        }
    }
    if let Some(size) = budget.sampling {
        preparation.autonomous = game.network.as_ref().and_then(|network| {
            let limits = budget.limits.share(AUTONOMOUS_SHARE);
            autonomous::find(network, &mut limits.with_steps(STEPS))
        });
        preparation.distances = game.network.as_ref().and_then(|network| {
            let limits = budget.limits.share(DISTANCES_SHARE);
            distances(network, &mut limits.with_steps(STEPS))
        });
        let budget = budget.limits.share(SAMPLING_SHARE);
        preparation.sampled = Some(sample(&game.machine, size, config.seed, &budget));
    }
    match preparation.generation {
        Some(_) => preparation.name_heuristics(game),
        None => preparation.learn(game, config, budget),
    }
    preparation
}

/// The prospects of a game, equal ones for equal networks. `None` where it is too large.
pub fn find_prospects(game: &BuiltGame) -> Option<Prospects> {
    let network = game.network.as_ref()?;
    Prospects::find(network, &mut Budget::of_steps(PROSPECT_STEPS))
}

impl PreparationBudget {
    /// A preparation on one thread from now on, without random games for statistics. It trains if
    /// the settings say so.
    pub fn from_now(
        settings: &MetagameSettings,
        time: Duration,
        cancelled: &Arc<AtomicBool>,
    ) -> Self {
        Self {
            limits: Budget::lasting(time).stopped_by(cancelled),
            extension: Duration::ZERO,
            learning: settings.learning,
            threads: 1,
            sampling: None,
            without: WithoutInputs::default(),
            processor_time: false,
        }
    }

    /// As [`from_now`](Self::from_now), the preparation in a share of the time that is left before
    /// the first move. The tree searches that move in the rest. For alpha-beta a better evaluation
    /// is worth more.
    pub fn before_first_move(
        settings: &MetagameSettings,
        left: Duration,
        cancelled: &Arc<AtomicBool>,
    ) -> Self {
        let share = settings.seconds_share;
        let more = (MOST_FOR_ALPHA_BETA - share).max(0.0).min(share);
        Self {
            extension: left.mul_f64(more),
            ..Self::from_now(settings, left.mul_f64(share), cancelled)
        }
    }

    /// The budget of the next of `n_left` preparations, which share the time left equally.
    #[must_use]
    pub fn one_of(&self, n_left: usize) -> Self {
        Self {
            limits: self.limits.share(1.0 / n_left.max(1) as f64),
            // That would be the time of the next.
            extension: if n_left > 1 {
                Duration::ZERO
            } else {
                self.extension
            },
            ..self.clone()
        }
    }

    /// The budget of training with this share of the time left.
    fn training(&self, share: f64) -> Budget {
        let budget = self.limits.share(share);
        match self.processor_time {
            true => budget.by_processor(),
            false => budget,
        }
    }

    /// The budget after work that began at `begun`. This thread had used the processor for
    /// `begun_cpu` by then. Where processor time limits training, the deadline moves by the time in
    /// which other threads had the processor.
    fn left_after(&self, begun: Instant, begun_cpu: Option<Duration>) -> Self {
        let used = thread_cpu_time().zip(begun_cpu);
        let used = used.filter(|_| self.processor_time);
        let by_others = used.map_or(Duration::ZERO, |(now, then)| {
            begun.elapsed().saturating_sub(now.saturating_sub(then))
        });
        self.later(by_others)
    }

    /// The same with a later deadline.
    fn later(&self, time: Duration) -> Self {
        let mut later = self.clone();
        later.limits.until = later.limits.until.map(|until| until + time);
        later
    }
}

impl Preparation {
    /// Trains an evaluation, on top of a prior one, and chooses settings, if that is wanted.
    fn learn(&mut self, game: &BuiltGame, config: &SearchConfig, budget: &PreparationBudget) {
        if !budget.learning || budget.limits.until.is_none() {
            return;
        }
        if budget.limits.left() < MIN_LEARNING_TIME {
            self.why_tree = WhyTree::NoTime;
            return;
        }
        let (begun, begun_cpu) = (Instant::now(), thread_cpu_time());
        let turns = alpha_beta::turns(game, config, &budget.limits.share(TURNS_SHARE));
        let most = most_share(game, &budget.limits.share(TURNS_SHARE));
        let share = turns.map_or(1.0, |_| SHARED_LEARNING_SHARE);
        self.why_tree = turns.err().unwrap_or(WhyTree::NoTime);
        match turns {
            Ok(_) => tracing::debug!("an evaluation is trained for alpha-beta too"),
            Err(why) => tracing::debug!("{why}"),
        }
        let Some(mut learned) = self.train(game, config, budget, share) else {
            tracing::debug!("the game cannot be learned");
            return;
        };
        if let Ok(turns) = turns {
            let budget = budget.left_after(begun, begun_cpu);
            let known = self.known_alpha_beta(&learned);
            let share = alpha_beta::LEARNING_SHARE;
            self.alpha_beta =
                self.train_alpha_beta(game, turns, &known, &budget, share, config.seed);
            if self.alpha_beta.is_none() {
                // The time is the tree's.
                self.why_tree = WhyTree::SumNotFixed;
                self.take_training(learned.clone());
                learned = self.train(game, config, &budget, 1.0).unwrap_or(learned);
            }
        }
        self.mean_length = learned.mean_length;
        (self.length, self.branching) = (learned.length, learned.branching);
        self.validation = learned.validation;
        self.parameters = Parameters::of(&learned.validation, most);
        self.take_training(learned);
        self.name_heuristics(game);
        if self.alpha_beta.is_some() && config.method == Method::Auto {
            let budget = budget.left_after(begun, begun_cpu);
            self.choose_search(game, config, &budget);
        }
        self.train_further(game, config, &budget.left_after(begun, begun_cpu));
    }

    /// Trains what alpha-beta searches with within this share of the time left, on top of what is
    /// known. `None` where the sum of goals is not fixed.
    fn train_alpha_beta(
        &self,
        game: &BuiltGame,
        turns: Turns,
        known: &Known,
        budget: &PreparationBudget,
        share: f64,
        seed: u64,
    ) -> Option<AlphaBetaPreparation> {
        let (training, threads) = (budget.training(share), budget.threads);
        let (machine, images) = (&game.machine, self.structure.images(game));
        let stripped = alpha_beta::without_slow_prospects(machine, turns, known);
        let known = stripped.as_ref().unwrap_or(known);
        let trained = train_leaves(machine, turns, known, &images, &training, threads, seed)?;
        Some(AlphaBetaPreparation::of(trained, turns, known.games))
    }

    /// Trains what the chosen search plays with in the rest of the time. The validation of the
    /// tree's evaluation stays.
    fn train_further(
        &mut self,
        game: &BuiltGame,
        config: &SearchConfig,
        budget: &PreparationBudget,
    ) {
        let has_time = |budget: &PreparationBudget| {
            budget.limits.until.is_some() && budget.limits.left() >= MIN_LEARNING_TIME
        };
        let extended = budget.later(budget.extension);
        if let Some(alpha_beta) = self.alpha_beta_in_use(config) {
            if has_time(&extended) {
                // Other games than those before.
                let seed = config.seed.wrapping_add(1);
                let (known, turns) = (alpha_beta.known(), alpha_beta.turns);
                let trained = self.train_alpha_beta(game, turns, &known, &extended, 1.0, seed);
                self.alpha_beta = trained.or(self.alpha_beta.take());
            }
        } else if self.contest.is_some()
            && has_time(budget)
            && let Some(learned) = self.train(game, config, budget, 1.0)
        {
            self.take_training(learned);
        }
    }

    /// Takes the evaluation of a training, and what goes on with it.
    fn take_training(&mut self, learned: Learned) {
        self.games = learned.games;
        self.sums = Some(learned.sums);
        self.evaluation = Some(Arc::new(learned.evaluation));
    }

    /// Chooses between alpha-beta and the tree by games of both in the time left.
    fn choose_search(
        &mut self,
        game: &BuiltGame,
        config: &SearchConfig,
        budget: &PreparationBudget,
    ) {
        let config = small_search(config.clone());
        let with = |method| {
            self.apply(&SearchConfig {
                method,
                ..config.clone()
            })
        };
        let contest = Contest {
            machine: &game.machine,
            configs: [with(Method::AlphaBeta), with(Method::Tree)],
            of_move: || Budget::lasting(choice::CONTEST_TIME),
            budget: budget.limits.share(choice::CONTEST_SHARE),
        };
        let features = Features {
            validation: self.validation,
            branching: self.branching.as_ref().map_or(0.0, |it| it.mean),
            has_amaf: self.structure.placements.is_some(),
        };
        let prior = features.prior();
        let played = choice::play(&contest, config.seed);
        let mut all = self.earlier.unwrap_or_default().as_earlier();
        all.add(played.games, played.points);
        self.contest = Some(all);
        self.expected_share = Some(prior);
        self.parameters.alpha_beta = all.is_stronger(prior);
        let winner = match self.parameters.alpha_beta {
            true => "alpha-beta",
            false => "the tree",
        };
        tracing::debug!(
            "{winner} plays: alpha-beta has {} points in {} games of both, {} of {} with earlier \
             ones, and was expected to have a share of {prior:.3}: correlation with results {:.3} \
             by the evaluation and {:.3} by playouts, {:.0} moves, AMAF values {}",
            played.points,
            played.games,
            all.points,
            all.games,
            features.validation.evaluation,
            features.validation.playouts,
            features.branching,
            if features.has_amaf {
                "are there"
            } else {
                "are not there"
            },
        );
    }

    /// What training for alpha-beta begins with: what an earlier match left, or what was learned
    /// now for the tree.
    fn known_alpha_beta(&self, learned: &Learned) -> Known {
        match &self.alpha_beta {
            Some(alpha_beta) => alpha_beta.known(),
            None => Known {
                evaluation: learned.evaluation.clone(),
                games: 0,
                sums: Some(learned.sums.clone()),
            },
        }
    }

    /// What alpha-beta searches with, where it plays.
    fn alpha_beta_in_use(&self, config: &SearchConfig) -> Option<&AlphaBetaPreparation> {
        let plays = config.method.plays_alpha_beta(self.parameters.alpha_beta);
        self.alpha_beta.as_ref().filter(|_| plays)
    }

    /// Trains the evaluation, or a new one, within this share of the time left. `None` where the
    /// game cannot be learned.
    fn train(
        &mut self,
        game: &BuiltGame,
        config: &SearchConfig,
        budget: &PreparationBudget,
        share: f64,
    ) -> Option<Learned> {
        let prior = self.evaluation.as_deref().cloned();
        let known = prior.map(|evaluation| Known {
            evaluation,
            games: self.games,
            sums: self.sums.take(),
        });
        // A known evaluation has its own tuples and prospects.
        let network = game.network.as_ref().filter(|_| known.is_none());
        let of_tuples = &mut budget.limits.share(TUPLES_SHARE).with_steps(STEPS);
        let of_lines = network.filter(|_| !budget.without.tuples);
        let tuples = of_lines.and_then(|it| Tuples::find(it, &game.machine, of_tuples));
        let of_prospects = network.filter(|_| !budget.without.prospects);
        let prospects = of_prospects.and_then(|_| find_prospects(game));
        let learned = panza_learning::learn(
            &game.machine,
            self.structure.symmetries.as_deref(),
            tuples.map(Arc::new),
            prospects.map(Arc::new),
            known,
            &budget.training(share),
            LearningPlan {
                threads: budget.threads,
                seed: config.seed,
                ..LearningPlan::default()
            },
        )?;
        tracing::debug!(
            games = learned.games,
            positions = learned.samples,
            mean_length = learned.mean_length,
            "the tree's evaluation is trained"
        );
        Some(learned)
    }

    /// Fills in the values of kinds of facts.
    fn name_heuristics(&mut self, game: &BuiltGame) {
        if let Some((evaluation, facts)) = self.evaluation.as_ref().zip(game.info().facts()) {
            self.heuristics = heuristics::of(evaluation, facts);
        }
    }

    /// The settings of a search that uses the preparation.
    pub fn apply(&self, config: &SearchConfig) -> SearchConfig {
        let config = self.parameters.apply(config, self.evaluation.as_ref());
        let alpha_beta_values = match self.alpha_beta_in_use(&config) {
            Some(alpha_beta) => Ok(AlphaBetaValues {
                training: self.match_training(alpha_beta),
                ..alpha_beta.values()
            }),
            None if self.alpha_beta.is_some() => Err(WhyTree::TreeIsStronger),
            None => Err(self.why_tree),
        };
        SearchConfig {
            alpha_beta_values,
            ..self.structure.apply(config)
        }
    }

    /// Why the tree plays, unless alpha-beta does or there was no contest of both.
    fn why_tree_in_games(&self) -> Option<WhyTree> {
        match &self.alpha_beta {
            None => Some(self.why_tree),
            Some(_) if self.contest.is_some() && !self.parameters.alpha_beta => {
                Some(WhyTree::TreeIsStronger)
            }
            Some(_) => None,
        }
    }

    /// What training for alpha-beta goes on with in a match. `None` after long training: what a
    /// match adds to that was not measured.
    fn match_training(&self, alpha_beta: &AlphaBetaPreparation) -> Option<Arc<TrainingBase>> {
        let symmetries = self.structure.symmetries.as_deref();
        self.generation.is_none().then(|| {
            Arc::new(TrainingBase {
                known: alpha_beta.known(),
                images: Images::new(symmetries, alpha_beta.evaluation.n_facts()),
            })
        })
    }

    /// Whether it changes anything about a search.
    pub fn is_useful(&self) -> bool {
        self.has_learned() || !self.structure.is_empty()
    }

    /// Whether it changes more about a search than its structure does.
    pub fn has_learned(&self) -> bool {
        self.parameters != Parameters::default() || self.alpha_beta.is_some()
    }

    /// The preparation as logged and remembered.
    pub fn to_json(&self) -> Value {
        let structure = &self.structure;
        let latches = structure.latches.as_ref();
        let heuristics = self.heuristics.iter().take(MAX_LOGGED_HEURISTICS);
        json!({
            "parameters": self.parameters,
            "games": self.games,
            "generation": self.generation,
            "length": self.length,
            "branching": self.branching,
            "positions_compared": self.validation.positions,
            "prospects": self.evaluation.as_ref().is_some_and(|it| it.prospects().is_some()),
            "correlation": self.validation.evaluation,
            "correlation_of_playouts": self.validation.playouts,
            "best_evaluation_share": self.validation.share,
            "error_of_best_evaluation_share": self.validation.share_error,
            "settled_facts_that_bound_goals": structure.score_ranges.as_ref().map(|it| it.len()),
            "why_tree": self.why_tree_in_games().map(WhyTree::text),
            "alpha_beta": self.alpha_beta.as_ref().map(|it| {
                it.to_json(self.contest.or(self.earlier), self.expected_share)
            }),
            "symmetries": structure.symmetries.as_ref().map(|found| found.generators.len()),
            "factors": structure.factors.as_ref().map(|found| found.factors.len().max(1)),
            "latches": latches.map(|latches| json!({
                "stay_true": latches.positive.len(),
                "stay_false": latches.negative.len(),
                "stay_with_another": latches.conditional.len(),
            })),
            "heuristics": heuristics.collect::<Vec<_>>(),
        })
    }
}
