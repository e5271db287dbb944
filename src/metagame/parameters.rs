//! Search settings that are chosen for a game.

use std::sync::Arc;

use serde::Serialize;

use crate::analysis::evaluation::Evaluation;
use crate::analysis::learning::validation::Validation;
use crate::search::SearchConfig;

/// Search settings that are chosen for a game.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Parameters {
    /// Weight of the evaluation beside playouts, 0 to 1; see [`SearchConfig::evaluation_share`].
    pub evaluation_share: f32,
    /// Factor on the exploration of the settings.
    pub exploration: f32,
}

impl Default for Parameters {
    /// For a game that was not studied.
    fn default() -> Self {
        Self {
            evaluation_share: 0.0,
            exploration: 1.0,
        }
    }
}

/// The reduction of exploration at a full evaluation share: evaluations have no sampling noise.
const EXPLORATION_REDUCTION: f32 = 0.4;

/// The temperature of the softmax that makes priors of evaluations, in points.
const PRIOR_TEMPERATURE: f32 = 6.0;
/// The weight of minimax values of evaluations against means.
const MINIMAX_SHARE: f32 = 0.3;

impl Parameters {
    /// The settings of a search with these parameters, and with the evaluation if it has weight.
    pub fn apply(
        &self,
        config: &SearchConfig,
        evaluation: Option<&Arc<Evaluation>>,
    ) -> SearchConfig {
        let evaluation = evaluation.filter(|_| self.evaluation_share > 0.0).cloned();
        let (share, prior_temperature, minimax_share) = match evaluation {
            Some(_) => (self.evaluation_share, PRIOR_TEMPERATURE, MINIMAX_SHARE),
            None => (0.0, 0.0, 0.0),
        };
        SearchConfig {
            exploration: config.exploration
                * self.exploration
                * (1.0 - EXPLORATION_REDUCTION * share),
            evaluation,
            evaluation_share: share,
            prior_temperature,
            minimax_share,
            ..config.clone()
        }
    }
}

/// Training games from which on an evaluation gets weight. In Breakthrough one trained on 2,500
/// games lost eleven matches of twelve, though it correlated with results as well as playouts do;
/// one trained on 25,000 games won eleven of twelve.
const MIN_GAMES: usize = 12_000;
/// Positions that an evaluation must be validated on.
const MIN_POSITIONS: usize = 300;
/// Correlation with results that an evaluation must have. In Tic-Tac-Toe on nine boards it was 0.1,
/// and the evaluation lost all matches.
const MIN_CORRELATION: f64 = 0.2;
/// The same, relative to the correlation of playouts.
const MIN_RELATIVE_CORRELATION: f64 = 0.85;
/// Weight below which an evaluation is not worth its time.
const MIN_SHARE: f64 = 0.15;
/// Weight beside playouts, at most.
const MAX_MIXED_SHARE: f64 = 0.6;
/// Correlation and best share from which on the evaluation is used without playouts, since many
/// more positions are evaluated then. In Checkers, at a correlation of 0.72, it won 18 of 20
/// matches alone and 16 of 20 beside playouts; in Breakthrough, at 0.33, it won nine of ten beside
/// playouts and lost alone.
const ALONE_CORRELATION: f64 = 0.6;
const ALONE_SHARE: f64 = 0.5;

/// The weight of an evaluation beside playouts, from its correlation with results.
pub(super) fn evaluation_share(games: usize, validation: &Validation) -> f32 {
    let is_tested = games >= MIN_GAMES && validation.positions >= MIN_POSITIONS;
    let is_good = validation.evaluation >= MIN_CORRELATION
        && validation.evaluation >= MIN_RELATIVE_CORRELATION * validation.playouts;
    if !is_tested || !is_good || validation.share < MIN_SHARE {
        0.0
    } else if validation.evaluation >= ALONE_CORRELATION && validation.share >= ALONE_SHARE {
        1.0
    } else {
        validation.share.min(MAX_MIXED_SHARE) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_evaluation_that_correlates_with_results_gets_weight() {
        let validation = |evaluation, share| Validation {
            positions: 1000,
            evaluation,
            playouts: 0.3,
            share,
        };
        assert_eq!(evaluation_share(50_000, &validation(0.4, 0.5)), 0.5);
        assert_eq!(evaluation_share(50_000, &validation(0.4, 0.7)), 0.6);
        assert_eq!(evaluation_share(50_000, &validation(0.7, 0.6)), 1.0);
        assert_eq!(evaluation_share(50_000, &validation(0.7, 0.4)), 0.4);
        assert_eq!(evaluation_share(50_000, &validation(0.1, 0.5)), 0.0);
        assert_eq!(evaluation_share(50_000, &validation(0.22, 0.5)), 0.0);
        assert_eq!(evaluation_share(2_500, &validation(0.4, 0.5)), 0.0);
        assert_eq!(evaluation_share(50_000, &Validation::default()), 0.0);
    }
}
