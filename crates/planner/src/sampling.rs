//! Nested rollout policy adaptation (Rosin 2011): random playouts whose policy follows the best
//! sequence found so far, on several levels.
//!
//! A playout chooses each move with a probability proportional to the exponential of its weight. A
//! level repeats the level below and moves the weights towards its own best sequence.
//!
//! Invariant: only playouts that ended change a policy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::distance::GoalDistance;
use super::plan::PLAYER;
use super::solver::{Report, Solver, Status};
use super::task::Task;
use panza_gdl::{Id, MoveId};
use panza_machine::Reasoner;
use panza_sync::{Instant, Random, is_past};

/// Levels above the playouts.
const LEVELS: usize = 3;
/// Repetitions of the level below.
const REPETITIONS: u32 = 60;
/// How far the weights of a chosen move rise at once (Rosin's alpha).
const RATE: f32 = 1.0;
/// Longest playout.
const MAX_STEPS: usize = 2_000;
/// Most legal moves of all steps of a playout together, which bounds its memory.
const MAX_LEGAL_MOVES: usize = 1 << 20;
/// What one goal point counts, in units of distance.
const POINT: i64 = 1 << 24;

/// A sequence of moves with the moves that were legal beside them.
#[derive(Clone, Default)]
struct Sequence {
    score: i64,
    moves: Vec<MoveId>,
    /// Concatenated; the ends are in `ends`.
    legal: Vec<MoveId>,
    ends: Vec<u32>,
}

impl Sequence {
    fn clear(&mut self) {
        self.score = i64::MIN;
        self.moves.clear();
        self.legal.clear();
        self.ends.clear();
    }
}

/// One level: its policy, its best sequence and how often the level below has run.
struct Level {
    weights: Vec<f32>,
    best: Sequence,
    done: u32,
}

pub(super) struct Sampling {
    reasoner: Box<dyn Reasoner>,
    start: Vec<u64>,
    distance: Option<GoalDistance>,
    random: Random,
    levels: Vec<Level>,
    playout: Sequence,
    state: Vec<u64>,
    next: Vec<u64>,
    chances: Vec<f32>,
    n_states: u64,
}

impl Sampling {
    pub fn new(task: &Task, seed: u64) -> Self {
        Self {
            reasoner: Arc::clone(&task.game.machine).reasoner(),
            start: task.start.clone(),
            distance: GoalDistance::new(task),
            random: Random::new(seed),
            levels: Vec::new(),
            playout: Sequence::default(),
            state: Vec::new(),
            next: Vec::new(),
            chances: Vec::new(),
            n_states: 0,
        }
    }

    fn level(&self, weights: Vec<f32>) -> Level {
        let mut best = Sequence::default();
        best.clear();
        Level {
            weights,
            best,
            done: 0,
        }
    }

    /// Plays once with the policy of the lowest level; to no end once `stop` is set.
    fn play(&mut self, stop: &AtomicBool) -> Option<u8> {
        self.playout.clear();
        self.state.clear();
        self.state.extend_from_slice(&self.start);
        loop {
            self.reasoner.set_state(&self.state);
            if self.reasoner.is_terminal() {
                let mut goals = [None];
                self.reasoner.goals(&mut goals);
                let goal = goals[0].unwrap_or(0).min(100);
                let distance = self
                    .distance
                    .as_mut()
                    .map_or(0, |goal| goal.of(&self.state));
                self.playout.score = i64::from(goal) * POINT - i64::from(distance);
                return Some(goal);
            }
            let legal = self.reasoner.legal_moves(PLAYER);
            let is_long = self.playout.moves.len() >= MAX_STEPS
                || self.playout.legal.len() >= MAX_LEGAL_MOVES;
            if legal.is_empty() || is_long || stop.load(Ordering::Relaxed) {
                return None;
            }
            let weights = &self.levels.last()?.weights;
            self.chances.clear();
            let mut sum = 0.0;
            for &mv in legal {
                sum += weight_of(weights, mv).exp();
                self.chances.push(sum);
            }
            let drawn = (self.random.bits() >> 40) as f32 / (1u64 << 24) as f32 * sum;
            let index = self.chances.partition_point(|&chance| chance <= drawn);
            let mv = legal[index.min(legal.len() - 1)];
            self.playout.moves.push(mv);
            self.playout.legal.extend_from_slice(legal);
            self.playout.ends.push(self.playout.legal.len() as u32);
            self.reasoner.next_state(&[mv], &mut self.next);
            std::mem::swap(&mut self.state, &mut self.next);
            self.n_states += 1;
        }
    }

    /// Moves the weights of a level towards its best sequence.
    fn adapt(level: &mut Level) {
        let old = level.weights.clone();
        let mut start = 0;
        for (&mv, &end) in level.best.moves.iter().zip(&level.best.ends) {
            let legal = &level.best.legal[start..end as usize];
            start = end as usize;
            let last = legal.iter().map(|mv| mv.index()).max().unwrap_or(0);
            if last >= level.weights.len() {
                level.weights.resize(last + 1, 0.0);
            }
            let sum: f32 = legal.iter().map(|&mv| weight_of(&old, mv).exp()).sum();
            level.weights[mv.index()] += RATE;
            for &other in legal {
                level.weights[other.index()] -= RATE * weight_of(&old, other).exp() / sum;
            }
        }
        // Weights far apart would overflow.
        for weight in &mut level.weights {
            *weight = weight.clamp(-40.0, 40.0);
        }
    }
}

/// The weight of a move; 0 for one that no best sequence met.
fn weight_of(weights: &[f32], mv: MoveId) -> f32 {
    weights.get(mv.index()).copied().unwrap_or(0.0)
}

impl Solver for Sampling {
    fn name(&self) -> &'static str {
        "rollouts"
    }

    fn work(&mut self, report: &mut Report<'_>, until: Instant, stop: &AtomicBool) -> Status {
        while !is_past(until) && !stop.load(Ordering::Relaxed) {
            while self.levels.len() < LEVELS {
                let above = self.levels.last().map(|level| level.weights.clone());
                let weights = above.unwrap_or_default();
                self.levels.push(self.level(weights));
            }
            if let Some(goal) = self.play(stop) {
                report.found(&self.playout.moves, goal);
                if report.is_best_possible() {
                    return Status::GaveUp;
                }
            }
            // What has ended is handed to the level above.
            let mut result = std::mem::take(&mut self.playout);
            while let Some(level) = self.levels.last_mut() {
                if result.score >= level.best.score {
                    std::mem::swap(&mut level.best, &mut result);
                }
                if level.best.score > i64::MIN {
                    Self::adapt(level);
                }
                level.done += 1;
                if level.done < REPETITIONS {
                    break;
                }
                result = self
                    .levels
                    .pop()
                    .map(|level| level.best)
                    .unwrap_or_default();
            }
            self.playout = result;
        }
        Status::Open
    }

    fn n_states(&self) -> u64 {
        self.n_states
    }
}
