//! Helpers of the unit tests: games of the folder `gdl-games` and of texts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use panza_machine::build::{BuildBudget, BuiltGame, build};
use panza_rules::gdl;

/// The rulesheet of a game of the folder `gdl-games`.
pub fn rulesheet(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../gdl-games");
    std::fs::read_to_string(format!("{folder}/{name}.gdl")).expect("the game is there")
}

/// The game of a playable rulesheet.
pub fn game_of(text: &str) -> BuiltGame {
    let (rules, diagnostics) = gdl::load(text);
    assert!(gdl::is_playable(&rules, &diagnostics), "{diagnostics:?}");
    let budget = BuildBudget {
        until: Instant::now() + Duration::from_secs(60),
        memory: 1 << 30,
        cancelled: Arc::default(),
    };
    build(&rules, &budget).expect("a machine")
}
