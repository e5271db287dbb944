//! The metagame: what is learned about a game, and chosen for its search, under one budget.
//!
//! [`study`](study()) analyses the network ([`Structure`]), trains an evaluation by self-play and
//! tunes search settings in matches against each other.
//! [`MemoryService`] keeps it for later matches of the game, under whatever names.
//!
//! Invariants: a study ends in time, and what it has found by then counts. It changes the speed and
//! strength of the search, never legal moves or proven values.
//!
//! Never uses: messages, match threads, settings files.

mod move_order;
mod parameters;
mod structure;
mod contest;
pub mod sprt;
mod tuning;

mod study;

mod history;
mod memory;
mod notes;
mod plan_note;
mod team;
mod training;
mod curve;
mod member;
pub mod transfer;

pub use curve::curve;
pub use history::{GameHistory, term};
pub use member::Member;
pub use memory::{GameMemory, MatchMemory, MemoryService, RememberedMatch};
pub use move_order::{MoveOrder, move_order};
pub use notes::{evaluation_note, notes, prior_study, read_evaluation};
pub use parameters::Parameters;
pub use plan_note::PlanNote;
pub use structure::Structure;
pub use study::{PriorStudy, SampleSize, Study, StudyBudget, Trained, find_prospects, study};
pub use team::{Members, facts_hash};
pub use training::{Progress, RoundPlan, RoundReport, Test, Training};
pub use tuning::Trial;
