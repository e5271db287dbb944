//! The one door to both searches of a whole game: [`start`] takes the method.
//!
//! Never uses: the graph, the table.

use std::sync::Arc;

use super::alpha_beta::{AlphaBetaSearch, AlphaBetaValues};
use super::searcher::Searcher;
use super::why_tree::WhyTree;
use super::{Method, Search, SearchConfig};
use panza_gdl::RoleId;
use panza_machine::Machine;

/// A search that has begun.
pub struct Started {
    /// The search.
    pub search: Box<dyn Searcher>,
    /// Why it is the tree, where the settings allow alpha-beta.
    pub why_tree: Option<WhyTree>,
}

impl Started {
    /// The search, where it is the one that was asked for.
    ///
    /// # Errors
    /// Alpha-beta alone was asked for and does not play the game.
    pub fn as_asked(self, method: Method) -> Result<Box<dyn Searcher>, WhyTree> {
        match self.why_tree {
            Some(reason) if method == Method::AlphaBeta => Err(reason),
            _ => Ok(self.search),
        }
    }
}

/// Starts the search of a state that the settings name. `Auto` is alpha-beta where a preparation
/// has found it to be the stronger search and left its values in the settings. Where alpha-beta
/// alone is asked for and nothing was trained, it searches with values that know nothing. Where it
/// cannot play, the tree does.
pub fn start(
    machine: &Arc<dyn Machine>,
    role: RoleId,
    state: &[u64],
    config: &SearchConfig,
) -> Started {
    let begun = values(machine, config).and_then(|values| {
        let Some(values) = values else {
            return Ok(None);
        };
        AlphaBetaSearch::new(machine, role, state, values, config).map(Some)
    });
    let why_tree = match begun {
        Ok(Some(search)) => {
            return Started {
                search: Box::new(search),
                why_tree: None,
            };
        }
        Ok(None) => None,
        Err(reason) => Some(reason),
    };
    let mut search = Search::new(Arc::clone(machine), role, config.clone());
    if state != machine.initial_state() {
        search.set_state(state);
    }
    Started {
        search: Box::new(search),
        why_tree,
    }
}

/// The values of alpha-beta; `None` where the tree is asked for.
fn values(
    machine: &Arc<dyn Machine>,
    config: &SearchConfig,
) -> Result<Option<AlphaBetaValues>, WhyTree> {
    let known = || config.alpha_beta_values.clone();
    match config.method {
        Method::Tree => Ok(None),
        Method::Auto => known().map(Some),
        Method::AlphaBeta => match known() {
            Err(WhyTree::NotTrained) => AlphaBetaValues::unknown(machine).map(Some),
            known => known.map(Some),
        },
    }
}
