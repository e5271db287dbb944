//! Parts of a plan in which only few boxes move, replaced by the best way to move these boxes.
//!
//! From each session on, a part is as long as no more than N boxes move in it. All other boxes stay
//! where they are, so that an exact search over all places of the N boxes is small.

use super::super::board::{Board, Push, Square};
use super::query::Admitted;
use super::{Run, segments};
use std::ops::Range;

/// The largest number of boxes that move.
const MOST: usize = 3;

/// Bytes for one search, so that one part does not take all time.
const MEMORY: usize = 64 << 20;

pub(super) fn improve(run: &mut Run) {
    let mut boxes = 1;
    while boxes <= MOST.min(run.board.goals().len()) && !run.is_over() {
        boxes = if pass(run, boxes) { 1 } else { boxes + 1 };
    }
}

/// Searches each part of the plan that moves at most `boxes` boxes, once. True if the plan became
/// cheaper.
fn pass(run: &mut Run, boxes: usize) -> bool {
    let board = run.board;
    let mut waiting = parts(run, boxes);
    let mut gained = false;
    while !waiting.is_empty() && !gained && !run.is_over() {
        let mut chosen: Vec<Range<usize>> = Vec::new();
        waiting.retain(|part| {
            let is_apart = chosen.last().is_none_or(|last| last.end <= part.start);
            if is_apart {
                chosen.push(part.clone());
            }
            !is_apart
        });
        let admitted =
            |boxes: &[Square], pushes: &[Push]| Admitted::Fixed(unmoved(board, boxes, pushes));
        gained = segments::improve(run, &chosen, &[boxes, 0, 0], MEMORY, &admitted).gained;
    }
    gained
}

/// The boxes that none of the pushes moves.
pub(super) fn unmoved(board: &Board, boxes: &[Square], pushes: &[Push]) -> Vec<Square> {
    let mut stay = boxes.to_vec();
    for number in moved(board, boxes, pushes) {
        stay[number] = Square::MAX;
    }
    stay.retain(|&square| square != Square::MAX);
    stay
}

/// For each push the number of its box in `boxes`.
fn moved(board: &Board, boxes: &[Square], pushes: &[Push]) -> Vec<usize> {
    let mut at = boxes.to_vec();
    let number = |push: &Push| {
        let number = at.iter().position(|&square| square == push.square)?;
        at[number] = board.next(push.square, push.direction);
        Some(number)
    };
    pushes.iter().filter_map(number).collect()
}

/// For each pushing session, the longest range of pushes that begins with it and moves at most
/// `boxes` boxes.
pub(super) fn parts(run: &Run, boxes: usize) -> Vec<Range<usize>> {
    let numbers = moved(run.board, &run.board.start().boxes, run.plan.pushes());
    let sessions = run.plan.sessions(run.board);
    let mut parts: Vec<Range<usize>> = Vec::new();
    for &start in &sessions[..sessions.len() - 1] {
        let mut different: Vec<usize> = Vec::new();
        let end = numbers[start..].iter().position(|number| {
            let is_new = !different.contains(number);
            if is_new {
                different.push(*number);
            }
            different.len() > boxes
        });
        parts.push(start..end.map_or(numbers.len(), |end| start + end));
    }
    parts
}
