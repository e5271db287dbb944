//! The order in which boxes are brought to goals.
//!
//! A packing plan is found in reverse: the boxes stand where the problem ends, and one after
//! another is moved, in reverse, to a square where a box starts, and taken off the board. The box
//! with the shortest way comes first, but boxes should come out at different squares. Where no box
//! comes out, some are moved aside and stay. Several plans are tried until every box at its start
//! has a place in one. Read forwards, this is a row of sets of squares;
//! each set is to be filled with boxes before the next (packing order: B. Damgaard's YASS; Shoham
//! and Schaeffer, "The FESS algorithm", 2020).
//!
//! Invariants: the sets of a plan differ by one box added or one box moved, but for the first one
//! where boxes did not come out; a plan is a guess about the other boxes, which are taken as being
//! out of the way.

use super::super::board::{Board, Direction, Square};
use super::super::deadlock::freeze::Freeze;
use super::super::distances::{LoneBox, UNREACHABLE};
use super::super::field::{Field, Play, scramble};
use super::super::reach::Reach;
use super::assignment::{Assignment, Places};
use super::problem::Problem;
use panza_sync::Budget;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// One set of squares to fill.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The squares, the one that was filled last first.
    pub filled: Vec<Square>,
    /// By square: whether it is one of them.
    pub is_filled: Vec<bool>,
    /// The square that the next stage fills, or one of them; none at the end.
    pub next: Option<Square>,
    /// By square: the moves to `next` past the boxes of this stage; [`UNREACHABLE`] if none.
    pub to_next: Vec<u16>,
}

/// The stages, from no box to all boxes on goals.
#[derive(Clone, Debug)]
pub struct Packing {
    pub stages: Vec<Stage>,
    /// The places that a box can fill, alone past the boxes of the stage that adds the place, by
    /// the number of square and side. The first places belong to the first stages.
    places: Places,
}

/// The most positions of the search for boxes to move aside.
const PARKING_NODES: usize = 20_000;

/// The most plans tried until every box has a place in one.
const ATTEMPTS: u64 = 16;

/// The distance between the variations of two plans that are tried.
const NEXT_VARIATION: u64 = 1 << 32;

/// A box moved in reverse.
#[derive(Clone, Copy)]
struct Moved {
    from: Square,
    /// Where it stays, or none if it has left the board.
    to: Option<Square>,
    player: Square,
    moves: u16,
}

impl Packing {
    /// The plan with the fewest boxes that do not come out, and then with the fewest boxes without
    /// a place; `variation` 0 begins with the shortest ways out, others disturb the order. Boxes
    /// that do not come out are the first stage of the plan, all at once. No plan if the limits are
    /// over before.
    pub fn new(problem: &Problem<'_>, variation: u64, limits: &Budget) -> Option<Self> {
        let reversed = Problem::new(problem.board, problem.play.reversed());
        let start = Field::new(problem.board, &problem.start);
        let reach = match problem.players[..] {
            [player] => {
                let mut reach = Reach::new(problem.board.floor().len());
                start.fill(&mut reach, player);
                Some(reach)
            }
            _ => None,
        };
        let mut assignment = Assignment::default();
        let mut search = Unpacking::new(&reversed, variation, limits);
        let mut best: Option<((usize, usize), Self)> = None;
        for _ in 0..ATTEMPTS {
            let plans = reversed
                .players
                .iter()
                .map(|&player| search.all_boxes(player));
            let fewest = plans.min_by_key(|(moves, left)| (left.len(), moves.len()));
            let (moves, left) = fewest.unwrap_or_default();
            let left_count = left.len();
            let Some(plan) = Self::from_moves(&reversed, &moves, left, limits) else {
                break;
            };
            let faults = (
                left_count,
                plan.unplaced(&start, reach.as_ref(), 0, &mut assignment),
            );
            if best.as_ref().is_none_or(|&(least, _)| faults < least) {
                best = Some((faults, plan));
            }
            if faults == (0, 0) || search.parking == 0 {
                break;
            }
            search.variation += NEXT_VARIATION;
        }
        best.map(|(_, plan)| plan)
    }

    fn from_moves(
        reversed: &Problem<'_>,
        moves: &[Moved],
        left: Vec<Square>,
        limits: &Budget,
    ) -> Option<Self> {
        let board = reversed.board;
        let mut sets = vec![Vec::new()];
        if !left.is_empty() {
            sets.push(left.clone());
        }
        let mut filled = left;
        for moved in moves.iter().rev() {
            if let Some(to) = moved.to {
                filled.retain(|&square| square != to);
            }
            filled.insert(0, moved.from);
            sets.push(filled.clone());
        }
        let mut stages: Vec<Stage> = Vec::with_capacity(sets.len());
        let mut places = Places::new(board.len() * 5, reversed.start.len());
        for (number, filled) in sets.iter().enumerate() {
            if limits.is_over() {
                return None;
            }
            let mut free = board.floor().clone();
            let next = sets.get(number + 1).map(|set| set[0]);
            // A box that the next stage moves is not in its own way.
            for &square in filled {
                if number + 1 == sets.len() || sets[number + 1].contains(&square) {
                    free.remove(board.cell(square));
                }
            }
            let mut is_filled = vec![false; board.len()];
            for &square in filled {
                is_filled[square as usize] = true;
            }
            let lone_box = LoneBox::new(board, &free);
            let to_next =
                next.map_or_else(Vec::new, |next| lone_box.moves_from(&[next], reversed.play));
            let after = sets.get(number + 1).unwrap_or(filled);
            for (place, &square) in (filled.len()..after.len()).zip(after) {
                let moves = lone_box.moves_by_side(&[square], reversed.play);
                for from in board.squares() {
                    for side in Direction::ALL {
                        if moves[from as usize][side as usize] != UNREACHABLE {
                            places.insert(number_of(from, Some(side)), place);
                            places.insert(number_of(from, None), place);
                        }
                    }
                }
            }
            stages.push(Stage {
                filled: filled.clone(),
                is_filled,
                next,
                to_next,
            });
        }
        Some(Self { stages, places })
    }

    /// The number of boxes for which this stage and the later ones have no place. A box that the
    /// player, if its `reach` is given, can touch is moved from there first.
    pub fn unplaced(
        &self,
        field: &Field<'_>,
        reach: Option<&Reach>,
        stage: usize,
        assignment: &mut Assignment,
    ) -> usize {
        let stage = &self.stages[stage];
        let touched = |square: Square| {
            let next = |side: &Direction| field.board().next(square, *side);
            let mut sides = Direction::ALL.into_iter();
            sides.find(|side| reach.is_some_and(|reach| field.reaches(reach, next(side))))
        };
        let boxes = field.boxes().iter();
        let unpacked = boxes.filter(|&&square| !stage.is_filled[square as usize]);
        let mut numbers = unpacked.map(|&square| number_of(square, touched(square)));
        assignment.refused(&self.places, stage.filled.len(), &mut numbers)
    }

    /// The last stage whose squares all have boxes.
    pub fn stage_of(&self, field: &Field<'_>) -> usize {
        let is_filled = |stage: &Stage| stage.filled.iter().all(|&square| field.has_box(square));
        self.stages.iter().rposition(is_filled).unwrap_or(0)
    }
}

/// The number in [`Packing::places`] of a box on a square with the player on this side of it, or on
/// its best side.
fn number_of(square: Square, side: Option<Direction>) -> u32 {
    u32::from(square) * 5 + side.map_or(4, |side| side as u32)
}

/// The squares with a number of moves.
fn reachable<'a>(board: &Board, moves: &'a [u16]) -> impl Iterator<Item = Square> + use<'a> {
    let squares = board.squares();
    squares.filter(|&square| moves[square as usize] != UNREACHABLE)
}

/// The search in reverse.
struct Unpacking<'a> {
    problem: &'a Problem<'a>,
    limits: &'a Budget,
    variation: u64,
    reach: Reach,
    freeze: Freeze,
    /// By square: the targets that a lone box reaches. After these, by the square from which a box
    /// left the board: the targets that it reached past the others.
    targets: Places,
    /// The boxes that left the board, as numbered in `targets`.
    gone: Vec<u32>,
    assignment: Assignment,
    /// Positions of searches for boxes to move aside that are still allowed.
    parking: usize,
}

impl<'a> Unpacking<'a> {
    fn new(problem: &'a Problem<'a>, variation: u64, limits: &'a Budget) -> Self {
        let board = problem.board;
        let mut targets = Places::new(2 * board.len(), board.len());
        let lone_box = LoneBox::new(board, board.floor());
        for to in board.squares().filter(|&to| problem.is_target(to)) {
            let moves = lone_box.moves_from(&[to], problem.play.reversed());
            for from in reachable(board, &moves) {
                targets.insert(from.into(), to as usize);
            }
        }
        Self {
            problem,
            limits,
            variation,
            reach: Reach::new(board.floor().len()),
            freeze: Freeze::default(),
            targets,
            gone: Vec::new(),
            assignment: Assignment::default(),
            parking: PARKING_NODES,
        }
    }

    /// The number in `targets` of a box that leaves the board from a square.
    fn gone_from(&self, square: Square) -> u32 {
        self.problem.board.len() as u32 + u32::from(square)
    }

    /// The number of boxes without a target of their own if the box on a square leaves next.
    fn without_target(&mut self, field: &Field<'_>, square: Square) -> u64 {
        let (targets, next) = (&self.targets, self.gone_from(square));
        let staying = field.boxes().iter().filter(|&&other| other != square);
        let staying = staying.map(|&other| u32::from(other));
        let mut boxes = self.gone.iter().copied().chain([next]).chain(staying);
        self.assignment.refused(targets, 0, &mut boxes) as u64
    }

    /// Moves boxes off the board, beginning with a player at a square; returns also those left.
    fn all_boxes(&mut self, player: Square) -> (Vec<Moved>, Vec<Square>) {
        let mut field = Field::new(self.problem.board, &self.problem.start);
        let mut player = player;
        let mut moves = Vec::new();
        self.gone.clear();
        while !field.boxes().is_empty() && !self.limits.is_over() {
            if let Some(moved) = self.best_exit(&mut field, player) {
                field.remove(moved.from);
                self.gone.push(self.gone_from(moved.from));
                player = moved.player;
                moves.push(moved);
                continue;
            }
            let parked = self.park(&mut field, player);
            if parked.is_empty() || moves.len() > 4 * self.problem.start.len() {
                break;
            }
            for moved in parked {
                if let Some(to) = moved.to {
                    field.shift(moved.from, to);
                }
                player = moved.player;
                moves.push(moved);
            }
        }
        (moves, field.boxes().to_vec())
    }

    /// The box with the shortest way to a square where a box starts.
    fn best_exit(&mut self, field: &mut Field<'_>, player: Square) -> Option<Moved> {
        let mut best: Option<(u64, Moved)> = None;
        for square in field.boxes().to_vec() {
            if self.limits.is_over() {
                break;
            }
            let mut exits = self.ways(field, square, player);
            exits.retain(|moved| moved.to.is_some_and(|to| self.problem.is_target(to)));
            let Some(&exit) = exits.first() else { continue };
            let from = self.gone_from(square);
            self.targets.clear(from);
            for to in exits.iter().filter_map(|moved| moved.to) {
                self.targets.insert(from, to as usize);
            }
            let missing = self.without_target(field, square);
            // Missing targets count most. A box that need not move is left to the end, so that it
            // counts as packed early.
            let noise = match self.variation {
                0 => 0,
                seed => scramble(seed ^ scramble(square as u64)) % 8,
            };
            let cost = match exit.moves {
                0 => 10_000,
                moves => moves as u64 + noise,
            } + 100_000 * missing;
            if best.as_ref().is_none_or(|&(least, _)| cost < least) {
                best = Some((cost, Moved { to: None, ..exit }));
            }
        }
        best.map(|(_, moved)| moved)
    }

    /// Where a box can be moved past the others, nearest first, from where it stands.
    fn ways(&mut self, field: &mut Field<'_>, square: Square, player: Square) -> Vec<Moved> {
        let board = self.problem.board;
        let mut found = vec![Moved {
            from: square,
            to: Some(square),
            player,
            moves: 0,
        }];
        let mut seen = vec![false; board.len() * 4];
        let mut queue = VecDeque::from([(square, player, 0)]);
        let mut at = square;
        while let Some((place, player, moves)) = queue.pop_front() {
            if place != at {
                field.shift(at, place);
                at = place;
            }
            field.fill(&mut self.reach, player);
            for side in Direction::ALL {
                let state = place as usize * 4 + side as usize;
                if seen[state] || !field.reaches(&self.reach, board.next(place, side)) {
                    continue;
                }
                seen[state] = true;
                let Some(to) = self.problem.play.moved(field, place, side) else {
                    continue;
                };
                if self.problem.is_dead(to) {
                    continue;
                }
                let player = board.next(to, side);
                if !found
                    .iter()
                    .any(|moved| moved.to == Some(to) && moved.player == player)
                {
                    found.push(Moved {
                        from: square,
                        to: Some(to),
                        player,
                        moves: moves + 1,
                    });
                    queue.push_back((to, player, moves + 1));
                }
            }
        }
        if at != square {
            field.shift(at, square);
        }
        found
    }

    /// Moves boxes aside until one can leave; no moves if none can within the bound. Breadth-first
    /// over single boxes.
    fn park(&mut self, field: &mut Field<'_>, player: Square) -> Vec<Moved> {
        let start = field.boxes().to_vec();
        let mut seen = FxHashSet::default();
        // Each node: its parent, the pull that led to it, the boxes.
        let mut nodes: Vec<(usize, Option<Moved>, Vec<Square>, Square)> =
            vec![(0, None, start.clone(), player)];
        let mut next = 0;
        while next < nodes.len() && nodes.len() < self.parking && !self.limits.is_over() {
            let (boxes, player) = (nodes[next].2.clone(), nodes[next].3);
            field.set(&boxes);
            for square in boxes {
                if self.limits.is_over() {
                    break;
                }
                for moved in self.ways(field, square, player) {
                    let Some(to) = moved.to.filter(|&to| to != square) else {
                        continue;
                    };
                    field.shift(square, to);
                    if self.problem.play == Play::Push
                        && self.freeze.is_deadlock(field, self.problem.dead(), to)
                    {
                        field.shift(to, square);
                        continue;
                    }
                    field.fill(&mut self.reach, moved.player);
                    if seen.insert(field.position_hash(self.problem.board.first(&self.reach))) {
                        nodes.push((next, Some(moved), field.boxes().to_vec(), moved.player));
                        if self
                            .best_exit(field, moved.player)
                            .is_some_and(|exit| exit.moves > 0)
                        {
                            let mut path = Vec::new();
                            let mut at = nodes.len() - 1;
                            while let Some(moved) = nodes[at].1 {
                                path.push(moved);
                                at = nodes[at].0;
                            }
                            path.reverse();
                            self.parking -= nodes.len().min(self.parking);
                            field.set(&start);
                            return path;
                        }
                    }
                    field.shift(to, square);
                }
            }
            next += 1;
        }
        self.parking -= nodes.len().min(self.parking);
        field.set(&start);
        Vec::new()
    }
}
