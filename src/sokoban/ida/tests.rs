use super::super::level::Level;
use super::*;
use std::collections::{HashMap, VecDeque};

fn board(rows: &[&str]) -> Board {
    Board::new(&Level::from_rows(rows).unwrap()).unwrap()
}

fn budget() -> Budget {
    Budget {
        nodes: 200_000,
        memory: 1 << 20,
        ..Budget::default()
    }
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
            let outcome = solve(&board, parts, 1, &budget());
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
            let outcome = solve(&board, &parts, 1, &budget());
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
        let outcome = solve(&board, &parts, 1, &budget());
        assert_eq!(outcome.verdict, Verdict::Unsolvable);
    }
}

#[test]
fn exact_parts_agree_with_breadth_first_search_on_random_levels() {
    let mut random = 17_u64;
    let mut solved = 0;
    for _ in 0..3000 {
        let mut rows = vec![vec!['#'; 8]; 7];
        let mut free = Vec::new();
        for (row, cells) in rows.iter_mut().enumerate().take(6).skip(1) {
            for (column, cell) in cells.iter_mut().enumerate().take(7).skip(1) {
                random = state::mix(random);
                if !random.is_multiple_of(7) {
                    *cell = ' ';
                    free.push((row, column));
                }
            }
        }
        for kind in ['@', '$', '$', '$', '.', '.', '.'] {
            random = state::mix(random);
            let (row, column) = free.swap_remove(random as usize % free.len());
            rows[row][column] = kind;
        }
        let rows: Vec<String> = rows.into_iter().map(String::from_iter).collect();
        let Ok(board) = Board::new(&Level::from_rows(&rows).unwrap()) else {
            continue;
        };
        let least = least_pushes(&board);
        solved += usize::from(least.is_some());
        let outcome = solve(&board, &Parts::ADMISSIBLE, 1, &budget());
        match outcome.verdict {
            Verdict::Solved(pushes) => assert_eq!(Some(pushes.len()), least, "{rows:#?}"),
            verdict => assert_eq!((verdict, least), (Verdict::Unsolvable, None), "{rows:#?}"),
        }
        let outcome = solve(&board, &Parts::ALL, 1, &budget());
        match outcome.verdict {
            Verdict::Solved(pushes) => assert!(least.is_some_and(|least| pushes.len() >= least)),
            verdict => assert_eq!((verdict, least), (Verdict::Unsolvable, None), "{rows:#?}"),
        }
    }
    assert!(solved > 20, "{solved}");
}
