//! `panza-mpi train`: `panza train` with the other ranks in place of threads.
//!
//! Rank 0 has the memory, validates, and decides tests. The weights go to all workers; each plays
//! and trains for a part of a round, and rank 0 goes on with the means. Workers also play the pairs
//! of tests.
//!
//! Never uses: the memory on other ranks.

use std::time::Duration;

use panza::commands::train::{self, TrainArguments};
use panza_cli::{Outcome, Output};
use panza_metagame::{Member, Members};

use crate::pool::Pool;
use crate::worker::Obey;

impl Members for Pool {
    fn count(&self) -> usize {
        self.n_workers()
    }

    fn ask(&self, member: usize, order: &[u8], patience: Duration) -> Option<Vec<u8>> {
        self.begin(member, order.to_vec())
            .wait(Some(patience))
            .inspect_err(report)
            .ok()
    }

    fn ask_all(&self, orders: Vec<Vec<u8>>, patience: Duration) -> Vec<Option<Vec<u8>>> {
        let asked = orders.into_iter().enumerate();
        let asked: Vec<_> = asked
            .map(|(member, order)| self.begin(member, order))
            .collect();
        let until = std::time::Instant::now() + patience;
        let replies = asked.into_iter().map(|call| {
            let left = until.saturating_duration_since(std::time::Instant::now());
            call.wait(Some(left)).inspect_err(report).ok()
        });
        replies.collect()
    }
}

/// A worker that fails or is late costs its part of the work.
fn report(error: &anyhow::Error) {
    tracing::warn!("left out: {error:#}");
}

/// Trains.
///
/// # Errors
/// Arguments, settings or the game cannot be used.
pub fn lead(arguments: &TrainArguments, output: Output, pool: &Pool) -> anyhow::Result<Outcome> {
    panza_cli::interrupt::listen()?;
    train::run_with(arguments, output, Some(pool))
}

impl Obey for &mut Member<'_> {
    fn obey(&mut self, request: &[u8]) -> anyhow::Result<Vec<u8>> {
        Member::obey(self, request).map_err(anyhow::Error::msg)
    }
}
