#![doc = include_str!("../README.md")]
//!
//! In each state of a game all moves are evaluated, and one is drawn from the softmax of their
//! values. At the end of a game its states are samples for training. Their targets are the values
//! of their best moves, mixed with the result of the game as far as the moves made were the best
//! ones: TD(lambda) (Sutton 1988) with traces that end at other moves (Watkins 1989). Samples are
//! trained on in random order, each as a random symmetric image. The trained evaluation plays the
//! next games, as in TD-Gammon (Tesauro 1995). What is used in the end is the average of its
//! weights over the last part of training (Polyak and Juditsky 1992).
//!
//! A new evaluation is first trained both on facts alone and with the prospects of roles, and goes
//! on with what predicts the next games better. Prospects that cost too much are left out.
//!
//! Games may begin in given positions.
//!
//! Several threads have games and weights of their own, which are averaged again and again. A
//! [`Team`] of other processes takes the place of threads.
//!
//! Invariants: with one thread the same machine, seed and number of games give the same weights;
//! each game has a bounded length.
//!
//! Never uses: search trees of matches, GDL text.

#![cfg_attr(test, allow(clippy::disallowed_methods))]
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    reason = "training ends when its share of the time is spent"
)]

pub mod statistics;
mod images;
mod samples;
mod game;
mod worth;
mod self_play;
pub mod team;
pub mod validation;
pub mod evaluation;
pub mod heuristics;

pub use evaluation::{Evaluation, GradientSums, Trainer, ValueReader};
pub use heuristics::Heuristic;
pub use images::Images;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use self::samples::{Samples, is_second_better};
use self::self_play::{MAX_LENGTH, SelfPlay};
use self::team::{Part, Team};
use self::validation::{Validation, validate};
use panza_analysis::{Prospects, Symmetries, Tuples};
use panza_machine::Machine;
use panza_sync::{Instant, Random, in_threads, left_until};

/// A time on some clock.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    /// The time.
    pub at: Duration,
    /// The clock.
    pub clock: fn() -> Duration,
}

impl Deadline {
    /// A time of day.
    pub fn wall(until: Instant) -> Self {
        static START: OnceLock<Instant> = OnceLock::new();
        fn clock() -> Duration {
            START.get_or_init(Instant::now).elapsed()
        }
        let now = clock();
        Self {
            at: now + left_until(until),
            clock,
        }
    }

    /// The time until then.
    fn left(self) -> Duration {
        self.at.saturating_sub((self.clock)())
    }

    /// The deadline that leaves a share of the time until this one.
    fn before(self, share: f64) -> Self {
        Self {
            at: self.at - self.left().mul_f64(share),
            ..self
        }
    }
}

/// The budget of learning.
#[derive(Clone, Copy, Debug)]
pub struct LearningBudget<'a> {
    /// The number of games.
    pub games: usize,
    /// No state is expanded after this time.
    pub until: Option<Deadline>,
    /// Learning ends early once this is true.
    pub cancelled: Option<&'a AtomicBool>,
    /// Threads that play and train.
    pub threads: usize,
    /// Random seed.
    pub seed: u64,
    /// States in which half of the games begin, where there are some.
    pub openings: &'a [Vec<u64>],
}

impl LearningBudget<'_> {
    /// Whether the time is up or learning is cancelled.
    pub fn is_over(&self) -> bool {
        self.until.is_some_and(|until| until.left().is_zero()) || self.is_cancelled()
    }

    /// Whether learning is cancelled.
    pub fn is_cancelled(&self) -> bool {
        let cancelled = self.cancelled;
        cancelled.is_some_and(|cancelled| cancelled.load(Ordering::Relaxed))
    }
}

/// The result of learning.
#[derive(Clone, Debug)]
pub struct Learned {
    /// The trained evaluation.
    pub evaluation: Evaluation,
    /// What its training goes on with.
    pub sums: GradientSums,
    /// The number of training games, earlier ones included.
    pub games: usize,
    /// The training steps made now.
    pub samples: u64,
    /// The mean number of joint moves of the games played now.
    pub mean_length: f64,
    /// How well it predicts the values of positions that it was not trained on.
    pub validation: Validation,
    /// Those positions.
    pub positions: Vec<Vec<u64>>,
}

/// An evaluation to continue from.
#[derive(Clone, Debug)]
pub struct Known {
    /// The evaluation.
    pub evaluation: Evaluation,
    /// Its training games.
    pub games: usize,
    /// What its training goes on with, if that was kept.
    pub sums: Option<GradientSums>,
}

/// The share of the time for validation, and that of its playouts.
const VALIDATION_SHARE: f64 = 0.2;
const PLAYOUT_SHARE: f64 = 0.4;
/// Games for validation, at most.
const VALIDATION_GAMES: usize = 2000;
/// Larger prospects cost more visits than they are worth: in Hex nine of ten (docs/experiments.md).
const MAX_PROSPECT_SIZE: usize = 40_000;
/// The share of the time, or of the games, in which inputs are compared, at most.
const COMPARISON_SHARE: f64 = 0.25;
/// Games between two looks at whether they are compared.
const COMPARISON_GAMES: usize = 256;
/// Parts of the training after each of which the threads average their weights.
const THREAD_ROUNDS: u32 = 64;

/// Playouts from which a fixed sum of goals is inferred.
const FIXED_SUM_PLAYOUTS: usize = 256;

/// Trains an evaluation by self-play on the machine: `known` if it fits, else a new one with these
/// tuples, and with these prospects where they are small enough and lower its errors.
///
/// Where there is a team and a deadline, the team plays and trains; the choice of inputs and the
/// validation stay here.
///
/// `None` for games with more than [`MAX_ROLES`](evaluation::MAX_ROLES) roles, and for
/// machines whose states are not sets of facts.
pub fn learn(
    machine: &Arc<dyn Machine>,
    symmetries: Option<&Symmetries>,
    tuples: Option<Arc<Tuples>>,
    prospects: Option<Arc<Prospects>>,
    known: Option<Known>,
    budget: LearningBudget<'_>,
    team: Option<&dyn Team>,
) -> Option<Learned> {
    let n_facts = machine.info().facts()?.len();
    let mut random = Random::new(budget.seed);
    let n_roles = machine.info().n_roles();
    let known = known.filter(|Known { evaluation, .. }| {
        evaluation.n_roles() == n_roles && evaluation.n_facts() == n_facts
    });
    let prospects = prospects.filter(|found| known.is_none() && found.size() <= MAX_PROSPECT_SIZE);
    let Known {
        evaluation,
        games: earlier_games,
        sums,
    } = match known {
        Some(known) => known,
        None => {
            let sum = fixed_sum(machine, &mut random, || budget.is_over());
            Known {
                evaluation: Evaluation::new(n_roles, n_facts, sum, tuples, &mut random)?,
                games: 0,
                sums: None,
            }
        }
    };
    let with_prospects = prospects.and_then(|it| evaluation.clone().with_prospects(it));
    let second = with_prospects.map(|evaluation| Trainer::new(evaluation, None));
    let trainer = Trainer::new(evaluation, sums.as_ref());
    let images = Arc::new(Images::new(symmetries, n_facts));
    let mut players: Vec<SelfPlay> = (0..budget.threads.max(1))
        .map(|index| {
            let random = Random::new(random.bits().wrapping_add(index as u64));
            let samples = Samples::new(
                trainer.clone(),
                second.clone(),
                Arc::clone(&images),
                earlier_games,
            );
            SelfPlay::new(machine, samples, earlier_games, random)
        })
        .collect();
    let played = choose_inputs(&mut players, budget);
    let left = budget.games.saturating_sub(played);
    let rest = LearningBudget {
        games: left,
        ..budget
    };
    let with_deadline = team.zip(budget.until);
    let others = match with_deadline {
        Some((team, until)) => {
            train_together(&mut players, team, until, earlier_games + played, rest)
        }
        None => {
            train(&mut players, rest);
            Totals::default()
        }
    };
    let mut player = players.swap_remove(0);
    let games = player.finished + players.iter().map(|it| it.finished).sum::<usize>();
    let moves = player.moves + players.iter().map(|it| it.moves).sum::<u64>();
    let samples = player.samples.made + players.iter().map(|it| it.samples.made).sum::<u64>();
    let (games, moves) = (games + others.games, moves + others.moves);
    let samples = samples + others.samples;
    drop(players);
    let evaluation = player.samples.trainer().average().clone();
    let most = match budget.games {
        usize::MAX => VALIDATION_GAMES,
        games => games.min(VALIDATION_GAMES),
    };
    let until = budget.until.map(|until| until.before(PLAYOUT_SHARE));
    let positions = player.validation_positions(most, LearningBudget { until, ..budget });
    let random = &mut player.random;
    let validation = validate(machine, &evaluation, &positions, random, budget);
    let positions = positions.into_iter().map(|position| position.state);
    Some(Learned {
        evaluation,
        sums: player.samples.trainer().gradient_sums(),
        games: earlier_games + games,
        samples,
        mean_length: moves as f64 / games.max(1) as f64,
        validation,
        positions: positions.collect(),
    })
}

/// Plays and trains with two kinds of inputs, until it is clear which predict better, and goes on
/// with those. Returns the number of games.
fn choose_inputs(players: &mut [SelfPlay], budget: LearningBudget<'_>) -> usize {
    if players
        .iter()
        .all(|player| player.samples.errors().is_none())
    {
        return 0;
    }
    let until = budget
        .until
        .map(|until| until.before(1.0 - COMPARISON_SHARE));
    let most = (budget.games as f64 * COMPARISON_SHARE) as usize;
    let of_round = LearningBudget {
        games: COMPARISON_GAMES.min(most.div_ceil(players.len())),
        until,
        ..budget
    };
    let played = |players: &[SelfPlay]| players.iter().map(|it| it.finished).sum::<usize>();
    let is_over = |players: &[SelfPlay]| of_round.is_over() || played(players) >= most;
    let can_compare = |players: &[SelfPlay]| {
        let is_over = is_over(players);
        players.iter().all(|it| it.samples.can_compare(is_over))
    };
    while !is_over(players) && !can_compare(players) && !players.iter().all(SelfPlay::is_endless) {
        if let [player] = &mut *players {
            player.run(of_round);
            continue;
        }
        play(players, of_round);
    }
    let errors = players.iter().filter_map(|player| player.samples.errors());
    let is_second = can_compare(players) && is_second_better(errors);
    for player in &mut *players {
        player.choose_inputs(is_second);
    }
    played(players)
}

/// Plays, on a thread for each player.
fn play(players: &mut [SelfPlay], budget: LearningBudget<'_>) {
    let works = players.iter_mut();
    in_threads("learning", works.map(|player| move || player.run(budget)));
}

/// Plays and trains, on a thread for each player.
fn train(players: &mut [SelfPlay], budget: LearningBudget<'_>) {
    let until = budget.until.map(|until| until.before(VALIDATION_SHARE));
    let budget = LearningBudget { until, ..budget };
    if let [player] = players {
        player.run(budget);
        return player.samples.train_all();
    }
    let mut left = budget.games;
    for round in (1..=THREAD_ROUNDS).rev() {
        if budget.is_over() || left == 0 {
            break;
        }
        let games = left.div_ceil(round as usize);
        left -= games;
        let of_round = LearningBudget {
            games: games.div_ceil(players.len()),
            until: until.map(|until| until.before(1.0 - 1.0 / f64::from(round))),
            ..budget
        };
        play(players, of_round);
        let trainers = players
            .iter_mut()
            .map(|player| player.samples.trainer_mut());
        Trainer::unite(&mut trainers.collect::<Vec<_>>());
    }
    players
        .iter_mut()
        .for_each(|player| player.samples.train_all());
    let trainers = players
        .iter_mut()
        .map(|player| player.samples.trainer_mut());
    Trainer::unite(&mut trainers.collect::<Vec<_>>());
}

/// What a team has done.
#[derive(Default)]
struct Totals {
    games: usize,
    moves: u64,
    samples: u64,
}

/// Lets a team play and train. The players here, who have chosen the inputs, train on what they
/// have and are united first.
fn train_together(
    players: &mut [SelfPlay],
    team: &dyn Team,
    until: Deadline,
    games: usize,
    budget: LearningBudget<'_>,
) -> Totals {
    let until = until.before(VALIDATION_SHARE);
    let budget = LearningBudget {
        until: Some(until),
        ..budget
    };
    players
        .iter_mut()
        .for_each(|player| player.samples.train_all());
    let trainers = players
        .iter_mut()
        .map(|player| player.samples.trainer_mut());
    Trainer::unite(&mut trainers.collect::<Vec<_>>());
    let trainer = players[0].samples.trainer_mut();
    let mut totals = Totals::default();
    team.begin(&trainer.evaluation, games, &budget);
    for round in (1..=THREAD_ROUNDS).rev() {
        if budget.is_over() || totals.games >= budget.games {
            break;
        }
        let part = Part {
            numbers: trainer.numbers(),
            time: until.left() / round,
            is_last: round == 1,
        };
        for share in team::unite(trainer, team.play(&part)) {
            totals.games += share.games;
            totals.moves += share.moves;
            totals.samples += share.samples;
        }
    }
    totals
}

/// The sum of the goals of two roles, if it is the same in all of some playouts, which end early
/// once `is_over` says so.
pub fn fixed_sum(
    machine: &Arc<dyn Machine>,
    random: &mut Random,
    is_over: impl Fn() -> bool,
) -> Option<u32> {
    if machine.info().n_roles() != 2 {
        return None;
    }
    let mut reasoner = Arc::clone(machine).reasoner();
    let initial = machine.initial_state();
    let mut goals = [0; 2];
    let mut sum = None;
    for _ in 0..FIXED_SUM_PLAYOUTS {
        if is_over() {
            break;
        }
        reasoner.set_state(&initial);
        reasoner.playout(random, MAX_LENGTH as u32, &mut goals);
        if !reasoner.is_terminal() {
            continue;
        }
        let found = u32::from(goals[0]) + u32::from(goals[1]);
        if *sum.get_or_insert(found) != found {
            return None;
        }
    }
    sum.filter(|&sum| sum > 0)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::team::{Member, MemberPlan, Share};
    use super::*;
    use panza_machine::{CounterLayout, CounterMachine};

    /// Two players take flags in turn, and who has the gold one wins.
    const FLAGS: &str =
        "(role left) (role right) (flag gold) (flag red) (flag blue) (flag green) (flag white)
        (init (turn left)) (<= (init (lies ?f)) (flag ?f))
        (<= (legal ?p (take ?f)) (true (turn ?p)) (true (lies ?f)))
        (<= (legal left wait) (true (turn right))) (<= (legal right wait) (true (turn left)))
        (<= (next (turn left)) (true (turn right))) (<= (next (turn right)) (true (turn left)))
        (<= (taken ?f) (does ?p (take ?f)))
        (<= (next (lies ?f)) (true (lies ?f)) (not (taken ?f)))
        (<= (next (has ?p ?f)) (does ?p (take ?f))) (<= (next (has ?p ?f)) (true (has ?p ?f)))
        (<= some (true (lies ?f))) (<= terminal (not some))
        (<= (goal ?p 100) (true (has ?p gold)))
        (<= (goal ?p 0) (role ?p) (not (true (has ?p gold))))";

    fn machine(text: &str) -> Arc<dyn Machine> {
        let (rules, faults) = panza_gdl::load(text);
        assert!(faults.is_empty(), "{faults:?}");
        let limits = panza_sync::Budget::generous();
        let program = panza_ground::ground(&rules, limits).unwrap();
        let network = panza_propnet::build(&program, limits).unwrap();
        Arc::new(CounterMachine::new(CounterLayout::compile(&network)))
    }

    fn games(games: usize) -> LearningBudget<'static> {
        LearningBudget {
            games,
            until: Some(Deadline::wall(Instant::now() + Duration::from_secs(60))),
            cancelled: None,
            threads: 1,
            seed: 1,
            openings: &[],
        }
    }

    /// The bit of a fact.
    fn bit(machine: &Arc<dyn Machine>, fact: &str) -> usize {
        let state = machine
            .info()
            .state_from_facts(&[fact.to_string()])
            .unwrap();
        (0..state.len() * 64)
            .find(|bit| state[bit / 64] >> (bit % 64) & 1 == 1)
            .unwrap()
    }

    /// The value for the first role of its having the gold flag.
    fn value_of_gold(machine: &Arc<dyn Machine>, evaluation: &Evaluation) -> f32 {
        let facts = ["(has left gold)".to_string(), "(turn right)".to_string()];
        let state = machine.info().state_from_facts(&facts).unwrap();
        let mut values = [0.0; 2];
        evaluation.values(&state, &mut values);
        assert!((values[0] + values[1] - 100.0).abs() < 0.01, "{values:?}");
        values[0]
    }

    #[test]
    fn the_deciding_fact_gets_the_largest_value() {
        let machine = machine(FLAGS);
        let learned = learn(&machine, None, None, None, None, games(3000), None).unwrap();
        assert_eq!(learned.games, 3000);
        let worth = |fact: &str| learned.evaluation.worth(bit(&machine, fact))[0];
        let gold = worth("(has left gold)");
        assert!(gold > 10.0, "{gold}");
        assert!(gold > 2.0 * worth("(has left red)").abs());
        assert!(worth("(has right gold)") < -10.0);
        assert!(value_of_gold(&machine, &learned.evaluation) > 80.0);
        assert!(
            learned.validation.evaluation > 0.5,
            "{:?}",
            learned.validation
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_weights() {
        let machine = machine(FLAGS);
        let twice = [0, 1].map(|_| {
            learn(&machine, None, None, None, None, games(300), None)
                .unwrap()
                .evaluation
        });
        assert_eq!(twice[0], twice[1]);
    }

    #[test]
    fn several_threads_learn_together() {
        let machine = machine(FLAGS);
        let budget = LearningBudget {
            threads: 2,
            ..games(3000)
        };
        let learned = learn(&machine, None, None, None, None, budget, None).unwrap();
        // Each round has as many games of each thread.
        assert!((3000..3200).contains(&learned.games), "{}", learned.games);
        assert!(value_of_gold(&machine, &learned.evaluation) > 80.0);
    }

    /// Members in this process, and one whose weights are none.
    struct LocalTeam {
        machine: Arc<dyn Machine>,
        members: Mutex<Vec<Member>>,
    }

    impl Team for LocalTeam {
        fn begin(&self, evaluation: &Evaluation, games: usize, budget: &LearningBudget<'_>) {
            let members = (0..2).map(|member| {
                let plan = MemberPlan {
                    games,
                    seed: budget.seed + member,
                    openings: Vec::new(),
                };
                Member::new(&self.machine, None, evaluation.clone(), plan).unwrap()
            });
            *self.members.lock().unwrap() = members.collect();
        }

        fn play(&self, part: &Part) -> Vec<Share> {
            let part = Part {
                time: part.time / 2,
                ..part.clone()
            };
            let cancelled = AtomicBool::new(false);
            let mut members = self.members.lock().unwrap();
            let shares = members.iter_mut();
            let mut shares: Vec<Share> = shares
                .map(|member| member.play(&part, &cancelled).unwrap())
                .collect();
            let mut broken = shares[0].clone();
            broken.numbers[0] = f32::NAN;
            shares.push(broken.clone());
            broken.numbers.clear();
            shares.push(broken);
            shares
        }
    }

    #[test]
    fn members_learn_together() {
        let machine = machine(FLAGS);
        let team = LocalTeam {
            machine: Arc::clone(&machine),
            members: Mutex::default(),
        };
        let budget = LearningBudget {
            until: Some(Deadline::wall(Instant::now() + Duration::from_secs(6))),
            ..games(usize::MAX)
        };
        let learned = learn(&machine, None, None, None, None, budget, Some(&team));
        let learned = learned.unwrap();
        assert!(learned.games > 1000, "{}", learned.games);
        let gold = value_of_gold(&machine, &learned.evaluation);
        assert!(gold > 80.0, "{gold}");
        let mut members = team.members.lock().unwrap();
        let part = Part {
            numbers: vec![0.0; 3],
            time: Duration::ZERO,
            is_last: false,
        };
        assert!(members[0].play(&part, &AtomicBool::new(false)).is_none());
    }

    /// The steps of a new training are long, those of one that goes on are not.
    #[test]
    fn training_goes_on_where_it_ended() {
        let machine = machine(FLAGS);
        let learned = learn(&machine, None, None, None, None, games(2000), None).unwrap();
        let again = |sums: Option<GradientSums>| {
            let known = Known {
                evaluation: learned.evaluation.clone(),
                games: learned.games,
                sums,
            };
            let next = learn(&machine, None, None, None, Some(known), games(20), None).unwrap();
            assert_eq!(next.games, 2020);
            let rows = next.evaluation.weights().rows.iter();
            let before = learned.evaluation.weights().rows.iter();
            let numbers = rows.zip(before).flat_map(|(row, before)| {
                let pairs = row.0.into_iter().zip(before.0);
                pairs.map(|(number, before)| (number - before).abs())
            });
            numbers.sum::<f32>()
        };
        let (on, anew) = (again(Some(learned.sums.clone())), again(None));
        assert!(on > 0.0 && anew > 2.0 * on, "{on} {anew}");
    }

    #[test]
    fn learning_ends_at_its_deadline() {
        let machine = machine(FLAGS);
        let now = Instant::now();
        let budget = LearningBudget {
            games: usize::MAX,
            until: Some(Deadline::wall(now)),
            cancelled: None,
            threads: 1,
            seed: 1,
            openings: &[],
        };
        let learned = learn(&machine, None, None, None, None, budget, None).unwrap();
        assert_eq!(learned.games, 0);
        assert_eq!(learned.validation, Validation::default());
    }

    #[test]
    fn learning_ends_when_cancelled() {
        let cancelled = AtomicBool::new(true);
        let budget = LearningBudget {
            cancelled: Some(&cancelled),
            ..games(usize::MAX)
        };
        let learned = learn(&machine(FLAGS), None, None, None, None, budget, None).unwrap();
        assert_eq!(learned.games, 0);
    }

    #[test]
    fn an_endless_game_is_abandoned() {
        let endless = "(role one) (init p) (legal one a) (legal one b) (<= (next p) (true p)) (<= terminal (true q))
            (<= (next q) (does one c)) (goal one 50)";
        let (rules, _) = panza_gdl::load(endless);
        let limits = panza_sync::Budget::generous();
        let program = panza_ground::ground(&rules, limits).unwrap();
        let network = panza_propnet::build(&program, limits).unwrap();
        let machine: Arc<dyn Machine> =
            Arc::new(CounterMachine::new(CounterLayout::compile(&network)));
        let learned = learn(&machine, None, None, None, None, games(usize::MAX), None).unwrap();
        assert_eq!(learned.games, 0);
    }
}
