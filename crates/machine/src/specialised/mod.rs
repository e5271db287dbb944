//! The engine of specialised games: legality and terminality by counters, the next state by the
//! effects of each move.
//!
//! `values` updates one thread's bytes, `run` plays with them, and `work` estimates the cost of a
//! layout. States without a phase and illegal joint moves are left to [`super::counter`].
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
