//! The memory of games that are built for tables, previews and trials.
//!
//! Rules may explode while they are grounded, so all builds together have [`ALL_BYTES`] at most:
//! one table builds at a time, and [`PREVIEWS`] previews; a trial takes the place of one of them. A
//! game without a network is evaluated by the prover, which keeps what it has derived; each has
//! [`PROVER_BYTES`].
//!
//! Never uses: what is built.

/// Bytes of all builds at the same time.
pub const ALL_BYTES: usize = 640 << 20;
/// Previews and trials that are built at the same time.
pub const PREVIEWS: usize = 2;
/// Bytes of the build of a preview.
pub const PREVIEW_BYTES: usize = 96 << 20;
/// Bytes of the build of a trial: beside the game there is a prover, which has as many.
pub const TRIAL_BYTES: usize = PREVIEW_BYTES / 2;
/// Bytes of the build of a table.
pub const TABLE_BYTES: usize = ALL_BYTES - PREVIEWS * PREVIEW_BYTES;
/// Bytes of a prover in place of a network.
pub const PROVER_BYTES: usize = 48 << 20;
