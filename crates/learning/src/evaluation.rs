//! Evaluation: the expected goal of each role in a state, by a small neural network over its facts.
//!
//! Each fact has a row of [`UNITS`] weights. The accumulator is the bias plus the rows of the facts
//! that hold. The hidden units pass a ReLU, a linear layer gives one logit per output, and a
//! sigmoid maps a logit to a goal. The first [`LINEAR_UNITS`] units skip the ReLU and feed one
//! output each, so that the network contains a linear evaluation by piece values. (Architecture and
//! incremental accumulator: NNUE, Nasu 2018; a network over the facts of any game: Goldwaser and
//! Thielscher 2020.) Where lines of facts decide the game, each combination on each line adds a
//! weight of its own to the logits ([`Tuples`]). The bits of [`Prospects`], where they help, are
//! inputs as facts are: the input of a state is its words, and after them those of its prospects.
//!
//! Invariants: equal states of one machine have equal values, except for rounding of incremental
//! updates; values lie between 0 and 100, or the fixed sum of goals.
//!
//! Never uses: games, clocks. [`Trainer`] trains the weights on what `learning` plays.

mod inputs;
mod trainer;

use std::sync::Arc;

use panza_analysis::tuples::{MAX_TUPLES, Places};
use panza_analysis::{Prospects, Tuples};
use panza_machine::rows::weigh;
use panza_sync::Random;

pub use inputs::{Inputs, ValueReader};
pub use panza_machine::rows::{Row, UNITS};
pub use trainer::{GradientSums, Trainer};

/// The first units, which skip the ReLU; also the maximum number of outputs.
pub const LINEAR_UNITS: usize = 4;

/// States that differ in more facts are evaluated without the accumulator of the other.
const MAX_CHANGED: usize = 64;

/// The first layer's sums for a state, before the ReLU, and the weights of its tuples. Those of
/// similar states follow by adding and subtracting what the facts that differ have.
#[derive(Clone, Debug)]
pub struct Accumulator {
    row: Row,
    tuples: Option<TupleSums>,
}

/// The weights of all tuples in a state.
#[derive(Clone, Debug)]
struct TupleSums {
    places: Places,
    /// The places in a similar state, while that is evaluated, else those of the state.
    similar: Places,
    /// The weight of each tuple for the first output.
    weights: [f32; MAX_TUPLES],
    /// For each output the sum of the weights.
    logits: [f32; LINEAR_UNITS],
}

impl TupleSums {
    const EMPTY: Self = Self {
        places: [0; MAX_TUPLES],
        similar: [0; MAX_TUPLES],
        weights: [0.0; MAX_TUPLES],
        logits: [0.0; LINEAR_UNITS],
    };
}

/// Moves numbers a share of the way to others.
#[inline]
fn approach(numbers: &mut [f32], others: &[f32], share: f32) {
    for (number, other) in numbers.iter_mut().zip(others) {
        *number += (other - *number) * share;
    }
}

/// The sums of weights of tuples; 0 without tuples.
#[inline]
fn logits_of(tuples: Option<&TupleSums>) -> [f32; LINEAR_UNITS] {
    tuples.map_or([0.0; LINEAR_UNITS], |tuples| tuples.logits)
}

/// The network.
#[derive(Clone, PartialEq, Debug)]
pub struct Evaluation {
    n_roles: usize,
    tuples: Option<Arc<Tuples>>,
    prospects: Option<Arc<Prospects>>,
    weights: Weights,
}

/// The weights of an [`Evaluation`].
#[derive(Clone, PartialEq, Debug)]
pub struct Weights {
    /// The sum of the goals of two roles, if it is constant.
    pub fixed_sum: Option<f32>,
    /// One row per fact; with prospects one per bit of an input.
    pub rows: Vec<Row>,
    /// The bias of the first layer.
    pub bias: Row,
    /// One row per output: a single output for two roles with a fixed sum, else one per role.
    pub outputs: Vec<Row>,
    /// For each weight of tuples one number per output.
    pub tables: Vec<f32>,
}

/// Numbers in one order: of rows, the bias, outputs and tables.
fn rows_of<'a>(
    rows: &'a [Row],
    bias: &'a Row,
    outputs: &'a [Row],
    tables: &'a [f32],
) -> impl Iterator<Item = f32> + 'a {
    let rows = rows.iter().chain([bias]).chain(outputs);
    rows.flat_map(|row| row.0).chain(tables.iter().copied())
}

/// As [`rows_of`].
fn rows_of_mut<'a>(
    rows: &'a mut [Row],
    bias: &'a mut Row,
    outputs: &'a mut [Row],
    tables: &'a mut [f32],
) -> impl Iterator<Item = &'a mut f32> + 'a {
    let rows = rows.iter_mut().chain([bias]).chain(outputs);
    rows.flat_map(|row| &mut row.0).chain(tables)
}

impl Weights {
    fn numbers(&self) -> impl Iterator<Item = f32> + '_ {
        rows_of(&self.rows, &self.bias, &self.outputs, &self.tables)
    }

    fn numbers_mut(&mut self) -> impl Iterator<Item = &mut f32> + '_ {
        rows_of_mut(
            &mut self.rows,
            &mut self.bias,
            &mut self.outputs,
            &mut self.tables,
        )
    }

    /// Goes a share of the way to other weights of the same game.
    fn approach(&mut self, other: &Self, share: f32) {
        let rows = self.rows.iter_mut().chain(&mut self.outputs);
        let others = other.rows.iter().chain(&other.outputs);
        for (to, from) in rows.zip(others) {
            approach(&mut to.0, &from.0, share);
        }
        approach(&mut self.bias.0, &other.bias.0, share);
        approach(&mut self.tables, &other.tables, share);
    }
}

/// The number of rows: one per fact, or one per bit of an input with prospects.
fn n_rows(prospects: Option<&Prospects>, n_facts: usize) -> usize {
    prospects.map_or(n_facts, |prospects| {
        64 * (n_facts.div_ceil(64).max(1) + prospects.n_words())
    })
}

/// The largest size of a stored weight. Trained ones are far below; sums of this many are finite.
const MAX_WEIGHT: f32 = 1e6;
/// The maximum number of roles.
pub const MAX_ROLES: usize = LINEAR_UNITS;

impl Evaluation {
    /// An untrained evaluation over `n_facts` facts and these tuples, with values near 50.
    /// `fixed_sum` is the sum of the goals of two roles, if it is constant. `None` for no role or
    /// more than [`MAX_ROLES`].
    pub fn new(
        n_roles: usize,
        n_facts: usize,
        fixed_sum: Option<u32>,
        tuples: Option<Arc<Tuples>>,
        random: &mut Random,
    ) -> Option<Self> {
        if n_roles > MAX_ROLES || n_roles == 0 {
            return None;
        }
        let fixed_sum = fixed_sum.filter(|_| n_roles == 2).map(|sum| sum as f32);
        let n_outputs = if fixed_sum.is_some() { 1 } else { n_roles };
        // Random weights break the symmetry between hidden units.
        let mut small = |scale: f32| {
            let mut row = Row::ZERO;
            for number in &mut row.0[LINEAR_UNITS..] {
                *number = (uniform(random) - 0.5) * scale;
            }
            row
        };
        let rows = (0..n_facts).map(|_| small(0.2)).collect();
        let bias = small(0.2);
        let mut outputs: Vec<Row> = (0..n_outputs).map(|_| small(0.4)).collect();
        for (index, output) in outputs.iter_mut().enumerate() {
            output.0[index] = 1.0;
        }
        let n_weights = tuples.as_ref().map_or(0, |tuples| tuples.n_weights);
        Some(Self {
            n_roles,
            tuples,
            prospects: None,
            weights: Weights {
                fixed_sum,
                rows,
                bias,
                tables: vec![0.0; n_outputs * n_weights],
                outputs,
            },
        })
    }

    /// The evaluation with rows for prospects as well, which are all zero at first. `None` if they
    /// are of another game.
    pub fn with_prospects(mut self, prospects: Arc<Prospects>) -> Option<Self> {
        if prospects.n_facts() != self.weights.rows.len() || prospects.n_words() != self.n_roles {
            return None;
        }
        let n_rows = n_rows(Some(&prospects), self.weights.rows.len());
        self.weights.rows.resize(n_rows, Row::ZERO);
        self.prospects = Some(prospects);
        Some(self)
    }

    /// The evaluation without its prospects, for training that goes on with facts alone.
    pub fn without_prospects(mut self) -> Self {
        self.weights.rows.truncate(self.n_facts());
        self.prospects = None;
        self
    }

    /// The weights.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The evaluation with these weights; `None` if they do not fit `n_roles` and the prospects, or
    /// are so large that a value may be no number.
    pub fn from_weights(
        n_roles: usize,
        tuples: Option<Arc<Tuples>>,
        prospects: Option<Arc<Prospects>>,
        weights: Weights,
    ) -> Option<Self> {
        let n_weights = tuples.as_ref().map_or(0, |tuples| tuples.n_weights);
        let n_outputs = if weights.fixed_sum.is_some() {
            1
        } else {
            n_roles
        };
        let fit_prospects = prospects.as_ref().is_none_or(|prospects| {
            prospects.n_words() == n_roles
                && weights.rows.len() == n_rows(Some(prospects), prospects.n_facts())
        });
        let fits = (1..=MAX_ROLES).contains(&n_roles)
            && fit_prospects
            && weights.outputs.len() == n_outputs
            && weights.tables.len() == n_outputs * n_weights
            && weights
                .fixed_sum
                .is_none_or(|sum| n_roles == 2 && (0.0..=200.0).contains(&sum));
        let rows = weights
            .rows
            .iter()
            .chain(&weights.outputs)
            .chain([&weights.bias]);
        let tables = weights.tables.iter().copied();
        let mut numbers = rows.flat_map(|row| row.0).chain(tables);
        let is_sound = fits && numbers.all(|number| number.abs() <= MAX_WEIGHT);
        drop(numbers);
        is_sound.then_some(Self {
            n_roles,
            tuples,
            prospects,
            weights,
        })
    }

    /// The tuples, if there are any.
    pub fn tuples(&self) -> Option<&Tuples> {
        self.tuples.as_deref()
    }

    /// The number of roles.
    pub fn n_roles(&self) -> usize {
        self.n_roles
    }

    /// The prospects among its inputs, if there are any.
    pub fn prospects(&self) -> Option<&Prospects> {
        self.prospects.as_deref()
    }

    /// The number of facts: the bits of a state.
    pub fn n_facts(&self) -> usize {
        let of_prospects = self.prospects.as_ref().map(|it| it.n_facts());
        of_prospects.unwrap_or(self.weights.rows.len())
    }

    /// The row of the first bit of a role's prospects; `None` without prospects.
    pub fn first_prospect(&self, role: usize) -> Option<usize> {
        let prospects = self.prospects.as_ref()?;
        Some(64 * (prospects.n_facts().div_ceil(64).max(1) + role))
    }

    /// Writes the expected goal of each role in a state, 0 to 100. A [`ValueReader`] is faster for
    /// many states.
    pub fn values(&self, state: &[u64], values: &mut [f32]) {
        match &self.prospects {
            None => self.input_values(state, values),
            Some(_) => {
                let mut reader = ValueReader::new(self);
                reader.load_states(self, std::iter::once(state));
                reader.values(self, 0, state, values);
            }
        }
    }

    /// As [`values`](Self::values), of an input.
    #[inline]
    fn input_values(&self, input: &[u64], values: &mut [f32]) {
        let mut sums = self.accumulator(input);
        self.values_from(&mut sums, input, input, values);
    }

    /// The sum of the squared errors of the outputs, 0 to 1, for an input with these targets.
    pub(super) fn squared_error(&self, input: &[u64], targets: &[f32]) -> f32 {
        let mut accumulator = self.accumulator(input);
        let mut logits = [0.0; LINEAR_UNITS];
        self.logits_from(&mut accumulator, input, input, &mut logits);
        let errors = logits.iter().zip(targets);
        errors
            .map(|(&logit, target)| (sigmoid(logit) - target).powi(2))
            .sum()
    }

    /// The accumulator of an input, for [`values_from`](Self::values_from).
    #[inline]
    pub fn accumulator(&self, state: &[u64]) -> Accumulator {
        let mut accumulator = self.empty_accumulator();
        self.accumulate(state, &mut accumulator);
        accumulator
    }

    /// An accumulator of no input, for [`accumulate`](Self::accumulate).
    pub fn empty_accumulator(&self) -> Accumulator {
        Accumulator {
            row: Row::ZERO,
            tuples: self.tuples.as_ref().map(|_| TupleSums::EMPTY),
        }
    }

    /// Makes an accumulator that of an input. It is a few thousand bytes and meant to be reused.
    #[inline(always)]
    pub fn accumulate(&self, state: &[u64], accumulator: &mut Accumulator) {
        accumulator.row = self.sums(state);
        if let Some((known, sums)) = self.tuples.as_deref().zip(accumulator.tuples.as_mut()) {
            self.sum_tuples(known, state, sums);
        }
    }

    /// As [`values`](Self::values) of an input, from the accumulator of the input `from`, which
    /// stays that of `from`: only the rows of bits that differ are added or subtracted.
    #[inline(always)]
    pub fn values_from(
        &self,
        accumulator: &mut Accumulator,
        from: &[u64],
        state: &[u64],
        values: &mut [f32],
    ) {
        let mut logits = [0.0; LINEAR_UNITS];
        self.logits_from(accumulator, from, state, &mut logits);
        match self.weights.fixed_sum {
            Some(sum) => {
                values[0] = sum * sigmoid(logits[0]);
                values[1] = sum - values[0];
            }
            None => {
                for (value, &logit) in values.iter_mut().zip(&logits) {
                    *value = 100.0 * sigmoid(logit);
                }
            }
        }
    }

    /// The number of outputs: a single one for two roles with a fixed sum, else one per role.
    pub fn n_outputs(&self) -> usize {
        self.weights.outputs.len()
    }

    /// The goal that an output of 1 stands for.
    pub fn scale(&self) -> f32 {
        self.weights.fixed_sum.unwrap_or(100.0).max(1.0)
    }

    /// Writes the logit of each output, as [`values_from`](Self::values_from) puts it through the
    /// sigmoid. A single output is that of the first role.
    #[inline(always)]
    pub fn logits_from(
        &self,
        accumulator: &mut Accumulator,
        from: &[u64],
        state: &[u64],
        logits: &mut [f32],
    ) {
        let mut changed = [0; MAX_CHANGED];
        let (mut sums, tuples, mut left) = match self.changed(from, state, &mut changed) {
            Some(count) => {
                let changed = &changed[..count];
                let tuples = self.tuple_logits(accumulator, state, changed);
                (accumulator.row, tuples, changed)
            }
            None => {
                let tuples = logits_of(self.tuple_sums(state).as_ref());
                (self.sums(state), tuples, [].as_slice())
            }
        };
        let (outputs, rows) = (&self.weights.outputs, &self.weights.rows);
        if outputs.len() > 1 {
            sums.change(rows, state, left);
            left = &[];
        }
        for (logit, (output, of_tuples)) in logits.iter_mut().zip(outputs.iter().zip(tuples)) {
            *logit = weigh::<LINEAR_UNITS>(&sums, rows, state, left, output) + of_tuples;
        }
    }

    /// The rows of the bits in which two inputs differ; their number. `None` for too many.
    #[inline(always)]
    fn changed(
        &self,
        from: &[u64],
        state: &[u64],
        changed: &mut [u32; MAX_CHANGED],
    ) -> Option<usize> {
        let n_rows = self.weights.rows.len();
        let mut count = 0;
        for (index, (&before, &after)) in from.iter().zip(state).enumerate() {
            let mut left = before ^ after;
            while left != 0 {
                let row = 64 * index + left.trailing_zeros() as usize;
                left &= left - 1;
                if row < n_rows {
                    *changed.get_mut(count)? = row as u32;
                    count += 1;
                }
            }
        }
        Some(count)
    }

    /// The sums of the weights of tuples in a state that differs in these rows from that of the
    /// accumulator.
    #[inline(always)]
    fn tuple_logits(
        &self,
        accumulator: &mut Accumulator,
        state: &[u64],
        changed: &[u32],
    ) -> [f32; LINEAR_UNITS] {
        let Some((known, tuples)) = self.tuples.as_deref().zip(accumulator.tuples.as_mut()) else {
            return [0.0; LINEAR_UNITS];
        };
        let n_facts = self.n_facts();
        // Rows of prospects come after those of facts.
        let n_changed = changed.partition_point(|&row| (row as usize) < n_facts);
        let changed = &changed[..n_changed];
        for &fact in changed {
            let is_true = state[fact as usize / 64] >> (fact % 64) & 1 == 1;
            // Wrapping addition of the negative number subtracts.
            let sign = if is_true { 1 } else { u32::MAX };
            for it in known.uses(fact as usize) {
                let place = &mut tuples.similar[usize::from(it.tuple) % MAX_TUPLES];
                *place = place.wrapping_add(sign.wrapping_mul(it.number.into()));
            }
        }
        self.similar_logits(known, tuples, changed)
    }

    /// The sums of weights in the similar state, in which these facts differ. Resets its places.
    #[inline(always)]
    fn similar_logits(
        &self,
        known: &Tuples,
        tuples: &mut TupleSums,
        changed: &[u32],
    ) -> [f32; LINEAR_UNITS] {
        let mut logits = tuples.logits;
        let n_outputs = self.weights.outputs.len();
        let tables = self.weights.tables.as_slice();
        let last = known.n_weights - 1;
        for &fact in changed {
            for it in known.uses(fact as usize) {
                // A tuple of several of the facts is read once: then its place is reset.
                let tuple = usize::from(it.tuple) % MAX_TUPLES;
                let before = tuples.places[tuple];
                let after = std::mem::replace(&mut tuples.similar[tuple], before);
                let after = (after as usize).min(last) * n_outputs;
                logits[0] += tables[after] - tuples.weights[tuple];
                if n_outputs > 1 {
                    let before = (before as usize).min(last) * n_outputs;
                    for output in 1..n_outputs {
                        logits[output] += tables[after + output] - tables[before + output];
                    }
                }
            }
        }
        logits
    }

    /// `None` without tuples.
    fn tuple_sums(&self, state: &[u64]) -> Option<TupleSums> {
        let known = self.tuples.as_deref()?;
        let mut sums = TupleSums::EMPTY;
        self.sum_tuples(known, state, &mut sums);
        Some(sums)
    }

    #[inline(always)]
    fn sum_tuples(&self, known: &Tuples, state: &[u64], sums: &mut TupleSums) {
        let count = known.count();
        // Tuples are of facts, which come before prospects.
        let n_words = self.n_facts().div_ceil(64).max(1);
        let facts = state.get(..n_words).unwrap_or(state);
        known.read_places(facts, &mut sums.places);
        sums.similar[..count].copy_from_slice(&sums.places[..count]);
        let n_outputs = self.weights.outputs.len();
        let last = known.n_weights - 1;
        let tables = self.weights.tables.as_slice();
        // Apart from the others, in a register: usually it is the only one.
        let mut first_logit = 0.0;
        sums.logits = [0.0; LINEAR_UNITS];
        for (&place, first) in sums.places[..count].iter().zip(&mut sums.weights) {
            let weights = &tables[(place as usize).min(last) * n_outputs..][..n_outputs];
            *first = weights[0];
            first_logit += weights[0];
            for (logit, weight) in sums.logits[1..].iter_mut().zip(&weights[1..]) {
                *logit += weight;
            }
        }
        sums.logits[0] = first_logit;
    }

    /// The units before the ReLU.
    #[inline(always)]
    fn sums(&self, state: &[u64]) -> Row {
        let mut sums = self.weights.bias;
        for bit in bits(state) {
            if let Some(row) = self.weights.rows.get(bit) {
                sums.add(row);
            }
        }
        sums
    }

    /// The linear value of a fact for each role, in points: the derivative of the value by the fact
    /// at value 50, hidden units left out.
    pub fn worth(&self, bit: usize) -> Vec<f32> {
        let Some(row) = self.weights.rows.get(bit) else {
            return vec![0.0; self.n_roles];
        };
        let of = |output: &Row| {
            25.0 * output.0[..LINEAR_UNITS]
                .iter()
                .zip(&row.0)
                .map(|(a, b)| a * b)
                .sum::<f32>()
        };
        match self.weights.fixed_sum {
            Some(_) => vec![of(&self.weights.outputs[0]), -of(&self.weights.outputs[0])],
            None => self.weights.outputs.iter().map(of).collect(),
        }
    }
}

/// The indices of the set bits of a state, in rising order.
#[inline]
fn bits(state: &[u64]) -> impl Iterator<Item = usize> {
    state.iter().enumerate().flat_map(|(index, &word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            (left != 0).then(|| {
                let bit = left.trailing_zeros() as usize;
                left &= left - 1;
                64 * index + bit
            })
        })
    })
}

/// The logistic function.
#[inline]
pub(super) fn sigmoid(number: f32) -> f32 {
    1.0 / (1.0 + (-number).exp())
}

/// A random number, uniform in [0, 1).
pub(super) fn uniform(random: &mut Random) -> f32 {
    (random.bits() >> 40) as f32 / (1u64 << 24) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_gdl::BaseId;

    fn fresh(n_roles: usize, sum: Option<u32>) -> Evaluation {
        Evaluation::new(n_roles, 128, sum, None, &mut Random::new(1)).unwrap()
    }

    #[test]
    fn an_untrained_evaluation_expects_half() {
        let mut values = [0.0; 3];
        fresh(3, None).values(&[0b1011, 1 << 40], &mut values);
        for value in values {
            assert!((value - 50.0).abs() < 10.0, "{value}");
        }
    }

    #[test]
    fn too_many_roles_are_not_evaluated() {
        let random = &mut Random::new(1);
        assert!(Evaluation::new(MAX_ROLES + 1, 64, None, None, random).is_none());
        assert!(Evaluation::new(0, 64, None, None, random).is_none());
    }

    #[test]
    fn incremental_and_full_evaluations_agree() {
        let evaluation = fresh(2, Some(100));
        let random = &mut Random::new(2);
        for _ in 0..200 {
            let from = [random.bits(), random.bits()];
            let to = [random.bits(), random.bits() & random.bits()];
            let mut accumulator = evaluation.accumulator(&from);
            let (mut incremental, mut plain) = ([0.0; 2], [0.0; 2]);
            evaluation.values_from(&mut accumulator, &from, &to, &mut incremental);
            evaluation.values(&to, &mut plain);
            for role in 0..2 {
                assert!((incremental[role] - plain[role]).abs() < 0.01);
            }
            evaluation.logits_from(&mut accumulator, &from, &to, &mut incremental);
            assert!((100.0 * sigmoid(incremental[0]) - plain[0]).abs() < 0.01);
        }
    }

    /// With one output and with two, for near and far states, also with several values of a
    /// variable.
    #[test]
    fn incremental_and_full_evaluations_agree_on_tuples() {
        let variables = (0..64).map(|it| vec![BaseId(2 * it), BaseId(2 * it + 1)]);
        let members = (0..60).map(|it| vec![it, it + 1, it + 3]).collect();
        let tuples = Tuples::new(variables.collect(), members, 128).map(Arc::new);
        for sum in [Some(100), None] {
            let random = &mut Random::new(2);
            let fresh = Evaluation::new(2, 128, sum, tuples.clone(), random).unwrap();
            let mut trainer = Trainer::new(fresh, None);
            for _ in 0..1000 {
                let state = [random.bits(), random.bits()];
                let targets = [uniform(random), uniform(random)];
                trainer.train(&state, &targets[..trainer.evaluation.n_outputs()], 0.1);
            }
            let evaluation = &trainer.evaluation;
            assert!(evaluation.weights.tables.iter().any(|it| it.abs() > 0.05));
            let from = [random.bits(), random.bits()];
            let mut accumulator = evaluation.accumulator(&from);
            for index in 0..200 {
                let near = |word: u64, random: &mut Random| match index % 4 {
                    0 => !word,
                    _ => word ^ 1 << random.below(64) ^ 1 << random.below(64),
                };
                let to = from.map(|word| near(word, random));
                let (mut incremental, mut plain) = ([0.0; 2], [0.0; 2]);
                evaluation.values_from(&mut accumulator, &from, &to, &mut incremental);
                evaluation.values(&to, &mut plain);
                for role in 0..2 {
                    let error = (incremental[role] - plain[role]).abs();
                    assert!(error < 0.02, "{incremental:?} {plain:?}");
                }
            }
        }
    }

    #[test]
    fn values_add_up_to_the_fixed_sum() {
        let mut values = [0.0; 2];
        fresh(2, Some(60)).values(&[7, 0], &mut values);
        assert!((values[0] + values[1] - 60.0).abs() < 1e-3);
    }
}
