//! `panza-mpi duel`: `cargo lab duel` with each pair on another rank.
//!
//! Rank 0 has the file of pairs and the test. A worker has engines of its own for all games. The
//! seeds of a pair are those of `cargo lab duel`, so with a budget in iterations the results are
//! the same.
//!
//! Never uses: the file of pairs on other ranks.

use std::collections::VecDeque;
use std::thread;

use anyhow::Context;
use panza_cli::{Outcome, Output};
use panza_lab::duel;
use panza_lab::duel::{Duel, DuelArguments, PairOrder, PairRecord, PairSource};

use crate::pool::{Begun, Pool};
use crate::wire::Pause;
use crate::worker::Obey;

/// Runs the duel.
///
/// # Errors
/// Arguments cannot be used, or a worker failed.
pub fn lead(arguments: &DuelArguments, output: Output, pool: &Pool) -> anyhow::Result<Outcome> {
    let mut elsewhere = Elsewhere {
        pool,
        orders: VecDeque::new(),
        playing: (0..pool.n_workers()).map(|_| None).collect(),
    };
    duel::run_elsewhere(arguments, output, &mut elsewhere)
}

/// The other ranks.
struct Elsewhere<'a> {
    pool: &'a Pool,
    orders: VecDeque<PairOrder>,
    /// What each worker plays.
    playing: Vec<Option<Begun>>,
}

impl PairSource for Elsewhere<'_> {
    fn start(&mut self, orders: VecDeque<PairOrder>) {
        self.orders = orders;
    }

    fn stop(&mut self) {
        self.orders.clear();
    }

    fn next(&mut self) -> anyhow::Result<Option<PairRecord>> {
        let mut pause = Pause::default();
        loop {
            for (worker, playing) in self.playing.iter_mut().enumerate() {
                if playing.is_none()
                    && let Some(order) = self.orders.pop_front()
                {
                    let order = serde_json::to_vec(&order)?;
                    *playing = Some(self.pool.begin(worker, order));
                }
                let Some(answer) = playing.as_mut().and_then(Begun::poll) else {
                    continue;
                };
                *playing = None;
                let record = serde_json::from_slice(&answer?);
                let record = record.with_context(|| format!("rank {}: no pair", worker + 1))?;
                return Ok(Some(record));
            }
            if self.playing.iter().all(Option::is_none) {
                return Ok(None);
            }
            thread::sleep(pause.next());
        }
    }
}

impl Obey for Duel {
    fn obey(&mut self, request: &[u8]) -> anyhow::Result<Vec<u8>> {
        let order: PairOrder = serde_json::from_slice(request)?;
        Ok(serde_json::to_vec(&self.play(order)?)?)
    }
}
