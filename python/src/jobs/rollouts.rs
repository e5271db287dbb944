//! Uniformly random games from each state of a batch.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use panza_machine::{BatchPlayouts, Machine, NO_GOAL, PlayoutEnd, PlayoutTotals, Reasoner};
use panza_sync::Random;

use crate::batch::{Batch, in_parallel, mix};
use crate::core::Core;

/// How many games, and how.
#[derive(Clone, Copy, Debug)]
pub struct Rollouts {
    /// Games from each state.
    pub games: u32,
    /// Steps after which a game is cut off.
    pub max_steps: u32,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Threads.
    pub threads: usize,
}

/// The results of the games from each state.
#[derive(Clone, Debug, Default)]
pub struct RolloutMeans {
    /// For each state and role the mean goal.
    pub goals: Vec<f32>,
    /// For each state the mean number of steps.
    pub lengths: Vec<f32>,
    /// For each state the games that were cut off.
    pub cut_off: Vec<u32>,
}

/// A state with a number of games to play from it.
type Task = (usize, u32);

/// Games from which on the games of each state are shared out, not the states.
const MANY: u32 = 512;

/// Plays from every state; games that are over count with their goals.
pub fn rollouts(batch: &Batch, asked: Rollouts, stop: &Arc<AtomicBool>) -> RolloutMeans {
    let core = &batch.core;
    let n_roles = core.sizes.n_roles;
    let open = (0..batch.len()).filter(|&row| !batch.is_over(row));
    let parts = share(open.collect(), asked);
    let totals = in_parallel(parts.into_iter().enumerate().collect(), &|(
        thread,
        tasks,
    )| {
        let random = Random::new(mix(asked.seed ^ mix(thread as u64)));
        play(core, batch, &tasks, asked, random, stop)
    });
    let mut sums = vec![PlayoutTotals::default(); batch.len()];
    for (row, totals) in totals.into_iter().flatten() {
        sums[row].totals.resize(n_roles, 0);
        sums[row].add(&totals);
    }
    let mut means = RolloutMeans::default();
    for (row, sums) in sums.iter().enumerate() {
        let n = f64::from(sums.playouts.max(1));
        means.lengths.push((sums.steps as f64 / n) as f32);
        means.cut_off.push(sums.cut_off);
        match batch.is_over(row) {
            true => means
                .goals
                .extend(batch.goals(row).iter().map(|&goal| match goal {
                    NO_GOAL => 0.0,
                    goal => f32::from(goal),
                })),
            false => {
                let total = |role: usize| sums.totals.get(role).copied().unwrap_or(0);
                means
                    .goals
                    .extend((0..n_roles).map(|role| (total(role) as f64 / n) as f32));
            }
        }
    }
    means
}

/// The tasks of each thread.
fn share(rows: Vec<usize>, asked: Rollouts) -> Vec<Vec<Task>> {
    let threads = asked.threads.max(1);
    if asked.games >= MANY * threads as u32 {
        let each = asked.games / threads as u32;
        let extra = asked.games % threads as u32;
        let games = (0..threads as u32).map(|thread| each + u32::from(thread < extra));
        return games
            .map(|games| rows.iter().map(|&row| (row, games)).collect())
            .collect();
    }
    let size = rows.len().div_ceil(threads).max(1);
    let parts = rows.chunks(size);
    parts
        .map(|rows| rows.iter().map(|&row| (row, asked.games)).collect())
        .collect()
}

fn play(
    core: &Arc<Core>,
    batch: &Batch,
    tasks: &[Task],
    asked: Rollouts,
    mut random: Random,
    stop: &Arc<AtomicBool>,
) -> Vec<(usize, PlayoutTotals)> {
    let Some(layout) = core.playouts() else {
        return play_in_turn(core, batch, tasks, asked, random, stop);
    };
    let mut playouts = layout.gang(&mut random, asked.max_steps);
    let mut left = Vec::new();
    let mut results = play_abreast(playouts.as_mut(), batch, tasks, &mut left, stop);
    results.extend(play_in_turn(core, batch, &left, asked, random, stop));
    results
}

/// Plays in lanes, with more games requested at all times than there are lanes. What lanes cannot
/// play is left.
fn play_abreast(
    playouts: &mut dyn BatchPlayouts,
    batch: &Batch,
    tasks: &[Task],
    left: &mut Vec<Task>,
    stop: &Arc<AtomicBool>,
) -> Vec<(usize, PlayoutTotals)> {
    let most = 2 * playouts.width() as u64;
    let mut results = Vec::with_capacity(tasks.len());
    let mut row_of = HashMap::new();
    let mut tasks = tasks.iter().peekable();
    while !stop.load(Ordering::Relaxed) {
        while playouts.n_outstanding() < most
            && let Some(&(row, games)) = tasks.next()
        {
            match playouts.submit_nonterminal(batch.state(row), games) {
                Some(ticket) => drop(row_of.insert(ticket, row)),
                None => left.push((row, games)),
            }
        }
        if playouts.n_outstanding() == 0 && row_of.is_empty() {
            break;
        }
        playouts.advance();
        let mut totals = PlayoutTotals::default();
        while let Some(ticket) = playouts.take_finished(&mut totals) {
            if let Some(row) = row_of.remove(&ticket) {
                results.push((row, std::mem::take(&mut totals)));
            }
        }
    }
    results
}

/// Plays one game after the other.
fn play_in_turn(
    core: &Arc<Core>,
    batch: &Batch,
    tasks: &[Task],
    asked: Rollouts,
    mut random: Random,
    stop: &Arc<AtomicBool>,
) -> Vec<(usize, PlayoutTotals)> {
    let n_roles = core.sizes.n_roles;
    let mut goals = vec![0; n_roles];
    let mut reasoner: Option<Box<dyn Reasoner>> = None;
    let mut results = Vec::new();
    for &(row, games) in tasks {
        let reasoner = reasoner.get_or_insert_with(|| Arc::clone(&core.counter).reasoner());
        let mut totals = PlayoutTotals::default();
        totals.clear(n_roles);
        for _ in 0..games {
            if stop.load(Ordering::Relaxed) {
                return results;
            }
            reasoner.set_state(batch.state(row));
            totals.playouts += 1;
            match reasoner.playout(&mut random, asked.max_steps, &mut goals) {
                PlayoutEnd::Finished { steps } => totals.steps += u64::from(steps),
                PlayoutEnd::CutOff => {
                    totals.steps += u64::from(asked.max_steps);
                    totals.cut_off += 1;
                }
            }
            for (total, &goal) in totals.totals.iter_mut().zip(&goals) {
                *total += u64::from(goal);
            }
        }
        results.push((row, totals));
    }
    results
}
