//! Validation: how well an evaluation and playouts predict the results of games.
//!
//! The positions are from games that were not trained on, one of each game, so that they are
//! independent. The target of a position is the result of its game: a value that the evaluation has
//! itself backed up would flatter it. Least squares give the weight of the evaluation in the mean
//! of both that predicts results best, and leaving out parts of the positions gives the error of
//! that weight (the jackknife; Tukey 1958).
//!
//! The noise of playouts does not count: it averages out over the leaves of a tree, and the errors
//! of an evaluation do not. Two halves of the playouts from each position have independent noise,
//! so the covariance of their means is the variance without it.

use std::sync::Arc;

use crate::evaluation::{Evaluation, ValueReader};
use panza_machine::{BatchPlayouts, Machine, PlayoutEnd, PlayoutTotals};
use panza_sync::{Budget, Random};

/// A position of a game that was not trained on. Values are those of the first role, 0 to 1.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Position {
    pub state: Vec<u64>,
    /// Its goal at the end of the game.
    pub result: f32,
}

/// How well an evaluation and playouts predict the first role's goal.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Validation {
    /// The number of positions.
    pub positions: usize,
    /// The correlation of the evaluation with results.
    pub evaluation: f64,
    /// The correlation of means of playouts with results, without the noise of playouts.
    pub playouts: f64,
    /// The weight of the evaluation, 0 to 1, in the mean of both that predicts results best.
    pub share: f64,
    /// The standard error of that weight.
    pub share_error: f64,
}

/// Playouts per position in each of two halves.
const PLAYOUTS: u32 = 8;
/// The least share of the variance of means that is not noise.
const MIN_SIGNAL: f64 = 0.2;
/// The joint moves after which a playout is cut off.
const MAX_STEPS: u32 = 500;
/// Parts of the positions, each of which is left out once.
const PARTS: usize = 10;

/// Compares the evaluation and playouts from the positions with their results.
pub(super) fn validate(
    machine: &Arc<dyn Machine>,
    evaluation: &Evaluation,
    positions: &[Position],
    random: &mut Random,
    budget: &Budget,
) -> Validation {
    let means = playout_means(machine, positions, random, budget);
    let mut values = vec![0.0; machine.info().n_roles()];
    let mut reader = ValueReader::new(evaluation);
    reader.load_states(evaluation, positions.iter().map(|it| it.state.as_slice()));
    let scale = f64::from(evaluation.scale());
    let mut parts = [Comparison::default(); PARTS];
    for (index, (position, halves)) in positions.iter().zip(&means).enumerate() {
        let [Some(first), Some(second)] = *halves else {
            continue;
        };
        reader.values(evaluation, index, &position.state, &mut values);
        let value = f64::from(values[0]) / scale;
        let halves = [first / scale, second / scale];
        parts[index % PARTS].add(value, halves, position.result.into());
    }
    let all = Comparison::sum(&parts, None);
    let shares = (0..PARTS).map(|left_out| Comparison::sum(&parts, Some(left_out)).share());
    Validation {
        positions: all.by_evaluation.n as usize,
        evaluation: all.by_evaluation.value(),
        playouts: all.by_playouts.value(),
        share: all.share(),
        share_error: jackknife_error(&shares.collect::<Vec<_>>()),
    }
}

/// The standard error of an estimate from its values with each part of the data left out.
fn jackknife_error(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares = values.iter().map(|value| (value - mean).powi(2));
    ((n - 1.0) / n * squares.sum::<f64>()).sqrt()
}

/// An evaluation and playouts beside results, from some positions.
#[derive(Clone, Copy, Default, Debug)]
struct Comparison {
    by_evaluation: Correlation,
    by_playouts: Correlation,
    /// Of the evaluation and playouts.
    between: Correlation,
    /// Of two halves of the playouts.
    of_halves: Correlation,
}

impl Comparison {
    fn add(&mut self, value: f64, halves: [f64; 2], result: f64) {
        let mean = f64::midpoint(halves[0], halves[1]);
        self.by_evaluation.add(value, result);
        self.by_playouts.add(mean, result);
        self.between.add(value, mean);
        self.of_halves.add(halves[0], halves[1]);
    }

    /// All parts but one, without the noise of playouts.
    fn sum(parts: &[Self], left_out: Option<usize>) -> Self {
        let mut all = Self::default();
        let kept = parts.iter().enumerate();
        for (_, part) in kept.filter(|&(index, _)| Some(index) != left_out) {
            all.by_evaluation.merge(&part.by_evaluation);
            all.by_playouts.merge(&part.by_playouts);
            all.between.merge(&part.between);
            all.of_halves.merge(&part.of_halves);
        }
        let noise = (all.by_playouts.variance(0) - all.of_halves.covariance()).max(0.0);
        all.by_playouts.noise[0] = noise;
        all.between.noise[1] = noise;
        all
    }

    /// See [`Validation::share`].
    fn share(&self) -> f64 {
        best_share(&self.by_evaluation, &self.by_playouts, &self.between)
    }
}

/// The first role's mean goal in two halves of the playouts from each position; `None` where none
/// ended.
fn playout_means(
    machine: &Arc<dyn Machine>,
    positions: &[Position],
    random: &mut Random,
    budget: &Budget,
) -> Vec<[Option<f64>; 2]> {
    let mut reasoner = Arc::clone(machine).reasoner();
    let mut playouts = Arc::clone(machine).playouts(random, MAX_STEPS);
    let mut goals = vec![0; machine.info().n_roles()];
    let mut tally = PlayoutTotals::default();
    let mut finished = PlayoutTotals::default();
    let mut means: Vec<[Option<f64>; 2]> = vec![[None; 2]; positions.len()];
    // The position and half of each ticket. Tickets are small numbers and are reused.
    let mut position_of: Vec<(usize, usize)> = Vec::new();
    let mut advance = |playouts: &mut dyn BatchPlayouts,
                       position_of: &[(usize, usize)],
                       means: &mut [[Option<f64>; 2]]| {
        playouts.advance();
        while let Some(ticket) = playouts.take_finished(&mut finished) {
            let (position, half) = position_of[ticket as usize];
            means[position][half] = mean_of(&finished);
        }
    };
    let halves = positions.iter().enumerate();
    let halves = halves.flat_map(|(position, it)| [0, 1].map(|half| (position, half, &it.state)));
    for (position, half, state) in halves {
        if budget.is_over() {
            break;
        }
        if let Some(playouts) = playouts.as_deref_mut()
            && let Some(ticket) = playouts.submit(state, PLAYOUTS)
        {
            let ticket = ticket as usize;
            position_of.resize(position_of.len().max(ticket + 1), (0, 0));
            position_of[ticket] = (position, half);
            while playouts.n_outstanding() > 2 * playouts.width() as u64 {
                advance(playouts, &position_of, &mut means);
            }
            continue;
        }
        tally.clear(goals.len());
        for _ in 0..PLAYOUTS {
            reasoner.set_state(state);
            tally.playouts += 1;
            match reasoner.playout(random, MAX_STEPS, &mut goals) {
                PlayoutEnd::CutOff => tally.cut_off += 1,
                PlayoutEnd::Finished { .. } => tally.totals[0] += u64::from(goals[0]),
            }
        }
        means[position][half] = mean_of(&tally);
    }
    if let Some(playouts) = playouts.as_deref_mut() {
        while playouts.n_outstanding() > 0 && !budget.is_over() {
            advance(playouts, &position_of, &mut means);
        }
    }
    means
}

/// The weight of the first of two series in the mean of both that is nearest to a third, by least
/// squares with non-negative weights.
fn best_share(first: &Correlation, second: &Correlation, between: &Correlation) -> f64 {
    let (with_first, with_second, both) = (
        first.covariance(),
        second.covariance(),
        between.covariance(),
    );
    let (variance_first, variance_second) = (between.variance(0), between.variance(1));
    let weight_first = with_first * variance_second - with_second * both;
    let weight_second = with_second * variance_first - with_first * both;
    match (weight_first > 0.0, weight_second > 0.0) {
        (true, true) => weight_first / (weight_first + weight_second),
        (true, false) if with_first > 0.0 => 1.0,
        _ => 0.0,
    }
}

fn mean_of(tally: &PlayoutTotals) -> Option<f64> {
    let ended = tally.playouts.checked_sub(tally.cut_off)?;
    (ended > 0).then(|| tally.totals[0] as f64 / f64::from(tally.playouts))
}

/// Sums from which the Pearson correlation of two series follows.
#[derive(Clone, Copy, Default, Debug)]
struct Correlation {
    n: f64,
    sums: [f64; 2],
    squares: [f64; 2],
    products: f64,
    /// Variances that do not count.
    noise: [f64; 2],
}

impl Correlation {
    fn add(&mut self, left: f64, right: f64) {
        self.n += 1.0;
        self.sums[0] += left;
        self.sums[1] += right;
        self.squares[0] += left * left;
        self.squares[1] += right * right;
        self.products += left * right;
    }

    fn merge(&mut self, other: &Self) {
        self.n += other.n;
        for index in 0..2 {
            self.sums[index] += other.sums[index];
            self.squares[index] += other.squares[index];
        }
        self.products += other.products;
    }

    /// The variance of one of them.
    fn variance(&self, index: usize) -> f64 {
        let n = self.n.max(1.0);
        let variance = self.squares[index] / n - (self.sums[index] / n).powi(2);
        // Few positions may seem to have less variance than noise.
        (variance - self.noise[index]).max(MIN_SIGNAL * variance)
    }

    /// Their covariance.
    fn covariance(&self) -> f64 {
        let n = self.n.max(1.0);
        self.products / n - self.sums[0] / n * (self.sums[1] / n)
    }

    /// The correlation, -1 to 1; 0 if one of them is constant.
    fn value(&self) -> f64 {
        let variances = self.variance(0) * self.variance(1);
        if variances <= 1e-12 {
            return 0.0;
        }
        self.covariance() / variances.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::uniform;

    #[test]
    fn the_best_mean_weighs_the_series_with_less_noise_more() {
        let share = |good: f64, bad: f64| {
            let mut random = Random::new(3);
            let mut of = [Correlation::default(); 3];
            for _ in 0..5000 {
                let truth = f64::from(uniform(&mut random));
                let first = truth + good * f64::from(uniform(&mut random));
                let second = truth + bad * f64::from(uniform(&mut random));
                of[0].add(first, truth);
                of[1].add(second, truth);
                of[2].add(first, second);
            }
            best_share(&of[0], &of[1], &of[2])
        };
        assert!(share(0.1, 1.0) > 0.95);
        assert!((share(1.0, 1.0) - 0.5).abs() < 0.05);
        assert!(share(1.0, 0.1) < 0.05);
        assert_eq!(
            best_share(
                &Correlation::default(),
                &Correlation::default(),
                &Correlation::default()
            ),
            0.0
        );
    }

    #[test]
    fn more_positions_make_the_share_more_certain() {
        let error = |positions: usize| {
            let mut random = Random::new(5);
            let mut parts = [Comparison::default(); PARTS];
            for index in 0..positions {
                let mut noisy = |truth: f64| truth + f64::from(uniform(&mut random)) - 0.5;
                let truth = noisy(0.5);
                let (value, of_playouts) = (noisy(truth), noisy(truth));
                let halves = [noisy(of_playouts), noisy(of_playouts)];
                parts[index % PARTS].add(value, halves, truth);
            }
            let shares = (0..PARTS).map(|part| Comparison::sum(&parts, Some(part)).share());
            jackknife_error(&shares.collect::<Vec<_>>())
        };
        let (few, many) = (error(200), error(20_000));
        assert!(many > 0.0 && 4.0 * many < few, "{few} {many}");
    }
}
