//! What the conductor and the threads of a match both hold.
//!
//! `match_setup` is what a match is started with: the rules, our `role`, the settings, the
//! `record` of the match. The `link` carries orders and moves to the threads and advice back. A
//! `position` is made by each thread that follows the moves.
//!
//! Invariants: no source of advice holds up another; threads that follow the same moves reach the
//! same state.
//!
//! Never uses: the phases of the conductor, engines, companions, so that each side can be read and
//! tested without the other.

mod role;
mod position;
mod link;
mod record;
mod match_setup;

pub(crate) use link::{Advice, FollowerLink, Link, Order, StopFlags, WorkerLink};
pub(crate) use match_setup::{MatchSetup, StartMatch};
pub use position::Position;
pub use record::Record;
pub(crate) use record::build_name;
pub use role::OurRole;
