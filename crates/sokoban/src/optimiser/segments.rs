//! Parts of a plan that are searched anew, several at a time.
//!
//! A segment goes from before one push to before another, the player behind the box each time. A
//! cheaper way between the same two states makes the whole plan cheaper by the same amount,
//! whatever happens in segments that do not overlap with it. So segments are searched on all
//! threads at once.

use super::super::board::{Push, Square};
use super::plan::{PushPlan, StepField};
use super::query::{Admitted, Query, Target};
use super::search::{Found, Spare, search};
use super::{Run, hash_of};
use panza_sync::Budget;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// A segment with the search that may improve it.
struct Segment<'a> {
    range: Range<usize>,
    query: Query<'a>,
    hash: u64,
}

/// What came of a pass over segments.
pub(super) struct Pass {
    /// Whether the plan became cheaper.
    pub(super) gained: bool,
    /// Whether a search ended for time or memory.
    pub(super) spent: bool,
}

/// Searches segments of the plan, which must not overlap, over the configurations that `admitted`
/// names for the boxes before a segment and its pushes. `kind` tells apart searches that admit
/// different configurations. A search may take `memory` bytes.
pub(super) fn improve<'a>(
    run: &mut Run,
    ranges: &[Range<usize>],
    kind: &[usize],
    memory: usize,
    admitted: &(dyn Fn(&[Square], &[Push]) -> Admitted<'a> + Sync),
) -> Pass {
    let before = run.key();
    // What one pass cannot tell apart, the next one tries in the opposite order.
    run.directions.reverse();
    let mut spent = false;
    let plan = run.plan.clone();
    let segments: Vec<Segment> = (segments(run, &plan, ranges, kind).into_iter())
        .filter(|segment| !run.tried.contains(&segment.hash))
        .collect();
    let threads = run.options.threads.clamp(1, segments.len().max(1));
    let limits = run
        .limits
        .with_bytes(memory.min(run.limits.max_bytes / threads));
    let searches = Searches {
        segments: &segments,
        plan: &plan,
        limits,
        spare: Spare::new(run.options.threads.saturating_sub(threads)),
        admitted,
        next: AtomicUsize::new(0),
    };
    let (sender, receiver) = mpsc::channel();
    let mut results: Vec<Option<Vec<Push>>> = vec![None; segments.len()];
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, searches) = (sender.clone(), &searches);
            scope.spawn(move || searches.work(&sender));
        }
        drop(sender);
        for (done, (index, found)) in receiver.into_iter().enumerate() {
            run.tell(done + 1, segments.len());
            let is_spent = matches!(found, Found::Spent);
            spent |= is_spent;
            if let Found::PushPlan(pushes) = found {
                results[index] = Some(pushes);
                if run.offer(replaced(&plan, &segments, &results)) {
                    continue;
                }
                results[index] = None;
            }
            if !is_spent || !run.is_over() {
                run.tried.insert(segments[index].hash);
            }
        }
    });
    Pass {
        gained: run.key() < before,
        spent,
    }
}

/// What the threads of a pass share.
struct Searches<'s, 'r, 'a> {
    segments: &'s [Segment<'r>],
    plan: &'s PushPlan,
    limits: Budget,
    spare: Spare,
    admitted: &'s (dyn Fn(&[Square], &[Push]) -> Admitted<'a> + Sync),
    /// The first segment that no thread has taken.
    next: AtomicUsize,
}

impl Searches<'_, '_, '_> {
    /// Searches segments that no other thread has taken, and sends what is found of each.
    fn work(&self, sender: &mpsc::Sender<(usize, Found)>) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(segment) = self.segments.get(index) else {
                break;
            };
            if self.limits.is_over_at(0) {
                break;
            }
            let pushes = &self.plan.pushes()[segment.range.clone()];
            let set = (self.admitted)(&segment.query.boxes, pushes);
            let found = search(&segment.query, &set, &self.limits, &self.spare);
            if sender.send((index, found)).is_err() {
                break;
            }
        }
        self.spare.give();
    }
}

/// The searches for ranges of pushes, in order.
fn segments<'a>(
    run: &Run<'a>,
    plan: &PushPlan,
    ranges: &[Range<usize>],
    kind: &[usize],
) -> Vec<Segment<'a>> {
    let mut field = StepField::new(run.board, &run.board.start().boxes);
    let mut at = 0;
    let mut advance = |to: usize| {
        for &push in &plan.pushes()[at..to] {
            field.place(push);
        }
        at = to;
        let player = match plan.pushes().get(to) {
            Some(&push) if to > 0 => field.stand(push),
            _ => run.board.start().player,
        };
        (field.boxes(), player)
    };
    (ranges.iter())
        .map(|range| {
            let (boxes, player) = advance(range.start);
            let target = match advance(range.end) {
                _ if range.end == plan.pushes().len() => Target::Solved,
                (boxes, player) => Target::State(boxes, player),
            };
            let pushes = &plan.pushes()[range.clone()];
            let hash = hash_of(&(kind, &boxes, player, pushes, &target));
            let query = Query {
                board: run.board,
                measure: run.options.measure,
                boxes,
                player,
                target,
                bound: plan.part(range.start, range.end),
                directions: run.directions,
            };
            Segment {
                range: range.clone(),
                query,
                hash,
            }
        })
        .collect()
}

/// The plan with new pushes in some segments.
fn replaced(plan: &PushPlan, segments: &[Segment], results: &[Option<Vec<Push>>]) -> Vec<Push> {
    let mut pushes = Vec::with_capacity(plan.pushes().len());
    let mut at = 0;
    for (segment, result) in segments.iter().zip(results) {
        if let Some(result) = result {
            pushes.extend_from_slice(&plan.pushes()[at..segment.range.start]);
            pushes.extend_from_slice(result);
            at = segment.range.end;
        }
    }
    pushes.extend_from_slice(&plan.pushes()[at..]);
    pushes
}
