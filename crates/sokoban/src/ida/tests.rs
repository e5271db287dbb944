use super::super::board::Position;
use super::super::level::Level;
use super::*;
use std::collections::{HashMap, VecDeque};

fn board(rows: &[&str]) -> Board {
    Board::new(&Level::from_rows(rows).unwrap()).unwrap()
}

fn limits() -> Budget {
    Budget::generous().with_steps(200_000).with_bytes(1 << 20)
}

/// The least number of pushes, by breadth-first search.
fn least_pushes(board: &Board) -> Option<usize> {
    let mut pushes = HashMap::new();
    let mut queue = VecDeque::from([(board.start().clone(), 0)]);
    while let Some((mut position, made)) = queue.pop_front() {
        position.player = board.first(&board.reach(&position));
        if pushes.contains_key(&position) {
            continue;
        }
        if board.is_solved(&position.boxes) {
            return Some(made);
        }
        pushes.insert(position.clone(), made);
        for push in board.pushes(&position) {
            queue.push_back((board.after(&position, push), made + 1));
        }
    }
    None
}

const LEVELS: [&[&str]; 5] = [
    &[
        "########", "#  .   #", "# $ $  #", "# #.#$ #", "#@   . #", "########",
    ],
    // A goal room behind a corridor.
    &[
        "###########",
        "#    ######",
        "# $$    ..#",
        "#@$ # # ..#",
        "# $   #####",
        "#######    ",
    ],
    // Boxes have to be parked on the way.
    &[
        "#######", "#  .. #", "# $#$ #", "# .#$ #", "#  @  #", "#######",
    ],
    // A tunnel, with goals on both sides.
    &[
        "##########",
        "#.  #   .#",
        "# $   $  #",
        "#   ##   #",
        "##@#######",
        " ###      ",
    ],
    // A corral opens towards the goals.
    &[
        "########", "#  ##..#", "# $    #", "##$ #  #", " #@ ####", " ####   ",
    ],
];

#[test]
fn every_rung_solves_small_levels() {
    for rows in LEVELS {
        let board = board(rows);
        let solvable = least_pushes(&board).is_some();
        for (name, parts) in &Parts::LADDER[1..] {
            let outcome = solve(&board, parts, 1, &limits());
            let solved = matches!(outcome.verdict, Verdict::Solved(_));
            assert_eq!(solved, solvable, "{name}: {rows:#?}");
        }
    }
}

#[test]
fn exact_parts_find_shortest_solutions() {
    for rows in LEVELS {
        let board = board(rows);
        let least = least_pushes(&board);
        for parts in [Parts::LADDER[4].1, Parts::ADMISSIBLE] {
            let outcome = solve(&board, &parts, 1, &limits());
            match outcome.verdict {
                Verdict::Solved(pushes) => {
                    assert!(outcome.push_optimal);
                    assert_eq!(Some(pushes.len()), least, "{rows:#?}");
                }
                verdict => assert_eq!((verdict, least), (Verdict::Unsolvable, None), "{rows:#?}"),
            }
        }
    }
}

#[test]
fn proves_that_a_box_in_a_corner_is_lost() {
    let board = board(&["######", "#$ . #", "#  $ #", "#@ . #", "######"]);
    for parts in [Parts::ALL, Parts::ADMISSIBLE] {
        let outcome = solve(&board, &parts, 1, &limits());
        assert_eq!(outcome.verdict, Verdict::Unsolvable);
    }
}

/// A level of at most `rows` by `columns` free squares with this many boxes, if it is playable.
fn random_board(random: &mut u64, rows: usize, columns: usize, boxes: usize) -> Option<Board> {
    let mut grid = vec![vec!['#'; columns + 2]; rows + 2];
    let mut free = Vec::new();
    for (row, cells) in grid.iter_mut().enumerate().take(rows + 1).skip(1) {
        for (column, cell) in cells.iter_mut().enumerate().take(columns + 1).skip(1) {
            *random = state::mix(*random);
            if !random.is_multiple_of(7) {
                *cell = ' ';
                free.push((row, column));
            }
        }
    }
    let pieces = [('@', 1), ('$', boxes), ('.', boxes)];
    for kind in pieces
        .into_iter()
        .flat_map(|(kind, count)| std::iter::repeat_n(kind, count))
    {
        *random = state::mix(*random);
        let (row, column) = free.swap_remove(*random as usize % free.len());
        grid[row][column] = kind;
    }
    let rows: Vec<String> = grid.into_iter().map(String::from_iter).collect();
    Board::new(&Level::from_rows(&rows).unwrap()).ok()
}

/// All positions that can be reached, and the least pushes that are left if there is a solution.
fn pushes_left(board: &Board) -> HashMap<Position, Option<u32>> {
    let normal = |mut position: Position| {
        position.player = board.first(&board.reach(&position));
        position
    };
    let mut before: HashMap<Position, Vec<Position>> = HashMap::new();
    let mut waiting = vec![normal(board.start().clone())];
    before.insert(waiting[0].clone(), Vec::new());
    while let Some(position) = waiting.pop() {
        for push in board.pushes(&position) {
            let after = normal(board.after(&position, push));
            if !before.contains_key(&after) {
                waiting.push(after.clone());
            }
            before.entry(after).or_default().push(position.clone());
        }
    }
    let mut left: HashMap<Position, Option<u32>> = before
        .keys()
        .map(|position| (position.clone(), None))
        .collect();
    let solved = before
        .keys()
        .filter(|position| board.is_solved(&position.boxes));
    let mut queue: VecDeque<(Position, u32)> = solved.map(|one| (one.clone(), 0)).collect();
    while let Some((position, pushes)) = queue.pop_front() {
        if left[&position].is_none() {
            queue.extend(
                before[&position]
                    .iter()
                    .map(|one| (one.clone(), pushes + 1)),
            );
            left.insert(position, Some(pushes));
        }
    }
    left
}

#[test]
fn pairs_never_add_more_pushes_than_are_needed() {
    let mut random = 5_u64;
    let (mut exact, mut raised, mut dead) = (0, 0, 0);
    for number in 0..150 {
        let Some(board) = random_board(&mut random, 5, 5, 2 + number % 2) else {
            continue;
        };
        let distances = Distances::new(&board);
        let Some(mut pairs) = pairs::Pairs::new(&board, &distances, &limits()) else {
            continue;
        };
        for (position, left) in pushes_left(&board) {
            let state = state::State::new(&board, &distances, &position);
            let Some(least) = state.matching().cost() else {
                assert_eq!(left, None);
                continue;
            };
            match (pairs.extra(&state), left) {
                (Some(extra), Some(left)) => {
                    assert!(
                        least + extra <= left,
                        "{position:?}: {least} + {extra}, {left}"
                    );
                    raised += usize::from(extra > 0);
                    exact += usize::from(least + extra == left);
                }
                (None, left) => {
                    assert_eq!(left, None, "{position:?}");
                    dead += 1;
                }
                (Some(_), None) => {}
            }
        }
    }
    assert!(
        exact > 1000 && raised > 30 && dead > 100,
        "{exact} {raised} {dead}"
    );
}

#[test]
fn exact_parts_agree_with_breadth_first_search_on_random_levels() {
    let mut random = 17_u64;
    let mut solved = 0;
    for _ in 0..3000 {
        let Some(board) = random_board(&mut random, 5, 6, 3) else {
            continue;
        };
        let start = board.start();
        let least = least_pushes(&board);
        solved += usize::from(least.is_some());
        let outcome = solve(&board, &Parts::ADMISSIBLE, 1, &limits());
        match outcome.verdict {
            Verdict::Solved(pushes) => assert_eq!(Some(pushes.len()), least, "{start:?}"),
            verdict => assert_eq!((verdict, least), (Verdict::Unsolvable, None), "{start:?}"),
        }
        let outcome = solve(&board, &Parts::ALL, 1, &limits());
        match outcome.verdict {
            Verdict::Solved(pushes) => assert!(least.is_some_and(|least| pushes.len() >= least)),
            verdict => assert_eq!((verdict, least), (Verdict::Unsolvable, None), "{start:?}"),
        }
    }
    assert!(solved > 20, "{solved}");
}
