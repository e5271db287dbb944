//! How good the moves of a match were: the grade of a loss, and the accuracy of a role.
//!
//! A loss is in expected points, 0 to 100. Grades are those of lichess, which calls a loss of 15,
//! 10 and 5 points of winning chances a blunder, a mistake and an inaccuracy
//! (<https://github.com/lichess-org/lila>, `Advice.scala`), and so is the accuracy
//! (<https://lichess.org/page/accuracy>, `AccuracyPercent.scala`).
//!
//! Never uses: searches, games.

/// Points that a blunder loses where the loss is not proven: the values of a search err by more
/// than those of a chess engine, and a draw that is not proven is worth about 50.
pub(super) const UNPROVEN: f64 = 45.0;
/// The same where several roles choose at once: nothing is proven of a move there.
pub(super) const AT_ONCE: f64 = 25.0;
/// Fewer points are no fall from a proven value.
pub(super) const LEAST_FALL: f64 = 1.0;

/// How bad a move was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Grade {
    /// It lost a third of what a blunder loses.
    Inaccuracy,
    /// It lost two thirds of that.
    Mistake,
    /// It lost as much as the threshold.
    Blunder,
}

impl Grade {
    /// All grades, the worst last.
    pub const ALL: [Self; 3] = [Self::Inaccuracy, Self::Mistake, Self::Blunder];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inaccuracy => "inaccuracy",
            Self::Mistake => "mistake",
            Self::Blunder => "blunder",
        }
    }

    /// The grade of a loss where `blunder` points are a blunder.
    pub(super) fn of(points: f64, blunder: f64) -> Option<Self> {
        let thirds = (3.0 * points / blunder + 1e-9).floor();
        match thirds {
            ..1.0 => None,
            1.0..2.0 => Some(Self::Inaccuracy),
            2.0..3.0 => Some(Self::Mistake),
            _ => Some(Self::Blunder),
        }
    }
}

/// How a role played.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct RoleSummary {
    /// Its moves whose loss is known.
    pub moves: usize,
    /// Those of each grade, in the order of [`Grade::ALL`].
    pub grades: [usize; 3],
    /// The points that a move lost, on average; `None` without moves.
    pub mean_loss: Option<f64>,
    /// The accuracy in percent, likewise.
    pub accuracy: Option<f64>,
}

impl RoleSummary {
    /// The summary of a role. `losses` are the turns of its moves with what each lost, `values` its
    /// value on each turn.
    pub(super) fn new(
        losses: &[(usize, f64)],
        values: &[Option<f64>],
        grades: impl Iterator<Item = Grade>,
    ) -> Self {
        let mut counts = [0; 3];
        grades.for_each(|grade| counts[grade as usize] += 1);
        let n_moves = losses.len() as f64;
        let is_known = !losses.is_empty();
        let sum: f64 = losses.iter().map(|&(_, loss)| loss.max(0.0)).sum();
        Self {
            moves: losses.len(),
            grades: counts,
            mean_loss: is_known.then(|| sum / n_moves),
            accuracy: is_known.then(|| accuracy(losses, values)),
        }
    }
}

/// The accuracy of a move in percent. `points` is what it lost.
fn accuracy_of_move(points: f64) -> f64 {
    let value = 103.166_810 * (-0.043_544_15 * points.max(0.0)).exp() - 3.166_925;
    // One point for what the search does not know.
    (value + 1.0).clamp(0.0, 100.0)
}

/// The accuracy of moves: the mean of their weighted and their harmonic mean. A move weighs as much
/// as the values around it vary.
fn accuracy(losses: &[(usize, f64)], values: &[Option<f64>]) -> f64 {
    let width = (values.len().saturating_sub(1) / 10).clamp(2, 8);
    let (mut sum, mut weights, mut inverse) = (0.0, 0.0, 0.0);
    for &(turn, loss) in losses {
        let end = (turn + 2).max(width).min(values.len());
        let window = &values[end.saturating_sub(width)..end];
        let weight = deviation(window).clamp(0.5, 12.0);
        let accuracy = accuracy_of_move(loss);
        sum += weight * accuracy;
        weights += weight;
        inverse += 1.0 / accuracy.max(1.0);
    }
    let harmonic = losses.len() as f64 / inverse;
    f64::midpoint(sum / weights, harmonic)
}

/// The standard deviation of the known values.
fn deviation(values: &[Option<f64>]) -> f64 {
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    let n = known.len().max(1) as f64;
    let mean = known.iter().sum::<f64>() / n;
    let squares = known.iter().map(|value| (value - mean).powi(2));
    (squares.sum::<f64>() / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_have_the_grades_of_lichess() {
        let of = |points| Grade::of(points, 15.0);
        assert_eq!([of(0.0), of(4.9), of(-3.0)], [None; 3]);
        assert_eq!(of(5.0), Some(Grade::Inaccuracy));
        assert_eq!(of(10.0), Some(Grade::Mistake));
        assert_eq!(of(15.0), Some(Grade::Blunder));
        assert_eq!(of(100.0), Some(Grade::Blunder));
    }

    #[test]
    fn accuracy_is_that_of_lichess() {
        assert_eq!(accuracy_of_move(0.0), 100.0);
        assert!((accuracy_of_move(10.0) - 64.58).abs() < 0.01);
        assert_eq!(accuracy_of_move(100.0), 0.0);
        let values = [50.0, 50.0, 50.0, 50.0].map(Some);
        assert_eq!(accuracy(&[(0, 0.0), (2, 0.0)], &values), 100.0);
        // The weighted mean of 100 and 0 is less than 50: the bad move changed the values.
        let values = [50.0, 50.0, 100.0, 0.0].map(Some);
        let found = accuracy(&[(0, 0.0), (2, 100.0)], &values);
        assert!(found < 5.0, "{found}");
        let summary = RoleSummary::new(&[], &values, std::iter::empty());
        assert_eq!(summary, RoleSummary::default());
    }
}
