//! Positions from which no solution exists.
//!
//! Every test here is sound: a position that it calls a deadlock has no solution.

pub mod corral;
pub mod freeze;
pub mod pi_corral;
