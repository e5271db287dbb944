//! The engine of specialised games: legality and terminality by counters, the next state by the
//! effects of each move.
//!
//! `values` updates one thread's bytes, `run` plays with them, and `work` estimates the cost of a
//! layout. States without a phase and illegal joint moves are left to [`super::counter`].
//!
//! # One step
//!
//! Every node is one byte: bases, gates and leaves. The top bit is the value. Below it a gate
//! counts its inputs, and the lowest bit is the value last propagated. A step draws a legal move
//! for each role: legality is stored in rows of 64 leaves, whose top bits form one word, and the
//! n-th set bit is taken. The next state starts as the current one under masks. Bases that depend
//! on several roles' moves are read from rows of leaves, keys that are on clear and set the bases
//! that depend on them, and each drawn move applies its list of effects: masks for constants,
//! copies for bases that take another base's value, computed signals for the rest. The mutex group
//! of the new state selects the next phase. Each base that flipped then adds to or subtracts from
//! the counters of its users, and gates whose top bit changed propagate further. Only what decides
//! legality and terminality is kept up to date; goals and effects are computed on demand.
//!
//! These cases run on the counters of the whole network, where a flip adds one to each user's
//! counter, flipped components wait in a bit set that is scanned upwards, and a block whose
//! support is withdrawn is derived again:
//!
//! - games with recursion inside a state (blocks), with too many effects, or with gates too deep
//!   to be computed on demand;
//! - states in which the mutex group is broken, since groups are found by playing;
//! - joint moves that are not legal, since phases assume legal ones.
//!
//! A playout draws the n-th of a role's legal moves in the order of their numbers, roles in order,
//! on every engine, so the same seed gives the same playout.
//!
//! # What holds
//!
//! Never uses: blocks, how a game was specialised, what a base or move means.

mod bits;
mod layout;
mod phase;
mod run;
#[cfg(test)]
mod tests;
mod values;
mod work;

pub use layout::SpecialisedLayout;
pub(super) use phase::{only_true, phase_of_group};
pub(super) use run::{Stopped, move_index};
pub(super) use values::SpecialisedCounters;
pub use work::work;
