#![doc = include_str!("../README.md")]
//!
//! [`study`](study()) analyses the network ([`Structure`]), trains an evaluation by self-play and
//! tunes search settings in matches against each other.
//! `panza_memory` keeps it for later matches of the game, under whatever names.
//!
//! Invariants: a study ends in time, and what it has found by then counts. It changes the speed and
//! strength of the search, never legal moves or proven values.
//!
//! Never uses: messages, match threads, settings files.

#![forbid(unsafe_code)]

mod move_order;
mod parameters;
mod structure;
mod contest;
pub mod sprt;
mod tuning;

mod study;

mod notes;
mod team;
mod training;
mod curve;
mod member;
pub mod transfer;

pub use curve::curve;
pub use member::Member;
pub use move_order::{MoveOrder, move_order};
pub use notes::{evaluation_note, notes, prior_study, read_evaluation};
pub use parameters::Parameters;
pub use structure::Structure;
pub use study::{PriorStudy, SampleSize, Study, StudyBudget, Trained, find_prospects, study};
pub use team::{Members, facts_hash};
pub use training::{Progress, RoundPlan, RoundReport, Test, Training};
pub use tuning::Trial;
