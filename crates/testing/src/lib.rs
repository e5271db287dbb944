#![doc = include_str!("../README.md")]
//!
//! The project's games and games of texts, games with dead boards, published games, games under
//! other names, the comparison of all engines with the prover, and two games with known results.
//!
//! Never uses: crates that use `game`.

#![forbid(unsafe_code)]

pub mod compare;
pub mod corpus;
pub mod dead_boards;
pub mod matrix_game;
pub mod renamed;
pub mod tic_tac_toe;

use std::sync::Arc;
use std::time::Duration;

use panza_game::{BuiltGame, build};
use panza_gdl::Rules;
use panza_machine::Machine;
use panza_propnet::Network;
use panza_sync::Budget;

/// The text of one of the project's games.
pub fn rulesheet(name: &str) -> &'static str {
    panza_gdl_games::rulesheet(name).expect("the game is there")
}

/// One of the project's games.
pub fn game(name: &str) -> BuiltGame {
    game_of(rulesheet(name))
}

/// The game of a playable rulesheet.
pub fn game_of(text: &str) -> BuiltGame {
    let budget = Budget::within(Duration::from_secs(60), 1 << 30);
    build(&rules_of(text), &budget).expect("a machine")
}

/// The rules of a playable sheet.
pub fn rules_of(text: &str) -> Rules {
    let (rules, diagnostics) = panza_gdl::load(text);
    assert!(
        panza_gdl::is_playable(&rules, &diagnostics),
        "{diagnostics:?}"
    );
    rules
}

/// The network of a game, no pass applied.
pub fn network_of(rules: &Rules) -> Network {
    let program =
        panza_ground::ground(rules, &Budget::generous()).expect("the game can be grounded");
    panza_propnet::build(&program, &Budget::generous()).expect("the game has a network")
}

/// The machine of a game's network, without a time limit.
pub fn machine_of(rules: &Rules) -> Arc<dyn Machine> {
    let compiled = panza_game::compile(rules, &Budget::generous());
    Arc::new(compiled.expect("the game has a network").machine)
}
