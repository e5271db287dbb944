//! Training an evaluation: gradient steps, averaged weights, and what training goes on with.
//!
//! Invariant: the same steps in the same order give the same weights.
//!
//! Never uses: games, clocks.

use super::{
    Evaluation, LINEAR_UNITS, MAX_WEIGHT, Row, UNITS, approach, bits, logits_of, rows_of,
    rows_of_mut, sigmoid,
};

/// Trains an evaluation by AdaGrad on the cross-entropy loss (Duchi, Hazan and Singer 2011), and
/// averages its weights. Rows of facts that are rarely true take longer steps.
#[derive(Clone, Debug)]
pub struct Trainer {
    /// The evaluation in training.
    pub evaluation: Evaluation,
    /// The moving average of its weights.
    average: Evaluation,
    /// Weights in the average, up to its horizon.
    n_averaged: u32,
    /// Sums of squared gradients, of rows, bias, outputs and tables.
    rows: Vec<Row>,
    bias: Row,
    outputs: Vec<Row>,
    tables: Vec<f32>,
}

/// The means of the sums of squared gradients over the units, with which training goes on as if it
/// had not been interrupted.
#[derive(Clone, PartialEq, Debug)]
pub struct GradientSums {
    /// For each row.
    pub rows: Vec<f32>,
    /// For the bias.
    pub bias: f32,
    /// For each output.
    pub outputs: Vec<f32>,
    /// For each weight of tuples, of which there are no means.
    pub tables: Vec<f32>,
}

/// The initial value of each sum of squared gradients, which bounds the first steps.
const INITIAL_SQUARES: f32 = 0.1;

impl Trainer {
    /// A trainer of this evaluation. `sums` are from its earlier training; without them, or if they
    /// do not fit, training starts with long steps.
    pub fn new(evaluation: Evaluation, sums: Option<&GradientSums>) -> Self {
        let weights = &evaluation.weights;
        let (n_rows, n_outputs) = (weights.rows.len(), weights.outputs.len());
        let start = |sum: f32| Row([sum.max(INITIAL_SQUARES); UNITS]);
        let sums = sums.filter(|sums| {
            let numbers = sums.rows.iter().chain(&sums.outputs).chain([&sums.bias]);
            numbers.chain(&sums.tables).all(|number| number.is_finite())
                && sums.rows.len() == n_rows
                && sums.outputs.len() == n_outputs
                && sums.tables.len() == weights.tables.len()
        });
        let (rows, bias, outputs, tables) = match sums {
            Some(sums) => (
                sums.rows.iter().map(|&sum| start(sum)).collect(),
                start(sums.bias),
                sums.outputs.iter().map(|&sum| start(sum)).collect(),
                sums.tables
                    .iter()
                    .map(|sum| sum.max(INITIAL_SQUARES))
                    .collect(),
            ),
            None => (
                vec![start(0.0); n_rows],
                start(0.0),
                vec![start(0.0); n_outputs],
                vec![INITIAL_SQUARES; weights.tables.len()],
            ),
        };
        Self {
            average: evaluation.clone(),
            n_averaged: 0,
            rows,
            bias,
            outputs,
            tables,
            evaluation,
        }
    }

    /// The evaluation with averaged weights.
    pub fn average(&self) -> &Evaluation {
        &self.average
    }

    /// The sums of squared gradients.
    pub fn gradient_sums(&self) -> GradientSums {
        let mean = |row: &Row| row.0.iter().sum::<f32>() / UNITS as f32;
        GradientSums {
            rows: self.rows.iter().map(mean).collect(),
            bias: mean(&self.bias),
            outputs: self.outputs.iter().map(mean).collect(),
            tables: self.tables.clone(),
        }
    }

    /// The average counts as that of this number of weights.
    pub fn count_as_averaged(&mut self, number: u32) {
        self.n_averaged = number;
    }

    /// Adds the present weights to their moving average over the last `horizon` calls.
    pub fn update_average(&mut self, horizon: u32) {
        self.n_averaged = (self.n_averaged + 1).min(horizon.max(1));
        let share = 1.0 / self.n_averaged as f32;
        self.average
            .weights
            .approach(&self.evaluation.weights, share);
    }

    /// Replaces the weights, their averages and the sums of these trainers of one game by the means
    /// of all.
    pub fn unite(trainers: &mut [&mut Self]) {
        let Some((first, others)) = trainers.split_first_mut() else {
            return;
        };
        for (index, other) in others.iter().enumerate() {
            let share = 1.0 / (index + 2) as f32;
            let (to, from) = (&mut first.evaluation.weights, &other.evaluation.weights);
            to.approach(from, share);
            first
                .average
                .weights
                .approach(&other.average.weights, share);
            let squares = first.rows.iter_mut().chain(&mut first.outputs);
            let others = other.rows.iter().chain(&other.outputs);
            for (to, from) in squares.zip(others) {
                approach(&mut to.0, &from.0, share);
            }
            approach(&mut first.bias.0, &other.bias.0, share);
            approach(&mut first.tables, &other.tables, share);
        }
        for other in others {
            (**other).clone_from(first);
        }
    }

    /// All numbers that training changes: the weights, their averages, the sums of squared
    /// gradients.
    pub fn numbers(&self) -> Vec<f32> {
        let squares = rows_of(&self.rows, &self.bias, &self.outputs, &self.tables);
        let weights = self.evaluation.weights.numbers();
        let numbers = weights.chain(self.average.weights.numbers());
        numbers.chain(squares).collect()
    }

    /// Takes over the [`numbers`](Self::numbers) of another trainer of the game. Returns false, and
    /// changes nothing, if they are not such numbers.
    pub fn set_numbers(&mut self, numbers: &[f32]) -> bool {
        let n_weights = self.evaluation.weights.numbers().count();
        if numbers.len() != 3 * n_weights {
            return false;
        }
        let (weights, squares) = numbers.split_at(2 * n_weights);
        if !weights.iter().all(|number| number.abs() <= MAX_WEIGHT)
            || !squares.iter().all(|&sum| sum > 0.0 && sum.is_finite())
        {
            return false;
        }
        let to = self.evaluation.weights.numbers_mut();
        let to = to.chain(self.average.weights.numbers_mut());
        let squares = rows_of_mut(
            &mut self.rows,
            &mut self.bias,
            &mut self.outputs,
            &mut self.tables,
        );
        for (to, number) in to.chain(squares).zip(numbers) {
            *to = *number;
        }
        true
    }

    /// Makes a gradient step for an input with these targets, one for each output, 0 to 1.
    #[inline]
    pub fn train(&mut self, state: &[u64], targets: &[f32], learning_rate: f32) {
        let sums = self.evaluation.sums(state);
        let mut units = sums;
        units.relu::<LINEAR_UNITS>();
        let tuples = self.evaluation.tuple_sums(state);
        let logits = logits_of(tuples.as_ref());
        let weights = &mut self.evaluation.weights;
        let n_outputs = weights.outputs.len();
        let mut gradient = Row::ZERO;
        for (index, output) in weights.outputs.iter_mut().enumerate() {
            let error = sigmoid(output.dot(&units) + logits[index]) - targets[index];
            if let Some((known, tuples)) = self.evaluation.tuples.as_deref().zip(tuples.as_ref()) {
                let (numbers, squares) = (&mut weights.tables, &mut self.tables);
                let rate = learning_rate * known.rate();
                for &place in &tuples.places[..known.count()] {
                    let place = (place as usize).min(known.n_weights - 1);
                    let place = place * n_outputs + index;
                    squares[place] += error * error;
                    numbers[place] -= rate * error / squares[place].sqrt();
                }
            }
            let mut output_gradient = Row::ZERO;
            for unit in 0..UNITS {
                gradient.0[unit] += error * output.0[unit];
                output_gradient.0[unit] = error * units.0[unit];
            }
            // The weights between linear units and outputs are fixed.
            output_gradient.0[..LINEAR_UNITS].fill(0.0);
            let squares = &mut self.outputs[index];
            step(output, squares, &output_gradient, learning_rate);
        }
        for unit in LINEAR_UNITS..UNITS {
            if sums.0[unit] <= 0.0 {
                gradient.0[unit] = 0.0;
            }
        }
        step(&mut weights.bias, &mut self.bias, &gradient, learning_rate);
        for bit in bits(state) {
            if let Some(row) = weights.rows.get_mut(bit) {
                step(row, &mut self.rows[bit], &gradient, learning_rate);
            }
        }
    }
}

/// One AdaGrad step.
#[inline]
fn step(numbers: &mut Row, squares: &mut Row, gradient: &Row, learning_rate: f32) {
    for ((number, square), slope) in numbers.0.iter_mut().zip(&mut squares.0).zip(&gradient.0) {
        *square += slope * slope;
        *number -= learning_rate * slope / square.sqrt();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_sync::Random;

    fn fresh(n_roles: usize, sum: Option<u32>) -> Evaluation {
        Evaluation::new(n_roles, 128, sum, None, &mut Random::new(1)).unwrap()
    }

    /// XOR needs the hidden units: no linear evaluation separates it.
    #[test]
    fn xor_is_learned() {
        let mut trainer = Trainer::new(fresh(1, None), None);
        let goal = |state: u64| if state.count_ones() == 1 { 1.0 } else { 0.0 };
        let random = &mut Random::new(5);
        for _ in 0..20_000 {
            let state = random.bits() & 3;
            trainer.train(&[state, 0], &[goal(state)], 0.1);
            trainer.update_average(1_000);
        }
        for state in 0..4 {
            for evaluation in [&trainer.evaluation, trainer.average()] {
                let mut values = [0.0];
                evaluation.values(&[state, 0], &mut values);
                let error = values[0] - 100.0 * goal(state);
                assert!(error.abs() < 15.0, "{state}: {values:?}");
            }
        }
    }

    /// The step of a trainer that goes on, against that of one that starts anew.
    #[test]
    fn training_goes_on_with_the_steps_that_it_had() {
        let mut trainer = Trainer::new(fresh(1, None), None);
        for _ in 0..1_000 {
            trainer.train(&[1, 0], &[1.0], 0.1);
            trainer.train(&[1, 0], &[0.0], 0.1);
        }
        let step = |sums: Option<&GradientSums>| {
            let mut next = Trainer::new(trainer.evaluation.clone(), sums);
            let mut values = [[0.0], [0.0]];
            next.evaluation.values(&[1, 0], &mut values[0]);
            next.train(&[1, 0], &[1.0], 0.1);
            next.evaluation.values(&[1, 0], &mut values[1]);
            values[1][0] - values[0][0]
        };
        let (anew, on) = (step(None), step(Some(&trainer.gradient_sums())));
        assert!(on > 0.0 && anew > 3.0 * on, "{anew} {on}");
        let mut other = trainer.gradient_sums();
        other.rows.pop();
        assert_eq!(step(Some(&other)), anew);
    }

    #[test]
    fn united_trainers_have_the_mean_of_their_weights() {
        let mut trainers = [1.0, 0.0].map(|target| {
            let mut trainer = Trainer::new(fresh(1, None), None);
            trainer.train(&[1, 0], &[target], 0.1);
            trainer
        });
        let before = trainers
            .each_ref()
            .map(|it| it.evaluation.weights.bias.0[0]);
        let [first, second] = &mut trainers;
        Trainer::unite(&mut [first, second]);
        let mean = (before[0] + before[1]) / 2.0;
        assert!(before[0] != before[1]);
        for trainer in &trainers {
            assert!((trainer.evaluation.weights.bias.0[0] - mean).abs() < 1e-6);
        }
    }
}
