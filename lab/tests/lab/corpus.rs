//! Recorded playouts, from reasoners that share no code with Panza, against its engines.
//!
//! The project's own games are compared on every engine. Of the corpus of published games, where
//! there is one, a fast slice is compared on the counter engine, and with `PANZA_CORPUS_ALL=1`
//! every game that has a network.

use std::path::Path;
use std::time::Duration;

use panza_cli::game_source::EMBEDDED;
use panza_cli::replay::replay_file;
use panza_cli::{EngineChoice, EngineKind, Replay, engine_choice};
use panza_lab::corpus::examine::{Built, Finding, Verified, examine};
use panza_sync::Budget;
use panza_testing::corpus::Corpus;

/// Small games of many kinds, and those whose rules are odd: rules with empty bodies, bare
/// variables under `next` and `true`, goals and terminality in bodies, recursion, negation inside
/// it, symbols of strange characters, unsafe rules.
const SLICE: [&str; 41] = [
    "ticTacToe",
    "connectFour",
    "connectFourSimultaneous",
    "breakthroughSmall",
    "eightPuzzle",
    "hanoi",
    "lightsOn",
    "knightsTour",
    "nineBoardTicTacToe",
    "blocker",
    "old_blockerSerial_v0",
    "old_nineBoardTicTacToePie_v0",
    "old_wargame02_v0",
    "old_wargame03_v1",
    "wargame02",
    "futoshiki4",
    "futoshiki5",
    "hidato19",
    "hidato37",
    "queens06ug",
    "queens08lg",
    "rubiksCube",
    "snake2p",
    "switches",
    "battle",
    "mineClearingSmall",
    "factoringMutuallyAssuredDestruction",
    "ttcc4_2player",
    "shmup",
    "test_case_1a",
    "test_case_2a",
    "test_case_2c",
    "test_case_3a",
    "test_case_3b",
    "test_case_3d",
    "test_case_3e",
    "test_case_3f",
    "test_case_4a",
    "test_case_5a",
    "test_case_5d",
    "test_case_5e",
];

/// How a game is built, and its comparison on the counter engine.
fn examined(corpus: &Corpus, key: &str) -> (Built, Option<Verified>) {
    let budget = Budget::within(Duration::from_secs(60), 4 << 30);
    let (mut how_built, mut compared) = (None, None);
    examine(corpus, key, &budget, false, |finding| {
        match finding {
            Finding::Built(built) => how_built = Some(built),
            Finding::Verified(verified) => compared = Some(verified),
        }
        Ok(())
    })
    .unwrap_or_else(|error| panic!("{key}: {error:#}"));
    (how_built.expect("the build is a finding"), compared)
}

#[test]
#[ignore = "needs the published games, see CONTRIBUTING.md"]
fn published_games_agree_with_their_traces_on_the_counter_machine() {
    let corpus = panza_testing::corpus::corpus();
    let is_all = std::env::var_os("PANZA_CORPUS_ALL").is_some();
    let keys: Vec<&str> = match is_all {
        true => corpus.keys().iter().map(String::as_str).collect(),
        false => SLICE.to_vec(),
    };
    let (mut states, mut faults) = (0, Vec::new());
    for key in &keys {
        let (built, verified) = examined(&corpus, key);
        let Some(verified) = verified else {
            let reason = built.reason.unwrap_or_default();
            println!("{key}: no network: {reason}");
            if !is_all {
                faults.push(format!("{key}: no network: {reason}"));
            }
            continue;
        };
        println!(
            "{key}: built in {:.3} s, {} states in {:.3} s, {} disagreements, {} known defects",
            built.build_seconds,
            verified.states,
            verified.seconds,
            verified.disagreements,
            verified.known_defects
        );
        states += verified.states;
        if verified.states == 0 {
            faults.push(format!("{key}: no state was compared"));
        }
        if let Some(first) = verified.first {
            let count = verified.disagreements;
            faults.push(format!("{key}: {count} disagreements, first {first}"));
        }
    }
    println!("{} games, {states} states", keys.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn our_own_games_agree_with_their_traces_on_every_machine() {
    let traces = Path::new(crate::ROOT).join("tests/traces");
    assert!(EMBEDDED.len() >= 21, "only {} games", EMBEDDED.len());
    for (name, text) in EMBEDDED {
        let path = traces.join(format!("{name}.jsonl.gz"));
        assert!(path.is_file(), "{name} has no recorded playouts");
        let (rules, _) = panza_gdl::load(text);
        for kind in EngineKind::ALL {
            let built = engine_choice::build(&rules, EngineChoice::Only(kind))
                .unwrap_or_else(|error| panic!("{name} ({kind}): {error}"));
            let mut replay = Replay::default();
            let machine = built.machine().expect("the engine takes the rules");
            let replayed = replay_file(&machine, &path, &mut replay, || {});
            replayed.unwrap_or_else(|error| panic!("{name} ({kind}): {error:#}"));
            assert!(replay.states > 0, "{name} ({kind})");
            assert_eq!(replay.first, None, "{name} ({kind})");
        }
    }
}
