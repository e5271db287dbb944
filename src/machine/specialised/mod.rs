//! The specialised game at full speed: legality and the end by counting, the next state by what each
//! move does.
//!
//! [`SpecialisedLayout`] is the game as flat arrays of bytes, `run` what one thread changes while it
//! plays, `signs` the tops of 64 bytes as one word, `work` what a layout costs in play. States
//! without a phase and joint moves that are not legal are left to [`super::counter`].
//!
//! Never knows: blocks, how a game was specialised, what a base or move means.

mod layout;
mod run;
mod signs;
#[cfg(test)]
mod tests;
mod work;

pub use layout::SpecialisedLayout;
pub(super) use run::{SpecialisedCounters, Stopped, place_of};
