//! What is studied for a match, and the settings that its searches have after that.
//!
//! A match searches the game, its reduced game or its parts. What a study finds is of one machine,
//! so what is searched is studied: parts one after another, each with an equal share of the time.
//! Parts are studied for the tree search, the only one that plays them.
//!
//! Only studies of whole games are remembered. An evaluation of a part has facts of the game, and
//! would be taken for one of the game.

use panza_game::BuiltGame;
use panza_metagame::{Parameters, Study};
use panza_search::{Method, SearchConfig};
use serde_json::Value;

/// What must be studied so that a search changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StudyOf {
    /// Nothing does.
    Nothing,
    /// The game.
    Game,
    /// Its reduced game.
    Reduced,
    /// Its parts.
    Parts,
}

impl StudyOf {
    /// The games to study.
    pub fn games(self, game: &BuiltGame) -> Vec<BuiltGame> {
        match self {
            StudyOf::Nothing => Vec::new(),
            StudyOf::Game => vec![game.clone()],
            StudyOf::Reduced => game.reduced.iter().map(|it| it.game()).collect(),
            StudyOf::Parts => game.games_of_parts(),
        }
    }

    /// What the searches of these games would run with unstudied, from the settings of the match.
    pub fn config(self, config: &SearchConfig) -> SearchConfig {
        match self {
            StudyOf::Parts => SearchConfig {
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
    /// Those of the reduced game, or of each part. Empty where they were not studied.
    pub parts: Vec<SearchConfig>,
}

impl From<SearchConfig> for MatchConfig {
    /// Without a study of parts.
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
        let studied = self.parts.get(index).cloned();
        studied.unwrap_or_else(|| self.whole.for_other_machine())
    }
}

/// The studies of all games of a [`StudyOf`], in their order.
#[derive(Clone, Debug)]
pub struct Studies {
    /// What they are of.
    pub of: StudyOf,
    /// One for each game.
    pub studies: Vec<Study>,
}

impl Studies {
    /// What studies have found. Evaluations are used in all parts or in none: moves of different
    /// parts are compared, and values of evaluations differ from those of playouts.
    pub fn new(of: StudyOf, mut studies: Vec<Study>) -> Self {
        let have_evaluations = |studies: &[Study]| {
            let mut parameters = studies.iter().map(|study| study.parameters);
            parameters.all(|it| it.uses_evaluation())
        };
        if of == StudyOf::Parts && !have_evaluations(&studies) {
            for study in &mut studies {
                study.parameters = Parameters::default();
            }
        }
        Self { of, studies }
    }

    /// The settings of the searches, from those of the match.
    pub fn apply(&self, config: &SearchConfig) -> MatchConfig {
        let unstudied = self.of.config(config);
        let applied = self.studies.iter().map(|study| study.apply(&unstudied));
        let mut applied: Vec<SearchConfig> = applied.collect();
        if self.of == StudyOf::Game
            && let Some(whole) = applied.pop()
        {
            return whole.into();
        }
        MatchConfig {
            whole: config.clone(),
            parts: applied,
        }
    }

    /// The study of the whole game, if that was studied.
    pub fn of_game(&self) -> Option<&Study> {
        self.studies.first().filter(|_| self.of == StudyOf::Game)
    }

    /// Whether any study changes anything about a search.
    pub fn are_useful(&self) -> bool {
        self.studies.iter().any(Study::is_useful)
    }

    /// Whether any study changes more about a search than its structure does.
    pub fn have_learned(&self) -> bool {
        self.studies.iter().any(Study::has_learned)
    }

    /// The studies as logged. That of a part has its number, from 1.
    pub(crate) fn to_json(&self) -> Vec<Value> {
        let studies = self.studies.iter().zip(1..);
        let logged = studies.map(|(study, number)| {
            let mut logged = study.to_json();
            if self.of == StudyOf::Parts {
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
        let with = Study {
            parameters: Parameters::for_tests(),
            ..Study::default()
        };
        let without = Study::default();
        let learned = |of, studies: [&Study; 2]| {
            let studies = studies.map(Study::clone).to_vec();
            Studies::new(of, studies).have_learned()
        };
        assert!(learned(StudyOf::Parts, [&with, &with]));
        assert!(!learned(StudyOf::Parts, [&with, &without]));
        assert!(learned(StudyOf::Game, [&with, &without]));
    }
}
