//! Searches that use what the memory has of a game, and prepare nothing.
//!
//! Never uses: networks, training.

use std::sync::Arc;

use super::alpha_beta::AlphaBetaPreparation;
use super::notes::prior_preparation;
use super::preparation::{PriorPreparation, find_prospects};
use panza_config::MemorySettings;
use panza_game::BuiltGame;
use panza_gdl::Rules;
use panza_memory::{GameHistory, GameMemory};
use panza_search::{SearchConfig, WhyTree};
use panza_sync::catch_panic;

impl PriorPreparation {
    /// The settings of a search that uses it and nothing else: a generation of long training for
    /// the tree, and the values of alpha-beta where that plays.
    pub fn apply(&self, config: &SearchConfig) -> SearchConfig {
        let values = self.alpha_beta.as_ref().map(AlphaBetaPreparation::values);
        let plays = config.method.plays_alpha_beta(self.prefers_alpha_beta);
        let alpha_beta_values = match values {
            Some(values) if plays => Ok(values),
            Some(_) => Err(WhyTree::TreeIsStronger),
            None => Err(WhyTree::NotTrained),
        };
        let config = SearchConfig {
            alpha_beta_values,
            ..config.clone()
        };
        match self.trained {
            Some(trained) => {
                let evaluation = Arc::new(self.known.evaluation.clone());
                trained.parameters.apply(&config, Some(&evaluation))
            }
            None => config,
        }
    }
}

/// What the memory has of a game. `None` without a memory, and where that has nothing.
pub fn history(settings: &MemorySettings, rules: &Rules) -> Option<GameHistory> {
    if !settings.enabled || !settings.path.is_file() {
        return None;
    }
    let opened = GameMemory::open(&settings.path, settings.max_games, rules);
    let opened = opened.inspect_err(|error| tracing::warn!(%error, "a search has no memory"));
    opened.ok()?.1
}

/// What an earlier preparation has left in a history, if that fits the game.
pub fn remembered(game: &BuiltGame, history: &GameHistory) -> Option<PriorPreparation> {
    let read = || prior_preparation(game.info(), history, || find_prospects(game));
    // A memory that cannot be read is no reason not to search.
    catch_panic(read).ok().flatten()
}
