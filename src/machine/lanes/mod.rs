//! The lanes engine: a game compiled to logic over vectors of bits, a bit for each of hundreds of
//! positions.
//!
//! [`compile`] turns a network into straight-line programs ([`program`]); two back-ends run those,
//! tables gone through by a loop ([`interpret`]) and machine code ([`native`]), bit for bit alike.
//! A [`gang`] plays with them, an [`expand`]er looks at positions, and [`machine`] puts both behind
//! the interface of every engine.
//!
//! Never knows: trees, threads, GDL text.

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
