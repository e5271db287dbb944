//! Which search a match prefers, and what replaces one that fails.

use super::chance_player::ChancePlayer;
use super::factored_search::FactoredSearch;
use super::flat_search::FlatSearch;
use super::match_searcher::MatchSearcher;
use super::plan_search::PlanSearch;
use super::preparations::MatchConfig;
use super::reduced_search::ReducedSearch;
use super::whole_search::WholeSearch;
use panza_game::BuiltGame;
use panza_gdl::RoleId;
use panza_search::{Method, SearchConfig};

/// The searches of a match.
#[derive(Clone, Copy)]
pub(crate) enum SearchKind {
    /// By a planner, where one role plays; by parts, where the game has any; of the reduced game,
    /// where there is one; else that which the settings name.
    Best,
    /// The same of the whole game, without parts.
    Whole,
    Tree,
    Flat,
}

impl SearchKind {
    /// Starts it in a state, for a role. The chance role draws.
    pub(crate) fn start(
        self,
        game: &BuiltGame,
        role: RoleId,
        state: &[u64],
        config: &MatchConfig,
    ) -> Box<dyn MatchSearcher> {
        let seed = config.whole.seed;
        let chance = ChancePlayer::new(&game.machine, role, state, seed);
        if let Some(chance) = chance {
            return Box::new(chance);
        }
        if let SearchKind::Best = self
            && let Some(reduced) = game.reduced.as_ref()
            && reduced.is_proven_in(state)
        {
            let (part, config) = (reduced.game(), config.of_part(0).into());
            let inner = SearchKind::Whole.start(&part, role, &reduced.state(state), &config);
            let search = ReducedSearch::new(&game.machine, reduced, role, state, inner);
            return Box::new(search);
        }
        if let SearchKind::Flat = self {
            return Box::new(FlatSearch::new(&game.machine, role, state, seed));
        }
        let parts = &config.parts;
        let tree = |config: &SearchConfig| -> Box<dyn MatchSearcher> {
            let by_part = || MatchConfig {
                whole: config.clone(),
                parts: parts.clone(),
            };
            if let SearchKind::Best = self
                && let Some(search) = FactoredSearch::new(game, role, state, &by_part())
            {
                return Box::new(search);
            }
            let method = match self {
                SearchKind::Best | SearchKind::Whole => config.method,
                SearchKind::Tree | SearchKind::Flat => Method::Tree,
            };
            let config = SearchConfig {
                method,
                ..config.clone()
            };
            Box::new(WholeSearch::new(&game.machine, role, state, config))
        };
        if let SearchKind::Best | SearchKind::Whole = self
            && let Some(search) = PlanSearch::new(game, state, &config.whole, tree)
        {
            return Box::new(search);
        }
        tree(&config.whole)
    }
}

/// The search that a match prefers for a role in a state: a planner where one role plays, else a
/// tree search. With `is_factored` it is by parts or of the reduced game, where the game has them,
/// else of the whole game. The chance role draws.
pub fn preferred_search(
    game: &BuiltGame,
    role: RoleId,
    state: &[u64],
    config: &SearchConfig,
    is_factored: bool,
) -> Box<dyn MatchSearcher> {
    prepared_search(game, role, state, &config.clone().into(), is_factored)
}

/// The same with what preparations of parts have found too.
pub fn prepared_search(
    game: &BuiltGame,
    role: RoleId,
    state: &[u64],
    config: &MatchConfig,
    is_factored: bool,
) -> Box<dyn MatchSearcher> {
    let kind = match is_factored {
        true => SearchKind::Best,
        false => SearchKind::Whole,
    };
    kind.start(game, role, state, config)
}
