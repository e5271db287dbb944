//! Vicinity search: the cheapest plan over the configurations near those of a plan.
//!
//! The idea and the order of neighbourhoods come from YASO (Brian Damgaard, "YASO - Yet Another
//! Sokoban Optimizer"): at first one box with few squares, since that is fast and gains much, and
//! in the end several boxes. Long plans are cut into slices, which are searched on all threads.
//! Slices overlap with those of the next pass and become longer when they gain no more.

use super::super::board::{Push, Square};
use super::nearby::{Nearby, Ranks};
use super::query::Admitted;
use super::{Run, segments};

/// Neighbourhoods of one box that are tried before the one of the options.
const FIRST: [usize; 3] = [10, 20, 999];

/// Configurations near those of the first slices.
const SLICE: usize = 1_000_000;

/// Pushes in the shortest slices.
const SHORTEST: usize = 16;

pub(super) fn improve(run: &mut Run) {
    for one in FIRST {
        iterate(run, &[one]);
    }
    let neighbours = run.options.neighbours.clone();
    iterate(run, &neighbours);
}

/// Passes with one neighbourhood until nothing is gained.
fn iterate(run: &mut Run, neighbours: &[usize]) {
    let board = run.board;
    let mut length = (SLICE / near(run, neighbours)).max(SHORTEST);
    loop {
        let pushes = run.plan.pushes().len();
        let (mut gained, mut spent) = (false, false);
        for first in [length, length / 2] {
            if run.is_over() {
                return;
            }
            // Each pass turns the directions round, so that other squares are near in the next one.
            let ranks = Ranks::new(board, run.distances, run.directions);
            let admitted = |boxes: &[Square], pushes: &[Push]| {
                Admitted::Nearby(Nearby::new(board, &ranks, neighbours, boxes, pushes))
            };
            let slices = slices(run.plan.pushes().len(), first, length);
            let pass = segments::improve(run, &slices, neighbours, usize::MAX, &admitted);
            gained |= pass.gained;
            spent |= pass.spent;
            if length >= pushes {
                break;
            }
        }
        if !gained {
            if length >= pushes || spent {
                return;
            }
            length *= 2;
        }
    }
}

/// An upper bound on the number of configurations that are near one; at least 1.
fn near(run: &Run, neighbours: &[usize]) -> usize {
    let boxes = run.board.goals().len();
    let mut count = 1usize;
    for (moved, &squares) in neighbours.iter().enumerate() {
        let places = boxes.saturating_sub(moved) * squares.min(run.board.len());
        count = count.saturating_mul(places.max(1));
    }
    count
}

/// Ranges of pushes, the first `first` long and the others `length`.
fn slices(pushes: usize, first: usize, length: usize) -> Vec<std::ops::Range<usize>> {
    let mut slices = Vec::new();
    let mut start = 0;
    while start < pushes {
        let end = if start == 0 { first } else { start + length };
        slices.push(start..end.min(pushes));
        start = end;
    }
    slices
}
