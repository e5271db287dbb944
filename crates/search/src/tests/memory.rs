//! The bounds on memory, and the bookkeeping of records.

use std::sync::Arc;

use super::games::{Endless, Game, Nim};
use super::{config, iterations, self_play, tic_tac_toe};
use crate::{Search, SearchConfig, StopReason};
use panza_gdl::{MoveId, RoleId};
use panza_machine::Machine;

#[test]
fn the_search_goes_on_within_the_bound_in_nodes() {
    for max_nodes in [2, 3, 50, 700] {
        let config = SearchConfig {
            max_nodes,
            max_playout_steps: 30,
            ..config()
        };
        let mut search = Search::new(Game::new(Endless), RoleId(0), config);
        for _ in 0..20 {
            assert_eq!(search.run(&iterations(500)), StopReason::Iterations);
            assert!(search.statistics().nodes <= max_nodes);
            search.check();
        }
        let statistics = search.statistics();
        assert_eq!(statistics.iterations, 10_000);
        assert!(statistics.allocation_failures + statistics.evicted > 0);
        assert!(max_nodes < 50 || statistics.evicted > 100);
        assert_eq!(search.total_in_flight(), 0);
    }
}

#[test]
fn a_small_graph_still_finds_the_move() {
    let config = SearchConfig {
        max_nodes: 300,
        ..config()
    };
    for seed in 0..3 {
        let config = SearchConfig {
            seed,
            ..config.clone()
        };
        assert_eq!(self_play(&tic_tac_toe(), 20_000, &config), [50, 50]);
    }
}

#[test]
fn the_bound_in_bytes_is_kept() {
    let max_bytes = 3 << 20;
    let config = SearchConfig {
        max_bytes,
        max_playout_steps: 10,
        ..config()
    };
    for machine in [
        Game::new(Nim::new(2, &[9, 9, 9, 9])) as Arc<dyn Machine>,
        Game::new(Endless),
    ] {
        let mut search = Search::new(machine, RoleId(0), config.clone());
        assert_eq!(search.run(&iterations(60_000)), StopReason::Iterations);
        let statistics = search.statistics();
        assert!(statistics.bytes <= max_bytes, "{}", statistics.bytes);
        assert!(statistics.bytes > max_bytes / 2, "{}", statistics.bytes);
        assert!(statistics.evicted + statistics.allocation_failures > 0);
        search.check();
    }
}

#[test]
fn a_match_of_many_moves_leaks_no_records() {
    let config = SearchConfig {
        max_nodes: 2_000,
        max_playout_steps: 30,
        ..config()
    };
    let mut search = Search::new(Game::new(Endless), RoleId(0), config);
    for step in 0..60 {
        search.run(&iterations(300));
        search.check();
        let best = search.best_move().expect("a move");
        if step % 7 == 6 {
            search.set_state(&[step]);
        } else {
            search.advance(&[best, MoveId(super::games::ROLE + (step % 2) as u32)]);
        }
        search.check();
    }
    assert_eq!(search.total_in_flight(), 0);
}
