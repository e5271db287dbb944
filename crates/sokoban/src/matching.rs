//! The cheapest way to give every box a goal of its own: a lower bound on the pushes that are left.
//!
//! A minimum-cost perfect matching of boxes to goals, kept up to date by the Hungarian method. Dual
//! prices prove the matching cheapest; when one box moves, only its row of costs changes, and one
//! shortest augmenting path (Jonker and Volgenant 1987) mends the matching. A pair without a way
//! costs more than all ways together, so that such a pair is matched only if there is no other
//! choice: then the position is a deadlock.
//!
//! If there are fewer boxes than goals, further boxes that cost nothing anywhere fill the rest.
//!
//! Invariants: every box has one goal and every goal one box; with the price of each goal, no box
//! could pay less at another goal than at its own.

use super::board::{Direction, Square};
use super::distances::{Distances, UNREACHABLE};

/// The cost of a pair without a way. More than all pushes of any solution of the relaxed problem.
const NO_WAY: i64 = 1 << 36;

/// No box or goal.
const NONE: u16 = u16::MAX;

/// A minimum-cost matching of boxes to goals.
#[derive(Clone, Debug)]
pub struct Matching {
    /// The number of goals, and of boxes with those that fill up.
    goals: usize,
    /// By box and goal.
    costs: Vec<i64>,
    goal_of: Vec<u16>,
    box_of: Vec<u16>,
    prices: Vec<i64>,
    total: i64,
    // Scratch of one augmentation, by goal.
    lengths: Vec<i64>,
    from: Vec<u16>,
    done: Vec<bool>,
    order: Vec<u16>,
}

impl Matching {
    /// The matching of boxes on these squares.
    ///
    /// # Panics
    ///
    /// If there are more boxes than goals.
    pub fn new(distances: &Distances, boxes: &[Square]) -> Self {
        let goals = distances.goals();
        assert!(boxes.len() <= goals, "more boxes than goals");
        let mut matching = Self {
            goals,
            costs: vec![0; goals * goals],
            goal_of: vec![NONE; goals],
            box_of: vec![NONE; goals],
            prices: vec![0; goals],
            total: 0,
            lengths: vec![0; goals],
            from: vec![NONE; goals],
            done: vec![false; goals],
            order: Vec::with_capacity(goals),
        };
        for index in 0..goals {
            if let Some(&square) = boxes.get(index) {
                matching.set_costs(index, |goal| distances.to_goal(goal, square));
            }
            matching.augment(index);
        }
        matching.sum();
        matching
    }

    /// The least number of pushes by which every box could reach a goal of its own if the boxes did
    /// not block each other. `None`: some box cannot have a goal, a deadlock.
    #[inline]
    pub fn cost(&self) -> Option<u32> {
        (self.total < NO_WAY).then_some(self.total as u32)
    }

    /// The number of the goal that a box is matched to.
    #[inline]
    pub fn goal_of(&self, index: usize) -> usize {
        usize::from(self.goal_of[index])
    }

    /// The index of the box that is matched to a goal: not less than the number of boxes if the
    /// goal stays empty.
    #[inline]
    pub fn box_of(&self, goal: usize) -> usize {
        usize::from(self.box_of[goal])
    }

    /// By how much the cheapest matching grows at least if a box gets this goal, for all boxes
    /// together: the sum of what they add never exceeds the growth.
    #[inline]
    pub fn reduced_cost(&self, index: usize, goal: usize) -> u32 {
        let row = &self.costs[index * self.goals..(index + 1) * self.goals];
        let own = self.goal_of(index);
        let reduced = row[goal] - self.prices[goal] - row[own] + self.prices[own];
        reduced.clamp(0, i64::from(u32::MAX / 4)) as u32
    }

    /// Updates the matching after the box with this index moved to a square.
    pub fn moved(&mut self, distances: &Distances, index: usize, square: Square) {
        self.replace(index, |goal| distances.to_goal(goal, square));
    }

    /// As [`moved`](Self::moved), for a player who stands on one side of the box. The bound is
    /// tighter, and valid: the side of a box changes only when the box itself is pushed.
    pub fn moved_from_side(
        &mut self,
        distances: &Distances,
        index: usize,
        square: Square,
        side: Direction,
    ) {
        self.replace(index, |goal| {
            distances.to_goal_from_side(goal, square, side)
        });
    }

    fn replace(&mut self, index: usize, pushes: impl Fn(usize) -> u16) {
        let old = usize::from(self.goal_of[index]);
        self.box_of[old] = NONE;
        self.set_costs(index, pushes);
        self.augment(index);
        self.sum();
    }

    fn set_costs(&mut self, index: usize, pushes: impl Fn(usize) -> u16) {
        let row = &mut self.costs[index * self.goals..(index + 1) * self.goals];
        for (goal, cost) in row.iter_mut().enumerate() {
            *cost = match pushes(goal) {
                UNREACHABLE => NO_WAY,
                pushes => i64::from(pushes),
            };
        }
    }

    fn sum(&mut self) {
        self.total = (0..self.goals)
            .map(|index| self.costs[index * self.goals + usize::from(self.goal_of[index])])
            .sum();
    }

    /// Matches a box without a goal along a shortest augmenting path.
    fn augment(&mut self, index: usize) {
        let goals = self.goals;
        let row = &self.costs[index * goals..(index + 1) * goals];
        for ((length, cost), price) in self.lengths.iter_mut().zip(row).zip(&self.prices) {
            *length = cost - price;
        }
        self.from.fill(index as u16);
        self.done.fill(false);
        self.order.clear();
        let end = loop {
            let mut nearest = 0;
            let mut least = i64::MAX;
            for goal in 0..goals {
                if !self.done[goal] && self.lengths[goal] < least {
                    least = self.lengths[goal];
                    nearest = goal;
                }
            }
            let owner = self.box_of[nearest];
            if owner == NONE {
                break nearest;
            }
            self.done[nearest] = true;
            self.order.push(nearest as u16);
            let row = &self.costs[usize::from(owner) * goals..][..goals];
            let paid = row[nearest] - self.prices[nearest];
            for (goal, (cost, price)) in row.iter().zip(&self.prices).enumerate() {
                let length = least + cost - price - paid;
                if !self.done[goal] && length < self.lengths[goal] {
                    self.lengths[goal] = length;
                    self.from[goal] = owner;
                }
            }
        };
        let shortest = self.lengths[end];
        for &goal in &self.order {
            let goal = usize::from(goal);
            self.prices[goal] -= shortest - self.lengths[goal];
        }
        let mut goal = end;
        loop {
            let owner = usize::from(self.from[goal]);
            self.box_of[goal] = owner as u16;
            let next = std::mem::replace(&mut self.goal_of[owner], goal as u16);
            if owner == index {
                return;
            }
            goal = usize::from(next);
        }
    }
}

#[cfg(test)]
mod tests;
