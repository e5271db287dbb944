use super::*;
use crate::level::Level;

fn board(rows: &[&str]) -> Board {
    Board::new(&Level::from_rows(rows).unwrap()).unwrap()
}

/// Two boxes side by side below their goals.
fn pair() -> Board {
    board(&[
        "######", //
        "#    #", "#.. @#", "#    #", "#$$  #", "#    #", "######",
    ])
}

#[test]
fn metrics_are_those_of_the_moves() {
    let board = pair();
    let solution = Solution::from_text(&board, "dddlllUUdrdlluurUlDdrUU").unwrap_err();
    assert!(
        matches!(solution, SolutionError::Blocked { .. }),
        "{solution}"
    );
    let solution = Solution::from_text(&board, "dddllUUddlUU").unwrap();
    assert_eq!(
        solution.metrics(),
        Metrics {
            moves: 12,
            pushes: 4,
            box_lines: 2,
            box_changes: 2,
            pushing_sessions: 2,
            player_lines: 6,
        }
    );
    assert_eq!(solution.to_string(), "dddllUUddlUU");
    assert_eq!(solution.moves().len(), 12);
}

#[test]
fn one_session_can_push_two_boxes() {
    let board = board(&["######", "#@$ .#", "###$##", "###.##", "######"]);
    // The first box passes above the second; it has to go on before the player can push down.
    let solution = Solution::from_text(&board, "RRD").unwrap();
    let metrics = solution.metrics();
    assert_eq!((metrics.pushes, metrics.box_lines), (3, 2));
    assert_eq!((metrics.box_changes, metrics.pushing_sessions), (2, 1));
    assert_eq!(metrics.player_lines, 2);
}

#[test]
fn pushes_become_shortest_ways() {
    let board = pair();
    let text = "dddllUUddlUU";
    let pushes = Solution::from_text(&board, text).unwrap().pushes().to_vec();
    let solution = Solution::from_pushes(&board, &pushes).unwrap();
    assert_eq!(solution.metrics().moves, 12);
    assert_eq!(solution.pushes(), pushes);
    let again = Solution::from_text(&board, &solution.to_string()).unwrap();
    assert_eq!(again, solution);
}

#[test]
fn errors_say_which_move_and_why() {
    let board = pair();
    let error = |text: &str| Solution::from_text(&board, text).unwrap_err().to_string();
    assert_eq!(
        error("r"),
        "move 1, `r`: the player cannot walk into a wall"
    );
    assert_eq!(
        error("lx"),
        "move 2: expected one of l u r d L U R D, found `x`"
    );
    assert_eq!(
        error("L"),
        "move 1: no box is pushed; expected a small letter"
    );
    assert_eq!(
        error("ddl l"),
        "move 4, `L`: a wall or another box is behind the box"
    );
    assert_eq!(
        error("ddlL"),
        "move 4, `L`: a wall or another box is behind the box"
    );
    assert_eq!(error("dddllUU"), "after the last move 1 box is on no goal");
    assert_eq!(error(""), "after the last move 2 boxes are on no goal");
}

#[test]
fn impossible_pushes_are_refused() {
    let board = pair();
    let push = |square, direction| {
        Solution::from_pushes(&board, &[Push { square, direction }]).unwrap_err()
    };
    let unreachable = SolutionError::Unreachable { number: 1 };
    assert_eq!(push(Square::MAX, Direction::Up), unreachable);
    assert_eq!(push(0, Direction::Up), unreachable);
    let first = board.start().boxes[0];
    assert!(matches!(
        push(first, Direction::Left),
        SolutionError::Unreachable { .. }
    ));
}

#[test]
fn small_letters_push_what_is_in_the_way() {
    let board = pair();
    let small = Solution::from_text(&board, "dddlluuddluu").unwrap();
    assert_eq!(small.to_string(), "dddllUUddlUU");
    assert_eq!(small.metrics().pushes, 4);
}

#[test]
fn a_solution_ends_when_all_boxes_are_on_goals() {
    let board = board(&["######", "#@ $.#", "######"]);
    for text in ["rR", "rRR", "rRlr", "rrl"] {
        let solution = Solution::from_text(&board, text).unwrap();
        assert_eq!(solution.to_string(), "rR", "{text}");
    }
    // A level that begins solved does not end before a push.
    let solved = super::tests::board(&["######", "#@ * #", "######"]);
    assert_eq!(Solution::from_text(&solved, "r").unwrap().moves().len(), 1);
}
