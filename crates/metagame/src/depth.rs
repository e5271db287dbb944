//! What a study finds out for alpha-beta: an evaluation that was trained by its own searches.
//!
//! Invariant: it is of the machine that was studied.
//!
//! Never uses: the tree.

use std::sync::Arc;

use serde_json::{Value, json};

use panza_game::BuiltGame;
use panza_learning::{Evaluation, GradientSums, Known, LearningBudget};
use panza_machine::Machine;
use panza_search::Method;
use panza_search::alpha_beta::{DepthValues, Units, has_turns, train_leaves};

/// The share of the time left for training for alpha-beta.
pub(super) const LEARNING_SHARE: f64 = 0.8;

/// What alpha-beta searches with.
#[derive(Clone, Debug)]
pub struct DepthStudy {
    /// Its static values.
    pub evaluation: Arc<Evaluation>,
    /// What changes of the values are counted in.
    pub units: Units,
    /// What training goes on with.
    pub sums: Option<GradientSums>,
    /// The games of its training.
    pub games: usize,
}

/// Whether alpha-beta may play a game, so that something has to be learned for it.
pub(super) fn may_apply(game: &BuiltGame, method: Method) -> bool {
    method != Method::Tree && has_turns(&game.machine)
}

impl DepthStudy {
    /// Trains on an evaluation. `None` where alpha-beta does not apply.
    pub(super) fn train(
        machine: &Arc<dyn Machine>,
        known: &Known,
        budget: LearningBudget<'_>,
    ) -> Option<Self> {
        let trained = train_leaves(machine, known, budget)?;
        Some(Self {
            evaluation: Arc::new(trained.evaluation),
            units: trained.units,
            sums: Some(trained.sums),
            games: known.games + trained.games,
        })
    }

    /// What training goes on with.
    pub(super) fn known(&self) -> Known {
        Known {
            evaluation: (*self.evaluation).clone(),
            games: self.games,
            sums: self.sums.clone(),
        }
    }

    /// What the search gets.
    pub(super) fn values(&self) -> DepthValues {
        DepthValues {
            evaluation: Arc::clone(&self.evaluation),
            units: self.units,
        }
    }

    /// As logged.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "games": self.games,
            "change_by_a_move": self.units.change,
            "worth_of_a_turn": self.units.turn,
        })
    }
}
