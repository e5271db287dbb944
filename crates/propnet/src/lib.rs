#![doc = include_str!("../README.md")]
//!
//! Gates are conjunctions (and, inside recursion, disjunctions) over signals. A signal is a node of
//! the network, plain or inverted, so no gate only negates, and an OR is by De Morgan's law an
//! inverted AND of inverted inputs. Equal gates are one gate by construction. [`build`] makes the
//! network of a ground program, [`passes`] shrink it, and [`phases`] gives a smaller network for
//! each fact of a mutex group.
//!
//! Invariants of a [`Network`]: gates are in topological order, inputs before users, except inside
//! a block. A block is a strongly connected component of several gates; they have consecutive ids,
//! all edges inside are plain, and its meaning is the least fixpoint. Every gate is in the cone of
//! influence of some output. No gate has a constant input, and none has fewer than two inputs,
//! except gates that come from recursion.
//!
//! Never uses: playouts, threads, how gates are run.

#![cfg_attr(test, allow(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

mod build;
mod builder;
mod copy;
mod effects;
mod network;
mod normalise;
mod pack;
mod part;
pub mod passes;
mod phases;
mod relaxation;
mod specialise;

pub use build::build;
pub use builder::NetworkError;
pub use effects::{Effects, VisitedNodes, effects};
pub use network::{Gate, GateKind, Network, Node, Signal};
pub use pack::{BinaryField, packed};
pub use part::{LimitedMoves, Selection, part};
pub use passes::{Pass, PassSet, optimise, optimise_with};
pub use phases::{
    MAX_MUTEX_GROUP, MutexGroup, Phases, PlayedPosition, mutex_groups_by_form, phases, phases_of,
    shortlist,
};
pub use relaxation::{append_relaxed, relaxation};
pub use specialise::{KeyedUpdate, SpecialisedGame, SpecialisedPhase, specialise};
