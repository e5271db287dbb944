#![doc = include_str!("../README.md")]
//!
//! Never uses: how they are served.

#![forbid(unsafe_code)]

/// Name and bytes of every page, script and style, sorted by name. A page that runs Panza as
/// WebAssembly has them already, so that there are none in the module.
#[cfg(target_family = "wasm")]
pub static FILES: &[(&str, &[u8])] = &[];

/// Name and bytes of every page, script and style, sorted by name.
#[cfg(not(target_family = "wasm"))]
pub static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));
