//! The metagame: what is learned about a game between START and the first move, and what it decides
//! for the search.
//!
//! First an evaluation is learned from games that the machine plays against itself
//! (`analysis::learning`). Its weight in the search follows from its correlation with the results of
//! other games, beside that of playouts. Then, as long as there is time, searches with the settings found that way play
//! against searches with others, and a setting that clearly wins takes their place (`tuning`).
//!
//! Invariants: it ends in time, and whatever it has found by then counts; what it decides is a
//! matter of speed and strength, never of what is legal or proven.
//!
//! Never knows: messages, threads of a match.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::structure::Structure;
use super::tuning::{self, Trial};
use crate::analysis::evaluation::Evaluation;
use crate::analysis::heuristics::{self, Heuristic};
use crate::analysis::learning::{self, LearningBudget};
use crate::analysis::validation::Validation;
use crate::config::MetagameSettings;
use crate::machine::Machine;
use crate::search::SearchConfig;

/// Settings of the search that go by the game.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameters {
    /// The weight of the evaluation beside playouts; see
    /// [`SearchConfig::evaluation_share`].
    pub evaluation_share: f32,
    /// So many times the exploration that such results get.
    pub exploration: f32,
}

impl Default for Parameters {
    /// Those of a game of which nothing is known.
    fn default() -> Self {
        Self {
            evaluation_share: 0.0,
            exploration: 1.0,
        }
    }
}

impl Parameters {
    /// The settings of a search with these parameters, and with the evaluation if it has weight.
    pub fn apply(
        &self,
        config: &SearchConfig,
        evaluation: Option<&Arc<Evaluation>>,
    ) -> SearchConfig {
        let evaluation = evaluation.filter(|_| self.evaluation_share > 0.0).cloned();
        let share = if evaluation.is_some() {
            self.evaluation_share
        } else {
            0.0
        };
        SearchConfig {
            exploration: config.exploration * self.exploration * (1.0 - CALM * share),
            evaluation,
            evaluation_share: share,
            ..config.clone()
        }
    }

    /// For notes.
    pub fn to_json(&self) -> Value {
        json!({
            "evaluation_share": self.evaluation_share,
            "exploration": self.exploration,
        })
    }
}

/// What the search is told of a game.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    /// The learned evaluation, if any.
    pub evaluation: Option<Arc<Evaluation>>,
    /// What suits the game.
    pub parameters: Parameters,
    /// What the rules alone say.
    pub structure: Structure,
    /// Games that the evaluation was learned from.
    pub games: usize,
    /// Its correlation with results.
    pub validation: Validation,
    /// What kinds of facts are worth, for people.
    pub heuristics: Vec<Heuristic>,
    /// What was tried out, and what came of it.
    pub trials: Vec<Trial>,
}

/// What the metagame may spend.
#[derive(Clone, Debug)]
pub struct MetagameBudget {
    /// It is over by then.
    pub until: Instant,
    /// True once nobody waits for it any more.
    pub cancelled: Arc<AtomicBool>,
}

/// Less time than this teaches nothing.
const LEAST: Duration = Duration::from_millis(150);
/// The part of the time that learning takes, where tuning is wanted too.
const LEARNING: f64 = 0.65;
/// An evaluation that was learned from fewer games does not count. In Breakthrough one that was
/// learned from 2,500 games lost eleven matches of twelve, though it correlated with results as well as
/// playouts do; one from 25,000 games won eleven of twelve.
const LEAST_GAMES: usize = 12_000;
/// Nor does one that was validated on fewer positions, or has a lower correlation with results,
/// absolute or relative to playouts. (In the game on nine boards of Tic-Tac-Toe the correlation was
/// 0.1, and it lost all matches.)
const LEAST_POSITIONS: usize = 300;
const LEAST_CORRELATION: f64 = 0.2;
const LEAST_OF_PLAYOUTS: f64 = 0.85;
/// Beside playouts it gets at most this weight.
const BESIDE: f64 = 0.6;
/// An evaluation with this correlation, and with at least this share, is used without playouts, since
/// many more positions are evaluated then. In Checkers, at a correlation of 0.72, it won 18 of 20 matches
/// alone and 16 of 20 beside playouts; in Breakthrough, at 0.33, it won nine of ten beside playouts
/// and lost alone.
const ALONE: f64 = 0.6;
const MORE: f64 = 0.5;
/// One that counts so little is not worth its time.
const TOO_LITTLE: f64 = 0.15;
/// So many kinds of facts are noted.
const NOTED_HEURISTICS: usize = 40;
/// The reduction of exploration at a full evaluation share: evaluations have no sampling noise.
const CALM: f32 = 0.4;

/// Learns what can be learned by then, further from what `known` has of the same machine.
pub fn study(
    machine: &Arc<dyn Machine>,
    known: Option<Knowledge>,
    config: &SearchConfig,
    settings: &MetagameSettings,
    budget: &MetagameBudget,
) -> Knowledge {
    let mut knowledge = known.unwrap_or_default();
    let left = budget.until.saturating_duration_since(Instant::now());
    if !settings.learning || left < LEAST {
        return knowledge;
    }
    let part = if settings.tuning { LEARNING } else { 1.0 };
    let before = knowledge.evaluation.as_deref().cloned();
    let learned = learning::learn(
        machine,
        before.map(|evaluation| (evaluation, knowledge.games)),
        LearningBudget {
            games: usize::MAX,
            until: Some(Instant::now() + left.mul_f64(part)),
            cancelled: Some(&budget.cancelled),
            seed: config.seed,
        },
    );
    let Some(learned) = learned else {
        return knowledge;
    };
    knowledge.games = learned.games;
    knowledge.validation = learned.validation;
    let share = share(learned.games, &learned.validation);
    knowledge.parameters.evaluation_share = share;
    let evaluation = Arc::new(learned.evaluation);
    if let Some(facts) = machine.info().facts() {
        knowledge.heuristics = heuristics::of(&evaluation, facts);
    }
    knowledge.evaluation = Some(Arc::clone(&evaluation));
    if settings.tuning && !budget.cancelled.load(Ordering::Relaxed) && learned.games > 0 {
        tuning::tune(
            machine,
            config,
            &evaluation,
            learned.mean_length,
            budget,
            &mut knowledge,
        );
    }
    knowledge
}

/// The weight of an evaluation beside playouts, from its correlation with results.
fn share(games: usize, validation: &Validation) -> f32 {
    let is_known = games >= LEAST_GAMES && validation.positions >= LEAST_POSITIONS;
    let is_good = validation.evaluation >= LEAST_CORRELATION
        && validation.evaluation >= LEAST_OF_PLAYOUTS * validation.playouts;
    if !is_known || !is_good || validation.share < TOO_LITTLE {
        0.0
    } else if validation.evaluation >= ALONE && validation.share >= MORE {
        1.0
    } else {
        validation.share.min(BESIDE) as f32
    }
}

impl Knowledge {
    /// A search's settings with what is known.
    pub fn apply(&self, config: &SearchConfig) -> SearchConfig {
        SearchConfig {
            score_ranges: Arc::clone(&self.structure.score_ranges),
            symmetries: self.structure.symmetries.clone(),
            ..self.parameters.apply(config, self.evaluation.as_ref())
        }
    }

    /// Whether it changes anything about a search.
    pub fn is_of_use(&self) -> bool {
        self.parameters != Parameters::default() || !self.structure.is_empty()
    }

    /// What is known, for the notes of a match and those who ask.
    pub fn to_json(&self) -> Value {
        json!({
            "parameters": self.parameters.to_json(),
            "games": self.games,
            "positions_compared": self.validation.positions,
            "correlation": self.validation.evaluation,
            "correlation_of_playouts": self.validation.playouts,
            "best_evaluation_share": self.validation.share,
            "settled_facts_that_bound_goals": self.structure.score_ranges.len(),
            "symmetries": self.structure.symmetries.as_ref().map(|found| found.generators.len()),
            "latches": {
                "stay_true": self.structure.latches[0],
                "stay_false": self.structure.latches[1],
                "stay_with_another": self.structure.latches[2],
            },
            "heuristics": self.heuristics.iter().take(NOTED_HEURISTICS).collect::<Vec<_>>(),
            "trials": self.trials.iter().map(Trial::to_json).collect::<Vec<_>>(),
        })
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
        assert_eq!(share(50_000, &validation(0.4, 0.5)), 0.5);
        assert_eq!(share(50_000, &validation(0.4, 0.7)), 0.6);
        assert_eq!(share(50_000, &validation(0.7, 0.6)), 1.0);
        assert_eq!(share(50_000, &validation(0.7, 0.4)), 0.4);
        assert_eq!(share(50_000, &validation(0.1, 0.5)), 0.0);
        assert_eq!(share(50_000, &validation(0.22, 0.5)), 0.0);
        assert_eq!(share(2_500, &validation(0.4, 0.5)), 0.0);
        assert_eq!(share(50_000, &Validation::default()), 0.0);
    }
}
