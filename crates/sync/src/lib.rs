#![doc = include_str!("../README.md")]
//!
//! One thread writes the game graph and several run playouts. They communicate over
//! [`mod@ring`]s, one pair per rollout thread, so a playout never takes a lock. [`stop`]
//! ends the threads together and lets an idle one sleep without missing a wake-up;
//! [`pinning`] keeps each on a core of its own when there are cores to spare. [`mod@table`] is a
//! hash table for all threads, and [`claims`] says what they work on. [`pages`] allocates memory in
//! huge pages; [`budget`] says what work may cost; [`allocator`] gives freed memory back; [`clock`]
//! has the clocks, which WebAssembly has from its host; [`Stopwatch`] measures processor time.
//!
//! Invariants: every end of a ring is held by exactly one thread at a time
//! (the types enforce it), and every wait ends when the stop flag is set.
//!
//! Never uses: games, settings. Only [`budget`] and [`Stopwatch`] compare the time with a limit.
//!
//! # Models
//!
//! Rings, the table and stopping reach atomics, cells and parking through `primitives`,
//! which exports loom's when the crate is built with `--cfg panza_loom`. The
//! models in `loom_models` then run every interleaving there is:
//!
//! ```text
//! RUSTFLAGS="--cfg panza_loom" cargo test --package panza-sync --lib --target-dir target/loom
//! ```

pub(crate) mod primitives;

pub mod allocator;
pub mod budget;
pub mod claims;
pub mod clock;
mod ended;
pub mod pages;
pub mod pinning;
pub mod random;
pub mod ring;
pub mod stop;
mod stopwatch;
pub mod table;
mod threads;

pub use threads::{
    HAS_THREADS, catch_panic, in_same_span, in_threads, lock, spawn, spawn_deep, spawn_scoped,
    unpoisoned,
};

pub use budget::{Budget, after, is_past, left_until};
pub use claims::Claims;
pub use clock::{Instant, SystemTime, UNIX_EPOCH, thread_cpu_time};
pub use ended::{EndedThread, ended_threads};
pub use pinning::CoreId;
pub use random::Random;
pub use ring::{Consumer, Producer, ring};
pub use stop::{StopFlag, Waited, Waiter, Waker};
pub use stopwatch::Stopwatch;
pub use table::Table;

#[cfg(all(test, panza_loom))]
mod loom_models;
