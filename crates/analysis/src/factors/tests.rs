//! Games made to be split, and games that only look so.

mod games;

use std::time::Duration;

use super::{Factors, factors};
use panza_propnet::Network;
use panza_sync::Budget;

fn network_of(text: &str) -> Network {
    let (rules, diagnostics) = panza_gdl::load(text);
    assert!(
        panza_gdl::is_playable(&rules, &diagnostics),
        "{diagnostics:?}"
    );
    let program = panza_ground::ground(&rules, &Budget::generous()).expect("it can be grounded");
    panza_propnet::build(&program, &Budget::generous()).expect("it has a network")
}

fn found(text: &str) -> Factors {
    factors(&network_of(text), &Budget::generous()).expect("there is no time limit")
}

/// How many factors there are, and how many of them matter.
fn counts(text: &str) -> (usize, usize) {
    let found = found(text);
    let relevant = found.factors.iter().filter(|factor| factor.is_relevant);
    (found.factors.len(), relevant.count())
}

const TURNS: &str = "
    (role red) (role blue) (init (control red))
    (<= (next (control red)) (true (control blue)))
    (<= (next (control blue)) (true (control red)))
    (<= (legal ?r pass) (role ?r) (not (true (control ?r))))";

/// Rows of three squares; whoever turn it is marks one. A row is won by whoever marks all its
/// squares.
const ROWS: &str = "
    (row a) (row b) (square 1) (square 2) (square 3)
    (<= (legal ?r (mark ?b ?x)) (true (control ?r)) (row ?b) (square ?x) (not (marked ?b ?x)))
    (<= (marked ?b ?x) (true (cell ?b ?x ?r)))
    (<= (next (cell ?b ?x ?r)) (does ?r (mark ?b ?x)))
    (<= (next (cell ?b ?x ?r)) (true (cell ?b ?x ?r)))
    (<= (won ?b ?r) (true (cell ?b 1 ?r)) (true (cell ?b 2 ?r)) (true (cell ?b 3 ?r)))
    (<= won (won ?b ?r))
    (<= free (row ?b) (square ?x) (not (marked ?b ?x)))
    (<= terminal won)
    (<= terminal (not free))
    (<= (goal ?r 100) (won ?b ?r))
    (<= (goal ?r 50) (role ?r) (not won))
    (<= (goal ?r 0) (role ?o) (won ?b ?o) (distinct ?r ?o) (role ?r))";

#[test]
fn boards_with_one_move_in_either_are_two() {
    let text = format!("{TURNS} {ROWS}");
    let found = found(&text);
    assert_eq!(found.factors.len(), 2);
    assert_eq!(found.autonomous.len(), 2);
    assert_eq!(found.forced.len(), 2, "passing is all there is to do");
    for factor in &found.factors {
        assert_eq!(factor.bases.len(), 6);
        assert!(factor.is_relevant);
        for role in &factor.roles {
            assert_eq!(factor.moves[*role].len(), 3);
            // Each mark, and to move elsewhere.
            assert_eq!(factor.classes[*role].len(), 4);
            let usual = factor.classes[*role].iter().filter(|alike| alike.is_usual);
            assert_eq!(
                usual.map(|alike| alike.moves.len()).collect::<Vec<_>>(),
                [3]
            );
        }
    }
}

#[test]
fn one_row_is_one() {
    let text = format!("{TURNS} {ROWS}").replace("(row b)", "");
    assert_eq!(counts(&text), (0, 0));
}

#[test]
fn a_prize_for_squares_on_both_boards_ties_them() {
    let text = format!(
        "{TURNS} {ROWS} (<= (won ?r both) (true (cell a 2 ?r)) (true (cell b 2 ?r)))
        (<= terminal (true (cell a 2 ?r)) (true (cell b 2 ?r)))"
    );
    assert_eq!(counts(&text), (0, 0));
}

#[test]
fn a_move_that_changes_both_boards_ties_them() {
    let text = format!(
        "{TURNS} {ROWS}
        (<= (legal ?r leap) (true (control ?r)))
        (<= (next (cell a 1 ?r)) (does ?r leap)) (<= (next (cell b 2 ?r)) (does ?r leap))"
    );
    assert_eq!(counts(&text), (0, 0));
}

#[test]
fn a_move_that_is_two_moves_at_once_does_not() {
    let text = format!(
        "{TURNS} {ROWS}
        (<= (legal ?r two) (true (control ?r)) (not (marked a 1)) (not (marked b 2)))
        (<= (next (cell a 1 ?r)) (does ?r two)) (<= (next (cell b 2 ?r)) (does ?r two))"
    );
    assert_eq!(counts(&text), (2, 2));
}

/// Two lanes of lamps; every turn a lamp is lit in each.
const LANES: &str = "
    (role robot) (lamp 1) (lamp 2) (lamp 3)
    (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4)
    (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
    (<= (legal robot (light ?x ?y)) (lamp ?x) (lamp ?y))
    (<= (next (left ?x)) (does robot (light ?x ?y)))
    (<= (next (right ?y)) (does robot (light ?x ?y)))
    (<= (next (left ?x)) (true (left ?x)))
    (<= (next (right ?x)) (true (right ?x)))
    (<= bright (true (left 1)) (true (left 2)) (true (left 3)))
    (<= shiny (true (right 1)) (true (right 2)) (true (right 3)))
    (<= terminal (true (step 4)))
    (<= (goal robot 100) bright shiny)
    (<= (goal robot 50) bright (not shiny))
    (<= (goal robot 50) shiny (not bright))
    (<= (goal robot 0) (not bright) (not shiny))";

#[test]
fn a_move_on_every_board_is_taken_apart() {
    let found = found(LANES);
    assert_eq!(found.factors.len(), 2);
    for factor in &found.factors {
        assert_eq!(factor.bases.len(), 3);
        let alike: Vec<usize> = factor.classes.iter().map(Vec::len).collect();
        assert_eq!(alike, [3], "nine moves, three of a kind on each board");
    }
}

#[test]
fn goals_that_ask_for_one_or_the_other_but_not_both_tie() {
    let text = LANES.replace(
        "(<= (goal robot 100) bright shiny)",
        "(<= (goal robot 0) bright shiny)",
    );
    assert_eq!(counts(&text), (0, 0));
}

#[test]
fn what_only_ends_the_game_is_no_game() {
    let text = format!(
        "{LANES} (legal robot quit) (<= (next over) (does robot quit)) (<= terminal (true over))"
    );
    assert_eq!(counts(&text), (0, 0));
}

#[test]
fn ends_that_relate_what_was_done_on_both_boards_tie() {
    let walks = "
        (role walker) (init (here a)) (init (there x)) (road a b) (road b c) (path x y) (path y z)
        (<= (legal walker (go ?q)) (true (here ?p)) (road ?p ?q))
        (<= (legal walker (run ?q)) (true (there ?p)) (path ?p ?q))
        (<= (next (here ?q)) (does walker (go ?q)))
        (<= (next (there ?q)) (does walker (run ?q)))
        (<= (next (here ?p)) (true (here ?p)) (does walker (run ?q)))
        (<= (next (there ?p)) (true (there ?p)) (does walker (go ?q)))
        (<= terminal (true (here c)) (true (there z)))
        (<= (goal walker 100) (true (here c)) (true (there z)))
        (<= (goal walker 0) (not (true (here c))))
        (<= (goal walker 0) (not (true (there z))))";
    assert_eq!(counts(walks), (2, 2));
    let text = format!("{walks} (<= terminal (true (here b)) (true (there z)))");
    assert_eq!(counts(&text), (0, 0), "whoever runs first is stopped");
}

#[test]
fn names_and_order_do_not_matter() {
    let text = format!("{TURNS} {ROWS}");
    let renamed = text
        .replace("row", "w1")
        .replace("cell", "z9")
        .replace("mark", "q")
        .replace("control", "a0");
    let shape = |found: &Factors| {
        let factors = found.factors.iter();
        factors.map(|factor| factor.bases.len()).collect::<Vec<_>>()
    };
    assert_eq!(shape(&found(&text)), shape(&found(&renamed)));
}

#[test]
fn a_board_that_nothing_asks_for_is_told_apart() {
    let text = format!(
        "{TURNS} {ROWS} (<= (legal ?r (doodle ?x)) (true (control ?r)) (square ?x) (not (true (doodled ?x))))
        (<= (next (doodled ?x)) (does ?r (doodle ?x))) (<= (next (doodled ?x)) (true (doodled ?x)))"
    );
    assert_eq!(counts(&text), (3, 2));
}

#[test]
fn nothing_is_found_after_the_deadline() {
    let network = network_of(&format!("{TURNS} {ROWS}"));
    let now = std::time::Instant::now();
    assert_eq!(
        factors(&network, &Budget::generous().until(Some(now))),
        None
    );
    assert!(
        factors(
            &network,
            &Budget::generous().until(Some(now + Duration::from_secs(60)))
        )
        .is_some()
    );
}
