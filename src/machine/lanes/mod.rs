//! Lanes.
pub mod interpret;
pub mod memory;
pub mod native;
pub mod program;
