//! Games with independent factors are divided into them, and others are not.

use std::time::Duration;

use panza_gdl_games::EMBEDDED;
use panza_propnet::Network;
use panza_sync::Budget;
use panza_testing::corpus::corpus;

use crate::factors::{Factors, factors};

/// How much processor time looking for factors may take.
const ALLOWED: Duration = Duration::from_secs(2);

/// Published games whose networks take more processor time are left out.
const BUILT_WITHIN: Duration = Duration::from_secs(2);

/// The network of some rules, before passes; nothing where it takes too long.
fn network_of(text: &str) -> Option<Network> {
    let rules = panza_gdl::load(text).0;
    let limits = Budget::lasting(BUILT_WITHIN).by_processor();
    let program = panza_ground::ground(&rules, &limits).ok()?;
    panza_propnet::build(&program, &limits).ok()
}

fn relevant(found: &Factors) -> usize {
    let relevant = found.factors.iter().filter(|factor| factor.is_relevant);
    relevant.count()
}

#[test]
fn games_of_the_project_have_their_factors() {
    let mut wrong = Vec::new();
    for &(name, text) in EMBEDDED {
        let network = network_of(text).expect("a network");
        let found = factors(&network, &Budget::generous()).expect("no time limit");
        let expected = match name {
            "jointConnectFour" | "connectFourSimultaneous" | "dualHamilton" => 2,
            "jointButtonsAndLights" => 3,
            _ => 1,
        };
        if relevant(&found).max(1) != expected {
            wrong.push(format!(
                "{name}: {} factors, not {expected}",
                relevant(&found)
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Published games that fall into parts.
const SPLIT: [(&str, usize); 14] = [
    ("connectFourSimultaneous", 2),
    ("dualConnect4", 2),
    ("chinook", 2),
    ("breakthroughWalls", 2),
    ("lightsOnParallel", 4),
    ("lightsOnSimul4", 4),
    ("lightsOnSimultaneous", 4),
    ("blocksWorldParallel", 2),
    ("blockerParallel", 2),
    // Two games side by side, one move in either.
    ("ticTacHeaven", 2),
    ("snakeAssemblit", 2),
    // Boards of lights one after the other.
    ("factoringEasyTurtleBrain", 3),
    ("factoringMediumTurtleBrain", 10),
    ("factoringImpossibleTurtleBrain", 10),
];

#[test]
#[ignore = "needs the published games, see CONTRIBUTING.md"]
fn published_games_have_their_factors() {
    let corpus = corpus();
    let mut wrong = Vec::new();
    for name in corpus.keys() {
        let text = std::fs::read(corpus.rulesheet(name)).expect("a readable game");
        let text = String::from_utf8_lossy(&text).into_owned();
        let Some(network) = network_of(&text) else {
            continue;
        };
        let allowed = Budget::lasting(ALLOWED).by_processor();
        let found = factors(&network, &allowed);
        let n_found = found.as_ref().map_or(0, relevant);
        let expected = SPLIT.iter().find(|(split, _)| split == name);
        let expected = expected.map_or(1, |&(_, expected)| expected);
        if n_found.max(1) != expected {
            wrong.push(format!("{name}: {n_found} factors, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
