//! Foresight: how well an evaluation foretells what comes of games, beside means of playouts.
//!
//! Positions from the midst of games that taught nothing are held against how those games ended.
//! Least squares then say how much of the one and of the other foretells best.
//!
//! Never knows: how the games were played, what is made of the answer.

use std::sync::Arc;

use super::evaluation::Evaluation;
use super::learning::LearningBudget;
use crate::machine::random::Random;
use crate::machine::{Machine, PlayoutEnd, Playouts, Tally};

/// How well the first role's goals are foretold in the midst of games, by what positions promise
/// and by means of playouts. Each is a correlation with what came of the games, -1 to 1.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Foresight {
    /// Positions that were looked at.
    pub positions: usize,
    /// Of what positions promise.
    pub evaluation: f64,
    /// Of means of [`PLAYOUTS`] playouts.
    pub playouts: f64,
    /// The weight of what positions promise, 0 to 1, in that mean of both that foretells best.
    pub share: f64,
}

/// Playouts from a position where foresight is compared.
pub const PLAYOUTS: u32 = 16;
/// A playout with more joint moves is cut off.
const MOST_STEPS: u32 = 500;

/// Holds what positions promise and what playouts come to against what came of their games.
pub(super) fn compare(
    machine: &Arc<dyn Machine>,
    evaluation: &Evaluation,
    taken: &[(Vec<u64>, f32)],
    random: &mut Random,
    budget: LearningBudget<'_>,
) -> Foresight {
    let mut reasoner = Arc::clone(machine).reasoner();
    let mut playouts = Arc::clone(machine).playouts(random, MOST_STEPS);
    let mut goals = vec![0; machine.info().n_roles()];
    let mut values = vec![0.0; machine.info().n_roles()];
    let mut tally = Tally::default();
    let mut means: Vec<Option<f64>> = vec![None; taken.len()];
    // A ticket is a small number, used again once it is done.
    let mut place_of: Vec<usize> = Vec::new();
    let mut advance =
        |playouts: &mut dyn Playouts, place_of: &[usize], means: &mut [Option<f64>]| {
            playouts.advance();
            while let Some(ticket) = playouts.take_done(&mut tally) {
                means[place_of[ticket as usize]] = mean_of(&tally);
            }
        };
    for (place, (state, _)) in taken.iter().enumerate() {
        if budget.is_over() {
            break;
        }
        if let Some(playouts) = playouts.as_deref_mut()
            && let Some(ticket) = playouts.submit(state, PLAYOUTS)
        {
            let ticket = ticket as usize;
            place_of.resize(place_of.len().max(ticket + 1), 0);
            place_of[ticket] = place;
            while playouts.n_wanted() > 2 * playouts.width() as u64 {
                advance(playouts, &place_of, &mut means);
            }
            continue;
        }
        let mut total = 0.0;
        for _ in 0..PLAYOUTS {
            reasoner.set_state(state);
            if reasoner.playout(random, MOST_STEPS, &mut goals) == PlayoutEnd::CutOff {
                continue;
            }
            total += f64::from(goals[0]);
        }
        means[place] = Some(total / f64::from(PLAYOUTS));
    }
    if let Some(playouts) = playouts.as_deref_mut() {
        while playouts.n_wanted() > 0 && !budget.is_over() {
            advance(playouts, &place_of, &mut means);
        }
    }
    let mut by_promise = Correlation::default();
    let mut by_playouts = Correlation::default();
    let mut between = Correlation::default();
    for ((state, goal), mean) in taken.iter().zip(&means) {
        let Some(mean) = *mean else {
            continue;
        };
        evaluation.values(state, &mut values);
        let promise = f64::from(values[0]);
        by_promise.add(promise, f64::from(*goal));
        by_playouts.add(mean, f64::from(*goal));
        between.add(promise, mean);
    }
    Foresight {
        positions: by_promise.n as usize,
        evaluation: by_promise.value(),
        playouts: by_playouts.value(),
        share: best_share(&by_promise, &by_playouts, &between),
    }
}

/// The weight of the first of two series in that mean of both that is nearest to a third: least
/// squares, with weights that are not negative.
fn best_share(first: &Correlation, second: &Correlation, between: &Correlation) -> f64 {
    let (with_first, with_second, both) = (first.together(), second.together(), between.together());
    let (spread_first, spread_second) = (between.spread(0), between.spread(1));
    let weight_first = with_first * spread_second - with_second * both;
    let weight_second = with_second * spread_first - with_first * both;
    match (weight_first > 0.0, weight_second > 0.0) {
        (true, true) => weight_first / (weight_first + weight_second),
        (true, false) if with_first > 0.0 => 1.0,
        _ => 0.0,
    }
}

fn mean_of(tally: &Tally) -> Option<f64> {
    let ended = tally.playouts.checked_sub(tally.cut_off)?;
    (ended > 0).then(|| tally.totals[0] as f64 / f64::from(tally.playouts))
}

/// How two series of numbers go together.
#[derive(Clone, Copy, Default, Debug)]
struct Correlation {
    n: f64,
    sums: [f64; 2],
    squares: [f64; 2],
    products: f64,
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

    /// How far one of them strays, squared.
    fn spread(&self, index: usize) -> f64 {
        let n = self.n.max(1.0);
        self.squares[index] / n - (self.sums[index] / n).powi(2)
    }

    /// How far they stray together.
    fn together(&self) -> f64 {
        let n = self.n.max(1.0);
        self.products / n - self.sums[0] / n * (self.sums[1] / n)
    }

    /// -1 to 1; 0 where one of them never changes.
    fn value(&self) -> f64 {
        let spreads = self.spread(0) * self.spread(1);
        if spreads <= 1e-12 {
            return 0.0;
        }
        self.together() / spreads.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::evaluation::fraction;

    #[test]
    fn the_mean_of_two_series_leans_to_the_one_that_foretells() {
        let share = |good: f64, bad: f64| {
            let mut random = Random::new(3);
            let mut of = [Correlation::default(); 3];
            for _ in 0..5000 {
                let truth = f64::from(fraction(&mut random));
                let first = truth + good * f64::from(fraction(&mut random));
                let second = truth + bad * f64::from(fraction(&mut random));
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
}
