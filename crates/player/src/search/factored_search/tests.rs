//! Play by parts: the right board, the right moment, whole games alone, and games in which parts
//! say nothing.

use std::sync::Arc;

use super::{FactoredSearch, MatchSearcher};
use crate::search_config;
use panza_config::Settings;
use panza_game::BuiltGame;
use panza_gdl::RoleId;
use panza_search::SearchConfig;
use panza_testing::game_of;

fn config() -> SearchConfig {
    let settings = Settings::load(None, &[]).expect("the settings are fine as they come");
    SearchConfig {
        rollout_threads: 0,
        max_nodes: 20_000,
        max_bytes: 64 << 20,
        samples_per_request: 1,
        ..search_config(&settings.search, 1)
    }
}

/// Two rows of four; whoever turn it is marks one square. A row is won by three side by side.
pub(crate) const ROWS: &str = "
    (role red) (role blue) (init (control red))
    (<= (next (control red)) (true (control blue)))
    (<= (next (control blue)) (true (control red)))
    (<= (legal ?r pass) (role ?r) (not (true (control ?r))))
    (row a) (row b) (square 1) (square 2) (square 3) (square 4) (square 5)
    (after 1 2) (after 2 3) (after 3 4) (after 4 5)
    (<= (legal ?r (mark ?b ?x)) (true (control ?r)) (row ?b) (square ?x) (not (marked ?b ?x)))
    (<= (marked ?b ?x) (true (cell ?b ?x ?r)))
    (<= (next (cell ?b ?x ?r)) (does ?r (mark ?b ?x)))
    (<= (next (cell ?b ?x ?r)) (true (cell ?b ?x ?r)))
    (<= (won ?b ?r) (true (cell ?b ?x ?r)) (after ?x ?y) (true (cell ?b ?y ?r)) (after ?y ?z) (true (cell ?b ?z ?r)))
    (<= won (won ?b ?r))
    (<= free (row ?b) (square ?x) (not (marked ?b ?x)))
    (<= terminal won)
    (<= terminal (not free))
    (<= (goal ?r 100) (won ?b ?r))
    (<= (goal ?r 50) (role ?r) (not won))
    (<= (goal ?r 0) (role ?o) (won ?b ?o) (distinct ?r ?o) (role ?r))";

/// What red chooses where these facts hold.
fn red_chooses(facts: &[&str], iterations: u64) -> String {
    let game = game_of(ROWS);
    let facts: Vec<String> = facts.iter().map(|fact| fact.to_string()).collect();
    let state = game
        .info()
        .state_from_facts(&facts)
        .expect("facts of the game");
    let mut factored = FactoredSearch::new(&game, RoleId(0), &state, &config().into())
        .expect("the game has parts");
    factored.search_each(iterations, &Arc::default());
    let best = factored.best_move().expect("there are moves");
    game.info().move_text(best.mv)
}

#[test]
fn a_win_at_once_is_taken_on_whichever_board_it_is() {
    for board in ["a", "b"] {
        let facts = [
            "(control red)".to_string(),
            format!("(cell {board} 1 red)"),
            format!("(cell {board} 3 red)"),
        ];
        let facts: Vec<&str> = facts.iter().map(String::as_str).collect();
        assert_eq!(red_chooses(&facts, 50), format!("(mark {board} 2)"));
    }
}

#[test]
fn a_loss_at_once_is_averted_on_whichever_board_it_is() {
    for board in ["a", "b"] {
        let facts = [
            "(control red)".to_string(),
            format!("(cell {board} 1 blue)"),
            format!("(cell {board} 3 blue)"),
        ];
        let facts: Vec<&str> = facts.iter().map(String::as_str).collect();
        assert_eq!(red_chooses(&facts, 50), format!("(mark {board} 2)"));
    }
}

#[test]
fn a_win_that_takes_two_moves_is_seen_on_its_board() {
    // Two in the middle of five, both ends free: whatever blue does, one end is left.
    let facts = ["(control red)", "(cell a 1 blue)", "(cell b 2 red)"];
    let chosen = red_chooses(&facts, 2000);
    assert_eq!(chosen, "(mark b 3)");
}

/// Plays a game of one role to its end.
fn goal_alone(game: &BuiltGame, iterations: u64) -> Option<u8> {
    let role = RoleId(0);
    let machine = &game.machine;
    let mut state = machine.initial_state();
    let mut factored =
        FactoredSearch::new(game, role, &state, &config().into()).expect("it has parts");
    let mut reasoner = Arc::clone(machine).reasoner();
    let mut goals = [None];
    for _ in 0..100 {
        reasoner.set_state(&state);
        if reasoner.is_terminal() {
            break;
        }
        factored.search_each(iterations, &Arc::default());
        let best = factored.best_move().expect("there are moves");
        assert!(reasoner.legal_moves(role).contains(&best.mv));
        let mut next = Vec::new();
        reasoner.next_state(&[best.mv], &mut next);
        factored.advance(&[best.mv], &next);
        state = next;
    }
    reasoner.goals(&mut goals);
    goals[0]
}

#[test]
fn games_alone_are_solved_board_by_board() {
    for game in ["dualHamilton", "jointButtonsAndLights"] {
        let built = panza_testing::game(game);
        assert_eq!(goal_alone(&built, 3000), Some(100), "{game}");
    }
}

#[test]
fn moves_on_all_boards_at_once_are_put_together() {
    let lanes = "
        (role robot) (lamp 1) (lamp 2) (lamp 3)
        (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3)
        (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
        (<= (legal robot (light ?x ?y)) (lamp ?x) (lamp ?y))
        (<= (next (left ?x)) (does robot (light ?x ?y)))
        (<= (next (right ?y)) (does robot (light ?x ?y)))
        (<= (next (left ?x)) (true (left ?x)))
        (<= (next (right ?x)) (true (right ?x)))
        (<= bright (true (left 1)) (true (left 2)) (true (left 3)))
        (<= shiny (true (right 1)) (true (right 2)) (true (right 3)))
        (<= terminal (true (step 3)))
        (<= (goal robot 100) bright shiny)
        (<= (goal robot 50) bright (not shiny))
        (<= (goal robot 50) shiny (not bright))
        (<= (goal robot 0) (not bright) (not shiny))";
    assert_eq!(goal_alone(&game_of(lanes), 500), Some(100));
}

#[test]
fn a_game_that_is_one_has_no_parts() {
    let one = ROWS.replace("(row b)", "");
    let game = game_of(&one);
    assert!(game.parts.is_none());
    assert!(
        FactoredSearch::new(
            &game,
            RoleId(0),
            &game.machine.initial_state(),
            &config().into()
        )
        .is_none()
    );
}

#[test]
fn the_same_seed_and_iterations_choose_the_same() {
    let facts = [
        "(control red)",
        "(cell a 2 blue)",
        "(cell b 2 red)",
        "(cell b 5 blue)",
    ];
    assert_eq!(red_chooses(&facts, 300), red_chooses(&facts, 300));
}
