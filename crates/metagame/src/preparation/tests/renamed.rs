//! The findings of an analysis do not depend on names or on the order of rules.

use panza_config::Settings;
use panza_game::{BuiltGame, build};
use panza_gdl::{Rules, sexpr};
use panza_learning::statistics::{Spread, Turns};
use panza_player::search_config;
use panza_sync::Budget;
use panza_testing::renamed::Disguise;
use panza_testing::rulesheet;
use std::time::Duration;

use crate::{Preparation, PreparationBudget, SampleSize, WithoutInputs, prepare};

/// Small games of many kinds.
const GAMES: [&str; 9] = [
    "ticTacToe",
    "connectFour",
    "connectFourSimultaneous",
    "eightPuzzle",
    "hanoi",
    "sudoku4",
    "jointButtonsAndLights",
    "dualHamilton",
    "biddingTicTacToe",
];

fn prepared(rules: &Rules) -> (BuiltGame, Preparation) {
    let budget = Budget::within(Duration::from_secs(120), 4 << 30);
    let game = build(rules, &budget).unwrap();
    let budget = PreparationBudget {
        limits: Budget::generous(),
        extension: Duration::ZERO,
        learning: false,
        threads: 1,
        sampling: Some(SampleSize {
            games: 300,
            playouts: 3_000,
            ..SampleSize::default()
        }),
        without: WithoutInputs::default(),
        processor_time: false,
    };
    let config = search_config(&Settings::load(None, &[]).unwrap().search, 1);
    let preparation = prepare(&game, None, &config, &budget);
    (game, preparation)
}

/// What must be the same under all names, as text. Roles come in another order, so what is told of
/// each is sorted.
fn exact((game, preparation): &(BuiltGame, Preparation)) -> Vec<(&'static str, String)> {
    let autonomous = preparation.autonomous.as_ref().unwrap();
    let structure = &preparation.structure;
    let latches = structure.latches.as_ref().unwrap();
    let symmetries = structure.symmetries.as_ref().unwrap();
    let network = game.network.as_ref().unwrap();
    let sampled = preparation.sampled.as_ref().unwrap();
    let mut choosers: Vec<_> = sampled
        .roles
        .iter()
        .map(|role| role.moves.is_some())
        .collect();
    choosers.sort_unstable();
    let factors = structure.factors.as_ref().unwrap().factors.iter();
    let mut factors: Vec<_> = factors
        .map(|factor| {
            let n_moves: usize = factor.moves.iter().map(Vec::len).sum();
            (factor.bases.len(), n_moves, factor.roles.len())
        })
        .collect();
    factors.sort_unstable();
    // Random players solve a puzzle now and then.
    let length = sampled.fixed_length.filter(|_| network.roles.len() > 1);
    vec![
        ("factors", format!("{factors:?}")),
        ("roles", network.roles.len().to_string()),
        (
            "network",
            format!("{} {}", network.facts.len(), network.moves.len()),
        ),
        ("step counter", autonomous.step_counter.len().to_string()),
        ("turn", autonomous.turn.len().to_string()),
        ("others", autonomous.others.len().to_string()),
        (
            "ends",
            format!("{:?} {}", autonomous.horizon, autonomous.earliest_end),
        ),
        (
            "latches",
            format!("{} {}", latches.positive.len(), latches.negative.len()),
        ),
        ("conditional", latches.conditional.len().to_string()),
        ("complete", latches.is_complete.to_string()),
        (
            "bounds",
            structure.score_ranges.as_ref().unwrap().len().to_string(),
        ),
        (
            "symmetries",
            format!("{:?} {:?}", symmetries.order, symmetries.order_at_start),
        ),
        ("swaps", (!symmetries.role_swaps.is_empty()).to_string()),
        ("turns", format!("{:?}", sampled.turns)),
        ("sum", format!("{:?}", sampled.fixed_sum)),
        ("length", format!("{:?}", length)),
        ("choosers", format!("{choosers:?}")),
        ("games", sampled.games.to_string()),
    ]
}

/// Whether two means of independent samples are as near as they ought to be.
fn are_near(one: Option<Spread>, other: Option<Spread>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => {
            let error = |spread: &Spread| spread.deviation.powi(2) / spread.count as f64;
            (one.mean - other.mean).abs() <= 6.0 * (error(&one) + error(&other)).sqrt() + 1e-9
        }
        (one, other) => one.is_none() && other.is_none(),
    }
}

#[test]
fn a_renamed_game_has_the_same_findings() {
    for name in GAMES {
        let text = rulesheet(name);
        let (statements, _) = sexpr::parse(text);
        let known = prepared(&panza_gdl::load(text).0);
        for seed in [1, 2] {
            // Goals are numbers, and mean something.
            let is_number = |symbol: &str| symbol.parse::<u32>().is_ok();
            let mut disguise = Disguise::new(&statements, seed, is_number);
            let met = prepared(&panza_gdl::load(&disguise.rulesheet(&statements)).0);
            for (found, other) in exact(&known).iter().zip(exact(&met)) {
                assert_eq!(*found, other, "{name}, seed {seed}");
            }
            let (known, met) = (known.1.sampled.as_ref().unwrap(), met.1.sampled.unwrap());
            assert!(
                are_near(known.length, met.length),
                "{name}: {known:?}\n{met:?}"
            );
        }
    }
}

#[test]
fn factors_are_found_in_a_renamed_game() {
    for (name, n_factors) in [
        ("ticTacToe", 1),
        ("connectFourSimultaneous", 2),
        ("jointConnectFour", 2),
        ("jointButtonsAndLights", 3),
    ] {
        let (_, preparation) = prepared(&panza_gdl::load(rulesheet(name)).0);
        let found = preparation.structure.factors.unwrap();
        let relevant = found.factors.iter().filter(|factor| factor.is_relevant);
        assert_eq!(relevant.count().max(1), n_factors, "{name}: {found:?}");
    }
}

#[test]
fn findings_use_the_names_of_the_rules() {
    let text = rulesheet("ticTacToe");
    let (game, preparation) = prepared(&panza_gdl::load(text).0);
    assert_eq!(game.info().roles(), ["xplayer", "oplayer"]);
    assert_eq!(preparation.sampled.unwrap().turns, Some(Turns::Alternating));
    let facts = &game.network.unwrap().facts;
    let latches = preparation.structure.latches.unwrap();
    for fact in ["(cell 1 1 x)", "(cell 2 3 o)"] {
        let is_latched = latches.positive.iter().any(|&base| facts[base] == fact);
        assert!(is_latched, "{latches:?}");
    }
    let blank = "(cell 2 2 blank)";
    let is_latched = latches.negative.iter().any(|&base| facts[base] == blank);
    assert!(is_latched, "{latches:?}");
}
