//! Files that an earlier build wrote are read: a memory, and the export of its game.
//!
//! Both hold a training of the game below with a generation of each search. The settings of that
//! of the tree have what no preparation chooses any more: minimax on the evaluation alone, and a
//! factor on exploration.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::*;
use crate::{Training, prior_preparation};
use panza_game::BuiltGame;
use panza_memory::{GameHistory, GameMemory};
use panza_search::{Method, SearchConfig};

/// Two players take flags in turn, and who has the gold one wins.
const RULES: &str = "(role left) (role right) (flag gold) (flag red) (flag blue)
    (init (turn left)) (<= (init (lies ?f)) (flag ?f))
    (<= (legal ?p (take ?f)) (true (turn ?p)) (true (lies ?f)))
    (<= (legal left wait) (true (turn right))) (<= (legal right wait) (true (turn left)))
    (<= (next (turn left)) (true (turn right))) (<= (next (turn right)) (true (turn left)))
    (<= (taken ?f) (does ?p (take ?f)))
    (<= (next (lies ?f)) (true (lies ?f)) (not (taken ?f)))
    (<= (next (has ?p ?f)) (does ?p (take ?f))) (<= (next (has ?p ?f)) (true (has ?p ?f)))
    (<= some (true (lies ?f))) (<= terminal (not some))
    (<= (goal ?p 100) (true (has ?p gold)))
    (<= (goal ?p 0) (role ?p) (not (true (has ?p gold))))";
/// `memory.db` and `game.json` were written by commit a751053a.
const MEMORY: &[u8] = include_bytes!("../../tests/stored/memory.db");
const EXPORT: &str = include_str!("../../tests/stored/game.json");

fn rules() -> Rules {
    let (rules, faults) = panza_gdl::load(RULES);
    assert!(faults.is_empty(), "{faults:?}");
    rules
}

/// What a memory holds is all taken up.
fn check_history(game: &BuiltGame, history: &GameHistory) {
    let parameters = &history.note(Kind::Parameters).unwrap()["parameters"];
    assert!(
        parameters["exploration"]
            .as_f64()
            .is_some_and(|it| it > 1.6)
    );
    assert_eq!(parameters["minimax_share"], 1.0);

    let prior = prior_preparation(game.info(), history, || find_prospects(game)).unwrap();
    let by_alpha_beta = prior.apply(&SearchConfig {
        method: Method::AlphaBeta,
        ..SearchConfig::deterministic(1)
    });
    assert!(by_alpha_beta.alpha_beta_values.is_ok());
    let trained = prior.trained.unwrap();
    assert_eq!(trained.generation, 3);
    assert!(trained.parameters.prior);
    // The settings are converted to such as preparations choose.
    assert_eq!(trained.parameters.evaluation_share, 0.6);
    let config = SearchConfig::deterministic(1);
    let evaluation = Arc::new(prior.known.evaluation);
    let applied = trained.parameters.apply(&config, Some(&evaluation));
    assert!((applied.exploration - 0.76 * config.exploration).abs() < 1e-6);
    assert_eq!(applied.minimax_share, panza_search::MINIMAX_SHARE);
    // The evaluation knows what decides the game.
    let value = |facts: [&str; 2]| {
        let state = game.info().state_from_facts(&facts.map(String::from));
        let mut values = [0.0; 2];
        evaluation.values(&state.unwrap(), &mut values);
        values[0]
    };
    let gold = value(["(has left gold)", "(turn right)"]);
    assert!(gold > value(["(has right gold)", "(turn right)"]) + 50.0);

    // Training goes on from there, and leaves all kinds of notes.
    let config = SearchConfig {
        method: Method::Auto,
        ..config
    };
    let training = Training::new(game, config, Some(history)).unwrap();
    assert_eq!(training.progress().generation, 3);
    assert!(training.progress().games > 0 && training.has_generation());
    assert!(training.progress().alpha_beta.is_some());
    let kinds = |notes: &[(Kind, Value)]| {
        let mut kinds: Vec<Kind> = notes.iter().map(|(kind, _)| *kind).collect();
        kinds.sort_unstable();
        kinds
    };
    let notes = training.notes().unwrap();
    assert_eq!(kinds(&notes), kinds(&history.notes));
    assert!(
        notes
            .iter()
            .any(|(kind, _)| *kind == Kind::AlphaBetaEvaluation)
    );
}

#[test]
fn a_memory_of_an_earlier_build_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    fs::write(&path, MEMORY).unwrap();
    let rules = rules();
    let (_, history) = GameMemory::open(&path, 10, &rules).unwrap();
    let game = build(&rules, &Budget::lasting(Duration::from_secs(60))).unwrap();
    check_history(&game, &history.unwrap());
}

#[test]
fn an_export_of_an_earlier_build_is_read() {
    let imported = import(EXPORT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let (mut memory, _) = GameMemory::open(&path, 10, &imported.rules).unwrap();
    memory.write(&imported.notes).unwrap();
    let rules = rules();
    let (_, history) = GameMemory::open(&path, 10, &rules).unwrap();
    let game = build(&rules, &Budget::lasting(Duration::from_secs(60))).unwrap();
    check_history(&game, &history.unwrap());
}
