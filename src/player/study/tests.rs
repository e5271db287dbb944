use super::*;
use crate::analysis::sample::Turns;
use crate::build::{self, PlayoutPolicy};
use crate::commands::game_source::{Game, Rulesheet};
use crate::config::Settings;
use crate::gdl::{self, Rules};
use crate::ground;
use crate::player;

fn studied(name: &str, budget: StudyBudget) -> Study {
    let game = Game::from_sheet(Rulesheet::find(name).unwrap()).unwrap();
    let limits = ground::Budget::generous();
    let compiled = build::compile(&game.rules, limits).unwrap();
    let (source, built) = (compiled.lanes.clone(), compiled.network.clone());
    let (machine, _) = build::fastest(compiled, limits, PlayoutPolicy::Decisive);
    study(
        Subject {
            machine: &machine,
            source: Some(&source),
            built: built.as_deref(),
            search: None,
        },
        budget,
    )
}

const SMALL: StudyBudget = StudyBudget {
    until: None,
    games: 100,
    playouts: 2_000,
    seed: 1,
};

#[test]
fn a_study_holds_what_each_analysis_found() {
    let study = studied("connectFour", SMALL);
    assert_eq!(study.roles, ["red", "black"]);
    let size = study.network.unwrap();
    assert!(
        size.bases > 90 && size.moves == 18 && size.gates > 100,
        "{size:?}"
    );
    let mutex_groups = study.mutex_groups.unwrap();
    let turn = ["(control red)".to_string(), "(control black)".to_string()];
    assert!(
        mutex_groups
            .iter()
            .any(|set| set.iter().all(|fact| turn.contains(fact))),
        "{mutex_groups:?}"
    );
    assert_eq!(study.sampled.turns, Some(Turns::Alternating));
    let structure = study.structure.unwrap();
    let autonomous = structure.autonomous.unwrap();
    assert_eq!(autonomous.turn.len(), 2);
    assert_eq!(autonomous.horizon, None);
    // A disc stays where it fell, and what is not blank stays so.
    let latches = structure.latches.unwrap();
    assert!(latches.is_complete);
    let discs = latches
        .positive
        .iter()
        .filter(|fact| fact.starts_with("(cell "));
    assert!(discs.count() >= 84, "{latches:?}");
    // Left and right.
    let symmetries = structure.symmetries.unwrap();
    assert_eq!(
        (symmetries.order, symmetries.order_at_start),
        (Some(2), Some(2))
    );
    let stages = study.stages.iter().map(|stage| stage.name.as_str());
    let stages: Vec<&str> = stages.collect();
    for name in ["autonomous", "latches", "symmetries", "sampling"] {
        assert!(stages.contains(&name), "{stages:?}");
    }
    assert!(study.stages.iter().all(|stage| stage.seconds >= 0.0));
}

#[test]
fn a_study_can_be_kept_and_read() {
    let study = studied("ticTacToe", SMALL);
    let text = serde_json::to_string(&study).unwrap();
    let read: Study = serde_json::from_str(&text).unwrap();
    // The last digit of a fraction may differ.
    assert_eq!(
        (read.roles, read.mutex_groups),
        (study.roles, study.mutex_groups)
    );
    assert_eq!(read.sampled.turns, study.sampled.turns);
    assert_eq!(
        read.sampled.roles[0].goals.values,
        study.sampled.roles[0].goals.values
    );
    assert_eq!(read.stages.len(), study.stages.len());
}

#[test]
fn without_a_network_only_playing_tells() {
    let game = Game::from_sheet(Rulesheet::find("ticTacToe").unwrap()).unwrap();
    let machine = build::prover(&game.rules).unwrap().machine;
    let subject = Subject {
        machine: &machine,
        source: None,
        built: None,
        search: None,
    };
    let study = study(subject, StudyBudget { games: 3, ..SMALL });
    assert_eq!((study.network, study.mutex_groups.clone()), (None, None));
    assert_eq!(study.structure, None);
    assert_eq!((study.machine.as_str(), study.sampled.games), ("prover", 3));
}

#[test]
fn a_study_without_time_is_over_at_once_and_knows_little() {
    let started = Instant::now();
    let until = Some(started);
    let study = studied("breakthrough", StudyBudget { until, ..SMALL });
    assert_eq!(study.sampled.games, 0);
    // Not known, and not 'none'.
    assert_eq!(study.structure, Some(Structure::default()));
}

/// Studies rules with all that the player may learn, for so long.
fn studied_with_learning(rules: &Rules, time: Duration) -> Study {
    let limits = ground::Budget::generous();
    let compiled = build::compile(rules, limits).unwrap();
    let source = compiled.lanes.clone();
    let (machine, _) = build::fastest(compiled, limits, PlayoutPolicy::Decisive);
    let settings = Settings::load(None, &[]).unwrap();
    let config = player::search_config(&settings.search, 1);
    let subject = Subject {
        machine: &machine,
        source: Some(&source),
        built: None,
        search: Some((&config, &settings.metagame)),
    };
    let budget = StudyBudget {
        games: 100,
        playouts: 2_000,
        ..StudyBudget::of(time)
    };
    study(subject, budget)
}

#[test]
fn a_game_without_choices_is_studied_in_time() {
    let (rules, _) = gdl::load(
        "(role you) (init (state 0)) (<= (legal you proceed) (true (state 0)))
         (<= (next (state 1)) (does you proceed)) (<= terminal (true (state 1))) (goal you 100)",
    );
    let started = Instant::now();
    let study = studied_with_learning(&rules, Duration::from_secs(1));
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(study.sampled.turns, Some(Turns::Nobody));
    assert_eq!(study.sampled.fixed_length, Some(1));
}

#[test]
fn an_evaluation_is_learned_with_search_settings() {
    let game = Game::from_sheet(Rulesheet::find("ticTacToe").unwrap()).unwrap();
    let study = studied_with_learning(&game.rules, Duration::from_secs(2));
    let learned = study.heuristics.unwrap();
    assert!(learned.games > 0, "{learned:?}");
    let decided = study.parameters.unwrap();
    assert!(
        (0.0..=1.0).contains(&decided.evaluation_share),
        "{decided:?}"
    );
    assert!(decided.exploration > 0.0, "{decided:?}");
}
