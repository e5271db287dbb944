//! The lanes engine: bit-parallel simulation of hundreds of positions, one bit of a vector each.
//!
//! [`compile`] turns a network into straight-line programs ([`program`]). Two back-ends run them
//! with identical results: a table interpreter ([`interpret`]) and machine code ([`native`]). A
//! [`gang`] plays with them, an [`expand`]er evaluates positions, and [`machine`] implements the
//! traits of all engines with both.
//!
//! Never uses: trees, threads, GDL text.

mod code;
pub mod compile;
pub mod expand;
pub mod gang;
pub mod interpret;
pub mod machine;
pub mod memory;
pub mod native;
pub mod program;
mod rank;
mod transpose;

pub use transpose::transpose;
