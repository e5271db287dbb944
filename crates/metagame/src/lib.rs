#![doc = include_str!("../README.md")]
//!
//! [`prepare`] analyses the network ([`Structure`]), trains an evaluation by self-play and
//! chooses settings of the search from what it predicts. `panza_memory` keeps it for later matches
//! of the game, under whatever names.
//!
//! # A preparation, and long training
//!
//! A preparation analyses the network first; a search that already runs gets the structure then
//! ([`begin_preparation`] and [`finish_preparation`] are the two parts). Where the preparation
//! learns, it trains an evaluation by self-play and averages its weights.
//!
//! The averaged weights are validated on games outside the training set, with one position of
//! each. How well evaluations predict results, beside playouts without their noise, gives the
//! weight of the evaluation, drawn towards the usual one where results tell little. An evaluation
//! that predicts results at all gives a prior, which takes the place of AMAF values. What was found
//! is stored, and the search starts again with it. Where a match searches the reduced game or parts
//! of a game, these are prepared in its place (`panza_player`).
//!
//! Where two roles take turns and the sum of their goals is fixed, the tree trains in half of the
//! time, and alpha-beta in three quarters of what is left then, by games of its own searches. Fast
//! games of alpha-beta against the tree then choose which of them plays, unless the settings do,
//! beside features of the game (`choice`).
//!
//! `metagame::training` trains for hours, in rounds. A round is self-play
//! (`panza_learning`) and games against the best generation so far, which a sequential test
//! decides (`metagame::sprt`). All that training goes on with is kept as notes. A match with such
//! notes uses the best generation and its settings and trains nothing.
//!
//! # What holds
//!
//! Invariants: a preparation ends in time, and what it has found by then counts. It changes the
//! speed and strength of the search, never legal moves or proven values.
//!
//! Never uses: GGP messages, match threads, settings files.

#![forbid(unsafe_code)]

mod alpha_beta;
mod parameters;
mod structure;
mod contest;
mod choice;
pub mod sprt;

mod preparation;

mod notes;
mod remembered;
mod team;
mod alpha_beta_training;
mod training;
mod curve;
mod member;
pub mod transfer;

pub use alpha_beta::AlphaBetaPreparation;
pub use alpha_beta_training::AlphaBetaProgress;
pub use choice::AgainstTree;
pub use curve::curve;
pub use member::Member;
pub use notes::{
    evaluation_note, notes, prior_preparation, read_evaluation, whole_preparation_notes,
};
pub use panza_learning::statistics::SampleSize;
pub use parameters::{Parameters, most_share};
pub use preparation::{
    Preparation, PreparationBudget, PriorPreparation, Trained, WithoutInputs, begin_preparation,
    find_prospects, finish_preparation, prepare,
};
pub use remembered::{history, remembered};
pub use structure::Structure;
pub use team::{Members, facts_hash};
pub use training::{Progress, RoundPlan, RoundReport, Test, Training};
