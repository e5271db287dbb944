//! Self-play: parallel games of an evaluation against itself, each with a tree of its own.
//!
//! A round expands one state of each game: its legal moves, then the states after each of them, all
//! games together. Then each game goes on: to the next state on the best line of its tree, or, when
//! its root has had enough expansions, by a move. A finished game makes samples, or a position for
//! validation.

use std::sync::Arc;

use super::LearningBudget;
use super::game::{Batch, Game, Pending, Turn, any_of};
use super::samples::Samples;
use super::tree::{Below, MAX_ESTIMATE, MAX_LOGIT, NONE, SEVERAL, Tree, logit_of};
use super::validation::Position;
use crate::analysis::evaluation::{Evaluation, MAX_ROLES, sigmoid, uniform};
use crate::ids::{Id, MoveId, RoleId};
use crate::machine::multiversion::with_wide_vectors;
use crate::machine::random::Random;
use crate::machine::{Expander, ExpansionStep, Machine, PositionBatch};

/// Games played in parallel.
const PARALLEL_GAMES: usize = 128;
/// Games with more joint moves are abandoned.
pub(super) const MAX_LENGTH: usize = 500;
/// The most random joint moves at the start of a game.
const MAX_OPENING: u32 = 10;
/// Expansions for each move.
const EXPANSIONS: usize = 3;
/// TD(lambda): weight of the later target against the value of the tree.
const LAMBDA: f32 = 0.95;
/// The trace of a move that is worse than the best one by this logit is divided by e.
const TRACE_GAP: f32 = 1.0;
/// For the first `WARM_UP_GAMES` games the target is the result, and only moves made are expanded.
/// The weight of the values of trees then grows linearly over as many games.
const WARM_UP_GAMES: usize = 500;
/// The temperature of the softmax over logits that draws a move.
const TEMPERATURE: f32 = 0.3;
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
    n_outputs: usize,
    initial: Vec<u64>,
    pub(super) samples: Samples,
    pub(super) random: Random,
    /// The evaluation with averaged weights, which plays.
    evaluation: Evaluation,
    purpose: Purpose,
    games: Vec<Game>,
    positions: PositionBatch,
    earlier_games: usize,
    rounds: u64,
    /// Finished games, and their joint moves.
    pub(super) finished: usize,
    pub(super) moves: u64,
    abandoned: usize,
}

impl SelfPlay {
    /// Self-play of the evaluation of a trainer that `earlier_games` games have trained.
    pub(super) fn new(
        machine: &Arc<dyn Machine>,
        samples: Samples,
        earlier_games: usize,
        random: Random,
    ) -> Self {
        let evaluation = samples.trainer.average().clone();
        Self {
            expander: Arc::clone(machine).expander(),
            n_roles: machine.info().n_roles(),
            n_outputs: evaluation.n_outputs(),
            initial: machine.initial_state(),
            samples,
            random,
            evaluation,
            purpose: Purpose::Training,
            games: Vec::new(),
            positions: PositionBatch::default(),
            earlier_games,
            rounds: 0,
            finished: 0,
            moves: 0,
            abandoned: 0,
        }
    }

    /// Plays and trains until so many games more have ended. Games in progress stay.
    pub(super) fn run(&mut self, budget: LearningBudget<'_>) {
        let end = self.finished.saturating_add(budget.games);
        while self.finished < end && !self.is_endless() && !budget.is_over() {
            while self.games.len() < PARALLEL_GAMES && self.finished + self.games.len() < end {
                let opening = self.random.below(MAX_OPENING + 1) as usize;
                let state = self.initial.clone();
                self.games.push(self.new_game(state, opening));
            }
            if self.rounds.is_multiple_of(ROUNDS_PER_COPY) {
                self.evaluation.clone_from(self.samples.trainer.average());
            }
            self.rounds += 1;
            self.round();
        }
    }

    /// Plays games of the trained evaluation without training, and returns a position of each, so
    /// many at most.
    pub(super) fn validation_positions(
        &mut self,
        most: usize,
        budget: LearningBudget<'_>,
    ) -> Vec<Position> {
        self.games.clear();
        self.evaluation.clone_from(self.samples.trainer.average());
        self.purpose = Purpose::Validation(Vec::new());
        let (finished, moves) = (self.finished, self.moves);
        let mut n_started = 0;
        while !self.is_endless() && !budget.is_over() {
            while self.games.len() < PARALLEL_GAMES && n_started < most {
                let opening = self.random.below(MAX_OPENING + 1) as usize;
                let state = self.initial.clone();
                self.games.push(self.new_game(state, opening));
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
    fn is_endless(&self) -> bool {
        self.abandoned > 4 * PARALLEL_GAMES + self.finished
    }

    fn new_game(&self, state: Vec<u64>, opening: usize) -> Game {
        let tree = Tree::new(self.initial.len(), self.n_roles, self.n_outputs);
        Game::new(tree, state, opening)
    }

    /// The weight of the values of trees in targets, 0 to 1.
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

    /// Expands one state of each game.
    fn round(&mut self) {
        self.expand_pending();
        let mut best: Vec<Best> = vec![None; self.games.len() * self.n_roles];
        let mut from = 0;
        while from < self.games.len() {
            let batch = Batch::new(&self.games, from, &mut self.random);
            let joint_moves = batch.joint_moves.chunks(self.n_roles);
            let steps: Vec<ExpansionStep<'_>> = batch
                .candidates
                .iter()
                .zip(joint_moves)
                .map(|(&(game, _, _), joint_move)| {
                    let game = &self.games[game as usize];
                    ExpansionStep {
                        state: game.tree.state(game.fresh),
                        joint_move: Some(joint_move),
                    }
                })
                .collect();
            self.expander.expand(&steps, false, &mut self.positions);
            drop(steps);
            with_wide_vectors(|| self.add_edges(&batch, &mut best));
            from = batch.end;
        }
        let mut games = std::mem::take(&mut self.games);
        for (game, best) in games.iter_mut().zip(best.chunks(self.n_roles)) {
            if game.fresh != NONE {
                self.continue_game(game, best);
            }
        }
        games.retain(|game| !game.is_over);
        self.games = games;
    }

    /// Expands the pending state of each game and adds its node.
    fn expand_pending(&mut self) {
        let mut joint_moves = Vec::new();
        for game in &self.games {
            match game.pending {
                Pending::Edge(node, edge) => {
                    game.tree.push_joint_move((node, edge), &mut joint_moves);
                }
                Pending::JointMove => joint_moves.extend_from_slice(&game.joint_move),
                Pending::Start => joint_moves.extend((0..self.n_roles).map(|_| MoveId(0))),
            }
        }
        let steps: Vec<ExpansionStep<'_>> = self
            .games
            .iter()
            .zip(joint_moves.chunks(self.n_roles))
            .map(|(game, joint_move)| ExpansionStep {
                state: match game.pending {
                    Pending::Edge(node, _) => game.tree.state(node),
                    _ => &game.state,
                },
                joint_move: (game.pending != Pending::Start).then_some(joint_move),
            })
            .collect();
        self.expander.expand(&steps, true, &mut self.positions);
        drop(steps);
        let mut games = std::mem::take(&mut self.games);
        let mut index = 0;
        games.retain_mut(|game| {
            let goes_on = self.add_node(game, index);
            index += 1;
            goes_on
        });
        self.games = games;
    }

    /// Adds the node of an expanded state. Returns false when the game is over or abandoned.
    fn add_node(&mut self, game: &mut Game, index: usize) -> bool {
        game.fresh = NONE;
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
            }
            game.legal.extend_from_slice(moves);
            game.ends.push(game.legal.len() as u32);
            if moves.is_empty() || game.length >= MAX_LENGTH {
                self.abandoned += 1;
                return false;
            }
        }
        let state = self.positions.state(index);
        if game.length < game.opening {
            game.state.clear();
            game.state.extend_from_slice(state);
            game.joint_move.clear();
            for role in 0..self.n_roles {
                let mv = any_of(game.moves_of(role), &mut self.random);
                game.joint_move.push(mv);
            }
            game.length += 1;
            game.pending = Pending::JointMove;
            return true;
        }
        if n_choosers > 1 {
            mover = SEVERAL;
        }
        let moves: Vec<MoveId> = (0..self.n_roles)
            .map(|role| game.moves_of(role)[0])
            .collect();
        let above = match game.pending {
            Pending::Edge(node, edge) => (node, edge),
            _ => (NONE, NONE),
        };
        game.fresh = game.tree.add_node(state, mover, &moves, above);
        if above.0 == NONE {
            game.reach(game.fresh);
        }
        if mover == SEVERAL && game.fresh != game.root() {
            game.tree.detach(game.fresh);
        }
        true
    }

    /// Adds the edges of a batch, whose states are in `positions`. Where several roles choose, the
    /// best move of each is updated instead.
    #[inline]
    fn add_edges(&mut self, batch: &Batch, best: &mut [Best]) {
        let n_outputs = self.n_outputs;
        let mut logits = [0.0; MAX_ROLES];
        let mut accumulator = self.evaluation.empty_accumulator();
        // The game whose state is accumulated.
        let mut accumulated = None;
        for (position, &(index, role, mv)) in batch.candidates.iter().enumerate() {
            let game = &mut self.games[index as usize];
            let from = game.tree.state(game.fresh);
            if accumulated.replace(index) != Some(index) {
                self.evaluation.accumulate(from, &mut accumulator);
            }
            let logits = &mut logits[..n_outputs];
            let is_terminal = self.positions.terminal[position];
            if is_terminal {
                let goals = self.positions.goals(position);
                for (logit, goal) in logits.iter_mut().zip(goals) {
                    let share = share_of(*goal, &self.evaluation);
                    *logit = (share / (1.0 - share)).ln().clamp(-MAX_LOGIT, MAX_LOGIT);
                }
            } else {
                let state = self.positions.state(position);
                self.evaluation
                    .logits_from(&mut accumulator, from, state, logits);
                for logit in &mut *logits {
                    *logit = logit.clamp(-MAX_ESTIMATE, MAX_ESTIMATE);
                }
            }
            if game.tree.mover(game.fresh) != SEVERAL {
                let below = if is_terminal {
                    Below::Terminal
                } else {
                    Below::Open
                };
                game.tree.add_edge(mv, logits, below);
                continue;
            }
            let role = role as usize;
            let logit = logit_of(role, logits) + TEMPERATURE * gumbel(&mut self.random);
            let best = &mut best[index as usize * self.n_roles + role];
            if best.is_none_or(|(most, _)| logit > most) {
                *best = Some((logit, mv));
            }
        }
    }

    /// Backs up the new node of a game and chooses what to expand next, after moves where the root
    /// has had enough expansions.
    fn continue_game(&mut self, game: &mut Game, best: &[Best]) {
        game.n_expanded += 1;
        if game.tree.mover(game.fresh) != SEVERAL {
            game.tree.back_up(game.fresh, game.root());
        } else if game.fresh == game.root() {
            game.joint_move.clear();
            for (role, best) in best.iter().enumerate() {
                let mv = best.map_or(game.moves_of(role)[0], |(_, mv)| mv);
                game.joint_move.push(mv);
            }
            game.state.clear();
            game.state.extend_from_slice(game.tree.state(game.fresh));
            game.length += 1;
            game.pending = Pending::JointMove;
            return;
        }
        let n_expansions = match self.purpose {
            Purpose::Training if self.earlier_games + self.finished < WARM_UP_GAMES => 1,
            _ => EXPANSIONS,
        };
        loop {
            let root = game.root();
            if game.n_expanded < n_expansions
                && !game.tree.is_closed(root)
                && let Some((node, edge)) = game.tree.leaf(root)
            {
                game.pending = Pending::Edge(node, edge);
                return;
            }
            if self.make_move(game) {
                return;
            }
        }
    }

    /// Makes a move of the softmax at the root. Returns whether the state after it has to be
    /// expanded, or the game is over.
    fn make_move(&mut self, game: &mut Game) -> bool {
        let root = game.root();
        let mover = game.tree.mover(root);
        let mut chosen = (f32::NEG_INFINITY, NONE, 0.0);
        let mut most = f32::NEG_INFINITY;
        for edge in game.tree.edges(root) {
            let logit = game.tree.logit_of(mover, edge);
            most = most.max(logit);
            // The best perturbed logit is a sample of the softmax (Gumbel-max trick).
            let perturbed = logit + TEMPERATURE * gumbel(&mut self.random);
            if perturbed > chosen.0 {
                chosen = (perturbed, edge, logit);
            }
        }
        let (_, edge, logit) = chosen;
        if let Some(turn) = game.turns.last_mut() {
            turn.gap = most - logit;
        }
        game.length += 1;
        if game.tree.is_terminal(edge) {
            let mut goals = [0.0; MAX_ROLES];
            for (goal, &logit) in goals.iter_mut().zip(game.tree.logits(edge)) {
                *goal = sigmoid(logit);
            }
            self.finish(game, goals);
            game.is_over = true;
            return true;
        }
        match game.tree.child(edge) {
            NONE => {
                game.pending = Pending::Edge(root, edge);
                // The next node of the tree.
                game.reach(game.tree.len());
                true
            }
            child => {
                game.reach(child);
                false
            }
        }
    }

    /// Makes samples of a finished game, or a position for validation. `goals` are those of the
    /// outputs, 0 to 1.
    fn finish(&mut self, game: &mut Game, goals: [f32; MAX_ROLES]) {
        let n_outputs = self.n_outputs;
        self.finished += 1;
        self.moves += game.length as u64;
        let confidence = self.confidence();
        let bootstrap = (1.0 - LAMBDA) * confidence;
        let n_turns = game.turns.len() as u32;
        let selected = self.random.below(n_turns.max(1)) as usize;
        let mut was_reached = vec![false; game.tree.len() as usize];
        let mut target = goals;
        for index in (0..game.turns.len()).rev() {
            let Turn { node, gap } = game.turns[index];
            if node >= game.tree.len() {
                // A state that turned out to be terminal.
                continue;
            }
            was_reached[node as usize] = true;
            game.tree.update_edge(node);
            let mut trace = 1.0 - bootstrap;
            let mut value = target;
            if let Some(logits) = game.tree.value(node) {
                trace *= 1.0 - confidence * (1.0 - (-gap / TRACE_GAP).exp());
                if game.tree.is_closed(node) {
                    trace = 1.0 - confidence;
                }
                for (value, &logit) in value.iter_mut().zip(logits) {
                    *value = sigmoid(logit);
                }
            } else if let Some(next) = game.turns.get(index + 1) {
                let state = game.tree.state(next.node);
                let mut logits = [0.0; MAX_ROLES];
                let mut accumulator = self.evaluation.accumulator(state);
                let logits = &mut logits[..n_outputs];
                self.evaluation
                    .logits_from(&mut accumulator, state, state, logits);
                for (value, &mut logit) in value.iter_mut().zip(logits) {
                    *value = sigmoid(logit);
                }
            }
            for (target, value) in target.iter_mut().zip(value) {
                *target = value + (*target - value) * trace;
            }
            let state = game.tree.state(node);
            match &mut self.purpose {
                Purpose::Training => {
                    self.samples
                        .push(state, &target[..n_outputs], &mut self.random);
                }
                Purpose::Validation(positions) if index == selected => positions.push(Position {
                    state: state.to_vec(),
                    result: goals[0],
                    value: value[0],
                }),
                _ => {}
            }
        }
        if !matches!(self.purpose, Purpose::Training) {
            return;
        }
        // States that were only looked at.
        for node in (0..game.tree.len()).filter(|&node| !was_reached[node as usize]) {
            if let Some(logits) = game.tree.value(node)
                && uniform(&mut self.random) < confidence
            {
                for (target, &logit) in target.iter_mut().zip(logits) {
                    *target = sigmoid(logit);
                }
                let state = game.tree.state(node);
                self.samples
                    .push(state, &target[..n_outputs], &mut self.random);
            }
        }
    }
}

/// A goal as the target of an output, 0 to 1.
fn share_of(goal: Option<u8>, evaluation: &Evaluation) -> f32 {
    (f32::from(goal.unwrap_or(0).min(100)) / evaluation.scale()).min(1.0)
}

/// Gumbel noise.
fn gumbel(random: &mut Random) -> f32 {
    -(-(uniform(random).max(1e-7)).ln()).ln()
}
