//! Deadlocks of the boxes around an area that the player cannot enter.
//!
//! The boxes around such an area (a corral) are searched alone, with all other boxes taken away. If
//! they can neither be brought to goals nor out of the area, the position is a deadlock (Sokoban
//! wiki, "How to detect deadlocks", corral deadlocks; JSoko). The search is bounded, and its
//! verdicts are kept.
//!
//! Invariants: a position is called a deadlock only if the search of the corral's boxes was
//! complete. Fewer boxes can only make a position easier, so that the verdict holds for all boxes.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::board::{Direction, Square};
use super::super::distances::DeadSquares;
use super::super::field::Field;
use super::super::reach::{Reach, Rows};
use super::freeze::Freeze;

/// Searches corrals and remembers what it found.
#[derive(Clone, Debug)]
pub struct Corrals {
    verdicts: FxHashMap<u64, bool>,
    freeze: Freeze,
    /// Positions searched so far.
    pub nodes: u64,
    /// The most positions of one search.
    pub limit: usize,
}

/// The most verdicts that are kept.
const MAX_VERDICTS: usize = 1 << 21;

impl Corrals {
    /// `limit` bounds the positions of one search.
    pub fn new(limit: usize) -> Self {
        Self {
            verdicts: FxHashMap::default(),
            freeze: Freeze::default(),
            nodes: 0,
            limit,
        }
    }

    /// Whether some area out of reach makes the position a deadlock. `inside` is the player's
    /// reach.
    pub fn is_deadlock(&mut self, field: &Field<'_>, dead: &DeadSquares, inside: &Reach) -> bool {
        let board = field.board();
        let mut left = field.free().clone();
        left.remove_all(inside.rows());
        let mut area = Reach::new(left.len());
        while let Some(cell) = left.first() {
            area.fill(field.free(), cell);
            left.remove_all(area.rows());
            let mut boxes: Vec<Square> = (field.boxes().iter().copied())
                .filter(|&square| {
                    let neighbours = board.neighbours(square);
                    neighbours.iter().any(|&next| field.reaches(&area, next))
                })
                .collect();
            if boxes.is_empty() || boxes.len() == field.boxes().len() && boxes.len() > 8 {
                continue;
            }
            boxes.sort_unstable();
            let solved = boxes.iter().all(|&square| board.is_goal(square));
            if solved && !holds_unfilled_goal(field, &area) {
                continue;
            }
            if self.is_dead_corral(field, dead, inside, &area, &boxes) {
                return true;
            }
        }
        false
    }

    fn is_dead_corral(
        &mut self,
        field: &Field<'_>,
        dead: &DeadSquares,
        inside: &Reach,
        area: &Reach,
        boxes: &[Square],
    ) -> bool {
        let board = field.board();
        let player = board.first(inside);
        let mut alone = Field::new(board, boxes);
        let mut reach = Reach::new(area.rows().len());
        alone.fill(&mut reach, player);
        let key = alone.position_hash(board.first(&reach));
        if let Some(&verdict) = self.verdicts.get(&key) {
            return verdict;
        }
        let verdict = self.search(&mut alone, dead, area.rows(), player);
        if self.verdicts.len() >= MAX_VERDICTS {
            self.verdicts.clear();
        }
        self.verdicts.insert(key, verdict);
        verdict
    }

    /// Whether the boxes of `alone` can neither be solved nor leave the area.
    fn search(
        &mut self,
        alone: &mut Field<'_>,
        dead: &DeadSquares,
        area: &Rows,
        player: Square,
    ) -> bool {
        let board = alone.board();
        let mut zone = area.clone();
        for &square in alone.boxes() {
            zone.insert(board.cell(square));
        }
        let mut seen = FxHashSet::default();
        let mut reach = Reach::new(area.len());
        let mut waiting: Vec<(Vec<Square>, Square)> = vec![(alone.boxes().to_vec(), player)];
        alone.fill(&mut reach, player);
        seen.insert(alone.position_hash(board.first(&reach)));
        let mut after = Reach::new(area.len());
        while let Some((boxes, player)) = waiting.pop() {
            self.nodes += 1;
            alone.set(&boxes);
            alone.fill(&mut reach, player);
            for &square in &boxes {
                for direction in Direction::ALL {
                    if !alone.can_push(&reach, square, direction) {
                        continue;
                    }
                    let ahead = board.next(square, direction);
                    if dead.contains(ahead) {
                        continue;
                    }
                    if !zone.contains(board.cell(ahead)) {
                        return false;
                    }
                    alone.shift(square, ahead);
                    if board.is_solved(alone.boxes()) {
                        return false;
                    }
                    if !self.freeze.is_deadlock(alone, dead, ahead) {
                        alone.fill(&mut after, square);
                        if seen.insert(alone.position_hash(board.first(&after))) {
                            waiting.push((alone.boxes().to_vec(), square));
                        }
                    }
                    alone.shift(ahead, square);
                }
            }
            if seen.len() > self.limit {
                return false;
            }
        }
        true
    }
}

/// Whether the player's way is barred to a goal without a box.
fn holds_unfilled_goal(field: &Field<'_>, area: &Reach) -> bool {
    let board = field.board();
    board.goals().iter().any(|&goal| field.reaches(area, goal))
}
