//! The same pushes in another order.
//!
//! Three strategies follow each other. Whole sessions move to another place; then runs of pushes of
//! one box do, so that sessions are broken; then the whole order is built anew by a beam search,
//! which keeps the cheapest beginnings of each length.
//!
//! Since the set of pushes stays the same, so does their number: an order is judged by its moves,
//! and of equally good orders the one with fewer box lines, box changes and sessions is taken.

use super::super::board::{Board, Push, Square};
use super::super::solution::Metrics;
use super::plan::{PushPlan, StepField, link};
use super::{Options, Run, beam};
use panza_sync::{lock, unpoisoned};
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) fn improve(run: &mut Run) {
    loop {
        while shift(run, false) || shift(run, true) {}
        if !beam::reorder(run) {
            return;
        }
    }
}

/// Moves sessions, or runs that are parts of sessions, to other places; whether something was
/// gained.
fn shift(run: &mut Run, parts: bool) -> bool {
    let mut gained = false;
    let mut from = 0;
    while let Some((start, pushes)) = first_better(run, from, parts) {
        run.tell(start, run.plan.pushes().len());
        let is_cheaper = run.offer(pushes);
        gained |= is_cheaper;
        from = if is_cheaper { start } else { start + 1 };
    }
    gained
}

/// The first run of pushes from `from` on that has a better place, as its first push and the plan
/// with the run there. All threads look, each at another run; with one thread the result is the
/// same.
fn first_better(run: &Run, from: usize, parts: bool) -> Option<(usize, Vec<Push>)> {
    let (board, plan, limits) = (run.board, &run.plan, &run.limits);
    let sessions = plan.sessions(board);
    // A gain may have ended the plan before `from`.
    let starts: Vec<usize> = (from..plan.pushes().len())
        .filter(|start| parts || sessions.binary_search(start).is_ok())
        .collect();
    let next = AtomicUsize::new(0);
    let found: Mutex<Option<(usize, Vec<Push>)>> = Mutex::default();
    let look = || {
        // Runs are handed out in order, so that those before the first better one are all tried.
        let is_beaten = |start| {
            lock(&found)
                .as_ref()
                .is_some_and(|&(least, _)| least < start)
        };
        while let Some(&start) = starts.get(next.fetch_add(1, Ordering::Relaxed)) {
            if limits.is_over() || is_beaten(start) {
                return;
            }
            let end = sessions[sessions.partition_point(|&first| first <= start)];
            // Without parts, `start` is the first push of a session.
            let ends = if parts { start + 1 } else { end }..=end;
            if let Some(pushes) = better(board, plan, run.options, start, ends) {
                if !is_beaten(start) {
                    *lock(&found) = Some((start, pushes));
                }
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..run.options.threads.min(starts.len()) {
            scope.spawn(look);
        }
        look();
    });
    unpoisoned(found.into_inner())
}

/// A better plan in which a run of pushes from `start` on has another place.
fn better(
    board: &Board,
    plan: &PushPlan,
    options: &Options,
    start: usize,
    ends: RangeInclusive<usize>,
) -> Option<Vec<Push>> {
    let mut exchange = Exchange::new(board, plan, start, options);
    let all: Vec<usize> = (0..=plan.pushes().len()).collect();
    for end in ends.clone() {
        if let Some(pushes) = exchange.later(end, &all[end + 1..]) {
            return Some(pushes);
        }
    }
    for place in (0..start).rev() {
        exchange.back(place);
        for end in ends.clone() {
            if let Some(pushes) = exchange.later(start, &[end]) {
                return Some(pushes);
            }
        }
    }
    None
}

/// Exchanges of two neighbouring ranges of pushes, the first of which begins at a fixed push.
pub(super) struct Exchange<'a> {
    board: &'a Board,
    plan: &'a PushPlan,
    field: StepField<'a>,
    first: usize,
    made: Vec<Push>,
    options: &'a Options,
}

impl<'a> Exchange<'a> {
    pub(super) fn new(
        board: &'a Board,
        plan: &'a PushPlan,
        first: usize,
        options: &'a Options,
    ) -> Self {
        let mut field = StepField::new(board, &board.start().boxes);
        for &push in &plan.pushes()[..first] {
            field.place(push);
        }
        Self {
            board,
            plan,
            field,
            first,
            made: Vec::new(),
            options,
        }
    }

    /// Lets the first range begin at an earlier push.
    pub(super) fn back(&mut self, first: usize) {
        while self.first > first {
            self.first -= 1;
            self.field.undo(self.plan.pushes()[self.first]);
        }
    }

    /// A plan with fewer moves, or fewer lines, changes or sessions, in which the pushes up to
    /// `middle` come after those from `middle` to one of `ends`, which ascend.
    pub(super) fn later(&mut self, middle: usize, ends: &[usize]) -> Option<Vec<Push>> {
        let found = self.find(middle, ends);
        while let Some(push) = self.made.pop() {
            self.field.undo(push);
        }
        let end = found?;
        let pushes = self.plan.pushes();
        let parts = [
            &pushes[..self.first],
            &pushes[middle..end],
            &pushes[self.first..middle],
            &pushes[end..],
        ];
        Some(parts.concat())
    }

    fn find(&mut self, middle: usize, ends: &[usize]) -> Option<usize> {
        let pushes = self.plan.pushes();
        let mut moves = self.plan.moves_after(self.first);
        let mut player = self.plan.player(self.board, self.first);
        let mut next = middle;
        for &end in ends {
            (moves, player) = self.make(&pushes[next..end], moves, player)?;
            next = end;
            // The walk to the push after the exchange counts too.
            let old = self.plan.moves_before(end);
            if moves >= old + (middle - self.first) as u32 {
                continue;
            }
            let made = self.made.len();
            let rest = self.make(&pushes[self.first..middle], moves, player);
            let new = rest.and_then(|(moves, player)| match pushes.get(end) {
                Some(&push) => Some(moves + self.field.walk(player, self.field.stand(push))?),
                None => Some(moves),
            });
            let is_better = |new| new < old || new == old && self.has_better_links(middle, end);
            if new.is_some_and(is_better) {
                return Some(end);
            }
            while self.made.len() > made
                && let Some(push) = self.made.pop()
            {
                self.field.undo(push);
            }
        }
        None
    }

    /// Whether the exchange of two ranges begins fewer lines, changes and sessions. Only the first
    /// pushes of both ranges and the one after them follow another push than before.
    fn has_better_links(&self, middle: usize, end: usize) -> bool {
        let pushes = self.plan.pushes();
        let link = |last: Option<usize>, push: usize| {
            let last = last.map(|last| pushes[last]);
            let player = last.map_or(self.board.start().player, |last| last.square);
            match pushes.get(push) {
                Some(&push) => link(self.board, last, push, player != self.field.stand(push)),
                None => Metrics::default(),
            }
        };
        let before = self.first.checked_sub(1);
        let old =
            link(before, self.first) + link(Some(middle - 1), middle) + link(Some(end - 1), end);
        let new =
            link(before, middle) + link(Some(end - 1), self.first) + link(Some(middle - 1), end);
        self.options.key(&new) < self.options.key(&old)
    }

    fn make(
        &mut self,
        pushes: &[Push],
        mut moves: u32,
        mut player: Square,
    ) -> Option<(u32, Square)> {
        for &push in pushes {
            moves += self.field.push(player, push)?;
            self.made.push(push);
            player = push.square;
        }
        Some((moves, player))
    }
}
