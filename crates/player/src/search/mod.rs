//! What chooses moves in a match: a trait, its searches, and which of them a game prefers.
//!
//! `match_searcher` is the trait. `whole_search` searches the whole game by the tree or by
//! alpha-beta. The others stand before it: `plan_search` in games of one role, `reduced_search` and
//! `factored_search` where the game has a reduced game or parts, `chance_player` for the chance
//! role, `flat_search` where the rest has failed. `preferred` chooses. `preparations` is what is
//! learned before a match for what is searched.
//!
//! Invariant: only legal moves of the whole game are chosen.
//!
//! Never uses: messages, the clock of a match, companions, so that tables, studies of positions and
//! other processes search as a match does.

mod match_searcher;
mod preparations;
mod whole_search;
mod factored_search;
mod flat_search;
mod chance_player;
mod plan_search;
mod reduced_search;
mod preferred;

#[cfg(test)]
pub(crate) use factored_search::tests::ROWS;
pub use match_searcher::{Effort, MatchSearcher, PlanStatus};
pub(crate) use plan_search::{KnownPlan, known_plan};
pub(crate) use preferred::SearchKind;
pub use preferred::{preferred_search, prepared_search};
pub use preparations::{MatchConfig, PreparationOf, Preparations};
pub use whole_search::{search_config, whole_search};
