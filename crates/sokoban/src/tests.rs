//! Levels of the tests, and what all of their positions have in common.

use std::collections::{HashMap, HashSet, VecDeque};

use super::board::{Board, Position};
use super::deadlock::corral::Corrals;
use super::deadlock::freeze::Freeze;
use super::deadlock::pi_corral::PiCorrals;
use super::distances::Distances;
use super::field::Field;
use super::level::Level;
use super::reach::Reach;

/// A corner to turn, a store behind a door, boxes that seal an area, and four corners.
pub(super) const LEVELS: [&[&str]; 4] = [
    &[
        "#######", "#  .  #", "# $#  #", "#@ $ .#", "#     #", "#######",
    ],
    &[
        "########", "#  #   #", "#... $ #", "#  # $ #", "####$  #", "   # @ #", "   #####",
    ],
    &[
        "########", "#  .#  #", "# $ $  #", "#  .#$ #", "##  # .#", "#@     #", "########",
    ],
    &["#######", "#.$ $.#", "# $@$ #", "#.   .#", "#######"],
];

pub(super) fn board(rows: &[&str]) -> Board {
    Board::new(&Level::from_rows(rows).unwrap()).unwrap()
}

/// All positions that can be reached, and whether each has a solution. The player stands on the
/// first square of its area.
fn positions(board: &Board) -> HashMap<Position, bool> {
    let normal = |mut position: Position| {
        position.player = board.first(&board.reach(&position));
        position
    };
    let start = normal(board.start().clone());
    let mut before: HashMap<Position, Vec<Position>> = HashMap::from([(start.clone(), vec![])]);
    let mut queue = VecDeque::from([start]);
    while let Some(position) = queue.pop_front() {
        for push in board.pushes(&position) {
            let after = normal(board.after(&position, push));
            let known = before.contains_key(&after);
            before
                .entry(after.clone())
                .or_default()
                .push(position.clone());
            if !known {
                queue.push_back(after);
            }
        }
    }
    let mut solvable: HashSet<Position> = HashSet::new();
    let solved = |position: &&Position| board.is_solved(&position.boxes);
    let mut waiting: Vec<Position> = before.keys().filter(solved).cloned().collect();
    while let Some(position) = waiting.pop() {
        if solvable.insert(position.clone()) {
            waiting.extend(before[&position].iter().cloned());
        }
    }
    let all = before.into_keys();
    all.map(|position| (position.clone(), solvable.contains(&position)))
        .collect()
}

#[test]
fn no_position_with_a_solution_is_called_a_deadlock() {
    for rows in LEVELS {
        let board = board(rows);
        let distances = Distances::new(&board);
        let dead = distances.dead();
        let (mut freeze, mut corrals) = (Freeze::default(), Corrals::new(1_000));
        let mut reach = Reach::new(board.floor().len());
        let (mut live, mut noticed) = (0, 0);
        for (position, has_solution) in positions(&board) {
            let field = Field::new(&board, &position.boxes);
            field.fill(&mut reach, position.player);
            let boxes = || position.boxes.iter();
            let is_dead = boxes().any(|&square| dead.contains(square))
                || boxes().any(|&square| freeze.is_deadlock(&field, dead, square))
                || corrals.is_deadlock(&field, dead, &reach);
            assert!(!(has_solution && is_dead), "{rows:?} {position:?}");
            live += u32::from(has_solution);
            noticed += u32::from(is_dead);
        }
        assert!(
            live > 10 && noticed > 10,
            "{live} live, {noticed} noticed in {rows:?}"
        );
    }
}

#[test]
fn a_pi_corral_keeps_a_push_of_some_solution() {
    for rows in LEVELS {
        let board = board(rows);
        let all = positions(&board);
        let distances = Distances::new(&board);
        let dead = distances.dead();
        let mut corrals = PiCorrals::new(&board);
        for (position, has_solution) in &all {
            if !has_solution || board.is_solved(&position.boxes) {
                continue;
            }
            let field = Field::new(&board, &position.boxes);
            let reach = board.reach(position);
            let Some(pushes) = corrals.find(&board, field.boxes(), field.free(), dead, &reach)
            else {
                continue;
            };
            let leads_on = pushes.iter().any(|&push| {
                let mut after = board.after(position, push);
                after.player = board.first(&board.reach(&after));
                all[&after]
            });
            assert!(leads_on, "{rows:?} {position:?} {pushes:?}");
        }
    }
}

#[test]
fn distances_agree_with_positions_of_one_box() {
    let board = board(&[
        "#######", "# .   #", "#  ##$#", "#   #@#", "#     #", "#######",
    ]);
    let distances = Distances::new(&board);
    for (position, has_solution) in positions(&board) {
        let alive = !distances.is_dead(position.boxes[0]);
        assert!(alive || !has_solution, "{position:?}");
    }
    assert_eq!(distances.to_goal(0, board.goals()[0]), 0);
}
