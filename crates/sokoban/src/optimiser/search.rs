//! The cheapest plan over a set of box configurations, by breadth-first search from both ends.
//!
//! Forward, boxes are pushed from the start; backward, they are pulled from the target. Both sides
//! advance by rows of equal moves, or of equal pushes if these come first. When `f` and `b` rows
//! are done and no state belongs to both sides, no plan is as short as `f + b`. So the first state
//! that both sides know is on a shortest plan, and among all such states the second number decides.
//!
//! The sides share nothing while they advance, so that two threads can take one each.

use super::super::board::{Push, Square};
use super::super::field::Play;
use super::query::{Admitted, Query, Target};
use super::side::{Side, SideTask, Spent};
use panza_sync::Budget;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The cheapest plan over the admitted configurations.
    PushPlan(Vec<Push>),
    /// Proven: no plan within the bound.
    Nothing,
    /// Time or memory ended first.
    Spent,
}

/// Less work, in steps of the player, is not worth a thread.
const WORK_FOR_A_THREAD: usize = 5_000;

/// The work of a round, in rows of the slower side. Both sides get the same work, so that they end
/// the round at nearly the same time.
const ROWS_OF_ROUND: usize = 8;

/// The ratio of the work of a row of both sides from which only the cheaper side advances.
const UNEQUAL: usize = 4;

/// Threads that have nothing to do. A search borrows one for each round that it makes on both
/// sides.
#[derive(Debug)]
pub(super) struct Spare(AtomicUsize);

impl Spare {
    pub(super) fn new(threads: usize) -> Self {
        Self(AtomicUsize::new(threads))
    }

    pub(super) fn give(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn take(&self) -> bool {
        let less = |spare: usize| spare.checked_sub(1);
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
    }
}

/// Searches for the cheapest plan. Each side may use half of the memory.
pub(super) fn search(query: &Query, admitted: &Admitted, limits: &Budget, spare: &Spare) -> Found {
    let goals = match &query.target {
        Target::Solved => query.board.goals(),
        Target::State(boxes, _) => boxes,
    };
    let free = |square: &Square| goals.binary_search(square).is_err();
    let players: Vec<Square> = match query.target {
        Target::Solved => query.board.squares().filter(free).collect(),
        Target::State(_, player) => vec![player],
    };
    let half = limits.with_bytes(limits.max_bytes / 2);
    let ahead = SideTask {
        boxes: &query.boxes,
        players: &[query.player],
        ends: goals,
    };
    let back = SideTask {
        boxes: goals,
        players: &players,
        ends: &query.boxes,
    };
    let forward = Side::new(query, admitted, &half, &ahead, Play::Push);
    let backward = Side::new(query, admitted, &half, &back, Play::Pull);
    match (forward, backward) {
        (Ok(forward), Ok(backward)) => {
            let mut search = Search {
                query,
                spare,
                forward,
                backward,
            };
            search.run().unwrap_or(Found::Spent)
        }
        _ => Found::Spent,
    }
}

struct Search<'q> {
    query: &'q Query<'q>,
    spare: &'q Spare,
    forward: Side<'q>,
    backward: Side<'q>,
}

impl Search<'_> {
    fn run(&mut self) -> Result<Found, Spent> {
        let (bound, _) = self.query.bound.key(self.query.measure);
        if self.have_met() {
            return Ok(Found::PushPlan(Vec::new()));
        }
        loop {
            let done = self.forward.rows() + self.backward.rows();
            if done >= bound || self.forward.is_done() || self.backward.is_done() {
                return Ok(Found::Nothing);
            }
            self.forward.begin();
            self.backward.begin();
            let (ahead, back) = (self.forward.work(), self.backward.work());
            let (less, more) = (ahead.min(back), ahead.max(back));
            if more >= WORK_FOR_A_THREAD && more / UNEQUAL <= less && self.spare.take() {
                let (forward, backward) = (&mut self.forward, &mut self.backward);
                let (rows, work) = ((bound - done).div_ceil(2), more * ROWS_OF_ROUND);
                let mut result = Ok(());
                let other = std::thread::scope(|scope| {
                    scope.spawn(|| result = backward.advance(rows, work));
                    forward.advance(rows, work)
                });
                self.spare.give();
                result.and(other)?;
            } else if self.forward.rows() == 0 || ahead <= back {
                self.forward.advance(1, 0)?;
            } else {
                self.backward.advance(1, 0)?;
            }
            if self.have_met() {
                return Ok(self.shortest(done));
            }
        }
    }

    /// Tells each side which configurations the other side knows too; whether a state that was
    /// reached in this round is known to both.
    fn have_met(&mut self) -> bool {
        let new = self.forward.link(&mut self.backward) | self.backward.link(&mut self.forward);
        new || self.forward.meets(&self.backward) || self.backward.meets(&self.forward)
    }

    /// The best plan once the sides have met in a round that began after `done` rows.
    fn shortest(&self, done: u32) -> Found {
        let (ahead, back) = (self.forward.rows_of_round(), self.backward.rows_of_round());
        (1..=ahead + back)
            .find_map(|rows| {
                let row = rows.min(ahead);
                self.join(done + rows as u32, row, rows - row)
            })
            .unwrap_or(Found::Nothing)
    }

    /// The plan through the best common state of a row of the forward side and one of the backward
    /// side, both of this round. `first` is the first number of its cost.
    fn join(&self, first: u32, row: usize, other: usize) -> Option<Found> {
        let mut ahead = HashMap::new();
        for (number, state) in self.forward.arrivals(row).iter() {
            if let Some(twin) = self.forward.twin(state) {
                ahead.insert((twin, state.player()), (number, state.push()));
            }
        }
        let mut best: Option<(u32, usize, usize)> = None;
        for (number, state) in self.backward.row(other).iter() {
            if let Some(&(other, push)) = ahead.get(&(state.configuration(), state.player()))
                && best.is_none_or(|(least, _, _)| other + number < least)
            {
                best = Some((other + number, push, state.push()));
            }
        }
        let (second, push, pull) = best?;
        if (first, second) > self.query.bound.key(self.query.measure) {
            return Some(Found::Nothing);
        }
        let mut pushes = self.forward.pushes_to(push);
        pushes.reverse();
        pushes.extend(self.backward.pushes_to(pull));
        Some(Found::PushPlan(pushes))
    }
}
