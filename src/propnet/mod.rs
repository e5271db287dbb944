//! The propositional network: a game as gates.
//!
//! Gates are conjunctions (and, inside recursion, disjunctions) over signals; a signal is a node of
//! the network, plain or inverted, so there are no gates that only negate and an OR is an inverted
//! AND of inverted inputs. Equal gates are one gate by construction. [`build`] makes the network of
//! a ground program, [`passes`] make it smaller, and [`phases`] gives a smaller one still for each
//! fact of a mutex group.
//!
//! Invariants of a [`Network`]: gates stand in an order in which every input comes before its user,
//! except inside a block; a block is a set of gates with consecutive ids that depend on each other,
//! all of whose inner edges are plain, and its meaning is the least fixpoint; every gate matters to
//! some output; no gate has a constant input, and none has fewer than two inputs except those that
//! came out of recursion.
//!
//! Never knows: playouts, threads, how gates are run.

mod build;
mod builder;
mod effects;
mod network;
mod part;
pub mod passes;
mod phases;
mod tidy;
mod unfold;

pub use build::{BuildError, build};
pub use effects::{Effects, Seen, effects};
pub use network::{Gate, GateKind, Network, Node, Signal};
pub use part::{Selection, part};
pub use phases::{
    MAX_MUTEX_GROUP, MutexGroup, Phases, Position, mutex_groups_by_form, phases, phases_of,
    shortlist,
};
pub use unfold::{Keyed, Unfolded, UnfoldedPhase, unfold};
