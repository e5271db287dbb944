//! The reduced game is searched, and the whole game is played.

use std::sync::Arc;

use super::MatchSearcher;
use crate::{preferred_search, search_config, whole_search};
use panza_config::Settings;
use panza_game::BuiltGame;
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::Machine;
use panza_planner::{Findings, Planner, PlannerConfig, PlanningGame};
use panza_search::{LineLimits, SearchConfig};
use panza_sync::{Budget, after};
use panza_testing::dead_boards::{buttons, rows, tic_tac_toe, zugzwang};
use panza_testing::game_of;
use std::time::Duration;

fn config() -> SearchConfig {
    let settings = Settings::load(None, &[]).expect("the settings are fine as they come");
    SearchConfig {
        rollout_threads: 0,
        samples_per_request: 1,
        ..search_config(&settings.search, 1)
    }
}

/// The value that a search proves in so many iterations.
fn proven(machine: &Arc<dyn Machine>, iterations: u64) -> Option<u8> {
    let state = machine.initial_state();
    let mut search = whole_search(machine, RoleId(0), &state, config()).search;
    search.run(&Budget::of_steps(iterations));
    search.report(LineLimits::NONE).proven
}

fn reduced_machine(game: &BuiltGame) -> Arc<dyn Machine> {
    let reduced = game.reduced.as_ref().expect("the game is reduced");
    Arc::clone(&reduced.part.machine)
}

#[test]
fn dead_boards_do_not_keep_tic_tac_toe_from_being_proven() {
    for n_dead in [1, 4] {
        let game = game_of(&tic_tac_toe(n_dead));
        assert_eq!(proven(&reduced_machine(&game), 100_000), Some(50));
    }
    let game = game_of(&tic_tac_toe(1));
    assert_eq!(
        proven(&game.machine, 100_000),
        None,
        "the whole takes longer"
    );
}

#[test]
fn the_whole_and_the_reduced_game_are_proven_to_have_one_value() {
    for n_passes in 2..6 {
        let expected = if n_passes % 2 == 1 { 100 } else { 0 };
        let game = game_of(&zugzwang(n_passes));
        assert_eq!(proven(&game.machine, 50_000), Some(expected), "{n_passes}");
        let of_part = proven(&reduced_machine(&game), 50_000);
        assert_eq!(of_part, Some(expected), "{n_passes}");
    }
    let game = game_of(&rows(3));
    let whole = proven(&game.machine, 200_000);
    assert!(whole.is_some());
    assert_eq!(proven(&reduced_machine(&game), 50_000), whole);
}

/// Plays the game with a search for each role, and returns the goals at the end.
fn play(game: &BuiltGame, iterations: u64) -> Vec<u8> {
    let machine = &game.machine;
    let n_roles = game.info().n_roles();
    let mut state = machine.initial_state();
    let roles = (0..n_roles).map(RoleId::from_index);
    let mut searches: Vec<Box<dyn MatchSearcher>> = roles
        .map(|role| preferred_search(game, role, &state, &config(), true))
        .collect();
    let mut reasoner = Arc::clone(machine).reasoner();
    for _ in 0..100 {
        reasoner.set_state(&state);
        if reasoner.is_terminal() {
            break;
        }
        let mut joint_move: Vec<MoveId> = Vec::new();
        for (role, search) in searches.iter_mut().enumerate() {
            search.search_iterations(iterations, &Arc::default());
            let best = search.best_move().expect("there is a legal move");
            assert!(reasoner.is_legal(RoleId::from_index(role), best.mv));
            joint_move.push(best.mv);
        }
        let mut next = Vec::new();
        reasoner.next_state(&joint_move, &mut next);
        let advance = |search: &mut Box<dyn MatchSearcher>| search.advance(&joint_move, &next);
        searches.iter_mut().for_each(advance);
        state = next;
    }
    assert!(reasoner.is_terminal());
    reasoner.final_goals(n_roles)
}

#[test]
fn only_legal_moves_of_the_whole_game_are_played() {
    assert_eq!(play(&game_of(&zugzwang(3)), 2000), [100, 0]);
    assert_eq!(play(&game_of(&zugzwang(4)), 2000), [0, 100]);
    assert_eq!(play(&game_of(&tic_tac_toe(1)), 20_000), [50, 50]);
    assert_eq!(play(&game_of(&buttons(3)), 2000), [100]);
}

/// What a planner finds of a game.
fn planned(game: &BuiltGame) -> Findings {
    let planned = PlanningGame::new(&game.machine, game.network.as_ref()).expect("one role plays");
    let config = PlannerConfig {
        threads: 1,
        max_bytes: 64 << 20,
        seed: 1,
    };
    let mut planner = Planner::new(&planned, &game.machine.initial_state(), config);
    planner.use_only("layers");
    planner.run(after(Duration::from_secs(60)), &false.into());
    planner.findings().clone()
}

#[test]
fn dead_groups_of_buttons_cost_a_planner_no_states() {
    let game = game_of(&buttons(9));
    let reduced = game.reduced.as_ref().expect("eight groups are dead");
    let found = planned(&reduced.game());
    assert!(found.n_states <= 200, "{} states", found.n_states);
    let plan = found.plan.expect("there is a plan");
    assert_eq!((plan.goal, found.is_best), (100, true));
    let initial = game.machine.initial_state();
    let moves = reduced.legal_moves(&game.machine, &initial, &plan.moves);
    let moves = moves.expect("the moves are legal");
    let whole = panza_planner::Plan::replay(&game.machine, &initial, &moves);
    assert_eq!(whole.expect("it replays").goal, 100);
}
