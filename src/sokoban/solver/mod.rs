//! Solvers: searches for any solution.

pub mod features;
pub mod macros;
pub mod packing;
