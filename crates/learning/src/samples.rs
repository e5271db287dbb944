//! Samples for training: states with targets, in random order.
//!
//! Samples of one game are alike and come together, so each is put in a random place of a buffer,
//! and training is on the sample that was there. Each is replaced by a random symmetric image
//! first. The weights are averaged over the last part of training. A second evaluation with other
//! inputs may be trained on the same samples until one of both is chosen.
//!
//! Never uses: machines, clocks.

use std::sync::Arc;

use super::images::Images;
use crate::evaluation::{Inputs, Trainer};
use panza_analysis::prospects::WIDTH;
use panza_machine::with_wide_vectors;
use panza_sync::Random;

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

/// Samples over which errors are averaged.
const ERROR_HORIZON: u64 = 8192;
/// Training steps after which two trainers are compared.
const COMPARED_STEPS: u64 = 1 << 15;
/// Training steps that suffice where the time for the comparison is over; after fewer the first
/// trainer stays.
const MIN_COMPARED_STEPS: u64 = 1 << 13;
/// The second trainer is chosen where its error is at most this part of that of the first.
const BETTER: f64 = 0.9;

/// A trainer, with what its evaluation reads of samples.
struct InputTrainer {
    trainer: Trainer,
    /// `None` where that is the state.
    inputs: Option<Inputs>,
}

impl InputTrainer {
    fn new(trainer: Trainer) -> Self {
        Self {
            inputs: trainer.evaluation.prospects().map(Inputs::new),
            trainer,
        }
    }

    /// Does something with each of some samples: with its place, its input, and the trainer.
    fn each(
        &mut self,
        states: &[u64],
        n_words: usize,
        mut work: impl FnMut(usize, &[u64], &mut Trainer),
    ) {
        let states = states.chunks_exact(n_words);
        let prospects = self.trainer.evaluation.prospects();
        if let Some((inputs, prospects)) = self.inputs.as_mut().zip(prospects) {
            inputs.load(prospects, states.clone());
        }
        for (index, state) in states.enumerate() {
            let input = match &self.inputs {
                Some(inputs) => inputs.of(index),
                None => state,
            };
            work(index, input, &mut self.trainer);
        }
    }
}

/// A second trainer, and how well both predict games before they are trained on them.
struct SecondTrainer {
    trainer: InputTrainer,
    /// The moving averages of the squared errors of the first trainer and of this one.
    errors: [f64; 2],
    n_errors: u64,
}

impl SecondTrainer {
    /// Counts the errors of both for a game that they are not trained on yet. There are samples.
    fn compare(
        &mut self,
        first: &mut InputTrainer,
        states: &[u64],
        targets: &[f32],
        n_words: usize,
        n_targets: usize,
    ) {
        let mut squares = [0.0; 2];
        for (square, trainer) in squares.iter_mut().zip([first, &mut self.trainer]) {
            trainer.each(states, n_words, |index, input, trainer| {
                let targets = &targets[index * n_targets..][..n_targets];
                *square += f64::from(trainer.evaluation.squared_error(input, targets));
            });
        }
        let count = (states.len() / n_words) as u64;
        self.n_errors += count;
        let averaged = self.n_errors.min(ERROR_HORIZON).max(count) as f64;
        for (error, square) in self.errors.iter_mut().zip(squares) {
            *error += (square - *error * count as f64) / averaged;
        }
    }
}

/// The buffer and the trainer.
pub(super) struct Samples {
    first: InputTrainer,
    /// Trained on the same samples, until one is chosen.
    second: Option<SecondTrainer>,
    /// Training steps made.
    pub made: u64,
    images: Arc<Images>,
    /// The states, of equal length, and their targets.
    states: Vec<u64>,
    targets: Vec<f32>,
    n_buffered: usize,
    /// Samples taken from the buffer, to be trained on together.
    taken_states: Vec<u64>,
    taken_targets: Vec<f32>,
    n_taken: usize,
    /// Updates of the average in earlier training, roughly.
    earlier_updates: u64,
}

impl Samples {
    /// An empty buffer. The evaluation of the trainer was trained on `earlier_games` games.
    pub fn new(
        trainer: Trainer,
        second: Option<Trainer>,
        images: Arc<Images>,
        earlier_games: usize,
    ) -> Self {
        Self {
            first: InputTrainer::new(trainer),
            second: second.map(|trainer| SecondTrainer {
                trainer: InputTrainer::new(trainer),
                errors: [0.0; 2],
                n_errors: 0,
            }),
            made: 0,
            images,
            states: Vec::new(),
            targets: Vec::new(),
            n_buffered: 0,
            taken_states: Vec::new(),
            taken_targets: Vec::new(),
            n_taken: 0,
            earlier_updates: earlier_games as u64 / GAMES_PER_UPDATE,
        }
    }

    /// The trainer.
    pub fn trainer(&self) -> &Trainer {
        &self.first.trainer
    }

    /// As [`trainer`](Self::trainer).
    pub fn trainer_mut(&mut self) -> &mut Trainer {
        &mut self.first.trainer
    }

    /// Whether two trainers can be compared. Fewer training steps suffice once the time for that is
    /// over.
    pub fn can_compare(&self, is_over: bool) -> bool {
        self.made
            >= match is_over {
                true => MIN_COMPARED_STEPS,
                false => COMPARED_STEPS,
            }
    }

    /// The errors of both trainers; `None` for a single one.
    pub fn errors(&self) -> Option<[f64; 2]> {
        self.second.as_ref().map(|second| second.errors)
    }

    /// Goes on with the second trainer alone, or with the first.
    pub fn choose(&mut self, is_second: bool) {
        if let Some(second) = self.second.take()
            && is_second
        {
            self.first = second.trainer;
        }
    }

    /// Compares two trainers on a whole game before it is added: its states and their targets.
    pub fn compare_on(
        &mut self,
        states: &[u64],
        targets: &[f32],
        n_words: usize,
        n_targets: usize,
    ) {
        if let Some(second) = &mut self.second {
            second.compare(&mut self.first, states, targets, n_words, n_targets);
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
            self.take(place, state.len(), targets.len());
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
            self.take(place, n_words, n_targets);
        }
        self.train_taken(n_words, n_targets);
        self.n_buffered = 0;
        self.states.clear();
        self.targets.clear();
        self.update_average();
    }

    /// Takes a sample to train on.
    fn take(&mut self, place: usize, n_words: usize, n_targets: usize) {
        let state = &self.states[place * n_words..][..n_words];
        let targets = &self.targets[place * n_targets..][..n_targets];
        self.taken_states.extend_from_slice(state);
        self.taken_targets.extend_from_slice(targets);
        self.n_taken += 1;
        if self.n_taken == WIDTH {
            self.train_taken(n_words, n_targets);
        }
    }

    fn train_taken(&mut self, n_words: usize, n_targets: usize) {
        if self.n_taken == 0 {
            return;
        }
        let second = self.second.as_mut().map(|second| &mut second.trainer);
        for one in [&mut self.first].into_iter().chain(second) {
            let targets = &self.taken_targets;
            one.each(&self.taken_states, n_words, |index, input, trainer| {
                let targets = &targets[index * n_targets..][..n_targets];
                with_wide_vectors(|| trainer.train(input, targets, LEARNING_RATE));
            });
        }
        let before = self.made;
        self.made += self.n_taken as u64;
        self.n_taken = 0;
        self.taken_states.clear();
        self.taken_targets.clear();
        if before / STEPS_PER_UPDATE != self.made / STEPS_PER_UPDATE {
            self.update_average();
        }
    }

    fn update_average(&mut self) {
        let updates = self.earlier_updates + self.made / STEPS_PER_UPDATE;
        let horizon = u32::try_from(updates / AVERAGED_PART).unwrap_or(u32::MAX);
        let second = self.second.as_mut().map(|second| &mut second.trainer);
        for one in [&mut self.first].into_iter().chain(second) {
            one.trainer.update_average(horizon);
        }
    }
}

/// Whether the second of two trainers is to be chosen, by the errors of both in several buffers.
pub(super) fn is_second_better(errors: impl Iterator<Item = [f64; 2]>) -> bool {
    let sums = errors.fold([0.0; 2], |sums, errors| {
        [sums[0] + errors[0], sums[1] + errors[1]]
    });
    sums[1] < BETTER * sums[0]
}

#[cfg(test)]
mod tests {
    use super::is_second_better;

    #[test]
    fn the_second_trainer_has_to_err_clearly_less() {
        assert!(is_second_better([[0.2, 0.17]].into_iter()));
        assert!(!is_second_better([[0.2, 0.19]].into_iter()));
        // The errors of several threads count together.
        assert!(is_second_better([[0.2, 0.1], [0.2, 0.21]].into_iter()));
        assert!(!is_second_better([[0.0, 0.0]].into_iter()));
    }
}
