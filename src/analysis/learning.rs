//! Learning: trains an evaluation by self-play and TD(lambda), many games in parallel.
//!
//! In each state every move is made and the successor evaluated, and a move is drawn from the
//! softmax of the logits (one-ply search). At the end of a game each of its states is replayed, the
//! last one first, with the lambda-return as target: the final goals, mixed with the values of the
//! states in between (Sutton 1988). The trained evaluation plays the next games, as in TD-Gammon
//! (Tesauro 1995).
//!
//! Invariants: the same machine, seed and number of games give the same weights; each game has a
//! bounded length.
//!
//! Never uses: search trees, GDL text.

mod self_play;
pub mod validation;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use self::self_play::{MAX_LENGTH, SelfPlay};
use self::validation::{Validation, validate};
use super::evaluation::Evaluation;
use crate::machine::Machine;
use crate::machine::random::Random;

/// The budget of learning.
#[derive(Clone, Copy, Debug)]
pub struct LearningBudget<'a> {
    /// The number of games.
    pub games: usize,
    /// No state is expanded after this time.
    pub until: Option<Instant>,
    /// Learning ends early once this is true.
    pub cancelled: Option<&'a AtomicBool>,
    /// Random seed.
    pub seed: u64,
}

impl LearningBudget<'_> {
    pub(super) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
            || self
                .cancelled
                .is_some_and(|cancelled| cancelled.load(Ordering::Relaxed))
    }
}

/// The result of learning.
#[derive(Clone, Debug)]
pub struct Learned {
    /// The trained evaluation.
    pub evaluation: Evaluation,
    /// The number of training games, earlier ones included.
    pub games: usize,
    /// The mean number of joint moves of the games played now.
    pub mean_length: f64,
    /// Correlations with the results of games that it was not trained on.
    pub validation: Validation,
}

/// The divisor of the time budget that gives the time for validation.
const VALIDATION_PART: u32 = 6;

/// Playouts from which a fixed sum of goals is inferred.
const FIXED_SUM_PLAYOUTS: usize = 256;

/// Trains an evaluation by self-play on the machine. `known` is an evaluation to continue from,
/// with the number of its training games.
///
/// `None` for games with more than [`MAX_ROLES`](super::evaluation::MAX_ROLES) roles, and for
/// machines whose states are not sets of facts.
pub fn learn(
    machine: &Arc<dyn Machine>,
    known: Option<(Evaluation, usize)>,
    budget: LearningBudget<'_>,
) -> Option<Learned> {
    let n_facts = machine.info().facts()?.len();
    let mut random = Random::new(budget.seed);
    let n_roles = machine.info().n_roles();
    let known = known.filter(|(known, _)| known.n_roles() == n_roles && known.n_facts() == n_facts);
    let (evaluation, earlier_games) = match known {
        Some(known) => known,
        None => {
            let sum = fixed_sum(machine, &mut random, budget);
            (Evaluation::new(n_roles, n_facts, sum, &mut random)?, 0)
        }
    };
    let mut self_play = SelfPlay::new(machine, evaluation, earlier_games, random);
    let started = Instant::now();
    let trained_until = budget
        .until
        .map(|until| until - until.saturating_duration_since(started) / VALIDATION_PART);
    self_play.run(LearningBudget {
        until: trained_until,
        ..budget
    });
    let games = earlier_games + self_play.finished;
    let played_until = trained_until.zip(budget.until);
    let results = self_play.validation_games(LearningBudget {
        games: usize::MAX,
        // The other half of the validation time is for playouts.
        until: played_until.map(|(from, to)| from + (to - from) / 2),
        ..budget
    });
    let evaluation = self_play.trainer.evaluation;
    let validation = validate(
        machine,
        &evaluation,
        &results,
        &mut self_play.random,
        budget,
    );
    Some(Learned {
        evaluation,
        games,
        mean_length: self_play.moves as f64 / self_play.finished.max(1) as f64,
        validation,
    })
}

/// The sum of the goals of two roles, if it is the same in all of some playouts.
fn fixed_sum(
    machine: &Arc<dyn Machine>,
    random: &mut Random,
    budget: LearningBudget<'_>,
) -> Option<u32> {
    if machine.info().n_roles() != 2 {
        return None;
    }
    let mut reasoner = Arc::clone(machine).reasoner();
    let initial = machine.initial_state();
    let mut goals = [0; 2];
    let mut sum = None;
    for _ in 0..FIXED_SUM_PLAYOUTS {
        if budget.is_over() {
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
    use super::*;
    use crate::gdl;
    use crate::ground;
    use crate::machine::compile::CounterLayout;
    use crate::machine::counter::CounterMachine;
    use crate::propnet;

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
        let (rules, faults) = gdl::load(text);
        assert!(faults.is_empty(), "{faults:?}");
        let limits = ground::Budget::generous();
        let program = ground::ground(&rules, limits).unwrap();
        let network = propnet::build(&program, limits).unwrap();
        Arc::new(CounterMachine::new(CounterLayout::compile(&network)))
    }

    fn games(games: usize) -> LearningBudget<'static> {
        LearningBudget {
            games,
            until: Some(Instant::now() + std::time::Duration::from_secs(60)),
            cancelled: None,
            seed: 1,
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

    #[test]
    fn the_deciding_fact_gets_the_largest_value() {
        let machine = machine(FLAGS);
        let learned = learn(&machine, None, games(3000)).unwrap();
        assert_eq!(learned.games, 3000);
        let worth = |fact: &str| learned.evaluation.worth(bit(&machine, fact))[0];
        let gold = worth("(has left gold)");
        assert!(gold > 10.0, "{gold}");
        assert!(gold > 2.0 * worth("(has left red)").abs());
        assert!(worth("(has right gold)") < -10.0);
        let mut values = [0.0; 2];
        let ours = machine
            .info()
            .state_from_facts(&["(has left gold)".to_string(), "(turn right)".to_string()]);
        learned.evaluation.values(&ours.unwrap(), &mut values);
        assert!(values[0] > 80.0, "{values:?}");
        assert!((values[0] + values[1] - 100.0).abs() < 0.01);
        assert!(
            learned.validation.evaluation > 0.5,
            "{:?}",
            learned.validation
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_weights() {
        let machine = machine(FLAGS);
        let twice = [0, 1].map(|_| learn(&machine, None, games(300)).unwrap().evaluation);
        assert_eq!(twice[0], twice[1]);
    }

    #[test]
    fn learning_ends_at_its_deadline() {
        let machine = machine(FLAGS);
        let now = Instant::now();
        let budget = LearningBudget {
            games: usize::MAX,
            until: Some(now),
            cancelled: None,
            seed: 1,
        };
        let learned = learn(&machine, None, budget).unwrap();
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
        let learned = learn(&machine(FLAGS), None, budget).unwrap();
        assert_eq!(learned.games, 0);
    }

    #[test]
    fn an_endless_game_is_abandoned() {
        let endless = "(role one) (init p) (legal one a) (legal one b) (<= (next p) (true p)) (<= terminal (true q))
            (<= (next q) (does one c)) (goal one 50)";
        let (rules, _) = gdl::load(endless);
        let limits = ground::Budget::generous();
        let program = ground::ground(&rules, limits).unwrap();
        let network = propnet::build(&program, limits).unwrap();
        let machine: Arc<dyn Machine> =
            Arc::new(CounterMachine::new(CounterLayout::compile(&network)));
        let learned = learn(&machine, None, games(usize::MAX)).unwrap();
        assert_eq!(learned.games, 0);
    }
}
