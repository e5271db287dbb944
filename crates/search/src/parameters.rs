//! The settings of a search, and the table of those that are numbers.
//!
//! Each is declared once, below: documentation, name, type, default, range, and what a preparation
//! of the game does with it. The declaration makes a field of [`SearchConfig`], or of its part for
//! alpha-beta, and a row of [`PARAMETERS`]. The searches read the fields; who knows a parameter by
//! its name (engines of duels and their help, companions, Python) reads the rows.

use std::sync::Arc;

use super::values::AlphaBetaValues;
use super::why_tree::WhyTree;
use panza_analysis::{Placements, ScoreRange};
use panza_learning::Evaluation;

/// Which of the two searches plays a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// What games of both have shown in a preparation of the game; without one the tree.
    Auto,
    /// The tree, also called MCTS.
    Tree,
    /// Alpha-beta, where it applies and its values were trained.
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

    /// Whether alpha-beta plays, where it has values: if it was found to be the stronger search, or
    /// is asked for.
    pub fn plays_alpha_beta(self, is_stronger: bool) -> bool {
        match self {
            Self::Auto => is_stronger,
            Self::Tree => false,
            Self::AlphaBeta => true,
        }
    }

    /// What its searches count as steps, in the singular.
    pub fn step(self) -> &'static str {
        match self {
            Self::Auto | Self::Tree => "iteration",
            Self::AlphaBeta => "node",
        }
    }

    /// The steps that take about as long as an iteration of the tree.
    pub fn steps_an_iteration(self) -> u64 {
        match self {
            Self::Auto | Self::Tree => 1,
            Self::AlphaBeta => 5,
        }
    }

    /// The method of this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// The usual [`minimax_share`](SearchConfig::minimax_share) where an evaluation has weight.
pub const MINIMAX_SHARE: f32 = 0.3;

/// What a preparation of a game does with a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PreparationEffect {
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
    /// What a preparation of the game does with it.
    pub preparation: PreparationEffect,
    get: fn(&SearchConfig) -> f64,
    set: fn(&mut SearchConfig, f64),
}

impl Parameter {
    /// The parameter of this name.
    pub fn find(name: &str) -> Option<&'static Parameter> {
        PARAMETERS.iter().find(|it| it.name == name)
    }

    /// Those that a preparation changes.
    pub fn of_preparation() -> impl Iterator<Item = &'static Parameter> {
        let is_chosen = |it: &&Parameter| it.preparation != PreparationEffect::None;
        PARAMETERS.iter().filter(is_chosen)
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
            $name:ident: $type:ty = $default:expr, $least:literal..=$most:literal,
                $preparation:ident;
        )+}
        alpha_beta {$(
            $(#[doc = $own_doc:literal])+
            $own:ident: $own_type:ty = $own_default:expr, $own_least:literal..=$own_most:literal;
        )+}
        others {$($(#[$meta:meta])+ $other:ident: $other_type:ty = $other_default:expr;)+}
    ) => {
        /// The settings of one search.
        #[derive(Clone, Debug)]
        pub struct SearchConfig {
            $($(#[doc = $doc])+ pub $name: $type,)+
            /// Those of alpha-beta alone.
            pub alpha_beta: AlphaBetaParameters,
            $($(#[$meta])+ pub $other: $other_type,)+
            /// Seed of all random numbers.
            pub seed: u64,
        }

        /// The settings of alpha-beta alone. 0 switches a part of the search off.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub struct AlphaBetaParameters {
            $($(#[doc = $own_doc])+ pub $own: $own_type,)+
        }

        /// Every setting of a search that is a number.
        pub static PARAMETERS: &[Parameter] = &[
            $(search_config!(@row $type, $name, concat!($($doc),+), $least, $most, $default,
                $preparation, $name),)+
            $(search_config!(@row $own_type, $own, concat!($($own_doc),+), $own_least, $own_most,
                $own_default, None, alpha_beta.$own),)+
        ];

        impl SearchConfig {
            /// A reproducible search on the calling thread, one playout a request, no analysis of
            /// the game. All others start from it: tests, benchmarks, and matches with the user's
            /// settings.
            pub fn deterministic(seed: u64) -> Self {
                Self {
                    $($name: $default,)+
                    alpha_beta: AlphaBetaParameters::USUAL,
                    $($other: $other_default,)+
                    seed,
                }
            }
        }

        impl AlphaBetaParameters {
            /// The defaults.
            pub const USUAL: Self = Self { $($own: $own_default,)+ };
        }
    };
    (@row $type:ty, $name:ident, $doc:expr, $least:literal, $most:literal, $default:expr,
        $preparation:ident, $($field:ident).+) => {
        Parameter {
            name: stringify!($name),
            doc: $doc,
            least: $least as f64,
            most: $most as f64,
            is_whole: (0.5 as $type) as f64 == 0.0,
            default: ($default as $type) as f64,
            preparation: PreparationEffect::$preparation,
            get: |config| config.$($field).+ as f64,
            set: |config, value| config.$($field).+ = value as $type,
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
    alpha_beta {
        /// Plies of quiescence search; 0 takes static values at depth 0.
        quiescence: i32 = 6, 0..=100;
        /// Late moves are searched to less depth first: a factor on the plies.
        reductions: f32 = 1.0, 0..=100;
        /// Late moves of little promise are left out near the leaves: a factor on the moves that
        /// are not.
        late_pruning: f32 = 1.0, 0..=100;
        /// Reverse futility: near the leaves a node is cut where its static score exceeds beta by
        /// this factor times the usual change of the score by a move, times the depth.
        reverse_futility: f32 = 1.0, 0..=100;
        /// Futility: near the leaves a move is left out whose static score is below alpha by this
        /// factor times the usual change of the score by a move, times the depth.
        futility: f32 = 2.0, 0..=100;
        /// Probcut: a node is cut where a shallow search of a promising move exceeds beta by this
        /// factor times the usual change of the score by a move.
        probcut: f32 = 2.0, 0..=100;
        /// Singular extension: the table's move is searched deeper where shallow searches find all
        /// others worse by this factor times the usual change of the score by a move.
        singular: f32 = 1.0, 0..=100;
        /// The weight of what a move earned after the move before it, beside what it earned
        /// anywhere.
        continuation: f32 = 1.0, 0..=100;
        /// Whether a deep node that the table knows no move of is searched a ply less.
        unknown_move: i32 = 1, 0..=1;
        /// Plies by which moves are reduced more where the mover's static score has not risen since
        /// its last turn, and less where a move has a good history.
        trend: f32 = 1.0, 0..=100;
        /// Whether entries of a greater depth count for a smaller one, and positions that repeat on
        /// a path are draws. Without both a search is plain minimax with the same results.
        sharing: i32 = 1, 0..=1;
        /// Whether the evaluation is trained further on the time of the opponent.
        training: i32 = 1, 0..=1;
        /// Bytes of the table, at most. It takes no more than a quarter of `max_bytes`.
        table_bytes: usize = 128 << 20, 0..=1_000_000_000_000_000_u64;
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
        /// Which search plays: see [`start`](super::start).
        method: Method = Method::Tree;
        /// The values of alpha-beta, which then plays in place of the tree, or why there are none.
        alpha_beta_values: Result<AlphaBetaValues, WhyTree> = Err(WhyTree::NotTrained);
    }
}

impl SearchConfig {
    /// Whether the search is the tree, in every game.
    pub fn is_of_tree(&self) -> bool {
        match self.method {
            Method::Tree => true,
            Method::Auto => self.suited() == Method::Tree,
            Method::AlphaBeta => false,
        }
    }

    /// The search that these settings have values for: the tree or alpha-beta.
    pub fn suited(&self) -> Method {
        match &self.alpha_beta_values {
            Ok(_) => Method::AlphaBeta,
            Err(_) => Method::Tree,
        }
    }

    /// The settings with the values of alpha-beta of others, which are of the same machine.
    #[must_use]
    pub fn with_values_of(self, learned: &SearchConfig) -> Self {
        Self {
            alpha_beta_values: learned.alpha_beta_values.clone(),
            ..self
        }
    }

    /// The settings without what is known about states and moves of one machine, for another.
    pub fn for_other_machine(&self) -> Self {
        Self {
            evaluation: None,
            evaluation_share: 0.0,
            score_ranges: Arc::from([]),
            placements: None,
            alpha_beta_values: Err(WhyTree::NotTrained),
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
