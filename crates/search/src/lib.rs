//! How moves are found: Monte Carlo search of a game graph, planning, and learned evaluations.
//!
//! [`search`] grows a graph of positions with rollout threads and proves values. [`planner`] finds
//! plans for games of one player. [`learning`] trains an evaluation by self-play, and
//! [`statistics`] are those of random games.
//!
//! Invariants: one thread writes a graph; the same game, seed and budget in iterations give the
//! same result with one thread.
//!
//! Never uses: GDL text, settings, clocks of a match, files, HTTP.

#![cfg_attr(test, allow(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

pub mod statistics;
pub mod learning;
pub mod search;
pub mod planner;
