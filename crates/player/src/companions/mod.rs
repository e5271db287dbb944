//! Other processes that search the position of a match too, and both ends of what is said to them.
//!
//! `shared_search` is the end of the match: a search that adds what companions know of the moves at
//! the root. `companion` is the other end. `shared_target` is between them, in whatever reaches the
//! companions: what they are to search now, and what they have found.
//!
//! Invariants: estimates of another position or of other rules are not added; a companion that is
//! late or gone changes nothing.
//!
//! Never uses: how companions are reached, clocks of the match, so that threads, processes and
//! modules in a browser can all be companions.

mod shared_search;
mod shared_target;
mod companion;

pub use companion::Companion;
pub(crate) use shared_search::SharedSearch;
pub use shared_search::{Companions, SharedGame, SharedRoot};
pub use shared_target::{SearchedState, SharedTarget};
