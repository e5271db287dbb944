//! Lanes.
mod code;
pub mod compile;
pub mod gang;
pub mod interpret;
pub mod memory;
pub mod native;
pub mod program;
mod rank;
