//! Lanes.
pub mod interpret;
pub mod memory;
pub mod program;
