//! Samples for training: states with targets, in random order.
//!
//! Samples of one game are alike and come together, so each is put in a random place of a buffer,
//! and training is on the sample that was there. Each is replaced by a random symmetric image
//! first. The weights are averaged over the last part of training.
//!
//! Never uses: machines, clocks.

use std::sync::Arc;

use super::images::Images;
use crate::learning::evaluation::{MAX_ROLES, Trainer};
use panza_machine::machine::multiversion::with_wide_vectors;
use panza_machine::machine::random::Random;

/// Samples in the buffer.
const BUFFER_SIZE: usize = 4096;
/// The learning rate of AdaGrad.
const LEARNING_RATE: f32 = 0.08;
/// Training steps between two updates of the average.
const STEPS_PER_UPDATE: u64 = 512;
/// The part of all training steps that the average is over.
const AVERAGED_PART: u64 = 5;
/// Games of earlier training that count as an update of the average.
const GAMES_PER_UPDATE: u64 = 32;

/// The buffer and the trainer.
pub(super) struct Samples {
    /// The trainer.
    pub trainer: Trainer,
    /// Training steps made.
    pub made: u64,
    images: Arc<Images>,
    /// The states, of equal length, and their targets.
    states: Vec<u64>,
    targets: Vec<f32>,
    n_buffered: usize,
    /// Updates of the average in earlier training, roughly.
    earlier_updates: u64,
}

impl Samples {
    /// An empty buffer. The evaluation of the trainer was trained on `earlier_games` games.
    pub fn new(trainer: Trainer, images: Arc<Images>, earlier_games: usize) -> Self {
        Self {
            trainer,
            made: 0,
            images,
            states: Vec::new(),
            targets: Vec::new(),
            n_buffered: 0,
            earlier_updates: earlier_games as u64 / GAMES_PER_UPDATE,
        }
    }

    /// Adds a state with its targets, one for each output. With a full buffer another one is
    /// trained on.
    pub fn push(&mut self, state: &[u64], targets: &[f32], random: &mut Random) {
        let place = if self.n_buffered < BUFFER_SIZE {
            self.states.extend_from_slice(state);
            self.targets.extend_from_slice(targets);
            self.n_buffered += 1;
            self.n_buffered - 1
        } else {
            let place = random.below(BUFFER_SIZE as u32) as usize;
            self.train(place, state.len(), targets.len());
            place
        };
        let to_state = &mut self.states[place * state.len()..][..state.len()];
        let to_targets = &mut self.targets[place * targets.len()..][..targets.len()];
        to_state.copy_from_slice(state);
        to_targets.copy_from_slice(targets);
        self.images.draw(to_state, to_targets, random);
    }

    /// Trains on all samples and empties the buffer.
    pub fn train_all(&mut self) {
        let n_words = self.states.len() / self.n_buffered.max(1);
        let n_targets = self.targets.len() / self.n_buffered.max(1);
        for place in 0..self.n_buffered {
            self.train(place, n_words, n_targets);
        }
        self.n_buffered = 0;
        self.states.clear();
        self.targets.clear();
        self.update_average();
    }

    fn train(&mut self, place: usize, n_words: usize, n_targets: usize) {
        let state = &self.states[place * n_words..][..n_words];
        let mut targets = [0.0; MAX_ROLES];
        targets[..n_targets].copy_from_slice(&self.targets[place * n_targets..][..n_targets]);
        let trainer = &mut self.trainer;
        with_wide_vectors(|| trainer.train(state, &targets, LEARNING_RATE));
        self.made += 1;
        if self.made.is_multiple_of(STEPS_PER_UPDATE) {
            self.update_average();
        }
    }

    fn update_average(&mut self) {
        let updates = self.earlier_updates + self.made / STEPS_PER_UPDATE;
        let horizon = u32::try_from(updates / AVERAGED_PART).unwrap_or(u32::MAX);
        self.trainer.update_average(horizon);
    }
}
