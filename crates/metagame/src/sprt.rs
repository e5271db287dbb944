//! When a comparison of two players is decided: the sequential probability ratio test (SPRT) in the
//! generalised form (GSPRT) for an unknown variance.
//!
//! A pair is one opening played twice with roles swapped. Its five possible results of won, drawn
//! and lost games are the pentanomial counts. Pairs are independent, the two games of a pair are
//! not, so that the variance is that of pairs. The log-likelihood ratio is the normal approximation
//! that the testing community of chess programs uses (M. Van den Bergh, 'GSPRT approximation',
//! <http://hardy.uhasselt.be/Fishtest/GSPRT_approximation.pdf>); the bounds are Wald's (1945).
//!
//! Never uses: games, programs.

use serde::Serialize;

/// Bound on both error rates: A is called stronger though it is not better than `elo0`, and not
/// stronger though it is as good as `elo1`.
const ERROR_RATE: f64 = 0.05;
/// Pairs before which nothing is decided: the variance of fewer is hardly known.
pub const MIN_PAIRS: u32 = 16;
/// Weight added to each of the five results, so that the variance is never 0.
const PRIOR_WEIGHT: f64 = 0.001;
/// The 97.5 % point of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// The results of some pairs.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PairTally {
    /// Pairs by A's points: about 0, 0.5, 1, 1.5 and 2. Goals may give points between them.
    pub counts: [u32; 5],
    /// Sums of the pairs' scores (half their points) and of their squares.
    sum: f64,
    squares: f64,
}

/// The two hypotheses: the Elo differences at which A is not stronger and stronger.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hypotheses {
    /// Not stronger.
    pub elo0: f64,
    /// Stronger; above `elo0`.
    pub elo1: f64,
}

/// What a test says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Verdict {
    /// A is better than `elo0`.
    #[serde(rename = "A stronger")]
    Stronger,
    /// A is worse than `elo1`.
    #[serde(rename = "not stronger")]
    NotStronger,
    /// More pairs are needed.
    #[serde(rename = "open")]
    Open,
}

impl Verdict {
    /// As tables show it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Stronger => "A stronger",
            Verdict::NotStronger => "not stronger",
            Verdict::Open => "open",
        }
    }
}

impl PairTally {
    /// Adds a pair by A's points in it, 0 to 2.
    pub fn add(&mut self, points: f64) {
        let points = points.clamp(0.0, 2.0);
        self.counts[(2.0 * points).round() as usize] += 1;
        self.sum += points / 2.0;
        self.squares += points * points / 4.0;
    }

    /// Adds all pairs of another tally.
    pub fn merge(&mut self, other: &Self) {
        for (count, &more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// The number of pairs.
    pub fn pairs(&self) -> u32 {
        self.counts.iter().sum()
    }

    /// A's points per game, 0 to 1.
    pub fn score(&self) -> Option<f64> {
        let pairs = self.pairs();
        (pairs > 0).then(|| self.sum / f64::from(pairs))
    }

    /// The 95 % interval of the score, from the variance of the pairs. `None` for less than two
    /// pairs, and where all are alike, since the variance is unknown then.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let (pairs, score) = (f64::from(self.pairs()), self.score()?);
        if pairs < 2.0 {
            return None;
        }
        let variance = (self.squares - pairs * score * score) / (pairs - 1.0);
        if variance <= 1e-9 {
            return None;
        }
        let half = Z * (variance / pairs).sqrt();
        Some(((score - half).max(0.0), (score + half).min(1.0)))
    }

    /// The log-likelihood ratio of the hypotheses: positive speaks for `elo1`.
    pub fn llr(&self, hypotheses: Hypotheses) -> f64 {
        let n = f64::from(self.pairs()) + 5.0 * PRIOR_WEIGHT;
        let prior = [0.0, 0.25, 0.5, 0.75, 1.0];
        let prior_sum: f64 = prior.iter().sum();
        let prior_squares: f64 = prior.iter().map(|score| score * score).sum();
        let mean = (self.sum + PRIOR_WEIGHT * prior_sum) / n;
        let variance = (self.squares + PRIOR_WEIGHT * prior_squares) / n - mean * mean;
        let (score0, score1) = (
            expected_score(hypotheses.elo0),
            expected_score(hypotheses.elo1),
        );
        n / 2.0 * (score1 - score0) * (2.0 * mean - score0 - score1) / variance
    }

    /// What the test says of the pairs so far.
    pub fn verdict(&self, hypotheses: Hypotheses) -> Verdict {
        let bound = bound();
        let llr = self.llr(hypotheses);
        match () {
            () if self.pairs() < MIN_PAIRS => Verdict::Open,
            () if llr >= bound => Verdict::Stronger,
            () if llr <= -bound => Verdict::NotStronger,
            () => Verdict::Open,
        }
    }
}

/// The log-likelihood ratio at which a test ends, on either side.
pub fn bound() -> f64 {
    ((1.0 - ERROR_RATE) / ERROR_RATE).ln()
}

/// The expected score of a player with such an Elo difference to the other.
pub fn expected_score(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

/// The Elo difference of an expected score; infinite at 0 and 1.
pub fn elo(score: f64) -> f64 {
    400.0 * (score / (1.0 - score)).log10()
}
