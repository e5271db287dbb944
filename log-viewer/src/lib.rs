#![doc = include_str!("../README.md")]
//!
//! Never uses: how they are served.

#![forbid(unsafe_code)]

/// Name and bytes of every page, script and style, sorted by name.
pub static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));
