//! Self-play: parallel games of an evaluation against itself, and the training on their positions.

use std::sync::Arc;

use super::LearningBudget;
use crate::analysis::evaluation::{Evaluation, MAX_ROLES, Trainer, uniform};
use crate::ids::{Id, MoveId, RoleId};
use crate::machine::multiversion::with_wide_vectors;
use crate::machine::random::Random;
use crate::machine::{Expander, ExpansionStep, Machine, PositionBatch};

/// Positions for validation.
const VALIDATION_POSITIONS: usize = 1500;
/// One in this many positions of a game is used for validation, since neighbours are correlated.
const VALIDATION_STRIDE: u32 = 4;
/// Games played in parallel.
const PARALLEL_GAMES: usize = 128;
/// The joint moves of a batch, roughly. The clock is read once per batch: some milliseconds of a
/// slow game.
const BATCH_SIZE: usize = 2048;
/// Games with more joint moves are abandoned.
pub(super) const MAX_LENGTH: usize = 500;
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
/// The sums of squared gradients decay first after this many games, then after each doubling.
const FIRST_DECAY: usize = 1000;

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

impl Game {
    /// The current state, of `words` words.
    fn state(&self, words: usize) -> &[u64] {
        &self.states[self.length * words..]
    }

    /// The legal moves of a role.
    fn moves_of(&self, role: usize) -> &[MoveId] {
        let start = role.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.legal[start as usize..self.ends[role] as usize]
    }
}

/// The games in progress and the trainer they feed.
pub(super) struct SelfPlay {
    expander: Box<dyn Expander>,
    n_roles: usize,
    initial: Vec<u64>,
    pub(super) trainer: Trainer,
    pub(super) random: Random,
    games: Vec<Game>,
    positions: PositionBatch,
    /// The training games of the evaluation it started from.
    earlier_games: usize,
    /// Finished games, and their joint moves.
    pub(super) finished: usize,
    pub(super) moves: u64,
    abandoned: usize,
    /// During validation, when nothing is trained: states, each with the final goal of the first
    /// role.
    validation: Option<Vec<(Vec<u64>, f32)>>,
}

impl SelfPlay {
    /// Self-play of an evaluation that `earlier_games` games have trained.
    pub(super) fn new(
        machine: &Arc<dyn Machine>,
        evaluation: Evaluation,
        earlier_games: usize,
        random: Random,
    ) -> Self {
        Self {
            expander: Arc::clone(machine).expander(),
            n_roles: machine.info().n_roles(),
            initial: machine.initial_state(),
            trainer: Trainer::new(evaluation, LEARNING_RATE),
            random,
            games: Vec::new(),
            positions: PositionBatch::default(),
            earlier_games,
            finished: 0,
            moves: 0,
            abandoned: 0,
            validation: None,
        }
    }

    /// Plays further games without training, and returns positions of them, each with the final
    /// goal of the first role.
    pub(super) fn validation_games(&mut self, budget: LearningBudget<'_>) -> Vec<(Vec<u64>, f32)> {
        self.games.clear();
        self.validation = Some(Vec::new());
        self.run(budget);
        self.validation.take().unwrap_or_default()
    }

    /// Plays games, and trains on them unless they are for validation.
    pub(super) fn run(&mut self, budget: LearningBudget<'_>) {
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
                state: game.state(words),
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

    /// Stores the legal moves of a game, or trains on it when it is finished. Returns whether it
    /// goes on.
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
                let moves = game.moves_of(role);
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
                            false => any_of(game.moves_of(other), &mut self.random),
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
                        state: game.state(words),
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
                let moves = game.moves_of(role);
                let chosen = best[index * n_roles + role].map(|(_, mv)| mv);
                joint_moves.push(chosen.unwrap_or_else(|| any_of(moves, &mut self.random)));
            }
        }
        let steps: Vec<ExpansionStep<'_>> = self
            .games
            .iter()
            .zip(joint_moves.chunks(n_roles))
            .map(|(game, joint_move)| ExpansionStep {
                state: game.state(words),
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
            let from = at.state(words);
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
