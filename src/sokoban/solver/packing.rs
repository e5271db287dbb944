//! The order in which boxes are brought to goals.
//!
//! The plan is found backwards: all boxes stand on goals, and one after another is pulled to a square
//! where a box starts, and taken off the board. Where no box comes out, one is pulled aside and stays.
//! Read forwards, this is a row of sets of squares; each set is to be filled with boxes before the
//! next (packing order: B. Damgaard's YASS; Shoham and Schaeffer, "The FESS algorithm", 2020).
//!
//! Invariants: the sets of a plan differ by one box added or one box moved; a plan is a guess about
//! the other boxes, which are taken as being out of the way.

use super::super::board::{Board, Direction, NO_SQUARE, Square};
use super::super::distances::{UNREACHABLE, pushes_to};
use super::super::field::{Field, scramble};
use super::super::reach::Reach;
use std::collections::{HashSet, VecDeque};

/// One set of squares to fill.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The squares, the one that was filled last first.
    pub filled: Vec<Square>,
    /// The square that the next stage fills; none at the end.
    pub next: Option<Square>,
    /// By square: the pushes to `next` past the boxes of this stage; [`UNREACHABLE`] if none.
    pub to_next: Vec<u16>,
    /// By square: whether a box there can still reach a square that this or a later stage fills, past
    /// the boxes of this stage.
    pub useful: Vec<bool>,
}

/// The stages, from no box to all boxes on goals.
#[derive(Clone, Debug)]
pub struct Packing {
    pub stages: Vec<Stage>,
}

/// The most positions of the search for a box to pull aside.
const PARKING_NODES: usize = 1_500;

/// A box pulled backwards.
#[derive(Clone, Copy)]
struct Pulled {
    from: Square,
    /// Where it stays, or none if it has left the board.
    to: Option<Square>,
    player: Square,
    pulls: u16,
}

impl Packing {
    /// A plan; `variation` 0 prefers boxes with short ways out, others disturb the order.
    pub fn new(board: &Board, variation: u64) -> Option<Self> {
        let mut search = Unpacking::new(board, variation);
        let field = Field::new(board, board.goals());
        let mut left = field.free().clone();
        let mut area = Reach::new(left.len());
        let mut best: Option<Vec<Pulled>> = None;
        while let Some(cell) = left.first() {
            let player = board.square_at(cell);
            field.fill(&mut area, player);
            left.remove_all(area.rows());
            if let Some(pulls) = search.all_boxes(player)
                && best.as_ref().is_none_or(|best| pulls.len() < best.len())
            {
                best = Some(pulls);
            }
        }
        best.map(|pulls| Self::from_pulls(board, &pulls))
    }

    fn from_pulls(board: &Board, pulls: &[Pulled]) -> Self {
        let mut filled: Vec<Square> = Vec::new();
        let mut sets = vec![filled.clone()];
        for pulled in pulls.iter().rev() {
            if let Some(to) = pulled.to {
                filled.retain(|&square| square != to);
            }
            filled.insert(0, pulled.from);
            sets.push(filled.clone());
        }
        let mut stages: Vec<Stage> = Vec::with_capacity(sets.len());
        for (number, filled) in sets.iter().enumerate() {
            let mut free = board.floor().clone();
            let next = sets.get(number + 1).map(|set| set[0]);
            // A box that the next stage moves is not in its own way.
            for &square in filled {
                if number + 1 == sets.len() || sets[number + 1].contains(&square) {
                    free.remove(board.cell(square));
                }
            }
            let to_next = next.map_or_else(Vec::new, |next| pushes_to(board, &free, next));
            let mut useful = vec![false; board.len()];
            for set in &sets[number + 1..] {
                let ways = pushes_to(board, &free, set[0]);
                for (useful, pushes) in useful.iter_mut().zip(ways) {
                    *useful |= pushes != UNREACHABLE;
                }
            }
            stages.push(Stage { filled: filled.clone(), next, to_next, useful });
        }
        Self { stages }
    }

    /// The last stage whose squares all have boxes.
    pub fn stage_of(&self, field: &Field<'_>) -> usize {
        let is_filled = |stage: &Stage| stage.filled.iter().all(|&square| field.has_box(square));
        self.stages.iter().rposition(is_filled).unwrap_or(0)
    }
}

/// The search backwards.
struct Unpacking<'board> {
    board: &'board Board,
    is_start: Vec<bool>,
    variation: u64,
    reach: Reach,
}

impl<'board> Unpacking<'board> {
    fn new(board: &'board Board, variation: u64) -> Self {
        let mut is_start = vec![false; board.len()];
        for &square in &board.start().boxes {
            is_start[square as usize] = true;
        }
        Self { board, is_start, variation, reach: Reach::new(board.floor().len()) }
    }

    /// Pulls all boxes off the goals, beginning with a player at a square.
    fn all_boxes(&mut self, player: Square) -> Option<Vec<Pulled>> {
        let mut field = Field::new(self.board, self.board.goals());
        let mut player = player;
        let mut pulls = Vec::new();
        while !field.boxes().is_empty() {
            if let Some(pulled) = self.best_exit(&mut field, player) {
                field.remove(pulled.from);
                player = pulled.player;
                pulls.push(pulled);
                continue;
            }
            for pulled in self.park(&mut field, player)? {
                if let Some(to) = pulled.to {
                    field.shift(pulled.from, to);
                }
                player = pulled.player;
                pulls.push(pulled);
            }
            if pulls.len() > 4 * self.board.goals().len() {
                return None;
            }
        }
        Some(pulls)
    }

    /// The box with the shortest way to a square where a box starts.
    fn best_exit(&mut self, field: &mut Field<'_>, player: Square) -> Option<Pulled> {
        let mut best: Option<(u64, Pulled)> = None;
        for square in field.boxes().to_vec() {
            let ways = self.ways(field, square, player);
            let exit = ways.into_iter().find(|pulled| {
                pulled.to.is_some_and(|to| self.is_start[to as usize])
            });
            let Some(exit) = exit else { continue };
            // A box that need not move is left to the end, so that it counts as packed early.
            let noise = match self.variation {
                0 => 0,
                seed => scramble(seed ^ scramble(square as u64)) % 8,
            };
            let cost = match exit.pulls {
                0 => 10_000,
                pulls => pulls as u64 + noise,
            };
            if best.as_ref().is_none_or(|&(least, _)| cost < least) {
                best = Some((cost, Pulled { to: None, ..exit }));
            }
        }
        best.map(|(_, pulled)| pulled)
    }

    /// Where a box can be pulled to past the others, nearest first, from where it stands.
    fn ways(&mut self, field: &mut Field<'_>, square: Square, player: Square) -> Vec<Pulled> {
        let board = self.board;
        let mut found = vec![Pulled { from: square, to: Some(square), player, pulls: 0 }];
        let mut seen = vec![false; board.len() * 4];
        let mut queue = VecDeque::from([(square, player, 0)]);
        let mut at = square;
        while let Some((place, player, pulls)) = queue.pop_front() {
            if place != at {
                field.shift(at, place);
                at = place;
            }
            field.fill(&mut self.reach, player);
            for side in Direction::ALL {
                let to = board.next(place, side);
                if to == NO_SQUARE
                    || seen[place as usize * 4 + side as usize]
                    || !field.reaches(&self.reach, to)
                {
                    continue;
                }
                seen[place as usize * 4 + side as usize] = true;
                let back = board.next(to, side);
                if !field.is_free(back) {
                    continue;
                }
                if !found.iter().any(|pulled| pulled.to == Some(to) && pulled.player == back) {
                    found.push(Pulled { from: square, to: Some(to), player: back, pulls: pulls + 1 });
                    queue.push_back((to, back, pulls + 1));
                }
            }
        }
        if at != square {
            field.shift(at, square);
        }
        found
    }

    /// Pulls boxes aside until one can leave. Breadth-first over single boxes, bounded.
    fn park(&mut self, field: &mut Field<'_>, player: Square) -> Option<Vec<Pulled>> {
        let start = field.boxes().to_vec();
        let mut seen = HashSet::new();
        // Each node: its parent, the pull that led to it, the boxes.
        let mut nodes: Vec<(usize, Option<Pulled>, Vec<Square>, Square)> =
            vec![(0, None, start.clone(), player)];
        let mut next = 0;
        while next < nodes.len() && nodes.len() < PARKING_NODES {
            let (boxes, player) = (nodes[next].2.clone(), nodes[next].3);
            field.set(&boxes);
            for square in boxes {
                for pulled in self.ways(field, square, player) {
                    let Some(to) = pulled.to.filter(|&to| to != square) else { continue };
                    field.shift(square, to);
                    field.fill(&mut self.reach, pulled.player);
                    if seen.insert(field.position_hash(self.board.first(&self.reach))) {
                        nodes.push((next, Some(pulled), field.boxes().to_vec(), pulled.player));
                        if self.best_exit(field, pulled.player).is_some_and(|exit| exit.pulls > 0) {
                            let mut path = Vec::new();
                            let mut at = nodes.len() - 1;
                            while let Some(pulled) = nodes[at].1 {
                                path.push(pulled);
                                at = nodes[at].0;
                            }
                            path.reverse();
                            field.set(&start);
                            return Some(path);
                        }
                    }
                    field.shift(to, square);
                }
            }
            next += 1;
        }
        field.set(&start);
        None
    }
}
