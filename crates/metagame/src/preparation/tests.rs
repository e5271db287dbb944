mod renamed;

use super::*;
use panza_config::Settings;
use panza_player::search_config;
use panza_testing::{game_of, rulesheet};

use panza_gdl::BaseId;
use panza_learning::statistics::Turns;

fn game(name: &str) -> BuiltGame {
    game_of(rulesheet(name))
}

fn budget(until: Option<Instant>) -> PreparationBudget {
    PreparationBudget {
        limits: Budget::generous().until(until),
        extension: Duration::ZERO,
        learning: true,
        threads: 1,
        sampling: Some(SampleSize {
            games: 100,
            playouts: 2_000,
            ..SampleSize::default()
        }),
        without: WithoutInputs::default(),
        processor_time: false,
    }
}

fn config() -> SearchConfig {
    search_config(&Settings::load(None, &[]).unwrap().search, 1)
}

#[test]
fn a_preparation_holds_the_findings_of_each_analysis() {
    let game = game("connectFour");
    let network = game.network.as_ref().unwrap();
    let preparation = prepare(&game, None, &config(), &budget(None));
    let turn = ["(control red)", "(control black)"];
    let is_turn = |&base: &BaseId| turn.contains(&network.facts[base].as_str());
    let groups = &game.mutex_groups;
    assert!(
        groups.iter().any(|group| group.iter().all(is_turn)),
        "{groups:?}"
    );
    assert_eq!(preparation.sampled.unwrap().turns, Some(Turns::Alternating));
    let autonomous = preparation.autonomous.unwrap();
    assert_eq!((autonomous.turn.len(), autonomous.horizon), (2, None));
    // A disc stays where it fell, and what is not blank stays so.
    let latches = preparation.structure.latches.unwrap();
    assert!(latches.is_complete);
    let names = latches.positive.iter().map(|&base| &network.facts[base]);
    let discs = names.filter(|fact| fact.starts_with("(cell "));
    assert!(discs.count() >= 84, "{latches:?}");
    // Left and right.
    let symmetries = preparation.structure.symmetries.unwrap();
    let orders = (symmetries.order, symmetries.order_at_start);
    assert_eq!(orders, (Some(2), Some(2)));
}

#[test]
fn a_game_without_a_network_has_only_statistics() {
    let rules = panza_gdl::load(rulesheet("ticTacToe")).0;
    let game = panza_game::prover(&rules).unwrap();
    let sampling = Some(SampleSize {
        games: 3,
        playouts: 0,
        ..SampleSize::default()
    });
    let preparation = prepare(
        &game,
        None,
        &config(),
        &PreparationBudget {
            sampling,
            ..budget(None)
        },
    );
    assert!(preparation.structure.is_empty());
    assert!(game.network.is_none() && preparation.structure.latches.is_none());
    assert_eq!(preparation.sampled.unwrap().games, 3);
}

#[test]
fn a_preparation_without_time_finds_nothing() {
    let game = game("breakthrough");
    let preparation = prepare(&game, None, &config(), &budget(Some(Instant::now())));
    assert_eq!(preparation.sampled.as_ref().unwrap().games, 0);
    let structure = &preparation.structure;
    // Unknown, and not empty.
    assert!(structure.latches.is_none() && structure.score_ranges.is_none());
    assert!(structure.symmetries.is_none());
    assert!(!preparation.is_useful());
}

#[test]
fn a_game_without_choices_is_prepared_in_time() {
    let game = game_of(
        "(role you) (init (state 0)) (<= (legal you proceed) (true (state 0)))
         (<= (next (state 1)) (does you proceed)) (<= terminal (true (state 1))) (goal you 100)",
    );
    let started = Instant::now();
    let until = Some(started + Duration::from_secs(1));
    let sampled = prepare(&game, None, &config(), &budget(until))
        .sampled
        .unwrap();
    assert!(started.elapsed() < Duration::from_secs(120));
    assert_eq!(sampled.turns, Some(Turns::Nobody));
    assert_eq!(sampled.fixed_length, Some(1));
}

#[test]
fn an_evaluation_is_trained_until_the_deadline() {
    let game = game("ticTacToe");
    let until = Some(Instant::now() + Duration::from_secs(5));
    let preparation = prepare(&game, None, &config(), &budget(until));
    assert!(preparation.evaluation.is_some() && preparation.games > 0);
    let parameters = preparation.parameters;
    assert!(
        (0.0..=1.0).contains(&parameters.evaluation_share),
        "{parameters:?}"
    );
    // The log has lengths and numbers of moves as distributions.
    let logged = preparation.to_json();
    let spread = |name: &str| serde_json::from_value(logged[name].clone()).unwrap();
    let (length, branching): (Spread, Spread) = (spread("length"), spread("branching"));
    assert!(5 <= length.least && length.greatest <= 9, "{length:?}");
    assert!(length.quartiles.is_sorted(), "{length:?}");
    assert!(
        branching.greatest <= 9 && branching.count > length.count,
        "{branching:?}"
    );
}

#[test]
fn without_learning_only_the_structure_is_found() {
    let game = game("ticTacToe");
    let budget = PreparationBudget {
        learning: false,
        sampling: None,
        ..budget(Some(Instant::now() + Duration::from_secs(5)))
    };
    let preparation = prepare(&game, None, &config(), &budget);
    assert!(preparation.evaluation.is_none() && preparation.games == 0);
    assert!(
        preparation.structure.symmetries.is_some() && preparation.structure.placements.is_some()
    );
    assert_eq!(preparation.parameters, Parameters::default());
    assert!(preparation.is_useful());
}

#[test]
fn where_alpha_beta_plays_its_training_goes_on() {
    let game = game("ticTacToe");
    let (time, more) = (Duration::from_secs(1), Duration::from_secs(2));
    let config = SearchConfig {
        method: Method::AlphaBeta,
        ..config()
    };
    let begin = Instant::now();
    let budget = PreparationBudget {
        sampling: None,
        extension: more,
        ..budget(Some(begin + time))
    };
    let preparation = prepare(&game, None, &config, &budget);
    assert!(preparation.alpha_beta.is_some_and(|it| it.games > 0));
    assert!(begin.elapsed() >= time + more - Duration::from_millis(300));
}
