//! A search of the position of a match in another process: the other end of
//! [`Companions`](super::Companions).
//!
//! Invariants: the game is built once for each rulesheet; what does not fit is refused.
//!
//! Never uses: how it is reached, clocks of the match.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::shared_search::{SharedGame, SharedRoot};
use crate::search::{MatchSearcher, preferred_search};
use panza_game::BuiltGame;
use panza_metagame::{Structure, facts_hash, find_prospects, read_evaluation};

use panza_search::{Parameter, SearchConfig};
use panza_sync::{Budget, Instant};

/// Time to build the game of a match.
const BUILD_TIME: Duration = Duration::from_secs(120);
/// Time for the structure of the game.
const STRUCTURE_TIME: Duration = Duration::from_secs(5);
/// The longest search before a report.
const MAX_SLICE: Duration = Duration::from_secs(1);
/// Moves in a report, at most.
const MAX_MOVES: usize = 1 << 12;

/// A search of the position of a match in another process.
pub struct Companion {
    config: SearchConfig,
    game: Option<(String, BuiltGame)>,
    structure: Option<Structure>,
    search: Option<Box<dyn MatchSearcher>>,
}

impl Companion {
    /// A companion that searches with these settings, apart from what a preparation of the match
    /// changes.
    pub fn new(config: SearchConfig) -> Self {
        Self {
            config,
            game: None,
            structure: None,
            search: None,
        }
    }

    /// Builds a game, unless it is there, and begins a search of it.
    ///
    /// # Errors
    /// Why it cannot be searched as the match searches it.
    pub fn begin(&mut self, shared: &SharedGame) -> Result<(), String> {
        self.search = None;
        if self
            .game
            .as_ref()
            .is_none_or(|(rules, _)| *rules != shared.rules)
        {
            self.structure = None;
            let (rules, diagnostics) = panza_gdl::load(&shared.rules);
            if !panza_gdl::is_playable(&rules, &diagnostics) {
                return Err("the rules cannot be played".into());
            }
            let budget = Budget::lasting(BUILD_TIME);
            let built = panza_game::build(&rules, &budget).map_err(|why| why.to_string())?;
            self.game = Some((shared.rules.clone(), built));
        }
        let Some((_, game)) = &self.game else {
            return Err("there is no game".into());
        };
        let info = game.machine.info();
        if facts_hash(info) != shared.facts {
            return Err("the match plays on another machine".into());
        }
        let settings = &shared.settings;
        let mut config = self.config.clone();
        if settings["has_structure"] == true {
            let budget = || Budget::lasting(STRUCTURE_TIME);
            let find = || Structure::find(game, &budget());
            config = self.structure.get_or_insert_with(find).apply(config);
        }
        for parameter in Parameter::of_preparation() {
            let name = parameter.name;
            let value = settings[name].as_f64();
            let value = value.filter(|&value| parameter.allows(value));
            let range = || format!("`{name}` is no number from {}", parameter.range());
            parameter.set(&mut config, value.ok_or_else(range)?);
        }
        config.evaluation = match &settings["evaluation"] {
            Value::Null => None,
            note => {
                let known = read_evaluation(info, note, || find_prospects(game));
                let known = known.ok_or("the evaluation is of another game")?;
                Some(Arc::new(known.evaluation))
            }
        };
        let role = shared.role.id(info);
        let state = game.machine.initial_state();
        self.search = Some(preferred_search(game, role, &state, &config, false));
        Ok(())
    }

    /// Goes to a state, unless it is there.
    ///
    /// # Errors
    /// There is no search, or it is no state of its game.
    pub fn go_to(&mut self, state: &[u64]) -> Result<(), String> {
        let (Some((_, game)), Some(search)) = (&self.game, &mut self.search) else {
            return Err("no search has begun".into());
        };
        if state.len() != game.machine.initial_state().len() {
            return Err("a state of another game".into());
        }
        search.set_state(state);
        Ok(())
    }

    /// Searches for this long, without a report; false where there is nothing to search.
    pub fn go_on(&mut self, time: Duration) -> bool {
        let Some(search) = &mut self.search else {
            return false;
        };
        search.search(Instant::now() + time, &Arc::default());
        true
    }

    /// Searches for this long, and reports what is known of the root. The report has no moves where
    /// the choice is not by estimates.
    ///
    /// # Errors
    /// There is no search.
    pub fn search(&mut self, time: Duration) -> Result<SharedRoot, String> {
        let (Some((_, game)), Some(search)) = (&self.game, &mut self.search) else {
            return Err("no search has begun".into());
        };
        if !time.is_zero() {
            let until = Instant::now() + time.min(MAX_SLICE);
            search.search(until, &Arc::default());
        }
        let is_proven = search.best_move().is_none_or(|best| best.is_proven_best);
        let estimates = search.estimates().unwrap_or_default();
        let info = game.machine.info();
        let moves = estimates.moves.iter().take(MAX_MOVES);
        let moves = moves.map(|stats| stats.named(info.move_text(stats.mv)));
        Ok(SharedRoot {
            moves: moves.collect(),
            is_proven,
        })
    }
}

#[cfg(test)]
mod tests;
