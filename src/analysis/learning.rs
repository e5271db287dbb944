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
//! Never knows: trees, GDL text, what a fact means.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::evaluation::{Evaluation, MAX_ROLES, Trainer, uniform};
use super::validation::{Validation, validate};
use crate::ids::{Id, MoveId, RoleId};
use crate::machine::multiversion::with_wide_vectors;
use crate::machine::random::Random;
use crate::machine::{Expander, ExpansionStep, Machine, PositionBatch};

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

/// PositionBatch for validation.
const VALIDATION_POSITIONS: usize = 1500;
/// One in so many positions of a game is used for validation, since neighbours are correlated.
const VALIDATION_STRIDE: u32 = 4;
/// One part in so many of the time is for validation.
const VALIDATION_PART: u32 = 6;

/// Games played in parallel.
const PARALLEL_GAMES: usize = 128;
/// The joint moves of a batch, roughly. The clock is read once per batch: some milliseconds of a slow
/// game.
const BATCH_SIZE: usize = 2048;
/// Games with more joint moves are abandoned.
const MAX_LENGTH: usize = 500;
/// The most moves of a role that are evaluated in a state; of more, a random sample.
const MAX_MOVES: usize = 64;
/// TD(lambda): weight of the later return against the value of the next position.
const LAMBDA: f32 = 0.85;
/// Bootstrapped targets are ignored for the first `WARM_UP_GAMES` games. Their weight then grows
/// linearly to `1 - LAMBDA` over as many games.
const WARM_UP_GAMES: usize = 3000;
/// The temperature of the softmax over logits that draws a move.
const TEMPERATURE: f32 = 0.3;
/// The most random joint moves at the start of a game.
const MAX_OPENING: u32 = 10;
/// The learning rate of AdaGrad.
const LEARNING_RATE: f32 = 0.08;
/// The logit of a terminal state per point of its goal above 50; beyond those of evaluations.
const TERMINAL_LOGIT: f32 = 0.4;
/// The sums of squared gradients are decayed first after so many games, then after each doubling.
const FIRST_DECAY: usize = 1000;
/// Playouts from which a fixed sum of goals is inferred.
const FIXED_SUM_PLAYOUTS: usize = 256;

/// Trains an evaluation by self-play on the machine. `known` is an evaluation to continue from, with
/// the number of its training games.
///
/// `None` for games with more than [`MAX_ROLES`] roles, and for machines whose states are not sets
/// of facts.
pub fn learn(
    machine: &Arc<dyn Machine>,
    known: Option<(Evaluation, usize)>,
    budget: LearningBudget<'_>,
) -> Option<Learned> {
    let n_facts = machine.info().facts()?.len();
    let mut random = Random::new(budget.seed);
    let n_roles = machine.info().n_roles();
    let initial = machine.initial_state();
    let known = known.filter(|(known, _)| known.n_roles() == n_roles && known.n_facts() == n_facts);
    let (evaluation, earlier_games) = match known {
        Some(known) => known,
        None => {
            let sum = fixed_sum(machine, &mut random, budget);
            (Evaluation::new(n_roles, n_facts, sum, &mut random)?, 0)
        }
    };
    let mut self_play = SelfPlay {
        expander: Arc::clone(machine).expander(),
        n_roles,
        initial,
        trainer: Trainer::new(evaluation, LEARNING_RATE),
        random,
        games: Vec::new(),
        positions: PositionBatch::default(),
        earlier_games,
        finished: 0,
        moves: 0,
        abandoned: 0,
        validation: None,
    };
    let started = Instant::now();
    let trained_until = budget
        .until
        .map(|until| until - until.saturating_duration_since(started) / VALIDATION_PART);
    self_play.run(LearningBudget {
        until: trained_until,
        ..budget
    });
    let games = earlier_games + self_play.finished;
    self_play.games.clear();
    self_play.validation = Some(Vec::new());
    let played_until = trained_until.zip(budget.until);
    self_play.run(LearningBudget {
        games: usize::MAX,
        // The other half of the validation time is for playouts.
        until: played_until.map(|(from, to)| from + (to - from) / 2),
        ..budget
    });
    let results = self_play.validation.take().unwrap_or_default();
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

/// A game in progress.
struct Game {
    /// The states met, concatenated; the current one is last.
    states: Vec<u64>,
    /// The value of each state but the first, for each role.
    values: Vec<f32>,
    /// Joint moves made.
    length: usize,
    /// The number of random joint moves at the start.
    opening: usize,
    /// The legal moves of all roles, role by role, and the end of each role's moves.
    legal: Vec<MoveId>,
    ends: Vec<u32>,
}

/// The games in progress and the trainer they feed.
struct SelfPlay {
    expander: Box<dyn Expander>,
    n_roles: usize,
    initial: Vec<u64>,
    trainer: Trainer,
    random: Random,
    games: Vec<Game>,
    positions: PositionBatch,
    /// The training games of the evaluation it started from.
    earlier_games: usize,
    finished: usize,
    /// Joint moves of finished games.
    moves: u64,
    abandoned: usize,
    /// During validation, when nothing is trained: states, each with the final goal of the first
    /// role.
    validation: Option<Vec<(Vec<u64>, f32)>>,
}

impl SelfPlay {
    fn run(&mut self, budget: LearningBudget<'_>) {
        let mut n_started = 0;
        let mut decay_at = FIRST_DECAY;
        loop {
            while self.games.len() < PARALLEL_GAMES && n_started < budget.games {
                let game = self.new_game();
                self.games.push(game);
                n_started += 1;
            }
            if self.games.is_empty()
                || self.abandoned > 4 * PARALLEL_GAMES + self.finished
                || self
                    .validation
                    .as_ref()
                    .is_some_and(|results| results.len() >= VALIDATION_POSITIONS)
                || budget.is_over()
            {
                return;
            }
            self.expand_games();
            if self.games.is_empty() {
                continue;
            }
            if !self.make_moves(budget) {
                return;
            }
            if self.finished >= decay_at {
                decay_at *= 2;
                self.trainer.decay_squares();
            }
        }
    }

    fn new_game(&mut self) -> Game {
        Game {
            states: self.initial.clone(),
            values: Vec::new(),
            length: 0,
            opening: self.random.below(MAX_OPENING + 1) as usize,
            legal: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Expands the current states of all games. Finished games are trained on and removed.
    fn expand_games(&mut self) {
        let words = self.initial.len();
        let steps: Vec<ExpansionStep<'_>> = self
            .games
            .iter()
            .map(|game| ExpansionStep {
                state: &game.states[game.length * words..],
                joint_move: None,
            })
            .collect();
        self.expander.expand(&steps, true, &mut self.positions);
        drop(steps);
        let mut games = std::mem::take(&mut self.games);
        let mut index = 0;
        games.retain_mut(|game| {
            let continues = self.update_game(game, index);
            index += 1;
            continues
        });
        self.games = games;
    }

    /// Stores the legal moves of a game, or trains on it when it is finished. Returns whether it goes
    /// on.
    fn update_game(&mut self, game: &mut Game, index: usize) -> bool {
        if self.positions.terminal[index] {
            let goals = self.positions.goals(index);
            let goals: Vec<f32> = goals
                .iter()
                .map(|goal| f32::from(goal.unwrap_or(0).min(100)))
                .collect();
            with_wide_vectors(|| self.replay(game, &goals));
            self.finished += 1;
            self.moves += game.length as u64;
            return false;
        }
        game.legal.clear();
        game.ends.clear();
        for role in 0..self.n_roles {
            let moves = self.positions.legal(index, RoleId::from_index(role));
            if moves.is_empty() {
                self.abandoned += 1;
                return false;
            }
            game.legal.extend_from_slice(moves);
            game.ends.push(game.legal.len() as u32);
        }
        if game.length >= MAX_LENGTH {
            self.abandoned += 1;
            return false;
        }
        true
    }

    /// Trains on the states of a finished game, the last one first, or collects some of them for
    /// validation.
    fn replay(&mut self, game: &Game, goals: &[f32]) {
        let words = self.initial.len();
        if let Some(results) = &mut self.validation {
            for index in game.opening.min(game.length)..game.length {
                if self.random.below(VALIDATION_STRIDE) == 0 {
                    results.push((game.states[index * words..][..words].to_vec(), goals[0]));
                }
            }
            return;
        }
        let mut targets = goals.to_vec();
        let games = self.earlier_games + self.finished;
        let ramp = games.saturating_sub(WARM_UP_GAMES) as f32 / WARM_UP_GAMES as f32;
        let bootstrap = (1.0 - LAMBDA) * ramp.min(1.0);
        // Terminal states are never evaluated.
        for index in (game.opening.min(game.length)..game.length).rev() {
            let state = &game.states[index * words..][..words];
            self.trainer.train(state, &targets);
            if index > 0 {
                let values = &game.values[(index - 1) * self.n_roles..][..self.n_roles];
                for (target, &value) in targets.iter_mut().zip(values) {
                    *target += (value - *target) * bootstrap;
                }
            }
        }
    }

    /// The next batch of joint moves to evaluate, for the games from this one on.
    fn batch(&mut self, from: usize) -> Batch {
        let n_roles = self.n_roles;
        let mut batch = Batch {
            joint_moves: Vec::new(),
            candidates: Vec::new(),
            end: from,
        };
        for (index, game) in self.games.iter().enumerate().skip(from) {
            if batch.candidates.len() >= BATCH_SIZE {
                break;
            }
            batch.end = index + 1;
            if game.length < game.opening {
                continue;
            }
            for role in 0..n_roles {
                let moves = moves_of(game, role);
                if moves.len() < 2 {
                    continue;
                }
                for place in 0..moves.len().min(MAX_MOVES) {
                    let mv = match moves.len() > MAX_MOVES {
                        true => moves[self.random.below(moves.len() as u32) as usize],
                        false => moves[place],
                    };
                    for other in 0..n_roles {
                        batch.joint_moves.push(match other == role {
                            true => mv,
                            false => any_of(moves_of(game, other), &mut self.random),
                        });
                    }
                    batch.candidates.push((index as u32, role as u32, mv));
                }
            }
        }
        batch
    }

    /// Makes a joint move in each game. Returns false, with none made, when the budget ends first.
    fn make_moves(&mut self, budget: LearningBudget<'_>) -> bool {
        let n_roles = self.n_roles;
        let words = self.initial.len();
        let mut best: Vec<Best> = vec![None; self.games.len() * n_roles];
        let mut from = 0;
        while from < self.games.len() {
            if budget.is_over() {
                return false;
            }
            let batch = self.batch(from);
            let joint_moves = batch.joint_moves.chunks(n_roles);
            let steps: Vec<ExpansionStep<'_>> = batch
                .candidates
                .iter()
                .zip(joint_moves)
                .map(|(&(game, _, _), joint_move)| {
                    let game = &self.games[game as usize];
                    ExpansionStep {
                        state: &game.states[game.length * words..],
                        joint_move: Some(joint_move),
                    }
                })
                .collect();
            self.expander.expand(&steps, false, &mut self.positions);
            drop(steps);
            with_wide_vectors(|| self.update_best(&batch, &mut best));
            from = batch.end;
        }
        let mut joint_moves: Vec<MoveId> = Vec::with_capacity(self.games.len() * n_roles);
        for (index, game) in self.games.iter().enumerate() {
            for role in 0..n_roles {
                let moves = moves_of(game, role);
                let chosen = best[index * n_roles + role].map(|(_, mv)| mv);
                joint_moves.push(chosen.unwrap_or_else(|| any_of(moves, &mut self.random)));
            }
        }
        let steps: Vec<ExpansionStep<'_>> = self
            .games
            .iter()
            .zip(joint_moves.chunks(n_roles))
            .map(|(game, joint_move)| ExpansionStep {
                state: &game.states[game.length * words..],
                joint_move: Some(joint_move),
            })
            .collect();
        self.expander.expand(&steps, false, &mut self.positions);
        drop(steps);
        let mut values = [0.0; MAX_ROLES];
        for (index, game) in self.games.iter_mut().enumerate() {
            let state = self.positions.state(index);
            self.trainer.evaluation.values(state, &mut values);
            game.states.extend_from_slice(state);
            game.values.extend_from_slice(&values[..n_roles]);
            game.length += 1;
        }
        true
    }

    /// Updates the best move of each game and role by a batch, whose successors are in `positions`.
    ///
    /// The logits are perturbed by Gumbel noise, so that the best move is a sample of the softmax
    /// (Gumbel-max trick).
    #[inline]
    fn update_best(&mut self, batch: &Batch, best: &mut [Best]) {
        let (n_roles, words) = (self.n_roles, self.initial.len());
        let mut logits = [0.0; MAX_ROLES];
        let mut accumulator = None;
        for (position, &(game, role, mv)) in batch.candidates.iter().enumerate() {
            let role = role as usize;
            let at = &self.games[game as usize];
            let from = &at.states[at.length * words..];
            let accumulator = match accumulator {
                Some((of, known)) if of == game => known,
                _ => {
                    let fresh = self.trainer.evaluation.accumulator(from);
                    accumulator = Some((game, fresh));
                    fresh
                }
            };
            let mut logit = if self.positions.terminal[position] {
                let goal = self.positions.goals(position)[role].unwrap_or(0);
                (f32::from(goal.min(100)) - 50.0) * TERMINAL_LOGIT
            } else {
                let state = self.positions.state(position);
                let evaluation = &self.trainer.evaluation;
                evaluation.logits_from(&accumulator, from, state, &mut logits);
                logits[role]
            };
            logit -= TEMPERATURE * (-(uniform(&mut self.random).max(1e-7)).ln()).ln();
            let best = &mut best[game as usize * n_roles + role];
            if best.is_none_or(|(most, _)| logit > most) {
                *best = Some((logit, mv));
            }
        }
    }
}

/// The best move so far of a role in a game, with its perturbed logit.
type Best = Option<(f32, MoveId)>;

/// Joint moves that are evaluated together.
struct Batch {
    /// Joint moves, concatenated.
    joint_moves: Vec<MoveId>,
    /// For each joint move, the game, the role and the move that it evaluates.
    candidates: Vec<(u32, u32, MoveId)>,
    /// The first game that is not in the batch.
    end: usize,
}

fn any_of(moves: &[MoveId], random: &mut Random) -> MoveId {
    match moves.len() {
        1 => moves[0],
        len => moves[random.below(len as u32) as usize],
    }
}

fn moves_of(game: &Game, role: usize) -> &[MoveId] {
    let start = role.checked_sub(1).map_or(0, |before| game.ends[before]);
    &game.legal[start as usize..game.ends[role] as usize]
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
