//! When an answer leaves: the deadlines of a match, and the margin before the end of its clocks.
//!
//! `deadlines` are computed from the clock of a message and a margin; `margin` learns how long
//! answers take on their way.
//!
//! Invariant: a margin takes at most half of a clock.
//!
//! Never uses: the time, which is handed in, so that tests own it; games, messages.

mod deadlines;
mod margin;

pub(crate) use deadlines::{Deadlines, build_until, deadlines, give_up_at};
pub(crate) use margin::Margin;
