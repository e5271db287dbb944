//! Self-play: parallel games of an evaluation against itself.
//!
//! A round evaluates the present state of each game: its legal moves, then the states after each of
//! them, all games together. Then each game makes a move. The chance role draws its moves; the
//! states in which it does make samples like others, with the value of the next state. A finished
//! game makes samples, or a position for validation.

use std::sync::Arc;

use super::game::{Batch, Game, MAX_COSTLY_MOVES, MAX_MOVES, SEVERAL, Turn, any_of};
use super::samples::Samples;
use super::statistics::Counts;
use super::validation::Position;
use super::worth::{Edge, Logits, MAX_ESTIMATE, MAX_LOGIT, Worth, logit_of};
use crate::evaluation::{Evaluation, MAX_ROLES, ValueReader, sigmoid, uniform};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Expander, ExpansionStep, Machine, PositionBatch, with_wide_vectors};
use panza_sync::{Budget, Random};

/// Games played in parallel.
const PARALLEL_GAMES: usize = 128;
/// The same for validation, for which there is less time.
const PARALLEL_VALIDATIONS: usize = 64;
/// Games with more joint moves are abandoned.
pub(super) const MAX_LENGTH: usize = 500;
/// The most random joint moves at the start of a game.
const MAX_OPENING: u32 = 10;
/// TD(lambda): weight of the later target against the value of the state.
const LAMBDA: f32 = 0.95;
/// The trace of a move that is worse than the best one by this logit is divided by e.
const TRACE_GAP: f32 = 1.0;
/// For the first `WARM_UP_GAMES` games the target is the result. The weight of values then grows
/// linearly over as many games.
const WARM_UP_GAMES: usize = 500;
/// The temperature of the softmax over logits that draws a move.
const TEMPERATURE: f32 = 0.3;
/// The number of games at which progress is first logged; each next time at twice the number.
const FIRST_TOLD: usize = 128;
/// Rounds between two copies of the averaged weights for play.
const ROUNDS_PER_COPY: u64 = 16;

/// What games are played for.
enum Purpose {
    Training,
    /// Positions for validation, one of each game.
    Validation(Vec<Position>),
}

/// The best move so far of a role, with its perturbed logit.
type Best = Option<(f32, MoveId)>;

/// The games in progress and the samples that they make.
pub(super) struct SelfPlay {
    expander: Box<dyn Expander>,
    n_roles: usize,
    chance: Option<usize>,
    n_outputs: usize,
    initial: Vec<u64>,
    pub(super) samples: Samples,
    pub(super) random: Random,
    /// The evaluation with averaged weights, which plays.
    evaluation: Evaluation,
    reader: ValueReader,
    purpose: Purpose,
    games: Vec<Game>,
    positions: PositionBatch,
    earlier_games: usize,
    rounds: u64,
    /// Finished games, and their joint moves.
    pub(super) finished: usize,
    pub(super) moves: u64,
    abandoned: usize,
    /// Of games for validation: their joint moves, and the moves of who chooses in a position.
    pub(super) lengths: Counts,
    pub(super) branching: Counts,
    /// The number of finished games at which progress is logged next.
    next_told: usize,
}

impl SelfPlay {
    /// Self-play of the evaluation of a trainer that `earlier_games` games have trained.
    pub(super) fn new(
        machine: &Arc<dyn Machine>,
        samples: Samples,
        earlier_games: usize,
        random: Random,
    ) -> Self {
        let evaluation = samples.trainer().average().clone();
        Self {
            expander: Arc::clone(machine).expander(),
            n_roles: machine.info().n_roles(),
            chance: machine.info().chance_role().map(RoleId::index),
            n_outputs: evaluation.n_outputs(),
            initial: machine.initial_state(),
            samples,
            random,
            reader: ValueReader::new(&evaluation),
            evaluation,
            purpose: Purpose::Training,
            games: Vec::new(),
            positions: PositionBatch::default(),
            earlier_games,
            rounds: 0,
            finished: 0,
            moves: 0,
            abandoned: 0,
            lengths: Counts::default(),
            branching: Counts::default(),
            next_told: FIRST_TOLD,
        }
    }

    /// Plays and trains until as many games more have ended as the budget has steps. Games in
    /// progress stay. Half of the games begin in `openings`, where there are some.
    pub(super) fn run(&mut self, budget: &Budget, openings: &[Vec<u64>]) {
        let most = usize::try_from(budget.max_steps).unwrap_or(usize::MAX);
        let end = self.finished.saturating_add(most);
        while self.finished < end && !self.is_endless() && !budget.is_over() {
            while self.games.len() < PARALLEL_GAMES && self.finished + self.games.len() < end {
                let game = self.new_game(openings);
                self.games.push(game);
            }
            if self.rounds.is_multiple_of(ROUNDS_PER_COPY) {
                self.evaluation.clone_from(self.samples.trainer().average());
            }
            self.rounds += 1;
            self.round();
            if self.finished >= self.next_told {
                self.next_told = 2 * self.finished;
                let errors = self.samples.errors();
                tracing::debug!(
                    games = self.finished,
                    moves = self.moves,
                    positions = self.samples.made,
                    errors_of_inputs = ?errors,
                    "self-play for the tree"
                );
            }
        }
    }

    /// A game from the initial position with some random moves, or in half of all games from one of
    /// these positions, where there are some.
    fn new_game(&mut self, openings: &[Vec<u64>]) -> Game {
        let n_openings = u32::try_from(openings.len()).unwrap_or(u32::MAX);
        if n_openings > 0 && self.random.below(2) == 0 {
            let state = &openings[self.random.below(n_openings) as usize];
            return Game::new(state.clone(), 0);
        }
        let opening = self.random.below(MAX_OPENING + 1) as usize;
        Game::new(self.initial.clone(), opening)
    }

    /// Goes on with the second trainer of the samples, or with the first.
    pub(super) fn choose_inputs(&mut self, is_second: bool) {
        self.samples.choose(is_second);
        self.evaluation.clone_from(self.samples.trainer().average());
        self.reader = ValueReader::new(&self.evaluation);
    }

    /// Plays games of the trained evaluation without training, and returns a position of each, so
    /// many at most.
    pub(super) fn validation_positions(&mut self, most: usize, budget: &Budget) -> Vec<Position> {
        self.games.clear();
        self.evaluation.clone_from(self.samples.trainer().average());
        self.purpose = Purpose::Validation(Vec::new());
        let (finished, moves) = (self.finished, self.moves);
        let mut n_started = 0;
        while !self.is_endless() && !budget.is_over() {
            while self.games.len() < PARALLEL_VALIDATIONS && n_started < most {
                let game = self.new_game(&[]);
                self.games.push(game);
                n_started += 1;
            }
            if self.games.is_empty() {
                break;
            }
            self.round();
        }
        (self.finished, self.moves) = (finished, moves);
        self.games.clear();
        match std::mem::replace(&mut self.purpose, Purpose::Training) {
            Purpose::Validation(positions) => positions,
            Purpose::Training => Vec::new(),
        }
    }

    /// Whether most games do not end.
    pub(super) fn is_endless(&self) -> bool {
        self.abandoned > 4 * PARALLEL_GAMES + self.finished
    }

    /// The weight of values in targets, 0 to 1.
    fn confidence(&self) -> f32 {
        match self.purpose {
            Purpose::Training => {
                let games = self.earlier_games + self.finished;
                let after = games.saturating_sub(WARM_UP_GAMES) as f32;
                (after / WARM_UP_GAMES as f32).min(1.0)
            }
            Purpose::Validation(_) => 1.0,
        }
    }

    /// Makes a move of each game.
    fn round(&mut self) {
        self.expand_states();
        let mut best: Vec<Best> = vec![None; self.games.len() * self.n_roles];
        let max_moves = match self.evaluation.prospects() {
            Some(_) => MAX_COSTLY_MOVES,
            None => MAX_MOVES,
        };
        let mut from = 0;
        while from < self.games.len() {
            let batch = Batch::new(&self.games, from, self.chance, max_moves, &mut self.random);
            let joint_moves = batch.joint_moves.chunks(self.n_roles);
            let steps: Vec<ExpansionStep<'_>> = batch
                .candidates
                .iter()
                .zip(joint_moves)
                .map(|(&(game, _, _), joint_move)| {
                    let game = &self.games[game as usize];
                    ExpansionStep {
                        state: &game.state,
                        joint_move: Some(joint_move),
                    }
                })
                .collect();
            self.expander.expand(&steps, false, &mut self.positions);
            drop(steps);
            self.reader.load(&self.evaluation, &self.positions);
            with_wide_vectors(|| self.add_edges(&batch, &mut best));
            from = batch.end;
        }
        let mut games = std::mem::take(&mut self.games);
        for (game, best) in games.iter_mut().zip(best.chunks(self.n_roles)) {
            if game.is_fresh {
                self.make_move(game, best);
            }
        }
        games.retain(|game| !game.is_over);
        self.games = games;
    }

    /// Expands the present state of each game.
    fn expand_states(&mut self) {
        let steps: Vec<ExpansionStep<'_>> = self
            .games
            .iter()
            .map(|game| ExpansionStep {
                state: &game.state,
                joint_move: (!game.joint_move.is_empty()).then_some(&game.joint_move[..]),
            })
            .collect();
        self.expander.expand(&steps, true, &mut self.positions);
        drop(steps);
        let mut games = std::mem::take(&mut self.games);
        let mut index = 0;
        games.retain_mut(|game| {
            let goes_on = self.begin_turn(game, index);
            index += 1;
            goes_on
        });
        self.games = games;
    }

    /// Reads an expanded state, and begins a turn in it or makes a random move of the opening.
    /// Returns false when the game is over or abandoned.
    fn begin_turn(&mut self, game: &mut Game, index: usize) -> bool {
        game.is_fresh = false;
        if self.positions.terminal[index] {
            let mut goals = [0.0; MAX_ROLES];
            for (to, goal) in goals.iter_mut().zip(self.positions.goals(index)) {
                *to = share_of(*goal, &self.evaluation);
            }
            self.finish(game, goals);
            return false;
        }
        game.legal.clear();
        game.ends.clear();
        let (mut n_choosers, mut mover) = (0, 0);
        for role in 0..self.n_roles {
            let moves = self.positions.legal(index, RoleId::from_index(role));
            if moves.len() > 1 {
                n_choosers += 1;
                mover = role;
                if matches!(self.purpose, Purpose::Validation(_)) {
                    self.branching.note(moves.len() as u64);
                }
            }
            game.legal.extend_from_slice(moves);
            game.ends.push(game.legal.len() as u32);
            if moves.is_empty() || game.length >= MAX_LENGTH {
                self.abandoned += 1;
                return false;
            }
        }
        game.state.clear();
        game.state.extend_from_slice(self.positions.state(index));
        game.joint_move.clear();
        let is_opening = game.length < game.opening;
        for role in 0..self.n_roles {
            let moves = game.moves_of(role);
            let mv = match is_opening || self.chance == Some(role) {
                true => any_of(moves, &mut self.random),
                false => moves[0],
            };
            game.joint_move.push(mv);
        }
        let is_chance = n_choosers == 1 && self.chance == Some(mover);
        if !is_opening {
            let is_several = n_choosers > 1 || is_chance;
            game.begin_turn(if is_several { SEVERAL } else { mover });
        }
        if is_opening || is_chance {
            game.is_fresh = false;
            game.length += 1;
        }
        true
    }

    /// Adds the edges of a batch, whose states are in `positions`. Where several roles choose, the
    /// best move of each is updated instead.
    #[inline]
    fn add_edges(&mut self, batch: &Batch, best: &mut [Best]) {
        let n_outputs = self.n_outputs;
        let reader = &mut self.reader;
        // The game whose state is accumulated.
        let mut accumulated = None;
        for (position, &(index, role, mv)) in batch.candidates.iter().enumerate() {
            let game = &mut self.games[index as usize];
            if accumulated.replace(index) != Some(index) {
                reader.begin(&self.evaluation, &game.state, position);
            }
            let (evaluation, positions) = (&self.evaluation, &self.positions);
            let worth = worth_of(evaluation, reader, &game.state, positions, position);
            if game.mover() != SEVERAL {
                game.edges.push(Edge { mv, worth });
                continue;
            }
            let role = role as usize;
            let logit =
                logit_of(role, &worth.logits[..n_outputs]) + TEMPERATURE * gumbel(&mut self.random);
            let best = &mut best[index as usize * self.n_roles + role];
            if best.is_none_or(|(most, _)| logit > most) {
                *best = Some((logit, mv));
            }
        }
    }

    /// Makes a move in the present state: of the role that moves by the softmax of its edges, or
    /// the `best` one of each role.
    fn make_move(&mut self, game: &mut Game, best: &[Best]) {
        game.length += 1;
        let mover = game.mover();
        if mover == SEVERAL {
            for (mv, best) in game.joint_move.iter_mut().zip(best) {
                *mv = best.map_or(*mv, |(_, best)| best);
            }
            return;
        }
        let mut chosen = (f32::NEG_INFINITY, 0);
        for (index, edge) in game.edges.iter().enumerate() {
            let logit = logit_of(mover, &edge.worth.logits[..self.n_outputs]);
            // The best perturbed logit is a sample of the softmax (Gumbel-max trick).
            let perturbed = logit + TEMPERATURE * gumbel(&mut self.random);
            if perturbed > chosen.0 {
                chosen = (perturbed, index);
            }
        }
        let chosen = chosen.1;
        let (Some(turn), Some(&edge)) = (game.turns.last_mut(), game.edges.get(chosen)) else {
            return;
        };
        turn.make(&game.edges, chosen, self.n_outputs);
        game.joint_move[mover] = edge.mv;
        if edge.worth.is_exact {
            self.finish(game, edge.worth.logits.map(sigmoid));
            game.is_over = true;
        }
    }

    /// Makes samples of a finished game, or a position for validation. `goals` are those of the
    /// outputs, 0 to 1.
    fn finish(&mut self, game: &mut Game, goals: [f32; MAX_ROLES]) {
        let n_outputs = self.n_outputs;
        self.finished += 1;
        self.moves += game.length as u64;
        if matches!(self.purpose, Purpose::Validation(_)) {
            self.lengths.note(game.length as u64);
        }
        let confidence = self.confidence();
        let bootstrap = (1.0 - LAMBDA) * confidence;
        let n_turns = game.turns.len();
        let selected = self.random.below(n_turns.max(1) as u32) as usize;
        let mut target = goals;
        // The targets of training, from the last turn to the first.
        let mut targets: Vec<f32> = Vec::new();
        // Whether the states of the game are loaded, which few games need.
        let mut is_loaded = false;
        // What the state after the present turn is worth.
        let mut after: Option<Worth> = None;
        for index in (0..n_turns).rev() {
            let turn = &mut game.turns[index];
            if let (Some(made), Some(after)) = (&mut turn.made, after) {
                made.logits = after.logits;
                made.is_exact |= after.is_exact;
            }
            let Turn { gap, .. } = *turn;
            let worth = turn.worth(n_outputs);
            let mut trace = 1.0 - bootstrap;
            let mut value = target;
            if let Some(worth) = worth {
                trace *= 1.0 - confidence * (1.0 - (-gap / TRACE_GAP).exp());
                if worth.is_exact {
                    trace = 1.0 - confidence;
                }
                value = worth.logits.map(sigmoid);
            } else if index + 1 < n_turns {
                let state = game.state_of(index + 1);
                let mut logits = [0.0; MAX_ROLES];
                let outputs = &mut logits[..n_outputs];
                let evaluation = &self.evaluation;
                if !std::mem::replace(&mut is_loaded, true) {
                    let states = game.states.chunks_exact(game.state.len());
                    self.reader.load_states(evaluation, states);
                }
                self.reader.logits(evaluation, index + 1, state, outputs);
                value = logits.map(sigmoid);
            }
            after = worth;
            for (target, value) in target.iter_mut().zip(value) {
                *target = value + (*target - value) * trace;
            }
            match &mut self.purpose {
                Purpose::Training => targets.extend_from_slice(&target[..n_outputs]),
                Purpose::Validation(positions) if index == selected => positions.push(Position {
                    state: game.state_of(index).to_vec(),
                    result: goals[0],
                }),
                Purpose::Validation(_) => {}
            }
        }
        self.add_samples(game, &targets);
    }

    /// Adds the states of a game from the last to the first, with these targets.
    fn add_samples(&mut self, game: &Game, targets: &[f32]) {
        let (n_words, n_outputs) = (game.state.len(), self.n_outputs);
        if targets.is_empty() {
            return;
        }
        if self.samples.errors().is_some() {
            let states = game.states.chunks_exact(n_words).rev().flatten();
            let states: Vec<u64> = states.copied().collect();
            self.samples
                .compare_on(&states, targets, n_words, n_outputs);
        }
        let states = game.states.chunks_exact(n_words).rev();
        for (state, targets) in states.zip(targets.chunks_exact(n_outputs)) {
            self.samples.push(state, targets, &mut self.random);
        }
    }
}

/// What a generated position is worth: its goals at an end, else by the evaluation. The reader has
/// begun with the state `from`.
#[inline(always)]
fn worth_of(
    evaluation: &Evaluation,
    reader: &mut ValueReader,
    from: &[u64],
    positions: &PositionBatch,
    position: usize,
) -> Worth {
    let mut logits: Logits = [0.0; MAX_ROLES];
    let outputs = &mut logits[..evaluation.n_outputs()];
    let is_exact = positions.terminal[position];
    if is_exact {
        for (logit, goal) in outputs.iter_mut().zip(positions.goals(position)) {
            let share = share_of(*goal, evaluation);
            *logit = (share / (1.0 - share)).ln().clamp(-MAX_LOGIT, MAX_LOGIT);
        }
    } else {
        reader.logits_after(evaluation, from, positions, position, outputs);
        for logit in outputs {
            *logit = logit.clamp(-MAX_ESTIMATE, MAX_ESTIMATE);
        }
    }
    Worth { logits, is_exact }
}

/// A goal as the target of an output, 0 to 1.
fn share_of(goal: Option<u8>, evaluation: &Evaluation) -> f32 {
    (f32::from(goal.unwrap_or(0).min(100)) / evaluation.scale()).min(1.0)
}

/// Gumbel noise.
fn gumbel(random: &mut Random) -> f32 {
    -(-(uniform(random).max(1e-7)).ln()).ln()
}
