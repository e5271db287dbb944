//! Deadlock tables: which boxes in an area around a pushed box can never leave it?
//!
//! The area is five squares wide and five deep, from the player's square onwards. An exhaustive
//! search with the boxes of the area alone decides whether each of them can leave the area or come
//! to a goal at the same time. Entries are computed at first use and kept; like those of tables
//! computed beforehand, they are not counted as nodes.
//!
//! Invariants: an entry that says dead was proven; bit `i` of a mask stands for square `i` of the
//! area.

use super::state::State;
use crate::board::{Board, Direction, NO_SQUARE, Square};
use crate::distances::Distances;
use crate::reach::{Reach, Rows};
use std::collections::{HashMap, HashSet};

const WIDTH: i32 = 2;
const DEPTH: i32 = 3;

/// Positions of one search; areas that need more count as not dead.
const LIMIT: usize = 400;

type Mask = u32;

/// Entries by square, direction and boxes.
pub struct Areas {
    /// By square times four plus direction.
    squares: Vec<Vec<Square>>,
    /// Bits of the goals in each area.
    goals: Vec<Mask>,
    entries: HashMap<(u16, Mask), bool>,
    bit_of: Vec<u8>,
    reach: Reach,
}

impl Areas {
    pub fn new(board: &Board) -> Self {
        let mut squares = Vec::with_capacity(board.len() * 4);
        for square in board.squares() {
            for direction in Direction::ALL {
                squares.push(area(board, square, direction));
            }
        }
        let goals = (squares.iter())
            .map(|squares| {
                (squares.iter().enumerate())
                    .filter(|&(_, &square)| board.is_goal(square))
                    .fold(0, |mask, (bit, _)| mask | 1 << bit)
            })
            .collect();
        Self {
            squares,
            goals,
            entries: HashMap::new(),
            bit_of: vec![u8::MAX; board.len()],
            reach: Reach::new(board.floor().len()),
        }
    }

    /// Whether the boxes around the one that was pushed to `to` are a proven deadlock.
    pub fn is_dead(&mut self, state: &State, to: Square, direction: Direction) -> bool {
        let number = usize::from(to) * 4 + direction as usize;
        let boxes = (self.squares[number].iter().enumerate())
            .filter(|&(_, &square)| state.has_box(square))
            .fold(0, |mask, (bit, _)| mask | 1 << bit);
        if Mask::count_ones(boxes) < 2 {
            return false;
        }
        let key = (number as u16, boxes);
        if let Some(&dead) = self.entries.get(&key) {
            return dead;
        }
        let dead = self.search(
            state.board(),
            state.distances(),
            number,
            boxes,
            state.player(),
        );
        self.entries.insert(key, dead);
        dead
    }

    fn search(
        &mut self,
        board: &Board,
        distances: &Distances,
        number: usize,
        boxes: Mask,
        player: Square,
    ) -> bool {
        let area = &self.squares[number];
        let goals = self.goals[number];
        for (bit, &square) in area.iter().enumerate() {
            self.bit_of[usize::from(square)] = bit as u8;
        }
        let mut seen: HashSet<(Mask, Square)> = HashSet::new();
        let mut waiting = vec![(boxes, player)];
        let mut free: Rows = board.floor().clone();
        let mut dead = true;
        while let Some((mask, player)) = waiting.pop() {
            if mask & !goals == 0 || seen.len() >= LIMIT {
                dead = false;
                break;
            }
            let present = || (0..area.len()).filter(move |bit| mask >> bit & 1 != 0);
            present().for_each(|bit| free.remove(board.cell(area[bit])));
            self.reach.fill(&free, board.cell(player));
            present().for_each(|bit| free.insert(board.cell(area[bit])));
            if !seen.insert((mask, board.first(&self.reach))) {
                continue;
            }
            for bit in present() {
                let square = area[bit];
                for direction in Direction::ALL {
                    let behind = board.next(square, direction.opposite());
                    let ahead = board.next(square, direction);
                    if behind == NO_SQUARE
                        || ahead == NO_SQUARE
                        || distances.is_dead(ahead)
                        || !self.reach.contains(board.cell(behind))
                    {
                        continue;
                    }
                    let ahead_bit = self.bit_of[usize::from(ahead)];
                    if ahead_bit == u8::MAX {
                        waiting.push((mask & !(1 << bit), square));
                    } else if mask >> ahead_bit & 1 == 0 {
                        waiting.push((mask & !(1 << bit) | 1 << ahead_bit, square));
                    }
                }
            }
            // Positions with fewer boxes outside goals are taken first.
            let from = waiting.len().saturating_sub(12);
            waiting[from..]
                .sort_by_key(|&(mask, _)| std::cmp::Reverse((mask & !goals).count_ones()));
        }
        for &square in area {
            self.bit_of[usize::from(square)] = u8::MAX;
        }
        dead
    }
}

/// The floor squares of the area around a push to `to`.
fn area(board: &Board, to: Square, direction: Direction) -> Vec<Square> {
    let (row, column) = board.cell(to);
    let mut squares = Vec::new();
    for square in board.squares() {
        let cell = board.cell(square);
        let (down, right) = (cell.0 as i32 - row as i32, cell.1 as i32 - column as i32);
        let (ahead, aside) = match direction {
            Direction::Up => (-down, right),
            Direction::Down => (down, right),
            Direction::Left => (-right, down),
            Direction::Right => (right, down),
        };
        if (-1..=DEPTH).contains(&ahead) && (-WIDTH..=WIDTH).contains(&aside) {
            squares.push(square);
        }
    }
    squares
}
