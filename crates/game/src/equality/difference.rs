//! What a comparison says.

use panza_gdl::Span;
use thiserror::Error;

use crate::error::BuildError;
use crate::evidence::Evidence;

/// Whether names matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Naming {
    /// Games that differ in names alone are equal.
    #[default]
    Any,
    /// Roles and moves must have the same names.
    Same,
}

/// What differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aspect {
    /// The roles.
    Roles,
    /// The legal moves of a role.
    Legal,
    /// The facts of a state.
    Facts,
    /// Whether a state ends the game.
    Terminal,
    /// The goal of a role at an end.
    Goal,
}

impl Aspect {
    /// `roles`, `legal`, `facts`, `terminal` or `goal`.
    pub fn as_str(self) -> &'static str {
        match self {
            Aspect::Roles => "roles",
            Aspect::Legal => "legal",
            Aspect::Facts => "facts",
            Aspect::Terminal => "terminal",
            Aspect::Goal => "goal",
        }
    }
}

/// A difference of two games.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// What differs.
    pub aspect: Aspect,
    /// Whose legal moves or goal, by its name in the first game.
    pub role: Option<String>,
    /// What the first game alone has: roles, moves or facts, the goal, or `true` for an end.
    pub first: Vec<String>,
    /// What the second game alone has.
    pub second: Vec<String>,
    /// The position, in the names and role order of the first game.
    pub evidence: Evidence,
    /// The statements of the two rulesheets that make the difference, where that can be told.
    pub statements: [Option<Span>; 2],
}

/// The result of a comparison.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Comparison {
    /// The first difference seen.
    pub difference: Option<Difference>,
    /// Whether all states were seen, or the rules are the same up to names and order.
    pub is_exhaustive: bool,
    /// States that were compared.
    pub states: u64,
    /// Random games that were played.
    pub games: u64,
}

/// Why two games cannot be compared.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CompareError {
    /// A game cannot be built.
    #[error("the {which} game cannot be played: {why}")]
    Unplayable {
        /// `first` or `second`.
        which: &'static str,
        /// Why.
        why: BuildError,
    },
    /// No names in common.
    #[error(
        "{role} has no move of the same name in the two games at the start, and their rules differ in more than names, so that moves cannot be matched"
    )]
    NoCommonNames {
        /// The role in the first game.
        role: String,
    },
}
