//! Which configurations lie near those on a way.
//!
//! Near are those in which few boxes stand elsewhere, each on one of the squares nearest to its
//! own. Only the configurations that a search reaches are ever tested, which are far fewer than
//! all.

use super::super::board::{Board, Direction, Push, Square};
use super::super::distances::Distances;
use super::configurations::{bits, squares, words};
use super::plan::StepField;

/// For each pair of squares, how many squares are nearer to the first than the second is. Of
/// squares that are equally far, those are nearer that come first in an order of directions.
#[derive(Debug)]
pub(super) struct Ranks {
    squares: usize,
    /// The largest number for squares on which a box is lost.
    ranks: Vec<u16>,
}

impl Ranks {
    pub(super) fn new(board: &Board, distances: &Distances, directions: [Direction; 4]) -> Self {
        let squares = board.len();
        let mut ranks = vec![u16::MAX; squares * squares];
        for start in board.squares() {
            let mut found = vec![start];
            let mut seen = vec![false; squares];
            seen[start as usize] = true;
            let mut next = 0;
            while let Some(&square) = found.get(next) {
                next += 1;
                for to in directions.map(|direction| board.next(square, direction)) {
                    if let Some(seen) = seen.get_mut(to as usize)
                        && !*seen
                        && !distances.is_dead(to)
                    {
                        *seen = true;
                        ranks[start as usize * squares + to as usize] = found.len() as u16 - 1;
                        found.push(to);
                    }
                }
            }
        }
        Self { squares, ranks }
    }

    pub(super) fn get(&self, from: Square, to: Square) -> usize {
        self.ranks[from as usize * self.squares + to as usize].into()
    }
}

/// The configurations near a way.
#[derive(Debug)]
pub(super) struct Nearby<'a> {
    ranks: &'a Ranks,
    words: usize,
    /// The words of each configuration on the way.
    way: Vec<u64>,
    /// How many of its nearest squares each box that stands elsewhere may use.
    neighbours: &'a [usize],
}

impl<'a> Nearby<'a> {
    /// Near the way that pushes take from a configuration.
    pub(super) fn new(
        board: &Board,
        ranks: &'a Ranks,
        neighbours: &'a [usize],
        boxes: &[Square],
        pushes: &[Push],
    ) -> Self {
        let mut field = StepField::new(board, boxes);
        let mut way = bits(board, boxes);
        for &push in pushes {
            field.place(push);
            way.extend(bits(board, &field.boxes()));
        }
        Self {
            ranks,
            words: words(board),
            way,
            neighbours,
        }
    }

    /// The index on the way of a configuration near these boxes. Those around `hint` are tried
    /// first.
    pub(super) fn find(&self, boxes: &[u64], hint: usize) -> Option<usize> {
        let len = self.way.len() / self.words;
        let (mut up, mut down) = (hint, hint.checked_sub(1));
        while up < len || down.is_some() {
            if up < len {
                match self.apart(boxes, up) {
                    0 => return Some(up),
                    apart => up += apart,
                }
            }
            if let Some(index) = down {
                match self.apart(boxes, index) {
                    0 => return Some(index),
                    apart => down = index.checked_sub(apart),
                }
            }
        }
        None
    }

    /// A lower bound on the number of pushes of the plan between the position `index` and one that
    /// these boxes are near.
    #[inline]
    fn apart(&self, boxes: &[u64], index: usize) -> usize {
        let way = &self.way[index * self.words..][..self.words];
        let words = boxes.iter().zip(way);
        let different = words
            .map(|(word, other)| (word & !other).count_ones())
            .sum::<u32>() as usize;
        // A push moves one box, so it makes at most one box differ less.
        match different.saturating_sub(self.neighbours.len()) {
            0 if different == 0 || self.fits(boxes, way) => 0,
            apart => apart.max(1),
        }
    }

    /// Whether the boxes that differ stand near enough.
    fn fits(&self, boxes: &[u64], way: &[u64]) -> bool {
        let without = |one: &[u64], other: &[u64]| -> Vec<Square> {
            let words: Vec<u64> = one
                .iter()
                .zip(other)
                .map(|(one, other)| one & !other)
                .collect();
            squares(&words).collect()
        };
        self.can_match(&without(way, boxes), &without(boxes, way), self.neighbours)
    }

    /// Whether boxes can go from some squares to others, each within another one of the limits.
    fn can_match(&self, from: &[Square], to: &[Square], limits: &[usize]) -> bool {
        let Some((&from, others)) = from.split_first() else {
            return true;
        };
        (0..to.len()).any(|index| {
            let rank = self.ranks.get(from, to[index]);
            (0..limits.len()).any(|limit| {
                rank < limits[limit]
                    && (others.is_empty()
                        || self.can_match(others, &except(to, index), &except(limits, limit)))
            })
        })
    }
}

fn except<T: Copy>(values: &[T], index: usize) -> Vec<T> {
    [&values[..index], &values[index + 1..]].concat()
}
