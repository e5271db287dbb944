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

use std::sync::Arc;

use self::samples::{Samples, is_second_better};
use self::self_play::{MAX_LENGTH, SelfPlay};
use self::statistics::Spread;
use self::team::{Part, Team};
use self::validation::{Validation, validate};
use panza_analysis::{Prospects, Symmetries, Tuples};
use panza_machine::Machine;
use panza_sync::{Budget, Random, in_threads};

/// How learning plays.
#[derive(Clone, Copy, Default)]
pub struct LearningPlan<'a> {
    /// Threads that play and train; one for 0.
    pub threads: usize,
    /// Random seed.
    pub seed: u64,
    /// States in which half of the games begin, where there are some.
    pub openings: &'a [Vec<u64>],
    /// Plays and trains in place of threads, where there is a deadline on the wall. The choice of
    /// inputs and the validation stay here.
    pub team: Option<&'a dyn Team>,
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
    /// The joint moves of each game for validation.
    pub length: Option<Spread>,
    /// The moves of each role that had a choice in those games.
    pub branching: Option<Spread>,
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
const VALIDATION_GAMES: u64 = 2000;
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
/// tuples, and with these prospects where they are small enough and lower its errors. Steps of the
/// budget are games, no state is expanded after its deadline, and bytes are not counted.
///
/// `None` for games with more than [`MAX_ROLES`](evaluation::MAX_ROLES) roles, and for
/// machines whose states are not sets of facts.
pub fn learn(
    machine: &Arc<dyn Machine>,
    symmetries: Option<&Symmetries>,
    tuples: Option<Arc<Tuples>>,
    prospects: Option<Arc<Prospects>>,
    known: Option<Known>,
    budget: &Budget,
    plan: LearningPlan<'_>,
) -> Option<Learned> {
    let n_facts = machine.info().facts()?.len();
    let mut random = Random::new(plan.seed);
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
    let mut players: Vec<SelfPlay> = (0..plan.threads.max(1))
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
    let played = choose_inputs(&mut players, budget, plan.openings);
    let left = budget.max_steps.saturating_sub(played as u64);
    let rest = budget.with_steps(left);
    let others = match plan.team.filter(|_| budget.until.is_some()) {
        Some(team) => train_together(&mut players, team, earlier_games + played, &rest, plan),
        None => {
            train(&mut players, &rest, plan.openings);
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
    let most = budget.max_steps.min(VALIDATION_GAMES) as usize;
    let positions = player.validation_positions(most, &budget.share(1.0 - PLAYOUT_SHARE));
    let random = &mut player.random;
    let validation = validate(machine, &evaluation, &positions, random, budget);
    let positions = positions.into_iter().map(|position| position.state);
    Some(Learned {
        evaluation,
        sums: player.samples.trainer().gradient_sums(),
        games: earlier_games + games,
        samples,
        mean_length: moves as f64 / games.max(1) as f64,
        length: player.lengths.spread(),
        branching: player.branching.spread(),
        validation,
        positions: positions.collect(),
    })
}

/// Plays and trains with two kinds of inputs, until it is clear which predict better, and goes on
/// with those. Returns the number of games.
fn choose_inputs(players: &mut [SelfPlay], budget: &Budget, openings: &[Vec<u64>]) -> usize {
    if players
        .iter()
        .all(|player| player.samples.errors().is_none())
    {
        return 0;
    }
    let most = (budget.max_steps as f64 * COMPARISON_SHARE) as usize;
    let games = COMPARISON_GAMES.min(most.div_ceil(players.len()));
    let of_round = &budget.share(COMPARISON_SHARE).with_steps(games as u64);
    let played = |players: &[SelfPlay]| players.iter().map(|it| it.finished).sum::<usize>();
    let is_over = |players: &[SelfPlay]| of_round.is_over() || played(players) >= most;
    let can_compare = |players: &[SelfPlay]| {
        let is_over = is_over(players);
        players.iter().all(|it| it.samples.can_compare(is_over))
    };
    while !is_over(players) && !can_compare(players) && !players.iter().all(SelfPlay::is_endless) {
        if let [player] = &mut *players {
            player.run(of_round, openings);
            continue;
        }
        play(players, of_round, openings);
    }
    let errors = players.iter().filter_map(|player| player.samples.errors());
    let is_second = can_compare(players) && is_second_better(errors);
    tracing::debug!(
        with_prospects = is_second,
        errors = ?players[0].samples.errors(),
        "the inputs of the evaluation are chosen by their errors without and with prospects"
    );
    for player in &mut *players {
        player.choose_inputs(is_second);
    }
    played(players)
}

/// Plays, on a thread for each player.
fn play(players: &mut [SelfPlay], budget: &Budget, openings: &[Vec<u64>]) {
    let works = players.iter_mut();
    let works = works.map(|player| move || player.run(budget, openings));
    in_threads("learning", works);
}

/// Plays and trains, on a thread for each player.
fn train(players: &mut [SelfPlay], budget: &Budget, openings: &[Vec<u64>]) {
    let budget = budget.share(1.0 - VALIDATION_SHARE);
    if let [player] = players {
        player.run(&budget, openings);
        return player.samples.train_all();
    }
    let mut left = budget.max_steps;
    for round in (1..=THREAD_ROUNDS).rev() {
        if budget.is_over() || left == 0 {
            break;
        }
        let games = left.div_ceil(round.into());
        left -= games;
        let of_round = budget.share(1.0 / f64::from(round));
        let games = games.div_ceil(players.len() as u64);
        play(players, &of_round.with_steps(games), openings);
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
    games: usize,
    budget: &Budget,
    plan: LearningPlan<'_>,
) -> Totals {
    let budget = budget.share(1.0 - VALIDATION_SHARE);
    players
        .iter_mut()
        .for_each(|player| player.samples.train_all());
    let trainers = players
        .iter_mut()
        .map(|player| player.samples.trainer_mut());
    Trainer::unite(&mut trainers.collect::<Vec<_>>());
    let trainer = players[0].samples.trainer_mut();
    let mut totals = Totals::default();
    team.begin(&trainer.evaluation, games, plan.seed, plan.openings);
    for round in (1..=THREAD_ROUNDS).rev() {
        if budget.is_over_at(totals.games as u64) {
            break;
        }
        let part = Part {
            numbers: trainer.numbers(),
            time: budget.left() / round,
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
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

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
        let program = panza_ground::ground(&rules, &limits).unwrap();
        let network = panza_propnet::build(&program, &limits).unwrap();
        Arc::new(CounterMachine::new(CounterLayout::compile(&network)))
    }

    const ONE_THREAD: LearningPlan<'_> = LearningPlan {
        threads: 1,
        seed: 1,
        openings: &[],
        team: None,
    };

    fn games(games: u64) -> Budget {
        Budget::lasting(Duration::from_secs(60)).with_steps(games)
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
        let learned = learn(&machine, None, None, None, None, &games(3000), ONE_THREAD).unwrap();
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
            learn(&machine, None, None, None, None, &games(300), ONE_THREAD)
                .unwrap()
                .evaluation
        });
        assert_eq!(twice[0], twice[1]);
    }

    #[test]
    fn several_threads_learn_together() {
        let machine = machine(FLAGS);
        let plan = LearningPlan {
            threads: 2,
            ..ONE_THREAD
        };
        let learned = learn(&machine, None, None, None, None, &games(3000), plan).unwrap();
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
        fn begin(&self, evaluation: &Evaluation, games: usize, seed: u64, _: &[Vec<u64>]) {
            let members = (0..2).map(|member| {
                let plan = MemberPlan {
                    games,
                    seed: seed + member,
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
            let cancelled = Arc::default();
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
        let plan = LearningPlan {
            team: Some(&team),
            ..ONE_THREAD
        };
        let budget = Budget::lasting(Duration::from_secs(6));
        let learned = learn(&machine, None, None, None, None, &budget, plan);
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
        assert!(members[0].play(&part, &Arc::default()).is_none());
    }

    /// The steps of a new training are long, those of one that goes on are not.
    #[test]
    fn training_goes_on_where_it_ended() {
        let machine = machine(FLAGS);
        let learned = learn(&machine, None, None, None, None, &games(2000), ONE_THREAD).unwrap();
        let again = |sums: Option<GradientSums>| {
            let known = Known {
                evaluation: learned.evaluation.clone(),
                games: learned.games,
                sums,
            };
            let next = learn(
                &machine,
                None,
                None,
                None,
                Some(known),
                &games(20),
                ONE_THREAD,
            );
            let next = next.unwrap();
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
        let now = Budget::lasting(Duration::ZERO);
        let learned = learn(&machine, None, None, None, None, &now, ONE_THREAD).unwrap();
        assert_eq!(learned.games, 0);
        assert_eq!(learned.validation, Validation::default());
    }

    #[test]
    fn learning_ends_when_cancelled() {
        let cancelled = Arc::new(AtomicBool::new(true));
        let budget = games(u64::MAX).stopped_by(&cancelled);
        let learned = learn(&machine(FLAGS), None, None, None, None, &budget, ONE_THREAD).unwrap();
        assert_eq!(learned.games, 0);
    }

    #[test]
    fn an_endless_game_is_abandoned() {
        let endless = "(role one) (init p) (legal one a) (legal one b) (<= (next p) (true p)) (<= terminal (true q))
            (<= (next q) (does one c)) (goal one 50)";
        let (rules, _) = panza_gdl::load(endless);
        let limits = panza_sync::Budget::generous();
        let program = panza_ground::ground(&rules, &limits).unwrap();
        let network = panza_propnet::build(&program, &limits).unwrap();
        let machine: Arc<dyn Machine> =
            Arc::new(CounterMachine::new(CounterLayout::compile(&network)));
        let learned = learn(
            &machine,
            None,
            None,
            None,
            None,
            &games(u64::MAX),
            ONE_THREAD,
        );
        assert_eq!(learned.unwrap().games, 0);
    }
}
