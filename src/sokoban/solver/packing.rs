//! The order in which boxes are brought to goals.
//!
//! The plan is found backwards: all boxes stand on goals, and one after another is pulled to a
//! square where a box starts, and taken off the board. Where no box comes out, one is pulled aside
//! and stays. Read forwards, this is a row of sets of squares; each set is to be filled with boxes
//! before the next (packing order: B. Damgaard's YASS; Shoham and Schaeffer, "The FESS algorithm",
//! 2020).
//!
//! Invariants: the sets of a plan differ by one box added or one box moved; a plan is a guess about
//! the other boxes, which are taken as being out of the way.

use super::super::board::{Direction, Square};
use super::super::deadlock::freeze::Freeze;
use super::super::distances::{UNREACHABLE, moves_from};
use super::super::field::{Field, Play, scramble};
use super::super::reach::Reach;
use super::problem::Problem;
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
    /// By square: whether a box there can still reach a square that this or a later stage fills,
    /// past the boxes of this stage.
    pub useful: Vec<bool>,
}

/// The stages, from no box to all boxes on goals.
#[derive(Clone, Debug)]
pub struct Packing {
    pub stages: Vec<Stage>,
}

/// The most positions of the search for a box to pull aside.
const PARKING_NODES: usize = 20_000;

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
    /// A plan; `variation` 0 prefers boxes with short ways out, others disturb the order. Boxes
    /// that do not come out are the first stage of the plan, all at once.
    pub fn new(problem: &Problem<'_>, variation: u64) -> Self {
        let reversed = Problem::new(problem.board, problem.play.reversed());
        let mut search = Unpacking::new(&reversed, variation);
        let plans = reversed
            .players
            .iter()
            .map(|&player| search.all_boxes(player));
        let best = plans.min_by_key(|(pulls, left)| (left.len(), pulls.len()));
        let (pulls, left) = best.unwrap_or_default();
        Self::from_pulls(&reversed, &pulls, left)
    }

    fn from_pulls(reversed: &Problem<'_>, pulls: &[Pulled], left: Vec<Square>) -> Self {
        let board = reversed.board;
        let mut sets = vec![Vec::new()];
        if !left.is_empty() {
            sets.push(left.clone());
        }
        let mut filled = left;
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
            let to_next = next.map_or_else(Vec::new, |next| {
                moves_from(board, &free, next, reversed.play)
            });
            let mut useful = vec![false; board.len()];
            for set in &sets[number + 1..] {
                let ways = moves_from(board, &free, set[0], reversed.play);
                for (useful, pushes) in useful.iter_mut().zip(ways) {
                    *useful |= pushes != UNREACHABLE;
                }
            }
            stages.push(Stage {
                filled: filled.clone(),
                next,
                to_next,
                useful,
            });
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
struct Unpacking<'a> {
    problem: &'a Problem<'a>,
    variation: u64,
    reach: Reach,
    freeze: Freeze,
}

impl<'a> Unpacking<'a> {
    fn new(problem: &'a Problem<'a>, variation: u64) -> Self {
        let reach = Reach::new(problem.board.floor().len());
        Self {
            problem,
            variation,
            reach,
            freeze: Freeze::default(),
        }
    }

    /// Moves boxes off the board, beginning with a player at a square; returns also those left.
    fn all_boxes(&mut self, player: Square) -> (Vec<Pulled>, Vec<Square>) {
        let mut field = Field::new(self.problem.board, &self.problem.start);
        let mut player = player;
        let mut pulls = Vec::new();
        while !field.boxes().is_empty() {
            if let Some(pulled) = self.best_exit(&mut field, player) {
                field.remove(pulled.from);
                player = pulled.player;
                pulls.push(pulled);
                continue;
            }
            let parked = self.park(&mut field, player);
            if parked.is_empty() || pulls.len() > 4 * self.problem.start.len() {
                break;
            }
            for pulled in parked {
                if let Some(to) = pulled.to {
                    field.shift(pulled.from, to);
                }
                player = pulled.player;
                pulls.push(pulled);
            }
        }
        (pulls, field.boxes().to_vec())
    }

    /// The box with the shortest way to a square where a box starts.
    fn best_exit(&mut self, field: &mut Field<'_>, player: Square) -> Option<Pulled> {
        let mut best: Option<(u64, Pulled)> = None;
        for square in field.boxes().to_vec() {
            let ways = self.ways(field, square, player);
            let exit = ways
                .into_iter()
                .find(|pulled| pulled.to.is_some_and(|to| self.problem.is_target(to)));
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
        let board = self.problem.board;
        let mut found = vec![Pulled {
            from: square,
            to: Some(square),
            player,
            pulls: 0,
        }];
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
                    .any(|pulled| pulled.to == Some(to) && pulled.player == player)
                {
                    found.push(Pulled {
                        from: square,
                        to: Some(to),
                        player,
                        pulls: pulls + 1,
                    });
                    queue.push_back((to, player, pulls + 1));
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
    fn park(&mut self, field: &mut Field<'_>, player: Square) -> Vec<Pulled> {
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
                    let Some(to) = pulled.to.filter(|&to| to != square) else {
                        continue;
                    };
                    field.shift(square, to);
                    if self.problem.play == Play::Push
                        && self.freeze.is_deadlock(field, self.problem.dead(), to)
                    {
                        field.shift(to, square);
                        continue;
                    }
                    field.fill(&mut self.reach, pulled.player);
                    if seen.insert(field.position_hash(self.problem.board.first(&self.reach))) {
                        nodes.push((next, Some(pulled), field.boxes().to_vec(), pulled.player));
                        if self
                            .best_exit(field, pulled.player)
                            .is_some_and(|exit| exit.pulls > 0)
                        {
                            let mut path = Vec::new();
                            let mut at = nodes.len() - 1;
                            while let Some(pulled) = nodes[at].1 {
                                path.push(pulled);
                                at = nodes[at].0;
                            }
                            path.reverse();
                            field.set(&start);
                            return path;
                        }
                    }
                    field.shift(to, square);
                }
            }
            next += 1;
        }
        field.set(&start);
        Vec::new()
    }
}
