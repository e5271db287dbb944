//! Moves into and inside goal rooms, from the plans of the rooms.
//!
//! While the filled goals of a room are safe, its boxes on goals rest and boxes enter it by goal
//! macros only. Otherwise boxes move there as elsewhere.
//!
//! Invariants: [`Rooms::update`] was called for the state that the other functions are given.

use super::super::moves::{Move, Path, Step, Walker};
use super::super::state::State;
use super::goal_macros::{Planner, RoomPlan};
use super::rooms::{Entrance, rooms};
use crate::board::{Board, Direction, Square};
use crate::distances::{Distances, UNREACHABLE};
use std::rc::Rc;

/// Squares outside all rooms.
const NO_ROOM: u8 = u8::MAX;

/// All goal rooms of a board.
pub struct Rooms {
    planners: Vec<Planner>,
    room_of: Vec<u8>,
    plans: Vec<Rc<RoomPlan>>,
    outer: Walker,
    inner: Walker,
}

impl Rooms {
    /// `None` if the board has no goal rooms.
    pub fn new(board: &Board, distances: &Distances) -> Option<Self> {
        let rooms = rooms(board, distances);
        if rooms.is_empty() {
            return None;
        }
        let mut room_of = vec![NO_ROOM; board.len()];
        for (number, room) in rooms.iter().enumerate() {
            for square in board.squares() {
                if room.inside[usize::from(square)] {
                    room_of[usize::from(square)] = number as u8;
                }
            }
        }
        let planners = (rooms.into_iter())
            .map(|room| Planner::new(board, room))
            .collect();
        Some(Self {
            planners,
            room_of,
            plans: Vec::new(),
            outer: Walker::new(board),
            inner: Walker::new(board),
        })
    }

    /// Whether exactly one of two squares is in a room, or they are in different ones.
    pub fn is_border(&self, one: Square, other: Square) -> bool {
        self.room_of[usize::from(one)] != self.room_of[usize::from(other)]
    }

    /// Reads the filled goals.
    pub fn update(&mut self, state: &State) {
        self.plans.clear();
        for planner in &mut self.planners {
            let filled = planner.filled(|goal| state.has_box(goal));
            self.plans.push(planner.plan(state.board(), filled));
        }
    }

    /// Adds macro moves of a box inside a room. Returns whether it has no other moves.
    pub fn resolve_inside(&mut self, state: &State, index: usize, moves: &mut Vec<Move>) -> bool {
        let from = state.squares()[index];
        let room = self.room_of[usize::from(from)];
        if room == NO_ROOM || !self.plans[usize::from(room)].is_safe {
            return false;
        }
        if state.board().is_goal(from) {
            return true;
        }
        let plan = Rc::clone(&self.plans[usize::from(room)]);
        let mut targets: Vec<Square> = plan.next.iter().flatten().copied().collect();
        targets.sort_unstable();
        targets.dedup();
        let before = moves.len();
        for target in targets {
            if let Some(path) = self.way(state, index, from, state.player(), room, target) {
                moves.push(goal_move(index, from, target, path));
            }
        }
        moves.len() > before
    }

    /// Adds macro moves in place of a push into a room. Returns whether the push is replaced.
    pub fn enter(
        &mut self,
        state: &State,
        index: usize,
        direction: Direction,
        moves: &mut Vec<Move>,
    ) -> bool {
        let from = state.squares()[index];
        let inside = state.board().next(from, direction);
        let room = self.room_of[usize::from(inside)];
        if room == NO_ROOM || room == self.room_of[usize::from(from)] {
            return false;
        }
        if !self.plans[usize::from(room)].is_safe {
            return false;
        }
        let entrance = Entrance {
            outside: from,
            inside,
            direction,
        };
        self.enter_at(state, index, entrance, &[], moves);
        true
    }

    /// Adds the macro moves through an entrance after the pushes `before`.
    fn enter_at(
        &mut self,
        state: &State,
        index: usize,
        entrance: Entrance,
        before: &[Direction],
        moves: &mut Vec<Move>,
    ) {
        let room = self.room_of[usize::from(entrance.inside)];
        let entrances = &self.planners[usize::from(room)].room().entrances;
        let Some(number) = entrances.iter().position(|other| *other == entrance) else {
            return;
        };
        let plan = Rc::clone(&self.plans[usize::from(room)]);
        for &target in &plan.next[number] {
            let way = if entrance.inside == target {
                Some(Vec::new())
            } else {
                let player = entrance.outside;
                self.way(state, index, entrance.inside, player, room, target)
            };
            if let Some(way) = way {
                let mut path = before.to_vec();
                path.push(entrance.direction);
                path.extend(way);
                moves.push(goal_move(index, state.squares()[index], target, path));
            }
        }
    }

    /// The pushes inside a room that bring a box from a square to a goal.
    fn way(
        &mut self,
        state: &State,
        index: usize,
        square: Square,
        player: Square,
        room: u8,
        target: Square,
    ) -> Option<Vec<Direction>> {
        let board = state.board();
        let mut free = state.free().clone();
        free.insert(board.cell(state.squares()[index]));
        let room_of = &self.room_of;
        let found = (self.inner).search(board, &mut free, square, player, |_, _, to, _| {
            if to == target {
                Step::Found
            } else if room_of[usize::from(to)] == room {
                Step::Go
            } else {
                Step::Skip
            }
        })?;
        Some(self.inner.path(found))
    }

    /// Goal cut: looks for a box that can go to its goal without a detour and without a move of
    /// another box. Then its goal macros are the only moves.
    pub fn cut(&mut self, state: &mut State, moves: &mut Vec<Move>) -> bool {
        let board = state.board();
        let Some(before) = state.matching().cost() else {
            return false;
        };
        let mut targets: Vec<usize> = Vec::new();
        for plan in &self.plans {
            for goal in plan.next.iter().flatten() {
                if let Ok(goal) = board.goals().binary_search(goal)
                    && !targets.contains(&goal)
                {
                    targets.push(goal);
                }
            }
        }
        if targets.is_empty() {
            return false;
        }
        let mut boxes: Vec<(u16, usize)> = (0..state.squares().len())
            .filter(|&index| self.room_of[usize::from(state.squares()[index])] == NO_ROOM)
            .map(|index| {
                let square = state.squares()[index];
                (state.distances().to_nearest(square), index)
            })
            .collect();
        boxes.sort_unstable();
        for (_, index) in boxes {
            for (entrance, path) in self.approaches(state, index, &targets) {
                self.enter_at(state, index, entrance, &path, moves);
                moves.retain(|next| {
                    let undo = state.apply(next.index, next.to, next.last());
                    let after = state.matching().cost();
                    state.undo(undo);
                    after.is_some_and(|after| after + next.pushes() == before)
                });
                if !moves.is_empty() {
                    return true;
                }
            }
        }
        false
    }

    /// The entrances that a box reaches on a shortest way to some goal, with the pushes up to
    /// there.
    fn approaches(
        &mut self,
        state: &State,
        index: usize,
        targets: &[usize],
    ) -> Vec<(Entrance, Vec<Direction>)> {
        let board = state.board();
        let distances = state.distances();
        let square = state.squares()[index];
        let side = state.side(index);
        let start: Vec<u16> = (targets.iter())
            .map(|&goal| distances.to_goal_from_side(goal, square, side))
            .collect();
        let mut free = state.free().clone();
        free.insert(board.cell(square));
        let mut found = Vec::new();
        let room_of = &self.room_of;
        let mut number = 0;
        self.outer.search(
            board,
            &mut free,
            square,
            state.player(),
            |from, direction, to, pushes| {
                let is_shortest = targets.iter().zip(&start).any(|(&goal, &all)| {
                    let left = distances.to_goal_from_side(goal, to, direction.opposite());
                    all != UNREACHABLE && left != UNREACHABLE && pushes + left == all
                });
                if !is_shortest {
                    return Step::Skip;
                }
                number += 1;
                if room_of[usize::from(to)] == NO_ROOM {
                    return Step::Go;
                }
                found.push((
                    Entrance {
                        outside: from,
                        inside: to,
                        direction,
                    },
                    number,
                ));
                Step::Go
            },
        );
        found
            .into_iter()
            .filter(|(entrance, _)| room_of[usize::from(entrance.outside)] == NO_ROOM)
            .map(|(entrance, number)| {
                let mut path = self.outer.path(number);
                path.pop();
                (entrance, path)
            })
            .collect()
    }
}

fn goal_move(index: usize, from: Square, to: Square, path: Vec<Direction>) -> Move {
    Move {
        index,
        from,
        to,
        path: Path::Turning(path),
        is_goal_macro: true,
        order: 0,
    }
}
