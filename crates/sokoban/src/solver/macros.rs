//! Macro moves: one box pushed, or pulled, any number of times in a row.
//!
//! A breadth-first search moves one box and leaves all others where they are. It tells apart in
//! which area the player ends, since that decides what can follow.
//!
//! Invariants: no box is pushed onto a dead square or into a freeze deadlock; the pushes of a macro
//! move are the fewest for its box, destination and area.

use super::super::board::{Board, Direction, Push, Square};
use super::super::deadlock::freeze::Freeze;
use super::super::field::{Field, Play};
use super::super::reach::Reach;
use super::problem::Problem;
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
        Self {
            areas: vec![Reach::new(board.floor().len()); board.len()],
            len: 0,
        }
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
        areas
            .iter()
            .find(|area| field.reaches(area, square))
            .unwrap_or(&areas[0])
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

    /// Calls `visit` for every macro move of a player with this reach that begins with one of the
    /// `first` pushes, or with any if there are none given. The field then has the box at its
    /// destination; all areas and the player's own come with it. Boxes are left out once `is_over`.
    pub fn for_each(
        &mut self,
        problem: &Problem<'_>,
        field: &mut Field<'_>,
        reach: &Reach,
        first: Option<&[Push]>,
        is_over: &dyn Fn() -> bool,
        mut visit: impl FnMut(&Field<'_>, MacroMove, &Areas, &Reach),
    ) {
        for number in 0..field.boxes().len() {
            if is_over() {
                return;
            }
            let from = field.boxes()[number];
            self.of_box(problem, field, reach, first, from, &mut visit);
        }
    }

    fn of_box(
        &mut self,
        problem: &Problem<'_>,
        field: &mut Field<'_>,
        reach: &Reach,
        first: Option<&[Push]>,
        from: Square,
        visit: &mut impl FnMut(&Field<'_>, MacroMove, &Areas, &Reach),
    ) {
        let board = field.board();
        self.search += 1;
        self.queue.clear();
        for side in Direction::ALL {
            if !field.reaches(reach, board.next(from, side)) {
                continue;
            }
            // Standing still is no macro move.
            self.seen[from as usize * 4 + side as usize] = self.search;
            if let Some(to) = problem.play.moved(field, from, side)
                && !problem.is_dead(to)
                && first.is_none_or(|first| first.contains(&problem.play.push(board, from, side)))
            {
                self.queue.push_back((to, side, 1));
            }
        }
        let mut at = from;
        let mut frozen = false;
        while let Some((to, side, moves)) = self.queue.pop_front() {
            if self.seen[to as usize * 4 + side as usize] == self.search {
                continue;
            }
            if to != at {
                field.shift(at, to);
                at = to;
                self.areas.find(field);
                frozen = problem.play == Play::Push
                    && self.freeze.is_deadlock(field, problem.dead(), to);
            }
            let player = board.next(to, side);
            let area = self.areas.of(field, player);
            for other in Direction::ALL {
                if !field.reaches(area, board.next(to, other)) {
                    continue;
                }
                self.seen[to as usize * 4 + other as usize] = self.search;
                if let Some(ahead) = problem.play.moved(field, to, other)
                    && !frozen
                    && !problem.is_dead(ahead)
                {
                    self.queue.push_back((ahead, other, moves + 1));
                }
            }
            if !frozen {
                visit(field, MacroMove { from, to, player }, &self.areas, area);
            }
        }
        if at != from {
            field.shift(at, from);
        }
    }
}

/// The pushes of a macro move made by a player at `player`, or those that its pulls reverse; none
/// if it is not possible.
pub fn pushes_of(
    problem: &Problem<'_>,
    field: &mut Field<'_>,
    player: Square,
    wanted: MacroMove,
) -> Option<Vec<Push>> {
    let board = field.board();
    let mut reach = Reach::new(board.floor().len());
    let state = |square: Square, side: Direction| square as usize * 4 + side as usize;
    // By state: the state and side before it.
    let mut last: Vec<Option<(Square, Direction)>> = vec![None; board.len() * 4];
    let mut before: Vec<Option<usize>> = vec![None; board.len() * 4];
    let mut queue = VecDeque::from([(wanted.from, player, None)]);
    let mut at = wanted.from;
    let mut end = None;
    while let Some((square, player, number)) = queue.pop_front() {
        if square != at {
            field.shift(at, square);
            at = square;
        }
        field.fill(&mut reach, player);
        if square == wanted.to && number.is_some() && field.reaches(&reach, wanted.player) {
            end = number;
            break;
        }
        for side in Direction::ALL {
            if !field.reaches(&reach, board.next(square, side)) {
                continue;
            }
            if let Some(to) = problem.play.moved(field, square, side) {
                let next = state(to, side);
                if last[next].is_none() {
                    last[next] = Some((square, side));
                    before[next] = number;
                    queue.push_back((to, board.next(to, side), Some(next)));
                }
            }
        }
    }
    if at != wanted.from {
        field.shift(at, wanted.from);
    }
    let mut pushes = Vec::new();
    let mut step = Some(end?);
    while let Some(number) = step {
        let (square, side) = last[number]?;
        pushes.push(problem.play.push(board, square, side));
        step = before[number];
    }
    pushes.reverse();
    Some(pushes)
}
