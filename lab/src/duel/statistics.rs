//! What pairs of games say about two players: the score with its interval, and when a test ends.
//!
//! A pair is one opening played twice with the sides swapped. Scores are shares of wins, a draw
//! counting half. The sequential probability ratio test is that of fishtest, the test framework of
//! Stockfish: the log-likelihood ratio (LLR) of the most likely distributions of the five results
//! of a pair (pentanomial) with the expected scores of the two hypotheses (M. Van den Bergh,
//! <https://www.cantate.be/Fishtest/support_MLE_multinomial.pdf>). Pairs that share a study are not
//! independent. The ratio is therefore divided by the design effect (Kish, 1965): how many times as
//! large the variance of the score is as that of independent pairs.
//!
//! Intervals are percentiles of a bootstrap by clusters (Davison and Hinkley, 'Bootstrap Methods',
//! 1997, section 3.8): games are drawn with replacement, then studies of each, and the pairs of a
//! study stay together. So they hold for games and studies like these, not for these alone.
//!
//! Never uses: games, programs.

use std::collections::BTreeMap;

use panza_metagame::sprt::{Hypotheses, MIN_PAIRS, Verdict, bound, expected_score};
use panza_sync::Random;

/// Samples of the bootstrap.
const SAMPLES: usize = 2_000;
/// The seed of the bootstrap: the same pairs have the same interval.
const SEED: u64 = 1;
/// Counts of results that never came, so that logarithms are finite (as in fishtest).
const LEAST_COUNT: f64 = 1e-3;
/// Halvings of the interval in which the parameter of a distribution lies.
const HALVINGS: u32 = 100;

/// The score of a pair, and which pairs it belongs with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PairScore {
    /// The number of the game.
    pub game: usize,
    /// The study that both games of the pair were played with. Pairs without one have a number of
    /// their own.
    pub study: u32,
    /// A's wins in the two games, a draw counting half: 0 to 2.
    pub won: f64,
}

/// The results of pairs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Tally {
    pairs: Vec<PairScore>,
}

impl Tally {
    pub fn add(&mut self, pair: PairScore) {
        self.pairs.push(pair);
    }

    /// The number of pairs.
    pub fn n_pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Pairs by what A won in them: 0, 0.5, 1, 1.5 and 2.
    pub fn counts(&self) -> [u32; 5] {
        let mut counts = [0; 5];
        for pair in &self.pairs {
            counts[(2.0 * pair.won.clamp(0.0, 2.0)).round() as usize] += 1;
        }
        counts
    }

    /// A's wins per game, a draw counting half: 0 to 1.
    pub fn score(&self) -> Option<f64> {
        let won: f64 = self.pairs.iter().map(|pair| pair.won).sum();
        (!self.pairs.is_empty()).then(|| won / 2.0 / self.pairs.len() as f64)
    }

    /// The 95 % interval of the score. `None` where all pairs are alike, or there are less than
    /// two.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let first = self.pairs.first()?;
        if self.pairs.iter().all(|pair| pair.won == first.won) {
            return None;
        }
        let clusters = self.clusters();
        let mut random = Random::new(SEED);
        let mut scores: Vec<f64> = (0..SAMPLES)
            .map(|_| drawn(&clusters, &mut random))
            .collect();
        scores.sort_unstable_by(f64::total_cmp);
        let place = |share: f64| scores[(share * (SAMPLES - 1) as f64).round() as usize];
        Some((place(0.025), place(0.975)))
    }

    /// The number of independent pairs that would have as sure a score, at most the number of
    /// pairs.
    fn effective_pairs(&self) -> f64 {
        self.n_pairs() as f64 / self.design_effect()
    }

    /// How many times as large the variance of the score is as that of independent pairs, at least
    /// 1. It is 1 where every pair has a study of its own, or all have the same.
    pub fn design_effect(&self) -> f64 {
        let mean = 2.0 * self.score().unwrap_or(0.5);
        let mut by_study: BTreeMap<(usize, u32), f64> = BTreeMap::new();
        let mut alone = 0.0;
        for pair in &self.pairs {
            let residual = pair.won - mean;
            *by_study.entry((pair.game, pair.study)).or_default() += residual;
            alone += residual * residual;
        }
        let together: f64 = by_study.values().map(|sum| sum * sum).sum();
        if alone > 0.0 {
            (together / alone).max(1.0)
        } else {
            1.0
        }
    }

    /// The log-likelihood ratio of the hypotheses: positive speaks for `elo1`.
    pub fn llr(&self, hypotheses: Hypotheses) -> f64 {
        llr(self.counts(), hypotheses) / self.design_effect()
    }

    /// What the test says of the pairs so far.
    pub fn verdict(&self, hypotheses: Hypotheses) -> Verdict {
        let llr = self.llr(hypotheses);
        match () {
            () if self.effective_pairs() < f64::from(MIN_PAIRS) => Verdict::Open,
            () if llr >= bound() => Verdict::Stronger,
            () if llr <= -bound() => Verdict::NotStronger,
            () => Verdict::Open,
        }
    }

    /// What each study of each game won, pair by pair. Where the only game has only one study, each
    /// pair is taken for a study: nothing is known about others.
    fn clusters(&self) -> Vec<Vec<Vec<f64>>> {
        let mut games: BTreeMap<usize, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
        for pair in &self.pairs {
            let studies = games.entry(pair.game).or_default();
            studies.entry(pair.study).or_default().push(pair.won);
        }
        let games = games.into_values().map(|studies| {
            let studies: Vec<Vec<f64>> = studies.into_values().collect();
            match &studies[..] {
                [only] => only.iter().map(|&won| vec![won]).collect(),
                _ => studies,
            }
        });
        games.collect()
    }
}

/// The score of games and studies drawn with replacement.
fn drawn(clusters: &[Vec<Vec<f64>>], random: &mut Random) -> f64 {
    let (mut won, mut pairs) = (0.0, 0);
    for _ in clusters {
        let studies = &clusters[random.below(clusters.len() as u32) as usize];
        for _ in studies {
            let study = &studies[random.below(studies.len() as u32) as usize];
            won += study.iter().sum::<f64>();
            pairs += study.len();
        }
    }
    won / 2.0 / pairs.max(1) as f64
}

/// The log-likelihood ratio of independent pairs by their five results.
pub fn llr(counts: [u32; 5], hypotheses: Hypotheses) -> f64 {
    let counts = counts.map(|count| f64::from(count).max(LEAST_COUNT));
    let n: f64 = counts.iter().sum();
    let shares = counts.map(|count| count / n);
    let of_score = |elo| most_likely(shares, expected_score(elo));
    let (low, high) = (of_score(hypotheses.elo0), of_score(hypotheses.elo1));
    let terms = counts.iter().zip(low.iter().zip(high));
    terms
        .map(|(count, (low, high))| count * (high / low).ln())
        .sum()
}

/// Of all distributions over the five results with this expected score, the one that makes the
/// shares most likely: each share divided by `1 + theta (result - score)`, with the theta that
/// gives the score.
fn most_likely(shares: [f64; 5], score: f64) -> [f64; 5] {
    let results = [0.0, 0.25, 0.5, 0.75, 1.0];
    let excess = |theta: f64| -> f64 {
        let terms = shares.iter().zip(results);
        terms
            .map(|(share, result)| share * (result - score) / (1.0 + theta * (result - score)))
            .sum()
    };
    // The excess falls from +inf to -inf between the poles.
    let (mut low, mut high) = (-1.0 / (1.0 - score), 1.0 / score);
    for _ in 0..HALVINGS {
        let middle = low.midpoint(high);
        match excess(middle) > 0.0 {
            true => low = middle,
            false => high = middle,
        }
    }
    let theta = low.midpoint(high);
    let mut expected = shares;
    for (share, result) in expected.iter_mut().zip(results) {
        *share /= 1.0 + theta * (result - score);
    }
    expected
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYPOTHESES: Hypotheses = Hypotheses {
        elo0: 0.0,
        elo1: 20.0,
    };

    fn tally(pairs: impl IntoIterator<Item = (usize, u32, f64)>) -> Tally {
        let mut tally = Tally::default();
        for (game, study, won) in pairs {
            tally.add(PairScore { game, study, won });
        }
        tally
    }

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() < tolerance, "{found}, {expected}");
    }

    #[test]
    fn ratios_are_those_of_fishtest() {
        // Computed apart, by the steps of `LLR_logistic` in fishtest's LLRcalc.py.
        for (counts, elo0, elo1, expected) in [
            ([10, 20, 40, 20, 10], 0.0, 20.0, -0.549569),
            ([5, 10, 40, 25, 20], 0.0, 20.0, 3.345236),
            ([100, 700, 1600, 800, 120], 0.0, 20.0, -8.165402),
            ([0, 0, 10, 5, 3], 0.0, 35.0, 1.721566),
            ([0, 0, 0, 0, 16], 0.0, 20.0, 0.894648),
        ] {
            close(llr(counts, Hypotheses { elo0, elo1 }), expected, 1e-4);
        }
    }

    #[test]
    fn the_most_likely_distribution_has_the_score() {
        let shares = [0.1, 0.2, 0.4, 0.2, 0.1];
        for score in [0.3, 0.5, 0.529, 0.9] {
            let found = most_likely(shares, score);
            close(found.iter().sum(), 1.0, 1e-9);
            let results = found.iter().zip([0.0, 0.25, 0.5, 0.75, 1.0]);
            close(
                results.map(|(share, result)| share * result).sum(),
                score,
                1e-9,
            );
        }
    }

    #[test]
    fn independent_pairs_have_the_interval_of_the_normal_distribution() {
        // Half of 400 pairs won, half lost: a deviation of 0.5 / 20.
        let even = tally((0..400).map(|pair| (0, pair, f64::from(pair % 2) * 2.0)));
        assert_eq!(even.score(), Some(0.5));
        let (low, high) = even.interval().unwrap();
        close(low, 0.5 - 0.049, 0.006);
        close(high, 0.5 + 0.049, 0.006);
        assert_eq!(even.interval(), Some((low, high)), "it repeats");
        close(even.design_effect(), 1.0, 1e-9);
    }

    #[test]
    fn pairs_that_share_a_study_count_as_one_where_they_are_alike() {
        // Twenty studies of twenty pairs each; all pairs of a study have one result.
        let alike = tally((0..400).map(|pair| (0, pair / 20, f64::from(pair / 20 % 2) * 2.0)));
        let (low, high) = alike.interval().unwrap();
        // As for twenty pairs: 0.5 ± 1.96 * 0.5 / sqrt(20).
        close(low, 0.5 - 0.219, 0.04);
        close(high, 0.5 + 0.219, 0.04);
        close(alike.design_effect(), 20.0, 1e-9);
        let alone = tally((0..400).map(|pair| (0, pair, f64::from(pair / 20 % 2) * 2.0)));
        close(alike.llr(HYPOTHESES), alone.llr(HYPOTHESES) / 20.0, 1e-9);
    }

    #[test]
    fn games_that_differ_widen_the_interval() {
        let won = |game: usize| if game.is_multiple_of(2) { 1.5 } else { 0.5 };
        let many = tally((0..8).flat_map(|game| (0..50).map(move |pair| (game, pair, won(game)))));
        let (low, high) = many.interval().unwrap();
        // 0.5 ± 1.96 * 0.25 / sqrt(8).
        close(low, 0.5 - 0.173, 0.05);
        close(high, 0.5 + 0.173, 0.05);
    }

    #[test]
    fn few_pairs_and_equal_ones_decide_nothing_wrong() {
        assert_eq!(Tally::default().score(), None);
        assert_eq!(Tally::default().interval(), None);
        assert!(Tally::default().llr(HYPOTHESES).is_finite());
        let won = |pairs| tally((0..pairs).map(|pair| (0, pair, 2.0)));
        assert_eq!(won(MIN_PAIRS - 1).verdict(HYPOTHESES), Verdict::Open);
        // Each won pair adds 0.056; the bound is 2.944.
        assert_eq!(won(52).verdict(HYPOTHESES), Verdict::Open);
        assert_eq!(won(53).verdict(HYPOTHESES), Verdict::Stronger);
        assert_eq!(won(MIN_PAIRS).interval(), None);
        let drawn = tally((0..4_000).map(|pair| (0, pair, 1.0)));
        assert_eq!(drawn.verdict(HYPOTHESES), Verdict::NotStronger);
        assert_eq!(drawn.counts(), [0, 0, 4_000, 0, 0]);
    }
}
