//! The unfolded game at full speed: legality and the end by counting, the next state by what each
//! move does.
//!
//! [`UnfoldedLayout`] is the game as flat arrays of bytes, `run` what one thread changes while it
//! plays, `signs` the tops of 64 bytes as one word, `work` what a layout costs in play. States
//! without a phase and joint moves that are not legal are left to [`super::counter`].
//!
//! Never knows: blocks, how a game was unfolded, what a base or move means.

mod layout;
mod run;
mod signs;
#[cfg(test)]
mod tests;
mod work;

pub use layout::UnfoldedLayout;
pub(super) use run::{Stopped, UnfoldedCounters, place_of};
