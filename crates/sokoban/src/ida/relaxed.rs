//! A relaxation of the game: few of its boxes, and a box disappears when it reaches a goal.
//!
//! A solution of the full game is one of this game too, so that its least number of pushes is a
//! lower bound and a game without a solution is a deadlock of the full game. A* finds out.
//!
//! Invariants: boxes of a node are sorted; the side of a box names its component by the first
//! direction in it.

use super::patterns::Patterns;
use crate::board::{Board, Direction, NO_SQUARE, Square};
use crate::distances::{Distances, UNREACHABLE};
use crate::reach::{Reach, Rows};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// The largest number of boxes.
pub const MAX_BOXES: usize = 9;

/// Square times four plus side.
type Sided = u16;

const NO_SIDED: Sided = Sided::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    boxes: [Sided; MAX_BOXES],
    player: Square,
}

#[derive(Clone, Copy)]
struct Node {
    boxes: [Sided; MAX_BOXES],
    player: Square,
    pushes: u16,
    crossed: u16,
    parent: u32,
    from: Square,
    direction: Direction,
}

/// How a relaxed game ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relaxed {
    /// The least pushes above the sum of distances; squares that boxes and the player cross in one
    /// such solution.
    Extra(u32),
    Dead,
    /// The limit of nodes was reached.
    Unknown,
}

/// Solver of relaxed games.
pub struct Game {
    /// By square and side: the least pushes to a goal.
    nearest: Vec<[u16; 4]>,
    /// By square and side: the first side of the same component.
    canonical: Vec<[u8; 4]>,
    nodes: Vec<Node>,
    seen: FxHashMap<Key, u16>,
    open: Vec<Vec<u32>>,
    /// Children of one node with what they are sorted by and their extra pushes.
    children: Vec<((u16, bool), usize, Node)>,
    reach: Reach,
    free: Rows,
    /// Squares crossed by boxes in the last solution.
    pub box_squares: Vec<Square>,
    /// Squares crossed by the player in the last solution.
    pub player_squares: Vec<Square>,
}

impl Game {
    pub fn new(board: &Board, distances: &Distances) -> Self {
        let nearest = (board.squares())
            .map(|square| {
                Direction::ALL.map(|side| {
                    (0..distances.goals())
                        .map(|goal| distances.to_goal_from_side(goal, square, side))
                        .min()
                        .unwrap_or(UNREACHABLE)
                })
            })
            .collect();
        let canonical = (board.squares())
            .map(|square| {
                Direction::ALL.map(|side| {
                    (Direction::ALL.into_iter())
                        .find(|&first| distances.same_side(square, side, first))
                        .unwrap_or(side) as u8
                })
            })
            .collect();
        Self {
            nearest,
            canonical,
            nodes: Vec::new(),
            seen: FxHashMap::default(),
            open: Vec::new(),
            children: Vec::new(),
            reach: Reach::new(board.floor().len()),
            free: board.floor().clone(),
            box_squares: Vec::new(),
            player_squares: Vec::new(),
        }
    }

    fn sided(&self, square: Square, side: Direction) -> Sided {
        square * 4 + u16::from(self.canonical[usize::from(square)][side as usize])
    }

    fn distance(&self, sided: Sided) -> u16 {
        self.nearest[usize::from(sided / 4)][usize::from(sided % 4)]
    }

    /// Plays with boxes on these squares, each with the side on which the player stands. `in_way`
    /// tells which squares have other boxes of the full game; solutions that cross few of them are
    /// preferred. `spent` counts nodes, at most up to `limit`.
    #[allow(clippy::too_many_arguments)]
    pub fn play(
        &mut self,
        board: &Board,
        boxes: &[(Square, Direction)],
        player: Square,
        patterns: &Patterns,
        in_way: impl Fn(Square) -> bool,
        spent: &mut u64,
        limit: u64,
    ) -> Relaxed {
        self.nodes.clear();
        self.seen.clear();
        self.open.iter_mut().for_each(Vec::clear);
        let mut root = Node {
            boxes: [NO_SIDED; MAX_BOXES],
            player,
            pushes: 0,
            crossed: 0,
            parent: u32::MAX,
            from: NO_SQUARE,
            direction: Direction::Up,
        };
        let mut start = 0;
        for (place, &(square, side)) in root.boxes.iter_mut().zip(boxes) {
            *place = self.sided(square, side);
            start += usize::from(self.distance(*place));
        }
        root.boxes.sort_unstable();
        if boxes.len() > MAX_BOXES {
            return Relaxed::Unknown;
        }
        if start >= usize::from(UNREACHABLE) {
            return Relaxed::Dead;
        }
        self.nodes.push(root);
        self.open_at(0).push(0);
        let mut at = 0;
        while at < self.open.len() {
            let Some(number) = self.open[at].pop() else {
                at += 1;
                continue;
            };
            *spent += 1;
            let node = self.nodes[number as usize];
            if node.boxes[0] == NO_SIDED {
                self.trace(board, number, in_way);
                let extra = usize::from(node.pushes) - start;
                return Relaxed::Extra(extra as u32);
            }
            let count = node
                .boxes
                .iter()
                .take_while(|&&one| one != NO_SIDED)
                .count();
            for &sided in &node.boxes[..count] {
                self.free.remove(board.cell(sided / 4));
            }
            self.reach.fill(&self.free, board.cell(node.player));
            for &sided in &node.boxes[..count] {
                self.free.insert(board.cell(sided / 4));
            }
            let key = Key {
                boxes: node.boxes,
                player: board.first(&self.reach),
            };
            let reached = node.pushes;
            if (self.seen.get(&key)).is_some_and(|&known| known <= reached) {
                continue;
            }
            self.seen.insert(key, reached);
            let left: usize = (node.boxes[..count].iter())
                .map(|&sided| usize::from(self.distance(sided)))
                .sum();
            self.find_children(board, number, patterns, &in_way, left, start);
            let mut children = std::mem::take(&mut self.children);
            for (_, rank, child) in children.drain(..) {
                let new = self.nodes.len() as u32;
                self.nodes.push(child);
                self.open_at(rank).push(new);
                at = at.min(rank);
            }
            self.children = children;
            if *spent >= limit {
                return Relaxed::Unknown;
            }
        }
        Relaxed::Dead
    }

    /// Writes the positions after each push in a node to `children`, the best last. `left` is the
    /// estimate of its boxes, `start` that of the root.
    fn find_children(
        &mut self,
        board: &Board,
        number: u32,
        patterns: &Patterns,
        in_way: &impl Fn(Square) -> bool,
        left: usize,
        start: usize,
    ) {
        let node = self.nodes[number as usize];
        let count = (node.boxes.iter())
            .take_while(|&&one| one != NO_SIDED)
            .count();
        let last = match node.from {
            NO_SQUARE => NO_SQUARE,
            from => board.next(from, node.direction),
        };
        for index in 0..count {
            let square = node.boxes[index] / 4;
            for direction in Direction::ALL {
                let behind = board.next(square, direction.opposite());
                let ahead = board.next(square, direction);
                if behind == NO_SQUARE
                    || ahead == NO_SQUARE
                    || !self.reach.contains(board.cell(behind))
                    || node.boxes[..count].iter().any(|&other| other / 4 == ahead)
                {
                    continue;
                }
                let sided = self.sided(ahead, direction.opposite());
                if self.distance(sided) == UNREACHABLE {
                    continue;
                }
                let has_box = |one: Square| {
                    one == ahead
                        || one != square
                            && node.boxes[..count].iter().any(|&other| other / 4 == one)
                };
                if patterns.is_dead(board, ahead, square, has_box) {
                    continue;
                }
                let mut child = node;
                child.pushes += 1;
                child.player = square;
                child.parent = number;
                child.from = square;
                child.direction = direction;
                child.crossed += u16::from(in_way(ahead));
                child.boxes[index] = if board.is_goal(ahead) {
                    NO_SIDED
                } else {
                    sided
                };
                child.boxes.sort_unstable();
                let estimate = usize::from(child.pushes) + left
                    - usize::from(self.distance(node.boxes[index]))
                    + usize::from(self.distance(sided));
                let is_other = last != square;
                (self.children).push(((child.crossed, is_other), estimate - start, child));
            }
        }
        self.children
            .sort_by_key(|&(order, _, _)| std::cmp::Reverse(order));
    }

    fn open_at(&mut self, rank: usize) -> &mut Vec<u32> {
        if rank >= self.open.len() {
            self.open.resize_with(rank + 1, Vec::new);
        }
        &mut self.open[rank]
    }

    /// Reads the squares that a solution crosses.
    fn trace(&mut self, board: &Board, number: u32, in_way: impl Fn(Square) -> bool) {
        self.box_squares.clear();
        self.player_squares.clear();
        let mut at = number;
        while self.nodes[at as usize].parent != u32::MAX {
            let node = self.nodes[at as usize];
            self.box_squares.push(board.next(node.from, node.direction));
            let before = self.nodes[node.parent as usize];
            let behind = board.next(node.from, node.direction.opposite());
            walk(
                board,
                |square| {
                    before
                        .boxes
                        .iter()
                        .any(|&other| other != NO_SIDED && other / 4 == square)
                },
                &in_way,
                before.player,
                behind,
                &mut self.player_squares,
            );
            at = node.parent;
        }
    }
}

/// Appends the squares of a walk of the player, both ends included. It crosses as few boxes of the
/// full game as possible.
fn walk(
    board: &Board,
    has_box: impl Fn(Square) -> bool,
    in_way: impl Fn(Square) -> bool,
    from: Square,
    to: Square,
    squares: &mut Vec<Square>,
) {
    if from == to {
        squares.push(to);
        return;
    }
    let mut before = vec![NO_SQUARE; board.len()];
    let mut done = vec![false; board.len()];
    let mut queue = VecDeque::from([(to, to)]);
    while let Some((square, last)) = queue.pop_front() {
        if done[usize::from(square)] {
            continue;
        }
        done[usize::from(square)] = true;
        before[usize::from(square)] = last;
        if square == from {
            break;
        }
        for &next in board.neighbours(square) {
            if next == NO_SQUARE || done[usize::from(next)] || has_box(next) {
                continue;
            }
            if in_way(next) {
                queue.push_back((next, square));
            } else {
                queue.push_front((next, square));
            }
        }
    }
    let mut square = from;
    while square != NO_SQUARE {
        squares.push(square);
        if square == to {
            break;
        }
        square = before[usize::from(square)];
    }
}
