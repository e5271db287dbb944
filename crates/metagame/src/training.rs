//! Training that lasts: rounds of self-play, and tests of what it has learned.
//!
//! A round goes on with the training of the newest evaluation, which is not changed by tests. Then
//! an evaluation plays the best one so far, until a sequential test (SPRT) is decided, over
//! several rounds if need be. If it is stronger, it is the next generation. Generation 0 is the
//! search without an evaluation. Other processes may play instead of threads ([`Members`]). Where
//! alpha-beta applies, `alpha_beta_training` trains for it in the same rounds, in this process.
//!
//! Invariants: what is kept between rounds fits into notes, and training goes on from them; matches
//! use the best generation only.
//!
//! Never uses: files, match clocks.

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::alpha_beta_training::{AlphaBetaProgress, AlphaBetaRound, AlphaBetaTraining};
use super::contest::{Contest, decision, small_search, test_opening};
use super::notes::{
    MAX_GAMES, alpha_beta_note, evaluation_note, preparation_notes, prior_preparation,
    read_alpha_beta, read_evaluation,
};
use super::parameters::{Parameters, most_share};
use super::preparation::{Preparation, find_prospects};
use super::sprt::{PairTally, elo};
use super::structure::{STEPS, Structure};
use super::team::{LearningTeam, Members, TestTeam};
use panza_analysis::{Prospects, Symmetries, Tuples};
use panza_game::BuiltGame;
use panza_learning::team::Team;
use panza_learning::{Evaluation, Known, Learned, LearningPlan, learn};
use panza_machine::{GameInfo, Machine};
use panza_memory::{GameHistory, Kind, term, term_text};
use panza_search::SearchConfig;
use panza_sync::{Budget, HAS_THREADS, Instant, in_threads, lock};

/// Facts above which a game is not trained: its notes have some hundred bytes for each.
const MAX_FACTS: usize = 10_000;
const TOO_MANY_FACTS: &str = "it has more than 10,000 facts";
/// Time for the structure of the game.
const STRUCTURE_TIME: Duration = Duration::from_secs(10);
/// The share of a round for self-play; the rest is for tests.
const LEARNING_SHARE: f64 = 0.65;
/// Iterations for a move in tests between generations.
const TEST_ITERATIONS: u64 = 200;
/// The share of a round for the tree, where one thread trains for alpha-beta as well.
const TREE_SHARE: f64 = 0.6;
/// The same once alpha-beta is clearly the stronger search.
const WEAK_TREE_SHARE: f64 = 0.2;
/// Time for a move in tests against generation 0, since an evaluation costs iterations.
const TEST_TIME: Duration = Duration::from_millis(20);
/// Positions of the book, and what may be lacking to an even value there, in points.
const MAX_OPENINGS: usize = 500;
const EVEN: f32 = 25.0;
/// True facts of the positions of the book that are kept, at most.
const MAX_BOOK_FACTS: usize = 500_000;
/// Training steps of a game, at most.
const MAX_LENGTH: u64 = 1 << 16;
/// Tests that are kept.
const MAX_TESTS: usize = 2000;
/// Generations above which a note is no note of a training.
const MAX_GENERATIONS: u32 = 1_000_000;
/// Scores at which Elo differences are cut off.
const MOST_SCORE: f64 = 0.99;

/// How a round is played.
#[derive(Clone, Copy, Debug)]
pub struct RoundPlan<'a> {
    /// Its duration, roughly: a test may take the time of a game longer.
    pub time: Duration,
    /// Threads that play.
    pub threads: usize,
    /// Random seed.
    pub seed: u64,
    /// Set once training is to end.
    pub cancelled: &'a Arc<AtomicBool>,
    /// Other processes that play instead of threads.
    pub members: Option<&'a dyn Members>,
}

/// The result of a test that was decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// Training games by then, and seconds of training.
    pub games: usize,
    /// See `games`.
    pub seconds: f64,
    /// The generation that it was played against.
    pub against: u32,
    /// Pairs of games, and the points of the newer evaluation per game, 0 to 1.
    pub pairs: u32,
    /// See `pairs`.
    pub score: f64,
    /// Whether it became the next generation.
    pub is_stronger: bool,
    /// The Elo difference of the best generation to generation 0 after it: the sum of those of all
    /// successful tests.
    pub elo: f64,
    /// Correlation of the evaluation with targets of games outside the training.
    pub correlation: f64,
}

/// How far training is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Seconds of training, over all its parts.
    pub seconds: f64,
    /// Games of self-play.
    pub games: usize,
    /// Training steps.
    pub samples: u64,
    /// The best generation, and its Elo difference to generation 0.
    pub generation: u32,
    /// See `generation`.
    pub elo: f64,
    /// The tests decided, the oldest first.
    pub tests: Vec<Test>,
    /// How far the training for alpha-beta is; `None` before any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha_beta: Option<AlphaBetaProgress>,
}

impl Progress {
    /// The progress in a note of a training; `None` if it is damaged.
    pub fn from_note(note: &Value) -> Option<Self> {
        let progress = Self::deserialize(&note["progress"]).ok()?;
        let is_sound = progress.games as u64 <= MAX_GAMES
            && progress.generation <= MAX_GENERATIONS
            && progress.tests.len() <= MAX_TESTS
            && progress.samples <= MAX_GAMES * MAX_LENGTH
            && progress.seconds.is_finite()
            && progress.elo.is_finite()
            && progress
                .alpha_beta
                .as_ref()
                .is_none_or(AlphaBetaProgress::is_sound);
        is_sound.then_some(progress)
    }
}

/// What a round came to.
#[derive(Clone, Debug)]
pub struct RoundReport {
    /// Games of self-play in it, and seconds of self-play.
    pub games: usize,
    /// See `games`.
    pub play_seconds: f64,
    /// Correlation of the newest evaluation with targets of games outside the training. `None` if
    /// nothing was measured, as in a round that was interrupted.
    pub correlation: Option<f64>,
    /// The test in progress after it: pairs, and points per game.
    pub pending: Option<(u32, f64)>,
    /// The test that was decided in it, if one was.
    pub test: Option<Test>,
}

/// An evaluation with its settings.
struct Player {
    known: Known,
    parameters: Parameters,
}

/// A test in progress.
struct Pending {
    learned: Learned,
    /// The settings of both sides.
    parameters: Parameters,
    /// The settings that suit the evaluation, with which it plays if it is stronger.
    own_parameters: Parameters,
    tally: PairTally,
    /// Rounds of games begun, so that each has other random numbers.
    begun: u64,
}

/// The training of a game.
pub struct Training<'a> {
    game: &'a BuiltGame,
    config: SearchConfig,
    structure: Structure,
    tuples: Option<Arc<Tuples>>,
    prospects: Option<Arc<Prospects>>,
    progress: Progress,
    /// The newest evaluation, which is trained.
    newest: Option<Known>,
    best: Option<Player>,
    pending: Option<Pending>,
    openings: Vec<Vec<u64>>,
    alpha_beta: AlphaBetaTraining,
}

impl<'a> Training<'a> {
    /// Begins, or goes on with what is remembered of earlier training.
    ///
    /// # Errors
    /// Why the game cannot be trained.
    pub fn new(
        game: &'a BuiltGame,
        config: SearchConfig,
        history: Option<&GameHistory>,
    ) -> Result<Self, &'static str> {
        let info = game.info();
        match info.facts() {
            None => return Err("it is played on the prover, which has no evaluation"),
            Some(facts) if facts.len() > MAX_FACTS => return Err(TOO_MANY_FACTS),
            Some(_) => {}
        }
        let limited = || Budget::lasting(STRUCTURE_TIME);
        let budget = limited();
        let structure = Structure::find(game, &budget);
        let network = game.network.as_ref();
        let steps = &mut budget.with_steps(STEPS);
        let tuples = network.and_then(|it| Tuples::find(it, &game.machine, steps));
        let mut training = Self {
            game,
            structure,
            tuples: tuples.map(Arc::new),
            prospects: find_prospects(game).map(Arc::new),
            alpha_beta: AlphaBetaTraining::new(game, &config, &limited()),
            config: small_search(config),
            progress: Progress::default(),
            newest: None,
            best: None,
            pending: None,
            openings: Vec::new(),
        };
        if let Some(history) = history {
            training.recall(history);
        }
        Ok(training)
    }

    /// Takes up what notes hold.
    fn recall(&mut self, history: &GameHistory) {
        let info = self.game.info();
        let prospects = || self.prospects.as_deref().cloned();
        let prior = prior_preparation(info, history, prospects);
        let note = history.note(Kind::Training);
        let progress = note.and_then(Progress::from_note);
        let (Some(prior), Some(note), Some(progress)) = (prior, note, progress) else {
            return;
        };
        let newest = read_evaluation(info, &note["newest"], prospects);
        self.alpha_beta.progress = progress.alpha_beta.clone().unwrap_or_default();
        self.alpha_beta.newest = read_alpha_beta(info, &note["newest_of_alpha_beta"], prospects);
        if self.alpha_beta.newest.is_none() {
            self.alpha_beta.newest.clone_from(&prior.alpha_beta);
        }
        self.alpha_beta.best = prior.alpha_beta;
        self.progress = progress;
        self.newest = Some(newest.unwrap_or_else(|| prior.known.clone()));
        // Alpha-beta may have a generation where the tree has none.
        let of_tree = prior.trained.filter(|_| self.progress.generation > 0);
        self.best = of_tree.map(|trained| Player {
            known: prior.known,
            parameters: trained.parameters,
        });
        let state = |places: &Value| {
            let facts = places.as_array()?.iter().map(|place| {
                let fact = note["facts"].get(usize::try_from(place.as_u64()?).ok()?)?;
                Some(term_text(fact.as_str()?)?.to_string())
            });
            let facts = facts.collect::<Option<Vec<String>>>()?;
            info.state_from_facts(&facts).ok()
        };
        let openings = note["openings"].as_array().into_iter().flatten();
        self.openings = openings.take(MAX_OPENINGS).filter_map(state).collect();
    }

    /// What a member learns on.
    pub(super) fn to_learn(&self) -> (&'a Arc<dyn Machine>, Option<&Symmetries>) {
        (&self.game.machine, self.structure.symmetries.as_deref())
    }

    /// What a member plays tests with.
    pub(super) fn to_play(&self) -> (&'a BuiltGame, SearchConfig) {
        (self.game, self.structure.apply(self.config.clone()))
    }

    /// What a member reads evaluations with.
    pub(super) fn to_read(&self) -> (&'a dyn GameInfo, Option<&Prospects>) {
        (self.game.info(), self.prospects.as_deref())
    }

    /// Whether the tree has a generation.
    #[cfg(test)]
    pub(super) fn has_generation(&self) -> bool {
        self.best.is_some()
    }

    /// The training for alpha-beta.
    #[cfg(test)]
    pub(super) fn alpha_beta(&self) -> &AlphaBetaTraining {
        &self.alpha_beta
    }

    /// How far training is.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Trains and tests for a round. With several threads, and where other processes play, one
    /// thread of this process trains for alpha-beta meanwhile, else it takes its part of the time.
    ///
    /// # Errors
    /// Why the game cannot be trained.
    pub fn round(&mut self, plan: &RoundPlan<'_>) -> Result<RoundReport, &'static str> {
        let begin = Instant::now();
        let mut alpha_beta = mem::take(&mut self.alpha_beta);
        let generation = self.progress.generation;
        let has_thread = HAS_THREADS && (plan.threads > 1 || plan.members.is_some());
        let known = self.newest.clone().filter(|_| has_thread);
        let report = match known {
            _ if !alpha_beta.applies() => self.round_of_tree(plan),
            Some(known) => {
                let book = self.openings.clone();
                let round = self.alpha_beta_round(plan, plan.time, &book);
                thread::scope(|scope| {
                    scope.spawn(|| alpha_beta.round(&known, &round));
                    self.round_of_tree(&RoundPlan {
                        threads: plan.threads.saturating_sub(1).max(1),
                        ..*plan
                    })
                })
            }
            None => {
                let share = match alpha_beta.progress.is_stronger() {
                    true => WEAK_TREE_SHARE,
                    false => TREE_SHARE,
                };
                let report = self.round_of_tree(&RoundPlan {
                    time: plan.time.mul_f64(share),
                    ..*plan
                });
                if let Some(known) = &self.newest {
                    let time = plan.time.mul_f64(1.0 - share);
                    alpha_beta.round(known, &self.alpha_beta_round(plan, time, &self.openings));
                }
                report
            }
        };
        if self.progress.generation > generation {
            alpha_beta.progress.forget_games();
        }
        let has_begun = alpha_beta.newest.is_some();
        self.progress.alpha_beta = has_begun.then(|| alpha_beta.progress.clone());
        self.alpha_beta = alpha_beta;
        self.progress.seconds += begin.elapsed().as_secs_f64();
        report
    }

    /// A round for alpha-beta.
    fn alpha_beta_round<'b>(
        &self,
        plan: &RoundPlan<'_>,
        time: Duration,
        book: &'b [Vec<u64>],
    ) -> AlphaBetaRound<'b>
    where
        'a: 'b,
    {
        let config = self.structure.apply(self.config.clone());
        let tree = self.best.as_ref().map(|best| {
            let evaluation = Arc::new(best.known.evaluation.clone());
            best.parameters.apply(&config, Some(&evaluation))
        });
        AlphaBetaRound {
            game: self.game,
            tree: tree.unwrap_or_else(|| config.clone()),
            config,
            book,
            images: self.structure.images(self.game),
            budget: Budget::lasting(time).stopped_by(plan.cancelled),
            seed: plan.seed,
        }
    }

    /// A round for the tree.
    fn round_of_tree(&mut self, plan: &RoundPlan<'_>) -> Result<RoundReport, &'static str> {
        let begin = Instant::now();
        let budget = Budget::lasting(plan.time).stopped_by(plan.cancelled);
        let before = self.progress.games;
        let team = plan.members.map(|members| LearningTeam {
            members,
            info: self.game.info(),
        });
        let learning = LearningPlan {
            threads: plan.threads,
            seed: plan.seed.wrapping_add(before as u64),
            openings: &self.openings,
            team: team.as_ref().map(|team| team as &dyn Team),
        };
        let learned = learn(
            &self.game.machine,
            self.structure.symmetries.as_deref(),
            self.tuples.clone(),
            self.prospects.clone(),
            self.newest.take(),
            &budget.share(LEARNING_SHARE),
            learning,
        );
        let learned = learned.ok_or("it has too many roles")?;
        let play_seconds = begin.elapsed().as_secs_f64();
        let validation = learned.validation;
        let correlation = (validation.positions > 0).then_some(validation.evaluation);
        self.newest = Some(known(&learned));
        self.progress.games = learned.games;
        self.progress.samples += learned.samples;
        self.add_openings(&learned);
        if self.pending.is_none() && !budget.is_stopped() {
            self.pending = Some(self.begin_test(learned));
        }
        let verdict = self.play_test(budget, plan);
        let test = verdict.and_then(|is_stronger| self.end_test(is_stronger));
        Ok(RoundReport {
            games: self.progress.games - before,
            play_seconds,
            correlation,
            pending: self.pending.as_ref().and_then(|pending| {
                let tally = pending.tally;
                Some((tally.pairs(), tally.score()?))
            }),
            test,
        })
    }

    /// Adds even positions to the book; the oldest go.
    fn add_openings(&mut self, learned: &Learned) {
        let weights = learned.evaluation.weights();
        let even = weights.fixed_sum.unwrap_or(100.0) / 2.0;
        let mut values = vec![0.0; learned.evaluation.n_roles()];
        for state in &learned.positions {
            learned.evaluation.values(state, &mut values);
            if values.iter().all(|value| (value - even).abs() <= EVEN) {
                self.openings.push(state.clone());
            }
        }
        let surplus = self.openings.len().saturating_sub(MAX_OPENINGS);
        self.openings.drain(..surplus);
    }

    /// A test of what was learned now.
    fn begin_test(&self, learned: Learned) -> Pending {
        let most = most_share(self.game, &Budget::lasting(STRUCTURE_TIME));
        let own_parameters = match Parameters::of(&learned.validation, most) {
            found if found.uses_evaluation() => found,
            _ => Parameters::for_tests(),
        };
        let best = self.best.as_ref();
        Pending {
            learned,
            // Equal settings, so that the evaluations alone are compared.
            parameters: best.map_or(own_parameters, |best| best.parameters),
            own_parameters,
            tally: PairTally::default(),
            begun: 0,
        }
    }

    /// Plays on within this budget. `Some` once the test is decided.
    fn play_test(&mut self, budget: Budget, plan: &RoundPlan<'_>) -> Option<bool> {
        let mut pending = self.pending.take()?;
        let config = self.structure.apply(self.config.clone());
        let tested = &pending.learned.evaluation;
        let best = self.best.as_ref().map(|best| &best.known.evaluation);
        let parameters = pending.parameters;
        let game = self.game;
        let contest = test_contest(game, config, tested, best, parameters, budget);
        let team = plan
            .members
            .map(|members| TestTeam::begin(members, game.info(), tested, best, parameters));
        let n_players = plan.members.map_or(plan.threads, Members::count);
        let begun = AtomicU64::new(pending.begun);
        let tally = Mutex::new(pending.tally);
        let lock = || lock(&tally);
        let training = &*self;
        let play = |player: usize| {
            while decision(&lock()).is_none() {
                let number = begun.fetch_add(1, Ordering::Relaxed);
                let opening = test_opening(&game.machine, &training.openings, plan.seed, number);
                let pair = match &team {
                    Some(_) if contest.budget.is_over() => None,
                    Some(team) => team.pair(player, opening, number, contest.budget.left()),
                    None => {
                        let round = contest.round(&opening, number);
                        round.map(|round| (round.games, round.points))
                    }
                };
                let Some((games, points)) = pair else {
                    break;
                };
                lock().add(2.0 * f64::from(points) / f64::from(games));
            }
        };
        let play = &play;
        in_threads(
            "contest",
            (0..n_players.max(1)).map(|player| move || play(player)),
        );
        pending.tally = *lock();
        pending.begun = begun.load(Ordering::Relaxed);
        let verdict = decision(&pending.tally);
        self.pending = Some(pending);
        verdict
    }

    /// Ends the test; a stronger evaluation is the next generation.
    fn end_test(&mut self, is_stronger: bool) -> Option<Test> {
        let Pending {
            learned,
            own_parameters,
            tally,
            ..
        } = self.pending.take()?;
        let score = tally.score()?;
        let against = self.progress.generation;
        if is_stronger {
            self.progress.generation += 1;
            self.progress.elo += elo(score.clamp(1.0 - MOST_SCORE, MOST_SCORE));
            self.best = Some(Player {
                known: known(&learned),
                parameters: own_parameters,
            });
        }
        let test = Test {
            games: learned.games,
            seconds: self.progress.seconds,
            against,
            pairs: tally.pairs(),
            score,
            is_stronger,
            elo: self.progress.elo,
            correlation: learned.validation.evaluation,
        };
        if self.progress.tests.len() < MAX_TESTS {
            self.progress.tests.push(test.clone());
        }
        Some(test)
    }

    /// What matches and further training need. `None` before the first round.
    pub fn notes(&self) -> Option<Vec<(Kind, Value)>> {
        let info = self.game.info();
        let newest = self.newest.as_ref()?;
        let (known, parameters) = match &self.best {
            Some(best) => (&best.known, best.parameters),
            None => (newest, Parameters::default()),
        };
        let preparation = Preparation {
            evaluation: Some(Arc::new(known.evaluation.clone())),
            games: known.games,
            sums: known.sums.clone(),
            parameters: Parameters {
                alpha_beta: self.alpha_beta.best.is_some() && self.alpha_beta.progress.plays(),
                ..parameters
            },
            alpha_beta: self.alpha_beta.best.clone(),
            ..Preparation::default()
        };
        let facts = info.facts().unwrap_or_default();
        let openings = self.openings.iter().rev().map(|state| {
            let holds = |&fact: &usize| state[fact / 64] >> (fact % 64) & 1 == 1;
            (0..facts.len()).filter(holds).collect::<Vec<usize>>()
        });
        let mut n_kept = 0;
        let kept = openings.take_while(|facts| {
            n_kept += facts.len();
            n_kept <= MAX_BOOK_FACTS
        });
        let mut openings: Vec<Vec<usize>> = kept.collect();
        openings.reverse();
        let mut training = json!({
            "progress": self.progress,
            "newest": evaluation_note(info, &newest.evaluation, newest.games, newest.sums.as_ref()),
            "facts": facts.iter().map(|fact| term(fact)).collect::<Vec<_>>(),
            "openings": openings,
        });
        if let Some(newest) = &self.alpha_beta.newest {
            training["newest_of_alpha_beta"] = alpha_beta_note(info, newest);
        }
        let mut found = preparation_notes(info, &preparation, MAX_FACTS);
        found.push((Kind::Training, training));
        Some(found)
    }
}

/// The games of an evaluation with its parameters against the best one, or against the search
/// without one.
pub(super) fn test_contest<'a>(
    game: &'a BuiltGame,
    config: SearchConfig,
    tested: &Evaluation,
    best: Option<&Evaluation>,
    parameters: Parameters,
    budget: Budget,
) -> Contest<'a> {
    let with = |evaluation: &Evaluation| {
        let evaluation = Arc::new(evaluation.clone());
        parameters.apply(&config, Some(&evaluation))
    };
    Contest {
        machine: &game.machine,
        configs: [
            with(tested),
            match best {
                Some(best) => with(best),
                None => config.clone(),
            },
        ],
        of_move: match best {
            Some(_) => || Budget::of_steps(TEST_ITERATIONS),
            None => || Budget::lasting(TEST_TIME),
        },
        budget,
    }
}

/// What training goes on with.
fn known(learned: &Learned) -> Known {
    Known {
        evaluation: learned.evaluation.clone(),
        games: learned.games,
        sums: Some(learned.sums.clone()),
    }
}
