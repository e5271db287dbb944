#![doc = include_str!("../README.md")]
//!
//! Never uses: crates above `game`.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use panza_game::{BuildBudget, BuiltGame, build};

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
    let (rules, diagnostics) = panza_gdl::load(text);
    assert!(
        panza_gdl::is_playable(&rules, &diagnostics),
        "{diagnostics:?}"
    );
    let budget = BuildBudget {
        until: Instant::now() + Duration::from_secs(60),
        memory: 1 << 30,
        cancelled: Arc::default(),
    };
    build(&rules, &budget).expect("a machine")
}
