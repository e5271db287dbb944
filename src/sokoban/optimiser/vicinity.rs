//! Vicinity search: the cheapest plan over the configurations near those of a plan.
//!
//! Near are those in which few boxes stand elsewhere, each on one of the squares nearest to its own.
//! The idea and the order of neighbourhoods come from YASO (Brian Damgaard, "YASO - Yet Another
//! Sokoban Optimizer"): at first one box with few squares, since that is fast and gains much, and in
//! the end several boxes. Long plans are cut into slices, which are searched on all threads. Slices
//! overlap with those of the next pass and become longer when they gain no more.

use super::super::board::{Board, Push, Square};
use super::super::distances::Distances;
use super::configurations::{Configurations, LIMIT, bits};
use super::plan::Field;
use super::spans::Admitted;
use super::{Run, segments};

/// Neighbourhoods of one box that are tried before the one of the options.
const FIRST: [usize; 3] = [10, 20, 999];

/// Configurations in the first slices.
const SLICE: usize = 200_000;

/// Bytes that the search of a configuration needs beyond its record, for queues and pushes.
const BYTES_QUEUED: usize = 64;

pub(super) fn improve(run: &mut Run) {
    let near = Near::new(run.board, run.distances);
    for one in FIRST {
        iterate(run, &near, &[one]);
    }
    let neighbours = run.options.neighbours.clone();
    iterate(run, &near, &neighbours);
}

/// Passes with one neighbourhood until nothing is gained.
fn iterate(run: &mut Run, near: &Near, neighbours: &[usize]) {
    let each = Configurations::bytes_each(run.board) + BYTES_QUEUED;
    let most = (run.budget.memory / run.options.threads.max(1) / each).min(LIMIT);
    let position = near.count(run.board.goals().len(), neighbours).max(1);
    let mut length = (SLICE / position).max(4);
    loop {
        let pushes = run.plan.pushes().len();
        let mut gained = false;
        for offset in [length, length / 2] {
            if run.is_over() {
                return;
            }
            let slices = slices(run.plan.pushes().len(), length, offset);
            let admitted = |boxes: &[Square], pushes: &[Push]| {
                Admitted::Set(near.around(boxes, pushes, neighbours, most))
            };
            gained |= segments::improve(run, &slices, neighbours, usize::MAX, &admitted);
            if length >= pushes {
                break;
            }
        }
        if !gained {
            if length >= pushes || position.saturating_mul(length) > most {
                return;
            }
            length *= 2;
        }
    }
}

/// Ranges of pushes, the first `offset` long and the others `length`.
fn slices(pushes: usize, length: usize, offset: usize) -> Vec<std::ops::Range<usize>> {
    let mut slices = Vec::new();
    let mut start = 0;
    while start < pushes {
        let end = if start == 0 { offset } else { start + length };
        slices.push(start..end.min(pushes));
        start = end;
    }
    slices
}

/// For each square the squares that a box may stand on instead, the nearest first.
struct Near<'a> {
    board: &'a Board,
    squares: Vec<Vec<Square>>,
}

impl<'a> Near<'a> {
    fn new(board: &'a Board, distances: &Distances) -> Self {
        let squares = (board.squares())
            .map(|start| {
                let mut found = vec![start];
                let mut seen = vec![false; board.len()];
                seen[start as usize] = true;
                let mut next = 0;
                while let Some(&square) = found.get(next) {
                    next += 1;
                    for &to in board.neighbours(square) {
                        if let Some(seen) = seen.get_mut(to as usize)
                            && !*seen
                            && !distances.is_dead(to)
                        {
                            *seen = true;
                            found.push(to);
                        }
                    }
                }
                found.remove(0);
                found
            })
            .collect();
        Self { board, squares }
    }

    /// At most so many configurations lie near one.
    fn count(&self, boxes: usize, neighbours: &[usize]) -> usize {
        let mut count = 1usize;
        for (moved, &squares) in neighbours.iter().enumerate() {
            let squares = squares.min(self.board.len());
            count = count.saturating_mul(boxes.saturating_sub(moved).max(1) * squares);
        }
        count
    }

    /// The configurations on a way and those near them, at most about `most`.
    fn around(
        &self,
        boxes: &[Square],
        pushes: &[Push],
        neighbours: &[usize],
        most: usize,
    ) -> Configurations {
        let mut field = Field::new(self.board, boxes);
        let mut set = Configurations::new(self.board);
        set.insert(&bits(self.board, boxes));
        for &push in pushes {
            field.place(push);
            set.insert(&bits(self.board, &field.boxes()));
        }
        for &push in pushes.iter().rev() {
            field.undo(push);
            if set.len() < most {
                let boxes = field.boxes();
                let mut words = bits(self.board, &boxes);
                self.spread(&mut words, &boxes, neighbours, &mut set);
            }
        }
        set
    }

    /// Adds the configurations in which some of `boxes` stand elsewhere.
    fn spread(
        &self,
        words: &mut [u64],
        boxes: &[Square],
        neighbours: &[usize],
        set: &mut Configurations,
    ) {
        let Some((&count, others)) = neighbours.split_first() else {
            return;
        };
        for (index, &from) in boxes.iter().enumerate() {
            let rest: Vec<Square> = [&boxes[..index], &boxes[index + 1..]].concat();
            toggle(words, from);
            for &to in self.squares[from as usize].iter().take(count) {
                let (word, bit) = super::configurations::bit(to);
                if words[word] & bit == 0 {
                    words[word] |= bit;
                    set.insert(words);
                    self.spread(words, &rest, others, set);
                    words[word] ^= bit;
                }
            }
            toggle(words, from);
        }
    }
}

fn toggle(words: &mut [u64], square: Square) {
    let (word, bit) = super::configurations::bit(square);
    words[word] ^= bit;
}
