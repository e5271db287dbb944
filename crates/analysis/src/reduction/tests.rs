//! Games with dead boards of every kind.

use super::{Reduction, reduction, unread_facts};
use crate::testing::{each_game, network, own_game, texts};
use panza_propnet::Network;
use panza_sync::Budget;

fn found(network: &Network) -> Option<Reduction> {
    reduction(network, &Budget::generous())
}

/// The sizes that matter: bases, moves, the tokens of each supply, idle moves.
fn shape(rules: &str) -> Option<(usize, usize, Vec<usize>, usize)> {
    let found = found(&network(rules))?;
    let tokens = found.supplies.iter().map(|supply| supply.tokens.len());
    Some((
        found.bases.len(),
        found.moves.len(),
        tokens.collect(),
        found.idle.len(),
    ))
}

const TURNS: &str = "
    (role red) (role blue) (init (control red))
    (<= (next (control red)) (true (control blue)))
    (<= (next (control blue)) (true (control red)))
    (<= (legal ?r wait) (role ?r) (not (true (control ?r))))";

/// Rows of three squares, of which only row a decides. Whoever turn it is marks a free square.
const ROWS: &str = "
    (row a) (row b) (square 1) (square 2) (square 3)
    (<= (legal ?r (mark ?b ?x)) (true (control ?r)) (row ?b) (square ?x) (not (marked ?b ?x)))
    (<= (marked ?b ?x) (true (cell ?b ?x ?r)))
    (<= (next (cell ?b ?x ?r)) (does ?r (mark ?b ?x)))
    (<= (next (cell ?b ?x ?r)) (true (cell ?b ?x ?r)))
    (<= (won ?r) (true (cell a 1 ?r)) (true (cell a 2 ?r)))
    (<= (won ?r) (true (cell a 2 ?r)) (true (cell a 3 ?r)))
    (<= full (marked a 1) (marked a 2) (marked a 3))
    (<= terminal (won ?r))
    (<= terminal full)
    (<= (goal ?r 100) (won ?r))
    (<= (goal ?r 50) (role ?r) (not (won red)) (not (won blue)))
    (<= (goal ?r 0) (role ?r) (won ?o) (distinct ?r ?o))";

#[test]
fn a_game_in_which_all_matters_is_not_reduced() {
    let one_row = format!("{TURNS} {ROWS}").replace("(row b)", "");
    assert_eq!(shape(&one_row), None);
    for name in ["ticTacToe", "connectFour", "hanoi", "eightPuzzle", "hex"] {
        assert_eq!(found(&own_game(name)), None, "{name}");
    }
}

#[test]
fn of_a_row_that_passes_the_turn_only_the_number_of_free_squares_is_kept() {
    let network = network(&format!("{TURNS} {ROWS}"));
    let found = found(&network).expect("row b is dead");
    assert_eq!(found.bases.len(), 2 + 6);
    assert_eq!(found.supplies.len(), 1);
    assert_eq!(found.supplies[0].tokens.len(), 3);
    // For each role three squares, one pass, and waiting.
    assert_eq!(found.moves.len(), 2 * 5);
    assert!(found.idle.is_empty());
    let passes = found.moves.iter().filter(|mv| mv.supply == Some(0));
    assert!(passes.clone().count() == 2 && passes.clone().all(|mv| mv.members.len() == 3));
    let live = texts(&network, found.bases.clone());
    assert!(
        live.iter().all(|fact| !fact.starts_with("(cell b")),
        "{live:?}"
    );
}

#[test]
fn the_number_of_passes_is_kept_for_each_kind_of_square() {
    // Only red may mark squares 2 and 3 of row b, only blue the others.
    let text = format!("{TURNS} {ROWS} (square 4) (yields a 1 red) (yields a 1 blue) (yields a 2 red) (yields a 2 blue)
        (yields a 3 red) (yields a 3 blue) (yields b 1 blue) (yields b 2 red) (yields b 3 red) (yields b 4 blue)")
        .replace("(square ?x) (not (marked ?b ?x))", "(yields ?b ?x ?r) (not (marked ?b ?x))");
    assert_eq!(shape(&text), Some((8, 10, vec![2, 2], 0)));
}

#[test]
fn squares_that_come_back_or_depend_on_each_other_are_kept_whole() {
    let rubbed_out = format!(
        "{TURNS} {ROWS} (<= (legal ?r (rub ?x)) (true (control ?r)) (true (cell b ?x ?o)))
        (<= rubbed (does ?r (rub ?x)))"
    )
    .replace(
        "(<= (next (cell ?b ?x ?r)) (true (cell ?b ?x ?r)))",
        "(<= (next (cell a ?x ?r)) (true (cell a ?x ?r)))
         (<= (next (cell b ?x ?r)) (true (cell b ?x ?r)) (not rubbed))",
    );
    assert_eq!(shape(&rubbed_out), None);
    let in_order = format!("{TURNS} {ROWS} (<= (free b 1)) (<= (free b 2) (marked b 1)) (<= (free b 3) (marked b 2)) (<= (free a ?x) (square ?x))")
        .replace("(not (marked ?b ?x))", "(not (marked ?b ?x)) (free ?b ?x)");
    assert_eq!(shape(&in_order), None);
    let until_won = format!("{TURNS} {ROWS} (<= over (true (cell b 1 ?r)) (true (cell b 2 ?r))) (<= (open b) (not over)) (open a)")
        .replace("(not (marked ?b ?x))", "(not (marked ?b ?x)) (open ?b)");
    assert_eq!(shape(&until_won), None);
}

#[test]
fn a_move_that_acts_on_both_rows_keeps_both() {
    let text = format!(
        "{TURNS} {ROWS} (<= (legal ?r both) (true (control ?r)) (not (marked b 1)) (not (marked a 1)))
        (<= (next (cell a 1 ?r)) (does ?r both)) (<= (next (cell b 1 ?r)) (does ?r both))"
    );
    // Squares 2 and 3 of row b remain a supply; square 1 is live.
    assert_eq!(shape(&text), Some((2 + 6 + 2, 2 * 7, vec![2], 0)));
}

/// The same rows, but moves on row b do not pass the turn.
fn idle_rows(turn_on_b: &str) -> String {
    let turns = TURNS
        .replace(
            "(<= (next (control red)) (true (control blue)))",
            "(<= acted (does ?r (mark a ?x))) (<= (next (control red)) (true (control blue)) acted)
             (<= (next (control red)) (true (control red)) (not acted))",
        )
        .replace(
            "(<= (next (control blue)) (true (control red)))",
            "(<= (next (control blue)) (true (control red)) acted)
             (<= (next (control blue)) (true (control blue)) (not acted))",
        );
    format!("{turns} {ROWS} {turn_on_b}")
}

#[test]
fn moves_that_do_not_pass_the_turn_are_idle() {
    assert_eq!(shape(&idle_rows("")), Some((8, 2 * 4, vec![], 6)));
}

#[test]
fn idle_moves_for_ever_are_kept() {
    // Who can rub out marks on row b never has to move.
    let text = idle_rows("(<= (legal ?r (rub ?x)) (true (control ?r)) (true (cell b ?x ?o)))")
        .replace(
            "(<= (next (cell ?b ?x ?r)) (true (cell ?b ?x ?r)))",
            "(<= (rubbed ?x) (does ?r (rub ?x)))
             (<= (next (cell a ?x ?r)) (true (cell a ?x ?r)))
             (<= (next (cell b ?x ?r)) (true (cell b ?x ?r)) (not (rubbed ?x)))",
        );
    assert_eq!(shape(&text), None);
}

#[test]
fn doodles_that_are_always_possible_are_one_move() {
    let text = format!(
        "{TURNS} {ROWS} (<= (legal ?r (doodle ?x)) (true (control ?r)) (square ?x))
        (<= (next (doodled ?x)) (does ?r (doodle ?x))) (<= (next (doodled ?x)) (true (doodled ?x)))"
    )
    .replace("(row b)", "");
    // To doodle is to wait.
    assert_eq!(shape(&text), Some((8, 2 * 4, vec![], 0)));
    let unread = network(&text);
    let unread = texts(&unread, unread_facts(&unread));
    assert_eq!(unread, ["(doodled 1)", "(doodled 2)", "(doodled 3)"]);
}

#[test]
fn a_factor_with_its_own_turns_falls_away() {
    // Blue may draw at any time, or rest; red plays a row alone.
    let text = "
        (role red) (role blue) (square 1) (square 2) (square 3)
        (<= (legal red (mark ?x)) (square ?x) (not (true (marked ?x))))
        (<= (next (marked ?x)) (does red (mark ?x)))
        (<= (next (marked ?x)) (true (marked ?x)))
        (legal blue rest)
        (<= (legal blue (draw ?x)) (square ?x) (not (true (drawn ?x))))
        (<= (next (drawn ?x)) (does blue (draw ?x)))
        (<= (next (drawn ?x)) (true (drawn ?x)))
        (<= terminal (true (marked 1)) (true (marked 3)))
        (<= (goal red 100) (not (true (marked 2)))) (<= (goal red 0) (true (marked 2)))
        (goal blue 50)";
    assert_eq!(shape(text), Some((3, 4, vec![], 0)));
}

/// Lamps in groups, of which only the first matters.
const LAMPS: &str = "
    (role robot) (group 1) (group 2) (group 3) (lamp a) (lamp b)
    (<= (init (dark ?g ?l)) (group ?g) (lamp ?l))
    (<= (legal robot (light ?g ?l)) (true (dark ?g ?l)))
    (<= (next (lit ?g ?l)) (does robot (light ?g ?l)))
    (<= (next (lit ?g ?l)) (true (lit ?g ?l)))
    (<= (next (dark ?g ?l)) (true (dark ?g ?l)) (not (does robot (light ?g ?l))))
    (<= terminal (true (lit 1 a)) (true (lit 1 b)))
    (<= (goal robot 100) (true (lit 1 a)) (true (lit 1 b)))
    (<= (goal robot 0) (true (dark 1 ?l)))";

#[test]
fn a_single_role_has_no_use_for_idle_moves() {
    let lamps = LAMPS;
    assert_eq!(shape(lamps), Some((4, 2, vec![], 4)));
}

#[test]
fn a_step_counter_makes_idle_moves_passes() {
    let lamps = LAMPS;
    let text = format!(
        "{lamps} (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3)
        (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n)) (<= terminal (true (step 3)))"
    );
    assert_eq!(shape(&text), Some((4 + 4, 3, vec![4], 0)));
}

#[test]
fn a_game_of_chance_is_not_reduced() {
    let text = format!("{TURNS} {ROWS}")
        .replace("(role blue)", "(role random)")
        .replace("blue", "random");
    assert_eq!(shape(&text), None);
}

#[test]
fn nothing_is_found_after_the_deadline() {
    let network = network(&format!("{TURNS} {ROWS}"));
    let now = std::time::Instant::now();
    assert_eq!(
        reduction(&network, &Budget::generous().until(Some(now))),
        None
    );
}

#[test]
fn few_of_the_games_have_dead_moves() {
    each_game(|name, network| {
        if let Some(found) = found(network) {
            println!(
                "{name}: {} of {} facts, {} of {} moves, {} supplies, {} idle",
                found.bases.len(),
                network.facts.len(),
                found.moves.len(),
                network.moves.len(),
                found.supplies.len(),
                found.idle.len()
            );
        }
    });
}
