//! What an evaluation reads of generated positions: their facts, and the prospects of roles where
//! it has them.
//!
//! The positions after one state are alike, so their values follow from the accumulator of one
//! state near them: the state before, or the first of them where there are prospects, which are
//! then computed for generated positions only.
//!
//! Invariant: values are those of the evaluation for each state alone, but for rounding.
//!
//! Never uses: games, clocks.

use super::{Accumulator, Evaluation};
use panza_analysis::prospects::WIDTH;
use panza_analysis::{ProspectBuffer, Prospects};
use panza_machine::PositionBatch;

/// Computes the inputs of an evaluation for states: their bits, and after them the words of their
/// prospects.
#[derive(Clone, Debug)]
pub struct Inputs {
    buffer: ProspectBuffer,
    words: Vec<u64>,
    state_words: usize,
    stride: usize,
}

impl Inputs {
    /// For states of a game with these prospects.
    pub fn new(prospects: &Prospects) -> Self {
        let state_words = prospects.n_facts().div_ceil(64).max(1);
        Self {
            buffer: prospects.buffer(),
            words: Vec::new(),
            state_words,
            stride: state_words + prospects.n_words(),
        }
    }

    /// Computes the inputs of some states.
    pub fn load<'a>(&mut self, prospects: &Prospects, states: impl Iterator<Item = &'a [u64]>) {
        let mut states = states.peekable();
        self.words.clear();
        let mut group: [&[u64]; WIDTH] = [&[]; WIDTH];
        while states.peek().is_some() {
            let start = self.words.len();
            let mut count = 0;
            for (place, state) in group.iter_mut().zip(&mut states) {
                *place = state;
                count += 1;
                let end = self.words.len() + self.stride;
                self.words.extend(state.iter().take(self.state_words));
                self.words.resize(end, 0);
            }
            let (state_words, stride) = (self.state_words, self.stride);
            let words = &mut self.words[start..];
            prospects.words(&group[..count], &mut self.buffer, |place, found| {
                let at = place * stride + state_words;
                words[at..at + found.len()].copy_from_slice(found);
            });
        }
    }

    /// The input of a state, by its place among those loaded.
    ///
    /// # Panics
    /// There is none.
    #[inline]
    pub fn of(&self, index: usize) -> &[u64] {
        &self.words[index * self.stride..][..self.stride]
    }
}

/// Reads the values of generated positions, with buffers of its own.
#[derive(Clone, Debug)]
pub struct ValueReader {
    accumulator: Accumulator,
    /// `None` without prospects.
    inputs: Option<Inputs>,
    /// The position whose inputs are accumulated, where there are prospects.
    base: usize,
}

impl ValueReader {
    /// A reader for this evaluation.
    pub fn new(evaluation: &Evaluation) -> Self {
        Self {
            accumulator: evaluation.empty_accumulator(),
            inputs: evaluation.prospects().map(Inputs::new),
            base: 0,
        }
    }

    /// Prepares the values of these positions. `evaluation` is that of the reader, or has the same
    /// inputs.
    pub fn load(&mut self, evaluation: &Evaluation, positions: &PositionBatch) {
        let states = (0..positions.len()).map(|index| positions.state(index));
        self.load_states(evaluation, states);
    }

    /// As [`load`](Self::load), of some states.
    pub fn load_states<'a>(
        &mut self,
        evaluation: &Evaluation,
        states: impl Iterator<Item = &'a [u64]>,
    ) {
        if let Some((inputs, prospects)) = self.inputs.as_mut().zip(evaluation.prospects()) {
            inputs.load(prospects, states);
        }
    }

    /// Writes the values of a state, which is at this place among those loaded.
    #[inline]
    pub fn values(&self, evaluation: &Evaluation, index: usize, state: &[u64], values: &mut [f32]) {
        evaluation.input_values(input_of(&self.inputs, index, state), values);
    }

    /// As [`values`](Self::values), the logits of the outputs.
    pub fn logits(
        &mut self,
        evaluation: &Evaluation,
        index: usize,
        state: &[u64],
        logits: &mut [f32],
    ) {
        let input = input_of(&self.inputs, index, state);
        evaluation.accumulate(input, &mut self.accumulator);
        evaluation.logits_from(&mut self.accumulator, input, input, logits);
    }

    /// Begins with the positions after the state `from`, the first of which is `first`.
    #[inline(always)]
    pub fn begin(&mut self, evaluation: &Evaluation, from: &[u64], first: usize) {
        let input = input_of(&self.inputs, first, from);
        evaluation.accumulate(input, &mut self.accumulator);
        self.base = first;
    }

    /// Writes the values of a position after the state that was begun with.
    #[inline(always)]
    pub fn values_after(
        &mut self,
        evaluation: &Evaluation,
        from: &[u64],
        positions: &PositionBatch,
        index: usize,
        values: &mut [f32],
    ) {
        let from = input_of(&self.inputs, self.base, from);
        let to = input_of(&self.inputs, index, positions.state(index));
        evaluation.values_from(&mut self.accumulator, from, to, values);
    }

    /// As [`values_after`](Self::values_after), the logits of the outputs.
    #[inline(always)]
    pub fn logits_after(
        &mut self,
        evaluation: &Evaluation,
        from: &[u64],
        positions: &PositionBatch,
        index: usize,
        logits: &mut [f32],
    ) {
        let from = input_of(&self.inputs, self.base, from);
        let to = input_of(&self.inputs, index, positions.state(index));
        evaluation.logits_from(&mut self.accumulator, from, to, logits);
    }
}

/// The input of the state at this place among those loaded: the state itself without prospects.
#[inline(always)]
fn input_of<'a>(inputs: &'a Option<Inputs>, index: usize, state: &'a [u64]) -> &'a [u64] {
    match inputs {
        Some(inputs) => inputs.of(index),
        None => state,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::evaluation::Trainer;

    use panza_gdl::RoleId;
    use panza_machine::{ExpansionStep, Machine};
    use panza_sync::{Budget, Random};

    fn tic_tac_toe() -> (Arc<dyn Machine>, Prospects) {
        let (rules, _) = panza_gdl::load(panza_gdl_games::rulesheet("ticTacToe").unwrap());
        let built = panza_game::compile(&rules, &Budget::generous()).unwrap();
        let network = built.network.unwrap();
        let prospects = Prospects::find(&network, &mut Budget::generous()).unwrap();
        (Arc::new(built.machine), prospects)
    }

    /// The positions after the first move of one role.
    fn after_first_moves(machine: &Arc<dyn Machine>) -> (Vec<u64>, PositionBatch) {
        let first = machine.initial_state();
        let mut reasoner = Arc::clone(machine).reasoner();
        reasoner.set_state(&first);
        let waits = reasoner.legal_moves(RoleId(1))[0];
        let moves = reasoner.legal_moves(RoleId(0)).iter();
        let joint_moves: Vec<_> = moves.map(|&mv| [mv, waits]).collect();
        let steps = joint_moves.iter().map(|joint_move| ExpansionStep {
            state: &first,
            joint_move: Some(joint_move),
        });
        let mut positions = PositionBatch::default();
        let mut expander = Arc::clone(machine).expander();
        expander.expand(&steps.collect::<Vec<_>>(), false, &mut positions);
        (first, positions)
    }

    /// With prospects and without.
    #[test]
    fn values_of_positions_are_those_of_each_state_alone() {
        let (machine, prospects) = tic_tac_toe();
        let n_facts = prospects.n_facts();
        let fresh = Evaluation::new(2, n_facts, Some(100), None, &mut Random::new(1)).unwrap();
        let with_prospects = fresh.clone().with_prospects(Arc::new(prospects)).unwrap();
        let (first, positions) = after_first_moves(&machine);
        assert_eq!(positions.len(), 9);
        for fresh in [fresh, with_prospects] {
            let mut trainer = Trainer::new(fresh, None);
            let mut inputs = trainer.evaluation.prospects().map(Inputs::new);
            for round in 0..200 {
                let state = positions.state(round % 9);
                let input = match (&mut inputs, trainer.evaluation.prospects()) {
                    (Some(inputs), Some(prospects)) => {
                        inputs.load(prospects, std::iter::once(state));
                        inputs.of(0).to_vec()
                    }
                    _ => state.to_vec(),
                };
                trainer.train(&input, &[round as f32 % 9.0 / 9.0], 0.1);
            }
            let evaluation = &trainer.evaluation;
            assert_eq!(evaluation.n_facts(), n_facts);
            let mut reader = ValueReader::new(evaluation);
            reader.load(evaluation, &positions);
            reader.begin(evaluation, &first, 0);
            for index in 0..positions.len() {
                let state = positions.state(index);
                let [mut alone, mut loaded, mut after] = [[0.0; 2]; 3];
                evaluation.values(state, &mut alone);
                reader.values(evaluation, index, state, &mut loaded);
                reader.values_after(evaluation, &first, &positions, index, &mut after);
                assert_eq!(alone, loaded);
                assert!((alone[0] - after[0]).abs() < 0.01, "{alone:?} {after:?}");
                let mut logits = [0.0];
                reader.logits(evaluation, index, state, &mut logits);
                let share = 100.0 / (1.0 + (-logits[0]).exp());
                assert!((alone[0] - share).abs() < 0.01, "{alone:?} {share}");
                reader.begin(evaluation, &first, 0);
            }
        }
    }

    #[test]
    fn prospects_of_another_game_are_refused() {
        let (_, prospects) = tic_tac_toe();
        let (n_facts, prospects) = (prospects.n_facts(), Arc::new(prospects));
        for (n_roles, n_facts) in [(2, n_facts + 1), (3, n_facts)] {
            let random = &mut Random::new(1);
            let fresh = Evaluation::new(n_roles, n_facts, None, None, random).unwrap();
            assert!(fresh.with_prospects(Arc::clone(&prospects)).is_none());
        }
    }
}
