//! Playouts: as the machine makes them for play, each by itself a request, so that length and goals
//! of each are known.
//!
//! Never knows: how the machine chooses moves in them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::spread::{Counts, GoalCounts};
use super::{PlayedOut, SampleBudget};
use crate::machine::random::Random;
use crate::machine::{Machine, Playouts, Tally};

/// What playouts showed.
#[derive(Clone, Debug, Default)]
pub(super) struct Played {
    pub(super) cut_off: u64,
    pub(super) lengths: Counts,
    pub(super) sums: Counts,
    goals: Vec<GoalCounts>,
    draws: u64,
}

impl Played {
    fn note(&mut self, tally: &Tally) {
        if tally.cut_off > 0 {
            self.cut_off += 1;
            return;
        }
        self.lengths.note(tally.steps);
        self.sums.note(tally.totals.iter().sum());
        self.goals.resize_with(tally.totals.len(), Default::default);
        for (counts, &goal) in self.goals.iter_mut().zip(&tally.totals) {
            counts.note(Some(goal.min(100) as u8));
        }
        self.draws += u64::from(tally.totals.windows(2).all(|pair| pair[0] == pair[1]));
    }

    fn add(&mut self, other: &Played) {
        self.cut_off += other.cut_off;
        self.lengths.add(&other.lengths);
        self.sums.add(&other.sums);
        self.goals.resize_with(other.goals.len(), Default::default);
        for (counts, other) in self.goals.iter_mut().zip(&other.goals) {
            counts.add(other);
        }
        self.draws += other.draws;
    }

    pub(super) fn summary(mut self, n_roles: usize) -> PlayedOut {
        let playouts = self.lengths.count();
        self.goals.resize_with(n_roles, Default::default);
        let draws = (playouts > 0 && n_roles > 1).then(|| self.draws as f64 / playouts as f64);
        PlayedOut {
            playouts,
            cut_off: self.cut_off,
            length: self.lengths.spread(),
            goals: self.goals.iter().map(GoalCounts::spread).collect(),
            draws,
        }
    }
}

/// Playouts of the machine; nothing where it makes one at a time.
pub(super) fn abreast(
    machine: &Arc<dyn Machine>,
    budget: SampleBudget,
) -> Option<Box<dyn Playouts>> {
    Arc::clone(machine).playouts(&mut Random::new(budget.seed), budget.max_steps)
}

/// Plays generations of playouts while there is time for a whole one; nothing where none was
/// finished.
pub(super) fn play(
    mut playouts: Box<dyn Playouts>,
    machine: &Arc<dyn Machine>,
    budget: SampleBudget,
) -> Option<Played> {
    let initial = machine.initial_state();
    let width = playouts.width() as u64;
    let mut played = Played::default();
    let mut wanted = 2 * width;
    let mut n_done = 0;
    let mut last: Option<(Duration, u64)> = None;
    while n_done < budget.playouts {
        let mut count = wanted.min(budget.playouts - n_done);
        if let Some((took, n_last)) = last {
            // As many as there is time for, with a margin, since a generation ends with its longest
            // game.
            let each = took.div_f64(n_last as f64).as_secs_f64();
            let affordable = budget.left().as_secs_f64() / each.max(1e-9) * 0.8;
            count = count.min(affordable as u64);
            if count < width {
                break;
            }
        }
        let started = Instant::now();
        let Some(more) = generation(playouts.as_mut(), &initial, count, budget) else {
            break;
        };
        played.add(&more);
        n_done += count;
        last = Some((started.elapsed(), count));
        wanted = count.saturating_mul(4);
    }
    (n_done > 0).then_some(played)
}

/// Plays so many playouts to their ends; nothing where the state cannot be played from, or the time
/// was up before.
fn generation(
    playouts: &mut dyn Playouts,
    state: &[u64],
    count: u64,
    budget: SampleBudget,
) -> Option<Played> {
    let most = 2 * playouts.width() as u64;
    let mut played = Played::default();
    let mut tally = Tally::default();
    let (mut n_asked, mut n_done) = (0, 0);
    while n_done < count {
        while n_asked < count && playouts.n_wanted() < most {
            playouts.submit(state, 1)?;
            n_asked += 1;
        }
        playouts.advance();
        while playouts.take_done(&mut tally).is_some() {
            played.note(&tally);
            n_done += 1;
        }
        if n_done < count && budget.is_over() {
            return None;
        }
    }
    Some(played)
}
