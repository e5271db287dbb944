//! Pairs of boxes: the pushes that two boxes need beyond those that each needs alone.
//!
//! For two boxes alone on the board, a search in reverse from each pair of goals gives the exact
//! number of pushes. What it has above the distances of both is a penalty that depends on the
//! goals: two boxes side by side along a wall, for example, block each other's shortest ways. The
//! linear conflicts of A. Junghanns (1999) are such pairs; here all of them are found.
//!
//! The penalties of disjoint pairs can be added to a cheapest matching. A solution brings each box
//! to some goal. If that is not the goal of the matching, the dual prices of the matching say by
//! how much the sum of distances grows at least: by the sum of the boxes' reduced costs. A pair
//! therefore adds the least over all pairs of goals of its penalty there and both reduced costs.
//!
//! Invariants: what is added never exceeds the pushes that any solution needs beyond the matching.

use super::state::{State, side_of};
use crate::board::{Board, Direction, NO_SQUARE, Square};
use crate::distances::{Distances, UNREACHABLE};
use crate::reach::Reach;
use panza_sync::Budget;

/// The penalty of goals to which the pair cannot be brought.
const NO_WAY: u8 = u8::MAX;

/// The most bytes of penalties, and the most squares of a board. They bound the time to find the
/// penalties to about half a second.
const MOST_BYTES: usize = 1 << 25;
const MOST_SQUARES: usize = 256;

/// No state: a dead square.
const NONE: u32 = u32::MAX;

/// Penalties of all pairs of squares, the lower square first.
pub struct Pairs {
    squares: usize,
    goals: usize,
    /// By both squares: the first of the states, one for each area of the player.
    first: Vec<u32>,
    /// By both squares: where the labels of the areas begin; [`NONE`] if there is one area.
    labels_at: Vec<u32>,
    labels: Vec<u8>,
    /// By state and both goals.
    penalties: Vec<u8>,
    /// By state: whether some goals have a penalty.
    hinders: Vec<bool>,
    /// Pairs that add something: scratch.
    adding: Vec<(u32, u16, u16)>,
    is_taken: Vec<bool>,
}

/// Two boxes in an order, with the area of the player.
#[derive(Clone, Copy)]
struct Placed {
    one: Square,
    other: Square,
    area: u8,
}

impl Pairs {
    /// The penalties of a board; none if they are too many or the limits are over before.
    pub fn new(board: &Board, distances: &Distances, limits: &Budget) -> Option<Self> {
        let (squares, goals) = (board.len(), distances.goals());
        if squares > MOST_SQUARES || goals < 2 {
            return None;
        }
        let mut pairs = Self {
            squares,
            goals,
            first: vec![NONE; squares * squares],
            labels_at: vec![NONE; squares * squares],
            labels: Vec::new(),
            penalties: Vec::new(),
            hinders: Vec::new(),
            adding: Vec::new(),
            is_taken: vec![false; board.start().boxes.len()],
        };
        let states = pairs.number(board, distances);
        let bytes = states.len() * goals * goals;
        if bytes > MOST_BYTES {
            return None;
        }
        pairs.penalties = vec![NO_WAY; bytes];
        pairs.fill(board, distances, &states, limits)?;
        let by_state = pairs.penalties.chunks_exact(goals * goals);
        pairs.hinders = by_state
            .map(|penalties| pairs.any_penalty(penalties))
            .collect();
        Some(pairs)
    }

    /// Numbers the states; returns them in order.
    fn number(&mut self, board: &Board, distances: &Distances) -> Vec<Placed> {
        let mut states = Vec::new();
        let mut reach = Reach::new(board.floor().len());
        for one in board.squares().filter(|&one| !distances.is_dead(one)) {
            for other in (one + 1..board.len() as Square).filter(|&two| !distances.is_dead(two)) {
                let at = self.at(one, other);
                self.first[at] = states.len() as u32;
                let mut left = board.free(&[one, other]);
                let mut areas = 0;
                let start = self.labels.len();
                while let Some(cell) = left.first() {
                    reach.fill(&left, cell);
                    left.remove_all(reach.rows());
                    if areas == 0 && left.first().is_none() {
                        states.push(Placed {
                            one,
                            other,
                            area: 0,
                        });
                        break;
                    }
                    if areas == 0 {
                        self.labels_at[at] = start as u32;
                        self.labels.resize(start + self.squares, 0);
                    }
                    for square in board.squares() {
                        if reach.contains(board.cell(square)) {
                            self.labels[start + usize::from(square)] = areas;
                        }
                    }
                    states.push(Placed {
                        one,
                        other,
                        area: areas,
                    });
                    areas += 1;
                }
            }
        }
        states
    }

    fn at(&self, one: Square, other: Square) -> usize {
        usize::from(one) * self.squares + usize::from(other)
    }

    /// The number of a state; the lower square comes first.
    #[inline]
    fn state(&self, one: Square, other: Square, player: Square) -> usize {
        let at = self.at(one, other);
        let label = match self.labels_at[at] {
            NONE => 0,
            start => self.labels[start as usize + usize::from(player)],
        };
        self.first[at] as usize + usize::from(label)
    }

    /// Finds the penalties of all states; nothing if the limits are over before.
    fn fill(
        &mut self,
        board: &Board,
        distances: &Distances,
        states: &[Placed],
        limits: &Budget,
    ) -> Option<()> {
        let before = self.before(board, distances, states);
        let players: Vec<Square> = states
            .iter()
            .map(|&placed| self.player(board, placed))
            .collect();
        let alone: Vec<[Direction; 2]> = (states.iter().zip(&players))
            .map(|(placed, &player)| {
                [placed.one, placed.other].map(|square| side_of(board, square, player))
            })
            .collect();
        // Twice the state, plus one if the boxes go to the goals in the other order.
        let mut found = vec![UNREACHABLE; states.len() * 2];
        let mut queue = Vec::with_capacity(found.len());
        for one in 0..self.goals {
            for other in one + 1..self.goals {
                if limits.is_over() {
                    return None;
                }
                found.fill(UNREACHABLE);
                queue.clear();
                let (low, high) = (board.goals()[one], board.goals()[other]);
                let start = self.first[self.at(low, high)] as usize;
                let same = |placed: &&Placed| (placed.one, placed.other) == (low, high);
                for number in 0..states[start..].iter().take_while(same).count() {
                    found[(start + number) * 2] = 0;
                    queue.push((start + number) * 2);
                }
                let mut next = 0;
                while let Some(&at) = queue.get(next) {
                    next += 1;
                    let pushes = found[at] + 1;
                    for &earlier in &before.1[before.0[at / 2]..before.0[at / 2 + 1]] {
                        let to = earlier as usize ^ (at & 1);
                        if found[to] == UNREACHABLE {
                            found[to] = pushes;
                            queue.push(to);
                        }
                    }
                }
                for (number, placed) in states.iter().enumerate() {
                    for (swapped, goals) in [[one, other], [other, one]].into_iter().enumerate() {
                        let pushes = found[number * 2 + swapped];
                        if pushes == UNREACHABLE {
                            continue;
                        }
                        let [side, other_side] = alone[number];
                        let least = distances.to_goal_from_side(goals[0], placed.one, side)
                            + distances.to_goal_from_side(goals[1], placed.other, other_side);
                        self.penalties[(number * self.goals + goals[0]) * self.goals + goals[1]] =
                            (pushes - least).min(u16::from(NO_WAY) - 1) as u8;
                    }
                }
            }
        }
        Some(())
    }

    /// Whether one of the penalties of different goals is not 0.
    fn any_penalty(&self, penalties: &[u8]) -> bool {
        let of_one_goal = |at: usize| at / self.goals == at % self.goals;
        (penalties.iter().enumerate()).any(|(at, &penalty)| penalty > 0 && !of_one_goal(at))
    }

    /// A square of the area of a state.
    fn player(&self, board: &Board, placed: Placed) -> Square {
        let at = self.at(placed.one, placed.other);
        let is_in = |&square: &Square| {
            square != placed.one
                && square != placed.other
                && match self.labels_at[at] {
                    NONE => true,
                    start => self.labels[start as usize + usize::from(square)] == placed.area,
                }
        };
        board.squares().find(is_in).unwrap_or(placed.one)
    }

    /// The states one push before each state, as ends of lists and twice the states, plus one if
    /// the lower box becomes the higher.
    fn before(
        &self,
        board: &Board,
        distances: &Distances,
        states: &[Placed],
    ) -> (Vec<usize>, Vec<u32>) {
        let mut ends = vec![0];
        let mut lists = Vec::new();
        for &placed in states {
            let at = self.at(placed.one, placed.other);
            for (moved, rests) in [(placed.one, placed.other), (placed.other, placed.one)] {
                for side in Direction::ALL {
                    let from = board.next(moved, side);
                    if from == NO_SQUARE || from == rests || distances.is_dead(from) {
                        continue;
                    }
                    let is_in = match self.labels_at[at] {
                        NONE => true,
                        start => self.labels[start as usize + usize::from(from)] == placed.area,
                    };
                    let player = board.next(from, side);
                    if !is_in || player == NO_SQUARE || player == rests {
                        continue;
                    }
                    let number = self.state(from.min(rests), from.max(rests), player);
                    let swaps = (moved < rests) != (from < rests);
                    lists.push((number * 2 + usize::from(swaps)) as u32);
                }
            }
            ends.push(lists.len());
        }
        (ends, lists)
    }

    /// The pushes that disjoint pairs add to the matching of a state; none if a pair is a deadlock.
    pub fn extra(&mut self, state: &State) -> Option<u32> {
        let (boxes, matching, player) = (state.squares(), state.matching(), state.player());
        let goals = self.goals;
        self.adding.clear();
        for one in 0..boxes.len() {
            for other in one + 1..boxes.len() {
                let (low, high) = match boxes[one] < boxes[other] {
                    true => (one, other),
                    false => (other, one),
                };
                let number = self.state(boxes[low], boxes[high], player);
                if !self.hinders[number] {
                    continue;
                }
                let penalties = &self.penalties[number * goals * goals..][..goals * goals];
                let at_once = penalties[matching.goal_of(low) * goals + matching.goal_of(high)];
                if at_once == 0 {
                    continue;
                }
                let mut least = u32::MAX;
                for goal in 0..goals {
                    let reduced = matching.reduced_cost(low, goal);
                    if reduced >= least {
                        continue;
                    }
                    for (second, &penalty) in penalties[goal * goals..][..goals].iter().enumerate()
                    {
                        if penalty != NO_WAY {
                            let sum = reduced + u32::from(penalty);
                            if sum < least {
                                least = least
                                    .min(sum.saturating_add(matching.reduced_cost(high, second)));
                            }
                        }
                    }
                }
                if least >= u32::MAX / 4 {
                    return None;
                }
                if least > 0 {
                    self.adding.push((least, one as u16, other as u16));
                }
            }
        }
        if self.adding.is_empty() {
            return Some(0);
        }
        self.adding.sort_unstable_by(|one, other| other.cmp(one));
        self.is_taken.fill(false);
        let mut sum = 0;
        for &(extra, one, other) in &self.adding {
            let (one, other) = (usize::from(one), usize::from(other));
            if !self.is_taken[one] && !self.is_taken[other] {
                self.is_taken[one] = true;
                self.is_taken[other] = true;
                sum += extra;
            }
        }
        Some(sum)
    }
}
