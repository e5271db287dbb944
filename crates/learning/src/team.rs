//! Learning by several processes: members play and train on their own, one process unites them.
//!
//! It is what the threads of one process do. The weights go to all members, each plays and trains
//! for a part of the time, and the means of what comes back are the next weights. A member keeps
//! its games in progress from part to part. One that does not answer in time is left out of a part.
//!
//! Invariant: numbers of a member that do not fit the game, or are not finite, are not taken over.
//!
//! Never uses: how members are reached.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::images::Images;
use super::samples::Samples;
use super::self_play::SelfPlay;
use crate::evaluation::{Evaluation, Trainer};
use panza_analysis::Symmetries;
use panza_machine::Machine;
use panza_sync::{Budget, Random};

/// A part of the time of learning.
#[derive(Clone, PartialEq, Debug)]
pub struct Part {
    /// The numbers of a [`Trainer`] to go on with.
    pub numbers: Vec<f32>,
    /// How long to play.
    pub time: Duration,
    /// Whether it is the last one, in which all samples are trained on.
    pub is_last: bool,
}

/// What a member did in a part.
#[derive(Clone, PartialEq, Debug)]
pub struct Share {
    /// The numbers of its [`Trainer`].
    pub numbers: Vec<f32>,
    /// Games that ended, and their joint moves.
    pub games: usize,
    /// See `games`.
    pub moves: u64,
    /// Training steps.
    pub samples: u64,
}

/// Members that learn together.
pub trait Team: Sync {
    /// Begins with this evaluation, which `games` games have trained. For `seed` and `openings` see
    /// [`LearningPlan`](super::LearningPlan).
    fn begin(&self, evaluation: &Evaluation, games: usize, seed: u64, openings: &[Vec<u64>]);

    /// Gives all members a part, and waits for their shares. Late ones are left out.
    fn play(&self, part: &Part) -> Vec<Share>;
}

/// How a member plays.
#[derive(Clone, PartialEq, Debug)]
pub struct MemberPlan {
    /// Games that have trained the evaluation.
    pub games: usize,
    /// Random seed, another one for each member.
    pub seed: u64,
    /// See [`LearningPlan::openings`](super::LearningPlan::openings).
    pub openings: Vec<Vec<u64>>,
}

/// A member of a team.
pub struct Member {
    player: SelfPlay,
    plan: MemberPlan,
}

impl Member {
    /// A member that begins with an evaluation of the machine. `None` if the evaluation or an
    /// opening is of another game.
    pub fn new(
        machine: &Arc<dyn Machine>,
        symmetries: Option<&Symmetries>,
        evaluation: Evaluation,
        plan: MemberPlan,
    ) -> Option<Self> {
        let n_facts = machine.info().facts()?.len();
        let n_words = machine.initial_state().len();
        let fits = evaluation.n_facts() == n_facts
            && evaluation.n_roles() == machine.info().n_roles()
            && plan.openings.iter().all(|state| state.len() == n_words);
        let images = Arc::new(Images::new(symmetries, n_facts));
        let trainer = Trainer::new(evaluation, None);
        let samples = Samples::new(trainer, None, images, plan.games);
        let player = SelfPlay::new(machine, samples, plan.games, Random::new(plan.seed));
        fits.then_some(Self { player, plan })
    }

    /// Plays and trains for a part. `None` if its numbers do not fit.
    pub fn play(&mut self, part: &Part, cancelled: &Arc<AtomicBool>) -> Option<Share> {
        let player = &mut self.player;
        if !player.samples.trainer_mut().set_numbers(&part.numbers) {
            return None;
        }
        let (games, moves, samples) = (player.finished, player.moves, player.samples.made);
        let budget = Budget::lasting(part.time).stopped_by(cancelled);
        player.run(&budget, &self.plan.openings);
        if part.is_last {
            player.samples.train_all();
        }
        Some(Share {
            numbers: player.samples.trainer().numbers(),
            games: player.finished - games,
            moves: player.moves - moves,
            samples: player.samples.made - samples,
        })
    }
}

/// Replaces the numbers of a trainer by the means of those of all shares that fit, and returns
/// these shares. Without any the trainer stays.
pub(super) fn unite(trainer: &mut Trainer, mut shares: Vec<Share>) -> Vec<Share> {
    let mut probe = trainer.clone();
    shares.retain(|share| probe.set_numbers(&share.numbers));
    if let Some((first, others)) = shares.split_first() {
        let mut means = first.numbers.clone();
        for (count, other) in (2u16..).zip(others) {
            let share = 1.0 / f32::from(count);
            for (mean, number) in means.iter_mut().zip(&other.numbers) {
                *mean += (number - *mean) * share;
            }
        }
        trainer.set_numbers(&means);
    }
    shares
}
