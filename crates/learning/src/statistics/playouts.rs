//! The machine's own playouts, each a request of its own, so that its length and goals are known.

#![expect(clippy::disallowed_methods, reason = "playouts are counted per second")]

use std::sync::Arc;
use std::time::Duration;

use super::counts::Counts;
use panza_machine::{BatchPlayouts, Machine, PlayoutTotals};
use panza_sync::{Budget, Instant};

/// Statistics of playouts.
#[derive(Clone, Debug, Default)]
pub(super) struct PlayoutCounts {
    pub(super) cut_off: u64,
    pub(super) lengths: Counts,
    pub(super) sums: Counts,
}

impl PlayoutCounts {
    fn note(&mut self, tally: &PlayoutTotals) {
        if tally.cut_off > 0 {
            self.cut_off += 1;
            return;
        }
        self.lengths.note(tally.steps);
        self.sums.note(tally.totals.iter().sum());
    }
}

/// Runs generations of playouts, at most `most` in all, while there is time for a whole one;
/// nothing is counted of an unfinished one.
pub(super) fn run(
    mut playouts: Box<dyn BatchPlayouts>,
    machine: &Arc<dyn Machine>,
    most: u64,
    budget: &Budget,
) -> PlayoutCounts {
    let initial = machine.initial_state();
    let width = playouts.width() as u64;
    let mut played = PlayoutCounts::default();
    let mut wanted = 2 * width;
    let mut n_done = 0;
    let mut last: Option<(Duration, u64)> = None;
    while n_done < most {
        let mut count = wanted.min(most - n_done);
        if let Some((took, n_last)) = last {
            // With a margin, since a generation ends with its longest game.
            let each = took.div_f64(n_last as f64).as_secs_f64();
            let affordable = budget.left().as_secs_f64() / each.max(1e-9) * 0.8;
            count = count.min(affordable as u64);
            if count < width {
                break;
            }
        }
        let started = Instant::now();
        let mut counts = played.clone();
        if generation(playouts.as_mut(), &initial, count, budget, &mut counts).is_none() {
            break;
        }
        played = counts;
        n_done += count;
        last = Some((started.elapsed(), count));
        wanted = count.saturating_mul(4);
    }
    played
}

/// Runs `count` playouts to their ends; `None` if the state cannot be played from, or the time was
/// up before.
fn generation(
    playouts: &mut dyn BatchPlayouts,
    state: &[u64],
    count: u64,
    budget: &Budget,
    counts: &mut PlayoutCounts,
) -> Option<()> {
    let most = 2 * playouts.width() as u64;
    let mut tally = PlayoutTotals::default();
    let (mut n_asked, mut n_done) = (0, 0);
    while n_done < count {
        while n_asked < count && playouts.n_outstanding() < most {
            playouts.submit(state, 1)?;
            n_asked += 1;
        }
        playouts.advance();
        while playouts.take_finished(&mut tally).is_some() {
            counts.note(&tally);
            n_done += 1;
        }
        if n_done < count && budget.is_over() {
            return None;
        }
    }
    Some(())
}
