//! Macro moves: one box pushed any number of times in a row.
//!
//! A breadth-first search moves one box and leaves all others where they are. It tells apart in which
//! area the player ends, since that decides what can follow.
//!
//! Invariants: no box is pushed onto a dead square or into a freeze deadlock; the pushes of a macro
//! move are the fewest for its box, destination and area.

use super::super::board::{Board, Direction, Push, Square};
use super::super::deadlock::freeze::Freeze;
use super::super::distances::Distances;
use super::super::field::Field;
use super::super::reach::Reach;
use std::collections::VecDeque;

/// A box pushed from one square to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacroMove {
    pub from: Square,
    pub to: Square,
    /// Where the player stands after the last push.
    pub player: Square,
}

/// The areas into which boxes divide the free squares.
#[derive(Clone, Debug)]
pub struct Areas {
    areas: Vec<Reach>,
    len: usize,
}

impl Areas {
    pub fn new(board: &Board) -> Self {
        Self { areas: vec![Reach::new(board.floor().len()); board.len()], len: 0 }
    }

    /// Finds all areas of a field.
    pub fn find(&mut self, field: &Field<'_>) {
        let mut left = field.free().clone();
        self.len = 0;
        while let Some(cell) = left.first() {
            let area = &mut self.areas[self.len];
            area.fill(field.free(), cell);
            left.remove_all(area.rows());
            self.len += 1;
        }
    }

    pub fn all(&self) -> &[Reach] {
        &self.areas[..self.len]
    }

    /// The area that holds a free square.
    pub fn of(&self, field: &Field<'_>, square: Square) -> &Reach {
        let areas = self.all();
        areas.iter().find(|area| field.reaches(area, square)).unwrap_or(&areas[0])
    }
}

/// Generates macro moves; keeps its memory between calls.
#[derive(Clone, Debug)]
pub struct MacroMoves {
    areas: Areas,
    freeze: Freeze,
    /// By square and side of the player: the search that saw it last.
    seen: Vec<u32>,
    search: u32,
    queue: VecDeque<(Square, Direction, u16)>,
}

impl MacroMoves {
    pub fn new(board: &Board) -> Self {
        Self {
            areas: Areas::new(board),
            freeze: Freeze::default(),
            seen: vec![0; board.len() * 4],
            search: 0,
            queue: VecDeque::new(),
        }
    }

    /// Calls `visit` for every macro move of a player with this reach. The field then has the box at
    /// its destination; the areas, the player's own area and the number of pushes come with it.
    pub fn for_each(
        &mut self,
        field: &mut Field<'_>,
        distances: &Distances,
        reach: &Reach,
        mut visit: impl FnMut(&Field<'_>, MacroMove, &Areas, &Reach, u16),
    ) {
        for number in 0..field.boxes().len() {
            let from = field.boxes()[number];
            self.of_box(field, distances, reach, from, &mut visit);
        }
    }

    fn of_box(
        &mut self,
        field: &mut Field<'_>,
        distances: &Distances,
        reach: &Reach,
        from: Square,
        visit: &mut impl FnMut(&Field<'_>, MacroMove, &Areas, &Reach, u16),
    ) {
        let board = field.board();
        self.search += 1;
        self.queue.clear();
        for direction in Direction::ALL {
            if field.can_push(reach, from, direction) {
                let to = board.next(from, direction);
                if !distances.is_dead(to) {
                    self.queue.push_back((to, direction.opposite(), 1));
                }
            }
            // Standing still is no macro move.
            let side = from as usize * 4 + direction as usize;
            if field.reaches(reach, board.next(from, direction)) {
                self.seen[side] = self.search;
            }
        }
        let mut at = from;
        let mut frozen = false;
        while let Some((to, side, pushes)) = self.queue.pop_front() {
            if self.seen[to as usize * 4 + side as usize] == self.search {
                continue;
            }
            if to != at {
                field.shift(at, to);
                at = to;
                self.areas.find(field);
                frozen = self.freeze.is_deadlock(field, distances, to);
            }
            let player = board.next(to, side);
            let area = self.areas.of(field, player);
            for other in Direction::ALL {
                let behind = board.next(to, other);
                if !field.reaches(area, behind) {
                    continue;
                }
                self.seen[to as usize * 4 + other as usize] = self.search;
                let direction = other.opposite();
                let ahead = board.next(to, direction);
                if !frozen && field.is_free(ahead) && !distances.is_dead(ahead) {
                    self.queue.push_back((ahead, other, pushes + 1));
                }
            }
            if !frozen {
                visit(field, MacroMove { from, to, player }, &self.areas, area, pushes);
            }
        }
        if at != from {
            field.shift(at, from);
        }
    }
}

/// The single pushes of a macro move made by a player at `player`; none if it is not possible.
pub fn pushes_of(field: &mut Field<'_>, player: Square, wanted: MacroMove) -> Option<Vec<Push>> {
    let board = field.board();
    let mut reach = Reach::new(board.floor().len());
    let mut last: Vec<Option<(Push, Option<usize>)>> = vec![None; board.len() * 4];
    let mut queue = VecDeque::new();
    let mut at = wanted.from;
    field.fill(&mut reach, player);
    let state = |square: Square, side: Direction| square as usize * 4 + side as usize;
    for direction in Direction::ALL {
        if field.can_push(&reach, at, direction) {
            let to = board.next(at, direction);
            let side = direction.opposite();
            last[state(to, side)] = Some((Push { square: at, direction }, None));
            queue.push_back((to, side));
        }
    }
    let mut end = None;
    while let Some((to, side)) = queue.pop_front() {
        field.shift(at, to);
        at = to;
        field.fill(&mut reach, board.next(to, side));
        if to == wanted.to && field.reaches(&reach, wanted.player) {
            end = Some(state(to, side));
            break;
        }
        for direction in Direction::ALL {
            if !field.can_push(&reach, to, direction) {
                continue;
            }
            let ahead = board.next(to, direction);
            let next = state(ahead, direction.opposite());
            if last[next].is_none() {
                last[next] = Some((Push { square: to, direction }, Some(state(to, side))));
                queue.push_back((ahead, direction.opposite()));
            }
        }
    }
    field.shift(at, wanted.from);
    let mut pushes = Vec::new();
    let mut step = end?;
    while let Some((push, before)) = last[step] {
        pushes.push(push);
        match before {
            Some(before) => step = before,
            None => break,
        }
    }
    pushes.reverse();
    Some(pushes)
}
