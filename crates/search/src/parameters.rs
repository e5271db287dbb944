//! The settings of a search, and the table of those that are numbers.
//!
//! Each is declared once, below: documentation, name, type, default, range, and what a study of the
//! game does with it. The declaration makes a field of [`SearchConfig`] and a row of
//! [`PARAMETERS`]. The search reads the fields; who knows a parameter by its name (engines of duels
//! and their help, companions, Python) reads the rows.

use std::sync::Arc;

use super::alpha_beta::{DepthValues, Switches};
use panza_analysis::{Placements, ScoreRange};
use panza_learning::Evaluation;

/// Which of the two searches plays a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// What a study of the game chooses; without one the tree.
    Auto,
    /// The tree, also called MCTS.
    Tree,
    /// Alpha-beta, where it applies and a study has trained its values.
    AlphaBeta,
}

impl Method {
    /// All methods, in the order of their names in settings.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Tree, Self::AlphaBeta];

    /// The name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Tree => "tree",
            Self::AlphaBeta => "alpha-beta",
        }
    }

    /// The method of this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// The usual [`minimax_share`](SearchConfig::minimax_share) where an evaluation has weight.
pub const MINIMAX_SHARE: f32 = 0.3;

/// What a study of a game does with a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StudyEffect {
    /// It leaves it as it is.
    None,
    /// It multiplies it.
    Scales,
    /// It chooses the value.
    Chooses,
}

/// A setting of a search that is a number.
#[derive(Debug)]
pub struct Parameter {
    /// Its name: that of the field of [`SearchConfig`].
    pub name: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// The least value.
    pub least: f64,
    /// The greatest value.
    pub most: f64,
    /// Whether it is a whole number.
    pub is_whole: bool,
    /// Its value in [`SearchConfig::deterministic`].
    pub default: f64,
    /// What a study of the game does with it.
    pub study: StudyEffect,
    get: fn(&SearchConfig) -> f64,
    set: fn(&mut SearchConfig, f64),
}

impl Parameter {
    /// The parameter of this name.
    pub fn find(name: &str) -> Option<&'static Parameter> {
        PARAMETERS.iter().find(|it| it.name == name)
    }

    /// Those that a study changes.
    pub fn studied() -> impl Iterator<Item = &'static Parameter> {
        let is_studied = |it: &&Parameter| it.study != StudyEffect::None;
        PARAMETERS.iter().filter(is_studied)
    }

    /// Its value.
    pub fn get(&self, config: &SearchConfig) -> f64 {
        (self.get)(config)
    }

    /// Sets it to a value that it [allows](Parameter::allows).
    pub fn set(&self, config: &mut SearchConfig, value: f64) {
        debug_assert!(self.allows(value), "{} is {value}", self.name);
        (self.set)(config, value);
    }

    /// Whether a value is in its range.
    pub fn allows(&self, value: f64) -> bool {
        (self.least..=self.most).contains(&value) && !(self.is_whole && value.fract() != 0.0)
    }

    /// What it allows, for errors and help.
    pub fn range(&self) -> String {
        let whole = if self.is_whole { "whole, " } else { "" };
        format!("{whole}{} to {}", self.least, self.most)
    }

    /// The value that a text names.
    ///
    /// # Errors
    /// It is no number, or out of range.
    pub fn read(&self, text: &str) -> Result<f64, String> {
        let value = text.parse().ok().filter(|&value| self.allows(value));
        value.ok_or_else(|| format!("{} is `{text}`; expected {}", self.name, self.range()))
    }
}

macro_rules! search_config {
    (
        parameters {$(
            $(#[doc = $doc:literal])+
            $name:ident: $type:ty = $default:expr, $least:literal..=$most:literal, $study:ident;
        )+}
        others {$($(#[$meta:meta])+ $other:ident: $other_type:ty = $other_default:expr;)+}
    ) => {
        /// The settings of one search.
        #[derive(Clone, Debug)]
        pub struct SearchConfig {
            $($(#[doc = $doc])+ pub $name: $type,)+
            $($(#[$meta])+ pub $other: $other_type,)+
            /// Seed of all random numbers.
            pub seed: u64,
        }

        /// Every setting of a search that is a number.
        pub static PARAMETERS: &[Parameter] = &[$(Parameter {
            name: stringify!($name),
            doc: concat!($($doc),+),
            least: $least as f64,
            most: $most as f64,
            is_whole: (0.5 as $type) as f64 == 0.0,
            default: ($default as $type) as f64,
            study: StudyEffect::$study,
            get: |config| config.$name as f64,
            set: |config, value| config.$name = value as $type,
        }),+];

        impl SearchConfig {
            /// A reproducible search on the calling thread, one playout a request, no analysis of
            /// the game. All others start from it: tests, benchmarks, and matches with the user's
            /// settings.
            pub fn deterministic(seed: u64) -> Self {
                Self {
                    $($name: $default,)+
                    $($other: $other_default,)+
                    seed,
                }
            }
        }
    };
}

search_config! {
    parameters {
        /// Weight of the exploration term `sqrt(ln N / n)` in units of twice the spread of results;
        /// usually 0.2 to 1. Higher spreads the visits over more moves, lower deepens the best
        /// line. Where moves have priors, the term is that of PUCT in units of ten times the
        /// spread. Games of one role and of simultaneous moves have UCB1-Tuned, in units of 100
        /// points.
        exploration: f32 = 0.4, 0..=1000, Scales;
        /// First-play urgency where moves have no priors: an untried move is scored with its static
        /// value or the mean of its node, and this many visits. 0 tries every move once before any
        /// move twice; higher values follow good moves sooner.
        first_play_visits: f32 = 1.0, 0..=1_000_000, None;
        /// Weight of the minimax value against the mean in the value of a move. Without an
        /// evaluation it is 0.
        minimax_share: f32 = 0.0, 0..=1, Chooses;
        /// Temperature of the softmax that makes priors of static values, in points. 0: no priors.
        prior_temperature: f32 = 0.0, 0..=1000, Chooses;
        /// Weight of the evaluation against playouts. At 1 nothing is played out. Without an
        /// evaluation it is 0.
        evaluation_share: f32 = 0.0, 0..=1, Chooses;
        /// Weight of AMAF values: playouts through a move after which its AMAF value counts as much
        /// as its own results, at most.
        amaf_playouts: f32 = 200.0, 0..=1_000_000, None;
        /// Expansions of the proof-number search for each iteration, in games of two roles without
        /// chance; 0 leaves it out.
        proof_effort: f32 = 0.0, 0..=1000, None;
        /// Greatest number of nodes.
        max_nodes: u32 = 1 << 20, 2..=4_294_967_295_u32, None;
        /// Greatest number of bytes of the graph; nodes with their states get at most half of it.
        /// Every pool may hold 1024 records regardless. The table of the proof-number search takes
        /// up to a sixteenth more.
        max_bytes: usize = 1 << 30, 0..=1_000_000_000_000_000_u64, None;
        /// A playout is cut off after this many joint moves and scored by the goals of its last
        /// state.
        max_playout_steps: u32 = 10_000, 0..=4_294_967_295_u32, None;
        /// Playouts averaged into one result. 0 adapts the number to the rollout threads. Without
        /// them it is a minimum: while few requests may be in flight, each asks for more to fill
        /// the lanes.
        samples_per_request: u32 = 1, 0..=4_294_967_295_u32, None;
        /// Rollout threads beside the writer. 0 lets the writer run the playouts,
        /// deterministically.
        rollout_threads: usize = 0, 0..=1024, None;
    }
    others {
        /// Whether the writer and the rollout threads are pinned to cores, where there are more
        /// cores than threads.
        pin_threads: bool = false;
        /// The evaluation function learned for this game, which gives moves their static values.
        evaluation: Option<Arc<Evaluation>> = None;
        /// Goal ranges that follow from settled facts (latches). Wrong ranges make proofs wrong.
        score_ranges: Arc<[ScoreRange]> = Arc::from([]);
        /// The lasting facts that moves make true, for AMAF values. Searches with priors have none.
        placements: Option<Arc<Placements>> = None;
        /// Which search plays; this one is the tree whatever it says.
        method: Method = Method::Tree;
        /// The parts of alpha-beta.
        switches: Switches = Switches::default();
        /// The values of alpha-beta, which then plays in place of the tree.
        depth_values: Option<DepthValues> = None;
    }
}

impl SearchConfig {
    /// The settings without what is known about states and moves of one machine, for another.
    pub fn for_other_machine(&self) -> Self {
        Self {
            evaluation: None,
            evaluation_share: 0.0,
            score_ranges: Arc::from([]),
            placements: None,
            depth_values: None,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_is_documented_and_can_be_set() {
        for parameter in PARAMETERS {
            let Parameter {
                name, least, most, ..
            } = *parameter;
            let mut config = SearchConfig::deterministic(1);
            assert_eq!(parameter.get(&config), parameter.default, "{name}");
            assert!(parameter.allows(parameter.default), "{name}");
            assert!(
                parameter.doc.starts_with(' ') && parameter.doc.ends_with('.'),
                "{name}"
            );
            for value in [least, most, least.midpoint(most).floor()] {
                parameter.set(&mut config, value);
                assert_eq!(parameter.get(&config), value, "{name}");
            }
            for text in ["", "much", "NaN", "-1", "1e16"] {
                assert!(parameter.read(text).is_err(), "{name} {text}");
            }
            assert_eq!(
                parameter.read("2.5").is_ok(),
                !parameter.is_whole && most > 2.5,
                "{name}"
            );
        }
        let share = Parameter::find("evaluation_share").unwrap();
        let error = "evaluation_share is `2`; expected 0 to 1";
        assert_eq!(share.read("2"), Err(error.to_string()));
    }
}
