//! Whole jobs in one call: random games, searches, training, games for training.
//!
//! Never uses: Python.

pub mod rollouts;
pub mod search;
pub mod self_play;
pub mod study;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use panza_machine::NO_GOAL;

use crate::batch::{Actions, Batch, Options, TERMINATED};
use crate::batch_error::BatchError;
use crate::core::Core;

/// What random games show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Checked {
    /// Games that the rules ended.
    pub terminated: usize,
    /// Games in which a role had no legal move.
    pub stuck: usize,
    /// Games that were cut off.
    pub cut_off: usize,
    /// Goals that were undefined at an end by the rules.
    pub undefined_goals: usize,
    /// The most steps of a game.
    pub longest: u32,
}

/// Plays random games, each of at most `max_steps` steps.
///
/// # Errors
/// The states would take more than `MAX_BYTES` of memory.
pub fn check_games(
    core: &Arc<Core>,
    games: usize,
    max_steps: u32,
    seed: u64,
    stop: &Arc<AtomicBool>,
) -> Result<Checked, BatchError> {
    let options = Options {
        seed,
        auto_reset: false,
        max_steps,
        threads: 1,
    };
    let mut batch = Batch::initial(core, games, options)?;
    let mut actions = vec![0; games * core.sizes.n_roles];
    let is_over = |batch: &Batch| (0..games).all(|row| batch.is_over(row));
    while !is_over(&batch) && !stop.load(Ordering::Relaxed) {
        batch.random_actions(&mut actions);
        batch.step(Actions::OfRoles(&actions), None)?;
    }
    let mut found = Checked::default();
    for row in 0..games {
        found.longest = found.longest.max(batch.steps[row]);
        if batch.flags[row] & TERMINATED != 0 {
            found.terminated += 1;
            let undefined = batch.goals(row).iter().filter(|&&goal| goal == NO_GOAL);
            found.undefined_goals += undefined.count();
        } else if batch.steps[row] >= max_steps {
            found.cut_off += 1;
        } else {
            found.stuck += 1;
        }
    }
    Ok(found)
}
