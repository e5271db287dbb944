//! What is prepared for a match, and the settings that its searches have after that.
//!
//! A match searches the game, its reduced game or its parts. What a preparation finds is of one
//! machine, so what is searched is prepared: parts one after another, each with an equal share of
//! the time. Parts are prepared for the tree search, the only one that plays them.
//!
//! Only preparations of whole games are remembered. An evaluation of a part has facts of the game,
//! and would be taken for one of the game.

use panza_game::BuiltGame;
use panza_metagame::{Parameters, Preparation};
use panza_search::{Method, SearchConfig};
use serde_json::Value;

/// What must be prepared so that a search changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PreparationOf {
    /// Nothing does.
    Nothing,
    /// The game.
    Game,
    /// Its reduced game.
    Reduced,
    /// Its parts.
    Parts,
}

impl PreparationOf {
    /// The games to prepare.
    pub fn games(self, game: &BuiltGame) -> Vec<BuiltGame> {
        match self {
            PreparationOf::Nothing => Vec::new(),
            PreparationOf::Game => vec![game.clone()],
            PreparationOf::Reduced => game.reduced.iter().map(|it| it.game()).collect(),
            PreparationOf::Parts => game.games_of_parts(),
        }
    }

    /// What the searches of these games would run with otherwise, from the settings of the match.
    pub fn config(self, config: &SearchConfig) -> SearchConfig {
        match self {
            PreparationOf::Parts => SearchConfig {
                method: Method::Tree,
                ..config.clone()
            },
            _ => config.clone(),
        }
    }
}

/// The settings of the searches of a match.
#[derive(Clone, Debug)]
pub struct MatchConfig {
    /// Those of the game.
    pub whole: SearchConfig,
    /// Those of the reduced game, or of each part. Empty where they were not prepared.
    pub parts: Vec<SearchConfig>,
}

impl From<SearchConfig> for MatchConfig {
    /// Without a preparation of parts.
    fn from(whole: SearchConfig) -> Self {
        Self {
            whole,
            parts: Vec::new(),
        }
    }
}

impl MatchConfig {
    /// The settings of a part, or of the reduced game, which is number 0.
    pub(crate) fn of_part(&self, index: usize) -> SearchConfig {
        let prepared = self.parts.get(index).cloned();
        prepared.unwrap_or_else(|| self.whole.for_other_machine())
    }
}

/// The preparations of all games of a [`PreparationOf`], in their order.
#[derive(Clone, Debug)]
pub struct Preparations {
    /// What they are of.
    pub of: PreparationOf,
    /// One for each game.
    pub preparations: Vec<Preparation>,
}

impl Preparations {
    /// What preparations have found. Evaluations are used in all parts or in none: moves of
    /// different parts are compared, and values of evaluations differ from those of playouts.
    pub fn new(of: PreparationOf, mut preparations: Vec<Preparation>) -> Self {
        let have_evaluations = |preparations: &[Preparation]| {
            let mut parameters = preparations
                .iter()
                .map(|preparation| preparation.parameters);
            parameters.all(|it| it.uses_evaluation())
        };
        if of == PreparationOf::Parts && !have_evaluations(&preparations) {
            for preparation in &mut preparations {
                preparation.parameters = Parameters::default();
            }
        }
        Self { of, preparations }
    }

    /// The settings of the searches, from those of the match.
    pub fn apply(&self, config: &SearchConfig) -> MatchConfig {
        let unprepared = self.of.config(config);
        let applied = self
            .preparations
            .iter()
            .map(|preparation| preparation.apply(&unprepared));
        let mut applied: Vec<SearchConfig> = applied.collect();
        if self.of == PreparationOf::Game
            && let Some(whole) = applied.pop()
        {
            return whole.into();
        }
        MatchConfig {
            whole: config.clone(),
            parts: applied,
        }
    }

    /// The preparation of the whole game, if that was prepared.
    pub fn of_game(&self) -> Option<&Preparation> {
        self.preparations
            .first()
            .filter(|_| self.of == PreparationOf::Game)
    }

    /// Whether any preparation changes anything about a search.
    pub fn are_useful(&self) -> bool {
        self.preparations.iter().any(Preparation::is_useful)
    }

    /// Whether any preparation changes more about a search than its structure does.
    pub fn have_learned(&self) -> bool {
        self.preparations.iter().any(Preparation::has_learned)
    }

    /// The preparations as logged. That of a part has its number, from 1.
    pub(crate) fn to_json(&self) -> Vec<Value> {
        let preparations = self.preparations.iter().zip(1..);
        let logged = preparations.map(|(preparation, number)| {
            let mut logged = preparation.to_json();
            if self.of == PreparationOf::Parts {
                logged["part"] = Value::from(number);
            }
            logged
        });
        logged.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_evaluations_all_or_none() {
        let with = Preparation {
            parameters: Parameters::for_tests(),
            ..Preparation::default()
        };
        let without = Preparation::default();
        let learned = |of, preparations: [&Preparation; 2]| {
            let preparations = preparations.map(Preparation::clone).to_vec();
            Preparations::new(of, preparations).have_learned()
        };
        assert!(learned(PreparationOf::Parts, [&with, &with]));
        assert!(!learned(PreparationOf::Parts, [&with, &without]));
        assert!(learned(PreparationOf::Game, [&with, &without]));
    }
}
