//! Sets of boxes that need more pushes than their distances say, or that are a deadlock.
//!
//! A pattern holds if all of its boxes stand there and the player is in its region: the squares
//! that are connected to each other when there are no boxes but those of the pattern. Only a push
//! of one of its boxes can make a pattern hold that did not hold before.
//!
//! Invariants: a dead pattern is listed at all of its squares, another pattern at its first square.

use super::state::State;
use crate::board::{Board, Square};
use crate::reach::Rows;

/// Extra pushes of a deadlock.
pub const DEAD: u32 = u32::MAX;

struct Pattern {
    boxes: Vec<Square>,
    region: Rows,
    extra: u32,
}

/// Patterns found so far.
pub struct Patterns {
    patterns: Vec<Pattern>,
    dead: Vec<Vec<u32>>,
    others: Vec<Vec<u32>>,
    /// Patterns that hold and boxes that are taken: scratch.
    holding: Vec<(u32, u32)>,
    taken: Vec<u32>,
}

impl Patterns {
    pub fn new(board: &Board) -> Self {
        Self {
            patterns: Vec::new(),
            dead: vec![Vec::new(); board.len()],
            others: vec![Vec::new(); board.len()],
            holding: Vec::new(),
            taken: vec![0; board.start().boxes.len()],
        }
    }

    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Adds a pattern for boxes and the region of the player.
    pub fn add(&mut self, boxes: &[Square], region: Rows, extra: u32) {
        if let Some(&first) = boxes.first()
            && extra != DEAD
        {
            for &number in &self.others[usize::from(first)] {
                let known = &mut self.patterns[number as usize];
                if known.boxes == boxes && known.region == region {
                    known.extra = known.extra.max(extra);
                    return;
                }
            }
        }
        let number = self.patterns.len() as u32;
        if extra == DEAD {
            for &square in boxes {
                self.dead[usize::from(square)].push(number);
            }
        } else if let Some(&first) = boxes.first() {
            self.others[usize::from(first)].push(number);
        }
        self.patterns.push(Pattern {
            boxes: boxes.to_vec(),
            region,
            extra,
        });
    }

    /// Whether a dead pattern with a box on `square` holds.
    pub fn is_dead(
        &self,
        board: &Board,
        square: Square,
        player: Square,
        has_box: impl Fn(Square) -> bool,
    ) -> bool {
        self.dead[usize::from(square)].iter().any(|&number| {
            let pattern = &self.patterns[number as usize];
            pattern.boxes.iter().all(|&square| has_box(square))
                && pattern.region.contains(board.cell(player))
        })
    }

    /// Extra pushes by patterns that hold and share no box. Overestimating, the largest extra of
    /// each box is added up and shared among the boxes of a pattern.
    pub fn extra(&mut self, state: &State, overestimate: bool) -> u32 {
        self.holding.clear();
        let cell = state.board().cell(state.player());
        for &square in state.squares() {
            for &number in &self.others[usize::from(square)] {
                let pattern = &self.patterns[number as usize];
                if pattern.boxes.iter().all(|&square| state.has_box(square))
                    && pattern.region.contains(cell)
                {
                    self.holding.push((pattern.extra, number));
                }
            }
        }
        if self.holding.is_empty() {
            return 0;
        }
        self.holding.sort_unstable_by(|one, other| other.cmp(one));
        self.taken.fill(0);
        let mut sum = 0;
        for &(extra, number) in &self.holding {
            let boxes = &self.patterns[number as usize].boxes;
            let index = |&square: &Square| usize::from(state.index_at(square));
            if boxes.iter().all(|square| self.taken[index(square)] == 0) {
                sum += extra;
                for square in boxes {
                    self.taken[index(square)] = extra;
                }
            } else if overestimate {
                // A box that no stronger pattern holds counts with a share of this one.
                for square in boxes {
                    if self.taken[index(square)] == 0 {
                        self.taken[index(square)] = extra;
                        sum += extra;
                    }
                }
            }
        }
        sum
    }
}
