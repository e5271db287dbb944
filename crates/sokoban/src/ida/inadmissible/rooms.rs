//! Goal rooms: areas around goals with few entrances.
//!
//! A room is the part on the side of the goals of a minimum cut between the goals and the boxes.
//! Boxes near the goals may be taken into the room where this saves entrances.
//!
//! Invariants: rooms are disjoint; every goal of a room is inside it; a room has at most
//! [`MAX_GOALS`] goals.

use super::super::moves::{Step, Walker};
use crate::board::{Board, Direction, NO_SQUARE, Square};
use crate::distances::Distances;

/// Bits of a set of filled goals.
pub const MAX_GOALS: usize = 64;
/// Clusters of fewer goals make no room.
const MIN_GOALS: usize = 3;
/// Rooms with more entrances are of no use.
const MAX_CUT: usize = 6;
/// Boxes that may start in a room without a goal under them.
const MAX_INSIDE: usize = 3;
/// How a room is valued: the cost of an entrance and of a box inside.
const ENTRANCE_COST: usize = 1000;
const BOX_COST: usize = 500;

/// A push that brings a box into a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entrance {
    pub outside: Square,
    pub inside: Square,
    pub direction: Direction,
}

/// An area of goals.
#[derive(Clone, Debug)]
pub struct Room {
    pub inside: Vec<bool>,
    /// Sorted.
    pub goals: Vec<Square>,
    /// Entrances that some box can reach from its start.
    pub entrances: Vec<Entrance>,
}

struct Candidate {
    inside: Vec<bool>,
    cost: usize,
    cut: usize,
}

/// All goal rooms of a board.
pub fn rooms(board: &Board, distances: &Distances) -> Vec<Room> {
    let clusters = clusters(board);
    let parts: Vec<Candidate> = (clusters.iter())
        .filter(|goals| goals.len() >= MIN_GOALS)
        .filter_map(|goals| grow(board, goals))
        .collect();
    let together = if clusters.len() > 1 {
        grow(board, board.goals())
    } else {
        None
    };
    let mut chosen: Vec<Candidate> = match together {
        Some(whole)
            if parts.is_empty()
                || whole.cost <= parts.iter().map(|part| part.cost).sum::<usize>() =>
        {
            vec![whole]
        }
        _ => parts,
    };
    chosen.sort_by_key(|candidate| candidate.cost);
    let mut rooms: Vec<Room> = Vec::new();
    for candidate in chosen {
        let overlaps = |room: &Room| {
            (room.inside.iter().zip(&candidate.inside)).any(|(one, other)| *one && *other)
        };
        if candidate.cut > MAX_CUT || rooms.iter().any(overlaps) {
            continue;
        }
        let goals: Vec<Square> = (board.goals().iter().copied())
            .filter(|&goal| candidate.inside[usize::from(goal)])
            .collect();
        if goals.len() > MAX_GOALS {
            continue;
        }
        rooms.push(Room {
            entrances: entrances(board, distances, &candidate.inside),
            inside: candidate.inside,
            goals,
        });
    }
    rooms.retain(|room| !room.entrances.is_empty());
    rooms
}

/// Groups of goals that lie side by side.
fn clusters(board: &Board) -> Vec<Vec<Square>> {
    let mut seen = vec![false; board.len()];
    let mut clusters = Vec::new();
    for &goal in board.goals() {
        if seen[usize::from(goal)] {
            continue;
        }
        seen[usize::from(goal)] = true;
        let mut cluster = vec![goal];
        let mut at = 0;
        while at < cluster.len() {
            for &next in board.neighbours(cluster[at]) {
                if next != NO_SQUARE && board.is_goal(next) && !seen[usize::from(next)] {
                    seen[usize::from(next)] = true;
                    cluster.push(next);
                }
            }
            at += 1;
        }
        clusters.push(cluster);
    }
    clusters
}

/// The best room around goals, over the numbers of boxes that may start inside.
fn grow(board: &Board, goals: &[Square]) -> Option<Candidate> {
    let mut outer: Vec<(usize, Square)> = (board.start().boxes.iter())
        .filter(|&&square| !board.is_goal(square))
        .map(|&square| (walk(board, goals, square), square))
        .collect();
    outer.sort_unstable();
    let mut best: Option<Candidate> = None;
    for ignored in 0..=MAX_INSIDE.min(outer.len().saturating_sub(1)) {
        let sinks: Vec<Square> = outer[ignored..].iter().map(|&(_, square)| square).collect();
        let Some((inside, cut)) = minimum_cut(board, goals, &sinks) else {
            continue;
        };
        let boxes = (outer.iter())
            .filter(|&&(_, square)| inside[usize::from(square)])
            .count();
        let cost = cut * ENTRANCE_COST + boxes * BOX_COST;
        if best.as_ref().is_none_or(|best| cost < best.cost) {
            best = Some(Candidate { inside, cost, cut });
        }
    }
    best
}

/// Steps from the nearest of some squares.
fn walk(board: &Board, from: &[Square], to: Square) -> usize {
    let mut steps = vec![usize::MAX; board.len()];
    let mut queue: Vec<Square> = from.to_vec();
    for &square in from {
        steps[usize::from(square)] = 0;
    }
    let mut at = 0;
    while at < queue.len() {
        let square = queue[at];
        for &next in board.neighbours(square) {
            if next != NO_SQUARE && steps[usize::from(next)] == usize::MAX {
                steps[usize::from(next)] = steps[usize::from(square)] + 1;
                queue.push(next);
            }
        }
        at += 1;
    }
    steps[usize::from(to)]
}

/// The squares on the sources' side of a minimum cut of borders between squares, and its size.
/// `None` if a sink is a source or the cut is too large.
fn minimum_cut(board: &Board, sources: &[Square], sinks: &[Square]) -> Option<(Vec<bool>, usize)> {
    let mut is_sink = vec![false; board.len()];
    for &square in sinks {
        is_sink[usize::from(square)] = true;
    }
    // Flow over the border of a square in a direction: 1, 0 or -1.
    let mut flow = vec![[0_i8; 4]; board.len()];
    for cut in 0..=MAX_CUT * 2 {
        let mut from = vec![None; board.len()];
        let mut seen = vec![false; board.len()];
        let mut queue: Vec<Square> = sources.to_vec();
        for &square in sources {
            seen[usize::from(square)] = true;
        }
        let mut at = 0;
        let mut end = None;
        while at < queue.len() && end.is_none() {
            let square = queue[at];
            if is_sink[usize::from(square)] {
                end = Some(square);
                break;
            }
            for direction in Direction::ALL {
                let next = board.next(square, direction);
                if next != NO_SQUARE
                    && !seen[usize::from(next)]
                    && flow[usize::from(square)][direction as usize] < 1
                {
                    seen[usize::from(next)] = true;
                    from[usize::from(next)] = Some((square, direction));
                    queue.push(next);
                }
            }
            at += 1;
        }
        let Some(mut square) = end else {
            return Some((seen, cut));
        };
        while let Some((before, direction)) = from[usize::from(square)] {
            flow[usize::from(before)][direction as usize] += 1;
            flow[usize::from(square)][direction.opposite() as usize] -= 1;
            square = before;
        }
        if sources.contains(&square) && is_sink[usize::from(square)] {
            return None;
        }
    }
    None
}

/// The pushes over the border of a room that some box of the start can make when it is alone.
fn entrances(board: &Board, distances: &Distances, inside: &[bool]) -> Vec<Entrance> {
    let mut found: Vec<Entrance> = Vec::new();
    let mut walker = Walker::new(board);
    for &square in &board.start().boxes {
        if inside[usize::from(square)] {
            continue;
        }
        let mut free = board.floor().clone();
        walker.search(
            board,
            &mut free,
            square,
            board.start().player,
            |outside, direction, next, _| {
                if distances.is_dead(next) {
                    return Step::Skip;
                }
                if !inside[usize::from(next)] {
                    return Step::Go;
                }
                let entrance = Entrance {
                    outside,
                    inside: next,
                    direction,
                };
                if !found.contains(&entrance) {
                    found.push(entrance);
                }
                Step::Skip
            },
        );
    }
    found
}
