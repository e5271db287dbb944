//! Search settings that are chosen for a game.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use panza_game::BuiltGame;
use panza_learning::Evaluation;
use panza_learning::validation::Validation;
use panza_search::alpha_beta::Turns;
use panza_search::{MINIMAX_SHARE, Parameter, SearchConfig};
use panza_sync::{Budget, Random};

/// Search settings that are chosen for a game.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Parameters {
    /// Weight of the evaluation beside playouts, 0 to 1; see [`SearchConfig::evaluation_share`].
    pub evaluation_share: f32,
    /// Whether values of the evaluation give moves priors.
    pub prior: bool,
    /// Whether alpha-beta plays rather than the tree.
    #[serde(default)]
    pub alpha_beta: bool,
}

impl Default for Parameters {
    /// For a game that was not prepared.
    fn default() -> Self {
        Self {
            evaluation_share: 0.0,
            prior: false,
            alpha_beta: false,
        }
    }
}

/// The reduction of exploration at a full evaluation share: evaluations have no sampling noise.
const EXPLORATION_REDUCTION: f32 = 0.4;

/// The temperature of the softmax that makes priors of evaluations, in points.
const PRIOR_TEMPERATURE: f32 = 6.0;

impl Parameters {
    /// The settings of a search with these parameters, and with the evaluation if it has weight or
    /// gives a prior.
    pub fn apply(
        &self,
        config: &SearchConfig,
        evaluation: Option<&Arc<Evaluation>>,
    ) -> SearchConfig {
        let evaluation = evaluation.filter(|_| self.uses_evaluation()).cloned();
        let is_mixed = evaluation.is_some() && self.evaluation_share > 0.0;
        let has_prior = evaluation.is_some() && self.prior;
        let share = if is_mixed { self.evaluation_share } else { 0.0 };
        SearchConfig {
            exploration: config.exploration * (1.0 - EXPLORATION_REDUCTION * share),
            evaluation,
            evaluation_share: share,
            prior_temperature: if has_prior { PRIOR_TEMPERATURE } else { 0.0 },
            minimax_share: if is_mixed { MINIMAX_SHARE } else { 0.0 },
            ..config.clone()
        }
    }
}

/// Positions that an evaluation must be validated on. With 128, after 1,500 games of Skirmish, its
/// prior lost (31 % of the points).
const MIN_POSITIONS: usize = 300;
/// Correlation with results that an evaluation must have for weight or a prior. In Tic-Tac-Toe on
/// nine boards it was 0.1, and the evaluation lost all matches. In Hex, where AMAF values win and a
/// prior would take their place, it is 0.1 too.
const MIN_CORRELATION: f64 = 0.2;
/// The same, relative to the correlation of playouts without their noise. In twenty preparations
/// the ratio was 0.87 to 1.08 in Breakthrough, where evaluations mixed with playouts win, and 0.89
/// to 0.98 in Connect Four, where they make no difference (49 % of the points in 26 pairs). Before
/// there were weights of lines, it was 0.81 to 0.9 there, and mixing lost.
const MIN_RELATIVE_CORRELATION: f64 = 0.88;
/// Weight below which an evaluation is not worth its time.
const MIN_SHARE: f64 = 0.15;
/// Weight beside playouts, at most.
const MAX_MIXED_SHARE: f64 = 0.6;
/// The same where roles choose at once or more than two play. An evaluation is validated on games
/// against itself, which show less of what others do there: alone it stood still in a race.
const MAX_CONTESTED_SHARE: f64 = 0.4;
/// The share that evaluations have before anything is measured, and the standard deviation around
/// it. Measured shares count beside it as their errors say: where few results tell little, the
/// weight is usual and not nothing.
const USUAL_SHARE: f64 = 0.4;
const SHARE_DEVIATION: f64 = 0.25;
/// The weight of an evaluation in tests.
const TESTED_SHARE: f32 = 0.4;

impl Parameters {
    /// Settings that use an evaluation, to compare two where nothing else is known.
    pub fn for_tests() -> Self {
        Self {
            evaluation_share: TESTED_SHARE,
            prior: true,
            ..Self::default()
        }
    }

    /// Whether an evaluation matters.
    pub fn uses_evaluation(&self) -> bool {
        self.prior || self.evaluation_share > 0.0
    }

    /// Whether the numbers are such as preparations choose.
    pub fn are_sound(&self) -> bool {
        Parameter::find("evaluation_share")
            .is_some_and(|it| it.allows(self.evaluation_share.into()))
    }

    /// The settings in a note. `None` if it is damaged.
    ///
    /// Earlier preparations could choose minimax on the evaluation alone, with a `minimax_share` of
    /// 1. Its place takes the greatest weight beside playouts.
    pub(super) fn from_note(note: &Value) -> Option<Self> {
        let mut found = Self::deserialize(note).ok().filter(Self::are_sound)?;
        if note["minimax_share"] == 1.0 {
            found.evaluation_share = found.evaluation_share.min(MAX_MIXED_SHARE as f32);
        }
        Some(found)
    }

    /// The weight of an evaluation from its validation, and whether it gives a prior. Without
    /// enough games for validation there were too few for training as well. `most` is that of
    /// [`most_share`].
    pub fn of(validation: &Validation, most: f64) -> Self {
        let predicts_results =
            validation.positions >= MIN_POSITIONS && validation.evaluation >= MIN_CORRELATION;
        let is_good = predicts_results
            && validation.evaluation >= MIN_RELATIVE_CORRELATION * validation.playouts;
        let likely_share = likely_share(validation.share, validation.share_error);
        let found = Self {
            evaluation_share: match is_good && likely_share >= MIN_SHARE {
                true => likely_share.min(most) as f32,
                false => 0.0,
            },
            prior: predicts_results,
            ..Self::default()
        };
        tracing::debug!(
            share = found.evaluation_share,
            prior = found.prior,
            "the tree's evaluation: {validation:?}; wanted are {MIN_POSITIONS} positions and a \
             correlation of {MIN_CORRELATION}, for a share also {MIN_RELATIVE_CORRELATION} of that \
             of playouts"
        );
        found
    }
}

/// The most weight that an evaluation of a game may have beside playouts. It is the smaller one too
/// where the budget ends before random games have shown that two roles take turns.
pub fn most_share(game: &BuiltGame, budget: &Budget) -> f64 {
    let info = game.info();
    let has_chance = info.chance_role().is_some();
    let is_contested = match info.n_roles() - usize::from(has_chance) {
        2 if !has_chance => {
            Turns::find(&game.machine, &mut Random::new(0), || budget.is_over()).is_none()
        }
        n_players => n_players > 2,
    };
    match is_contested {
        true => MAX_CONTESTED_SHARE,
        false => MAX_MIXED_SHARE,
    }
}

/// The mean of the usual share and a measured one, each weighed by the inverse of its variance.
fn likely_share(measured: f64, error: f64) -> f64 {
    let (usual, error) = (SHARE_DEVIATION.powi(2), error.powi(2));
    USUAL_SHARE + (measured - USUAL_SHARE) * usual / (usual + error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_evaluation_that_predicts_targets_gets_weight() {
        let share = |evaluation, share, share_error| {
            let validation = Validation {
                positions: 1000,
                evaluation,
                playouts: 0.3,
                share,
                share_error,
            };
            let found = Parameters::of(&validation, MAX_MIXED_SHARE);
            (found.evaluation_share * 100.0).round() / 100.0
        };
        assert_eq!(share(0.4, 0.5, 0.0), 0.5);
        assert_eq!(share(0.4, 0.7, 0.05), 0.6);
        assert_eq!(share(0.4, 0.1, 0.05), 0.0);
        assert_eq!(
            share(0.4, 0.2, 0.25),
            0.3,
            "as uncertain as the usual share"
        );
        assert_eq!(share(0.4, 0.0, 10.0), 0.4, "nothing was measured");
        assert_eq!(share(0.7, 0.95, 0.05), 0.6);
        assert_eq!(share(0.1, 0.5, 0.05), 0.0);
        assert_eq!(share(0.22, 0.5, 0.05), 0.0);
        let nothing = Parameters::of(&Validation::default(), MAX_MIXED_SHARE);
        assert_eq!(nothing, Parameters::default());
    }

    #[test]
    fn an_evaluation_without_weight_may_give_a_prior() {
        let of = |positions, evaluation, playouts| {
            let validation = Validation {
                positions,
                evaluation,
                playouts,
                share: 0.5,
                share_error: 0.05,
            };
            let found = Parameters::of(&validation, MAX_MIXED_SHARE);
            (found.prior, found.evaluation_share > 0.0)
        };
        assert_eq!(of(1000, 0.5, 0.5), (true, true));
        assert_eq!(of(1000, 0.5, 0.8), (true, false));
        assert_eq!(of(1000, 0.1, 0.1), (false, false));
        assert_eq!(of(100, 0.5, 0.5), (false, false));
    }

    #[test]
    fn an_evaluation_never_decides_where_others_choose_at_once_or_many_play() {
        let certain = Validation {
            positions: 1000,
            evaluation: 0.7,
            playouts: 0.3,
            share: 1.0,
            share_error: 0.01,
        };
        for (name, expected) in [
            ("connectFour", 0.6),
            ("eightPuzzle", 0.6),
            ("connectFourSimultaneous", 0.4),
            ("ticTacToeThree", 0.4),
        ] {
            let game = panza_testing::game_of(panza_testing::rulesheet(name));
            let most = most_share(&game, &Budget::generous());
            let found = Parameters::of(&certain, most).evaluation_share;
            assert_eq!(found, expected, "{name}");
        }
    }
}
