//! Goal macros: a box at an entrance of a goal room is pushed on to its goal in the same move.
//!
//! For each set of filled goals of a room, a plan says which goals to fill next from each entrance.
//! A set is safe if the other goals can still be filled one by one. Taking boxes out of the full
//! room in any order decides this, since what can be taken out can also be taken out when there are
//! fewer boxes. Among safe goals, those come first that keep most goals within reach of most
//! entrances.
//!
//! Invariants: a plan depends on the filled goals only; boxes outside the room are not considered.

use super::super::moves::{Step, Walker};
use super::rooms::Room;
use crate::board::{Board, Square};
use crate::reach::{Reach, Rows};
use std::collections::HashMap;
use std::rc::Rc;

/// A set of filled goals of a room: bits by position in [`Room::goals`].
pub type Filled = u64;

/// How a lost way from an entrance to a goal counts, and one that became longer.
const LOST: u32 = 10;
const LONGER: u32 = 5;
/// Goals that lose as many ways as the best, or this much more, are alternatives.
const MARGIN: u32 = 5;
/// The largest number of alternatives.
const ALTERNATIVES: usize = 2;

/// What to do next in a room.
#[derive(Clone, Debug)]
pub struct RoomPlan {
    /// Whether the other goals can be filled while the boxes on goals rest.
    pub is_safe: bool,
    /// By entrance: the next goals, best first.
    pub next: Vec<Vec<Square>>,
}

/// A room with its plans.
pub struct Planner {
    room: Room,
    plans: HashMap<Filled, Rc<RoomPlan>>,
    safe: HashMap<Filled, bool>,
    /// By entrance and goal: pushes with these goals filled.
    ways: HashMap<Filled, Rc<Vec<Vec<Option<u16>>>>>,
    walker: Walker,
    reach: Reach,
    outside: Rows,
}

impl Planner {
    pub fn new(board: &Board, room: Room) -> Self {
        let mut outside = board.floor().clone();
        for square in board.squares() {
            if room.inside[usize::from(square)] {
                outside.remove(board.cell(square));
            }
        }
        Self {
            outside,
            room,
            plans: HashMap::new(),
            safe: HashMap::new(),
            ways: HashMap::new(),
            walker: Walker::new(board),
            reach: Reach::new(board.floor().len()),
        }
    }

    pub fn room(&self) -> &Room {
        &self.room
    }

    /// The goals of the room that have a box.
    pub fn filled(&self, has_box: impl Fn(Square) -> bool) -> Filled {
        (self.room.goals.iter().enumerate())
            .filter(|&(_, &goal)| has_box(goal))
            .fold(0, |filled, (bit, _)| filled | 1 << bit)
    }

    fn full(&self) -> Filled {
        Filled::MAX >> (64 - self.room.goals.len())
    }

    /// The plan for a set of filled goals.
    pub fn plan(&mut self, board: &Board, filled: Filled) -> Rc<RoomPlan> {
        if let Some(plan) = self.plans.get(&filled) {
            return Rc::clone(plan);
        }
        let plan = Rc::new(self.make(board, filled));
        self.plans.insert(filled, Rc::clone(&plan));
        plan
    }

    fn make(&mut self, board: &Board, filled: Filled) -> RoomPlan {
        let entrances = self.room.entrances.len();
        if !self.is_safe(board, filled) {
            return RoomPlan {
                is_safe: false,
                next: vec![Vec::new(); entrances],
            };
        }
        let ways = self.ways(board, filled);
        let mut values: Vec<Vec<(u32, i32, Square)>> = vec![Vec::new(); entrances];
        for goal in 0..self.room.goals.len() {
            let after = filled | 1 << goal;
            let is_reached = (0..entrances).any(|entrance| ways[entrance][goal].is_some());
            if after == filled || !is_reached || !self.is_safe(board, after) {
                continue;
            }
            let ways_after = self.ways(board, after);
            let mut loss = 0;
            for entrance in 0..entrances {
                for other in 0..self.room.goals.len() {
                    if after >> other & 1 == 0 {
                        loss += match (ways[entrance][other], ways_after[entrance][other]) {
                            (Some(_), None) => LOST,
                            (Some(before), Some(after)) if before < after => LONGER,
                            _ => 0,
                        };
                    }
                }
            }
            for entrance in 0..entrances {
                if let Some(pushes) = ways[entrance][goal] {
                    values[entrance].push((loss, -i32::from(pushes), self.room.goals[goal]));
                }
            }
        }
        let next = (values.into_iter())
            .map(|mut values| {
                values.sort_unstable();
                let best = values.first().map_or(0, |value| value.0);
                let count = if best == 0 { 1 } else { ALTERNATIVES };
                (values.into_iter())
                    .take_while(|value| value.0 <= best + MARGIN)
                    .take(count)
                    .map(|(_, _, goal)| goal)
                    .collect()
            })
            .collect();
        RoomPlan {
            is_safe: true,
            next,
        }
    }

    /// Whether the other goals can be filled, in some order.
    fn is_safe(&mut self, board: &Board, filled: Filled) -> bool {
        if let Some(&safe) = self.safe.get(&filled) {
            return safe;
        }
        let mut left = self.full();
        while left != filled {
            let taken = (0..self.room.goals.len())
                .filter(|&goal| (left & !filled) >> goal & 1 != 0)
                .find(|&goal| {
                    let ways = self.ways(board, left & !(1 << goal));
                    ways.iter().any(|by_goal| by_goal[goal].is_some())
                });
            match taken {
                Some(goal) => left &= !(1 << goal),
                None => break,
            }
        }
        let safe = left == filled;
        self.safe.insert(filled, safe);
        safe
    }

    /// For each entrance and goal, the pushes that bring a box there and let the player out again.
    fn ways(&mut self, board: &Board, filled: Filled) -> Rc<Vec<Vec<Option<u16>>>> {
        if let Some(ways) = self.ways.get(&filled) {
            return Rc::clone(ways);
        }
        let mut free = board.floor().clone();
        for (bit, &goal) in self.room.goals.iter().enumerate() {
            if filled >> bit & 1 != 0 {
                free.remove(board.cell(goal));
            }
        }
        let mut ways = Vec::with_capacity(self.room.entrances.len());
        for at in 0..self.room.entrances.len() {
            ways.push(self.ways_from(board, &mut free, filled, at));
        }
        let ways = Rc::new(ways);
        self.ways.insert(filled, Rc::clone(&ways));
        ways
    }

    fn ways_from(
        &mut self,
        board: &Board,
        free: &mut Rows,
        filled: Filled,
        at: usize,
    ) -> Vec<Option<u16>> {
        let entrance = self.room.entrances[at];
        let goals = &self.room.goals;
        let mut ways = vec![None; goals.len()];
        if !free.contains(board.cell(entrance.inside)) {
            return ways;
        }
        let inside = &self.room.inside;
        self.walker.search(
            board,
            free,
            entrance.inside,
            entrance.outside,
            |_, _, to, _| {
                if inside[usize::from(to)] {
                    Step::Go
                } else {
                    Step::Skip
                }
            },
        );
        for (number, square, last, pushes) in self.walker.found() {
            let Ok(goal) = goals.binary_search(&square) else {
                continue;
            };
            if ways[goal].is_some() {
                continue;
            }
            let is_last = filled | 1 << goal == Filled::MAX >> (64 - goals.len());
            let player = if number == 0 {
                entrance.outside
            } else {
                board.next(square, last.opposite())
            };
            free.remove(board.cell(square));
            self.reach.fill(free, board.cell(player));
            free.insert(board.cell(square));
            let (reached, outside) = (self.reach.rows().words(), self.outside.words());
            let comes_out = (reached.iter().zip(outside)).any(|(one, other)| one & other != 0);
            if is_last || comes_out {
                ways[goal] = Some(pushes);
            }
        }
        ways
    }
}
