//! The unfolded game at full speed: legality and the end by counting, the next state by what each move does.

mod layout;
mod run;
mod signs;
#[cfg(test)]
mod tests;
mod work;

pub use layout::UnfoldedLayout;
pub(super) use run::{Stopped, UnfoldedCounters, place_of};
