//! `panza-mpi probe`: how long messages take between rank 0 and the others.
//!
//! A worker sends back what it gets. The times are those of calls as the other commands make them,
//! with the sleep of ranks that wait.

use std::time::Instant;

use anyhow::ensure;
use panza_cli::{Outcome, Output};
use serde_json::json;

use crate::pool::Pool;
use crate::worker::Obey;

/// Sizes of messages, in bytes.
const SIZES: [usize; 5] = [1, 1 << 10, 1 << 14, 1 << 18, 1 << 22];
/// Messages of each size.
const TIMES: usize = 30;

/// Measures round trips to one worker, and to all at once.
///
/// # Errors
/// A worker failed.
pub fn lead(output: Output, pool: &Pool) -> anyhow::Result<Outcome> {
    for bytes in SIZES {
        let mut medians = [0.0; 2];
        for (median, n_workers) in medians.iter_mut().zip([1, pool.n_workers()]) {
            let mut times = Vec::with_capacity(TIMES);
            for _ in 0..TIMES {
                let begin = Instant::now();
                let calls: Vec<_> = (0..n_workers)
                    .map(|worker| pool.begin(worker, vec![1; bytes]))
                    .collect();
                for call in calls {
                    ensure!(call.wait(None)?.len() == bytes, "expected the same message");
                }
                times.push(begin.elapsed().as_secs_f64() * 1e3);
            }
            times.sort_by(f64::total_cmp);
            *median = times[TIMES / 2];
        }
        let [one, all] = medians;
        output.line(format_args!(
            "{bytes:>8} bytes: {one:8.3} ms to one rank and back, {all:8.3} ms to all {}",
            pool.n_workers()
        ))?;
        output.object(&json!({
            "bytes": bytes,
            "workers": pool.n_workers(),
            "milliseconds_one": one,
            "milliseconds_all": all,
        }))?;
    }
    Ok(Outcome::Holds)
}

/// A rank that sends back.
pub struct Worker;

impl Obey for Worker {
    fn obey(&mut self, request: &[u8]) -> anyhow::Result<Vec<u8>> {
        Ok(request.to_vec())
    }
}
