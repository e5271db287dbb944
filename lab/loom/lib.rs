//! The module `sync` by itself, so that `scripts/loom` compiles neither the rest of the crate nor
//! its dependencies. Without `--cfg panza_loom` it is empty.
#![cfg(panza_loom)]

#[path = "../../src/sync/mod.rs"]
pub mod sync;
