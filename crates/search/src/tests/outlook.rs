//! Tests of the values of all roles and of the principal line.

use super::games::{Game, Nim};
use super::{config, iterations, mv, tic_tac_toe};
use crate::{Search, SearchConfig};
use panza_gdl::{Id, RoleId};
use panza_machine::Machine;
use panza_sync::Budget;
use std::sync::Arc;

/// Follows a line from the initial state; whether the game is over behind it.
fn ends(machine: &Arc<dyn Machine>, line: &[Vec<panza_gdl::MoveId>]) -> bool {
    let mut reasoner = Arc::clone(machine).reasoner();
    let mut state = machine.initial_state();
    let mut next = Vec::new();
    for joint_move in line {
        reasoner.set_state(&state);
        for (role, mv) in joint_move.iter().enumerate() {
            let legal = reasoner.legal_moves(RoleId::from_index(role));
            assert!(legal.contains(mv), "{line:?}");
        }
        reasoner.next_state(joint_move, &mut next);
        std::mem::swap(&mut state, &mut next);
    }
    reasoner.set_state(&state);
    reasoner.is_terminal()
}

#[test]
fn a_proven_line_begins_with_the_winning_move() {
    let machine: Arc<dyn Machine> = Game::new(Nim::new(2, &[3, 5]));
    let mut search = Search::new(Arc::clone(&machine), RoleId(0), config());
    search.run(&Budget::generous());
    let line = search.principal_line(20);
    assert_eq!(line[0][0], mv(0, Nim::mv(1, 2)));
    assert!(!line.is_empty() && line.len() < 20);
    ends(&machine, &line);
    assert_eq!(search.principal_line(1), line[..1]);
    let proven = search.outlook().into_iter().map(|outlook| outlook.proven());
    assert_eq!(proven.collect::<Vec<_>>(), [Some(100), Some(0)]);
}

#[test]
fn a_search_reports_for_whoever_is_to_move() {
    let machine = tic_tac_toe();
    let mut search = Search::new(Arc::clone(&machine), RoleId(0), config());
    search.run(&iterations(2_000));
    search.settle();
    let outlook = search.outlook();
    let values: Vec<f32> = outlook.iter().filter_map(|role| role.value).collect();
    assert_eq!(values.len(), 2);
    assert!((values[0] + values[1] - 100.0).abs() < 0.1, "{values:?}");
    let line = search.principal_line(2);
    search.advance(&line[0]);
    search.set_role(RoleId(1));
    search.run(&iterations(2_000));
    let best = search.best_move();
    let report = search.root();
    assert_eq!(report.moves.len(), 8);
    assert!(report.moves.iter().any(|report| Some(report.mv) == best));
    // Back at the start, everything that was found there is still known.
    search.set_state(&machine.initial_state());
    search.set_role(RoleId(0));
    assert_eq!(search.root().moves.len(), 9);
    assert!(search.outlook()[0].value.is_some());
    // No role of this number: nothing changes.
    search.set_role(RoleId(9));
    assert_eq!(search.root().moves.len(), 9);
    search.run(&iterations(2_000_000));
    assert_eq!(search.outlook()[1].proven(), Some(50));
    assert!(ends(&machine, &search.principal_line(9)));
}

/// The move with the most visits is not always the one that is played.
#[test]
fn a_line_begins_with_the_move_that_is_played() {
    for seed in 0..20 {
        let config = SearchConfig { seed, ..config() };
        let mut search = Search::new(tic_tac_toe(), RoleId(0), config);
        for _ in 0..20 {
            search.run(&iterations(10));
            let line = search.principal_line(1);
            assert_eq!(search.best_move(), Some(line[0][0]));
        }
    }
}
