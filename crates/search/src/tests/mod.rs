//! Tests of the search as a whole, on small games.

mod chance;
mod consistency;
mod games;
mod graph;
mod joint;
mod lanes;
mod matrix;
mod memory;
mod outlook;
mod play;
mod proof_numbers;
mod proofs;
mod regret_matching;
mod simultaneous;
mod start;
mod structure;
mod threads;
mod values;

use std::sync::Arc;

use super::{Search, SearchConfig};
use panza_gdl::{MoveId, RoleId};
use panza_machine::{GameInfo, Machine, PlayoutEnd, Reasoner};
use panza_sync::{Budget, Random};
use panza_testing::tic_tac_toe::TicTacToe;

/// The settings of these tests: every move is tried once before any twice.
fn config() -> SearchConfig {
    SearchConfig {
        exploration: 0.7,
        first_play_visits: 0.0,
        max_playout_steps: 1000,
        ..SearchConfig::deterministic(1)
    }
}

fn tic_tac_toe() -> Arc<dyn Machine> {
    Arc::new(TicTacToe)
}

/// A limit in iterations.
fn iterations(count: u64) -> Budget {
    Budget::of_steps(count)
}

/// A move of role `role` in the games of `games`.
fn mv(role: u32, number: u32) -> MoveId {
    MoveId(role * games::ROLE + number)
}

/// Plays a match between searches of all roles, each given `count` iterations a move, and returns
/// the goals.
fn self_play(machine: &Arc<dyn Machine>, count: u64, config: &SearchConfig) -> Vec<u8> {
    let mut players: Vec<Search> = (0..machine.info().n_roles() as u32)
        .map(|role| Search::new(Arc::clone(machine), RoleId(role), config.clone()))
        .collect();
    let mut reasoner = Arc::clone(machine).reasoner();
    let mut state = machine.initial_state();
    let mut next = Vec::new();
    loop {
        reasoner.set_state(&state);
        if reasoner.is_terminal() {
            let mut goals = vec![None; players.len()];
            reasoner.goals(&mut goals);
            return goals.into_iter().map(|goal| goal.unwrap_or(0)).collect();
        }
        let joint_move: Vec<MoveId> = players
            .iter_mut()
            .map(|player| {
                player.run(&iterations(count));
                player.best_move().expect("there is a legal move")
            })
            .collect();
        for (role, mv) in joint_move.iter().enumerate() {
            let legal = reasoner.legal_moves(RoleId(role as u32));
            assert!(legal.contains(mv), "{mv:?} is not legal");
        }
        reasoner.next_state(&joint_move, &mut next);
        std::mem::swap(&mut state, &mut next);
        for player in &mut players {
            player.advance(&joint_move);
            player.check();
        }
    }
}
