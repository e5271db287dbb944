//! The depth-first search below a bound, repeated with larger bounds.

use super::Parts;
use super::areas::Areas;
use super::inadmissible::Inadmissible;
use super::moves::{Move, Path, tunnel};
use super::pairs::Pairs;
use super::pattern_search::PatternSearch;
use super::state::{State, mix};
use super::table::{Known, Transpositions};
use crate::board::{Board, Direction, NO_SQUARE, Push};
use crate::deadlock::pi_corral::PiCorrals;
use crate::distances::Distances;
use crate::reach::{Reach, Rows};
use panza_sync::Budget;

/// No bound: nothing is left to search.
const NEVER: u32 = u32::MAX;

/// Nodes between two looks at the limits.
const LOOK: u64 = 256;

pub struct DeepeningSearch<'a> {
    board: &'a Board,
    distances: &'a Distances,
    parts: Parts,
    limits: &'a Budget,
    state: State<'a>,
    table: Option<Transpositions>,
    inadmissible: Inadmissible,
    pattern_search: Option<PatternSearch>,
    areas: Option<Areas>,
    pairs: Option<Pairs>,
    corrals: Option<PiCorrals>,
    /// The squares in reach before each move of `path`.
    reaches: Vec<Rows>,
    /// Nodes at which the slice between restarts ends.
    slice_end: u64,
    slice_over: bool,
    path: Vec<Move>,
    buffers: Vec<Vec<Move>>,
    reach: Reach,
    nodes: u64,
    /// Pushes of a solution may not be more in this iteration.
    bound: u32,
    /// The least estimate above the bound.
    next_bound: u32,
    is_spent: bool,
}

impl<'a> DeepeningSearch<'a> {
    pub fn new(
        board: &'a Board,
        distances: &'a Distances,
        parts: Parts,
        seed: u64,
        limits: &'a Budget,
    ) -> Self {
        Self {
            board,
            distances,
            parts,
            limits,
            inadmissible: Inadmissible::new(board, distances, &parts, seed),
            pattern_search: (parts.pattern_search).then(|| PatternSearch::new(board, distances)),
            areas: parts.deadlock_tables.then(|| Areas::new(board)),
            pairs: if parts.pairs {
                Pairs::new(board, distances, limits)
            } else {
                None
            },
            corrals: parts.pattern_search.then(|| PiCorrals::new(board)),
            reaches: Vec::new(),
            slice_end: u64::MAX,
            slice_over: false,
            state: State::new(board, distances, board.start()),
            table: parts.table.then(|| {
                let wanted = usize::try_from(limits.max_steps).unwrap_or(usize::MAX);
                Transpositions::new(
                    (limits.max_bytes / 2)
                        .min(wanted.saturating_mul(16))
                        .min(1 << 27),
                )
            }),
            path: Vec::new(),
            buffers: Vec::new(),
            reach: Reach::new(board.floor().len()),
            nodes: 0,
            bound: 0,
            next_bound: NEVER,
            is_spent: false,
        }
    }

    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// The pushes of a solution, and whether everything was searched. Parts that leave out moves
    /// are switched off when nothing is left to search with them.
    pub fn run(&mut self) -> (Option<Vec<Push>>, bool) {
        loop {
            let (found, exhausted) = self.deepen();
            if found.is_some() || !exhausted {
                return (found, false);
            }
            if !self.inadmissible.switch_off() {
                return (None, true);
            }
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.inadmissible.forget_cuts();
        if let Some(table) = &mut self.table {
            table.clear();
        }
    }

    fn solution(&self) -> Vec<Push> {
        let mut pushes = Vec::new();
        for made in &self.path {
            made.append(self.board, &mut pushes);
        }
        pushes
    }

    fn deepen(&mut self) -> (Option<Vec<Push>>, bool) {
        let Some(start) = self.state.matching().cost() else {
            return (None, true);
        };
        let mut least = start;
        for round in 0_u32.. {
            if round > 0 {
                self.clear();
            }
            let turn = self.inadmissible.turn(round, start);
            self.slice_end = self.nodes.saturating_add(turn.nodes);
            self.slice_over = false;
            self.bound = least + turn.first_slack;
            loop {
                self.next_bound = NEVER;
                if self.visit(0) {
                    return (Some(self.solution()), false);
                }
                if self.is_spent {
                    return (None, false);
                }
                if self.slice_over {
                    break;
                }
                if self.next_bound == NEVER {
                    return (None, true);
                }
                least = least.max(self.next_bound);
                self.bound = least + turn.slack;
            }
        }
        (None, false)
    }

    /// Searches below the present position, reached with `made` pushes. Leaves the moves of a
    /// solution in `path`.
    fn visit(&mut self, made: u32) -> bool {
        self.nodes += 1;
        if self.is_spent || self.nodes.is_multiple_of(LOOK) && self.limits.is_over_at(self.nodes) {
            self.is_spent = true;
            return false;
        }
        if self.nodes >= self.slice_end {
            self.slice_over = true;
            return false;
        }
        let Some(left) = self.state.matching().cost() else {
            return false;
        };
        if left == 0 {
            return true;
        }
        if made + left > self.bound {
            self.next_bound = self.next_bound.min(made + left);
            return false;
        }
        if self.is_refuted(made) {
            return false;
        }
        if let (Some(areas), Some(last)) = (&mut self.areas, self.path.last())
            && areas.is_dead(&self.state, last.to, last.last())
        {
            return false;
        }
        if let Some(pairs) = &mut self.pairs {
            let Some(extra) = pairs.extra(&self.state) else {
                return false;
            };
            if made + left + extra > self.bound {
                self.next_bound = self.next_bound.min(made + left + extra);
                return false;
            }
        }
        self.state.fill(&mut self.reach);
        let hash = self.state.hash() ^ mix(!u64::from(self.board.first(&self.reach)));
        let depth = (self.bound - made + 1).min(u32::from(u16::MAX)) as u16;
        let mut tested = false;
        if let Some(table) = &mut self.table {
            let known = table.get(hash);
            if known.depth >= depth {
                return false;
            }
            tested = known.tested;
            let tested = tested || self.parts.pattern_search;
            table.set(hash, Known { depth, tested });
        }
        if !tested && self.search_patterns() && self.is_refuted(made) {
            return false;
        }
        let mut moves = self.buffers.pop().unwrap_or_default();
        self.generate(&mut moves);
        if self.parts.ordering {
            self.order(&mut moves);
        }
        let mut found = false;
        let patterns = self.patterns_len();
        self.reaches.push(self.reach.rows().clone());
        for next in moves.drain(..) {
            if self.is_cut(&next) {
                continue;
            }
            let pushes = next.pushes();
            let undo = self.state.apply(next.index, next.to, next.last());
            self.path.push(next);
            found = self.visit(made + pushes);
            if found {
                break;
            }
            self.path.pop();
            self.state.undo(undo);
            if self.is_spent || self.slice_over {
                break;
            }
            // Patterns found below may hold here.
            if self.patterns_len() > patterns && self.is_refuted(made) {
                break;
            }
        }
        self.reaches.pop();
        self.buffers.push(moves);
        found
    }

    fn is_cut(&mut self, next: &Move) -> bool {
        let before = (self.reaches.len().checked_sub(2)).map(|at| &self.reaches[at]);
        (self.inadmissible).is_cut(self.board, &self.path, next, before)
    }

    fn patterns_len(&self) -> usize {
        (self.pattern_search.as_ref()).map_or(0, |search| search.patterns.len())
    }

    /// Searches for patterns around the last push. Returns whether there are new ones.
    fn search_patterns(&mut self) -> bool {
        let (Some(search), Some(last)) = (&mut self.pattern_search, self.path.last()) else {
            return false;
        };
        let direction = last.last();
        if last.is_goal_macro || !search.is_suspect(&self.state, last.to, direction, &self.reach) {
            return false;
        }
        let before = search.patterns.len();
        search.search(&self.state, last.index, direction, &mut self.nodes);
        search.patterns.len() > before
    }

    /// Whether patterns rule out a solution within the bound.
    fn is_refuted(&mut self, made: u32) -> bool {
        let (Some(search), Some(left)) = (&mut self.pattern_search, self.state.matching().cost())
        else {
            return false;
        };
        let has_box = |square| self.state.has_box(square);
        let player = self.state.player();
        if (self.path.last()).is_some_and(|last| {
            search
                .patterns
                .is_dead(self.board, last.to, player, has_box)
        }) {
            return true;
        }
        if self.parts.is_exact() {
            // The extra pushes of a pattern refer to the nearest goals, not to those of the
            // matching.
            return false;
        }
        let extra = search
            .patterns
            .extra(&self.state, self.inadmissible.overestimates());
        if made + left + extra > self.bound {
            self.next_bound = self.next_bound.min(made + left + extra);
            return true;
        }
        false
    }

    /// All moves in the present position, whose squares in reach are in `reach`.
    fn generate(&mut self, moves: &mut Vec<Move>) {
        if self.inadmissible.cut_to_goal(&mut self.state, moves) {
            return;
        }
        let (boxes, free) = (self.state.squares(), self.state.free());
        let corral = (self.corrals.as_mut())
            .and_then(|c| c.find(self.board, boxes, free, self.distances.dead(), &self.reach));
        for index in 0..self.state.squares().len() {
            let square = self.state.squares()[index];
            if corral.is_some_and(|pushes| pushes.iter().all(|push| push.square != square)) {
                continue;
            }
            if (self.inadmissible).resolve_inside(&self.state, index, moves) {
                continue;
            }
            for direction in Direction::ALL {
                let behind = self.board.next(square, direction.opposite());
                let ahead = self.board.next(square, direction);
                if behind == NO_SQUARE
                    || ahead == NO_SQUARE
                    || self.state.has_box(ahead)
                    || !self.reach.contains(self.board.cell(behind))
                    || self.distances.is_dead(ahead)
                {
                    continue;
                }
                if (self.inadmissible).enter(&self.state, index, direction, moves) {
                    continue;
                }
                let pushes = if self.parts.tunnel_macros {
                    tunnel(&self.state, square, direction, |one, other| {
                        !self.inadmissible.is_border(one, other)
                    })
                } else {
                    1
                };
                let mut to = ahead;
                for _ in 1..pushes {
                    to = self.board.next(to, direction);
                }
                moves.push(Move {
                    index,
                    from: square,
                    to,
                    path: Path::Straight { direction, pushes },
                    is_goal_macro: false,
                    order: 0,
                });
            }
        }
    }

    /// Sorts moves: first those of the box that moved last, then those that lower the bound, boxes
    /// near their goals first.
    fn order(&mut self, moves: &mut [Move]) {
        let last = self.path.last().map(|made| made.index);
        for next in moves.iter_mut() {
            let goal = self.state.matching().goal_of(next.index);
            let side = self.state.side(next.index);
            let before = i32::from(self.distances.to_goal_from_side(goal, next.from, side));
            let after = i32::from(self.distances.to_goal_from_side(
                goal,
                next.to,
                next.last().opposite(),
            ));
            let gain = before - after - next.pushes() as i32;
            next.order = if next.is_goal_macro {
                -20_000 + after
            } else if gain < 0 {
                10_000 - gain * 100 + after
            } else if last == Some(next.index) {
                -10_000 + after
            } else {
                after
            };
        }
        self.inadmissible.disturb(moves);
        moves.sort_by_key(|next| next.order);
    }
}
