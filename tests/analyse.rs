//! The findings of an analysis do not depend on names or on the order of rules.

use crate::support::renamed::Disguise;
use panza::analysis::sample::{Spread, Turns};
use panza::build::{PlayoutPolicy, compile, fastest};
use panza::commands::game_source::Rulesheet;
use panza::gdl::{self, Rules, sexpr};
use panza::ground::Budget;
use panza::player::study::{Study, StudyBudget, Subject, study};

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

fn studied(rules: &Rules) -> Study {
    let limits = Budget::generous();
    let compiled = compile(rules, limits).unwrap();
    let (source, built) = (compiled.lanes.clone(), compiled.network.clone());
    let (machine, _) = fastest(compiled, limits, PlayoutPolicy::Decisive);
    let subject = Subject {
        machine: &machine,
        source: Some(&source),
        built: built.as_deref(),
        search: None,
    };
    let budget = StudyBudget {
        until: None,
        games: 300,
        playouts: 3_000,
        seed: 1,
    };
    study(subject, budget)
}

/// What must be the same under all names, as text. Roles come in another order, so what is told of
/// each is sorted.
fn exact(study: &Study) -> Vec<(&'static str, String)> {
    let structure = study.structure.as_ref().unwrap();
    let autonomous = structure.autonomous.as_ref().unwrap();
    let latches = structure.latches.as_ref().unwrap();
    let symmetries = structure.symmetries.as_ref().unwrap();
    let network = study.network.as_ref().unwrap();
    let mut bounds: Vec<(bool, u8, u8)> = Vec::new();
    for bound in latches.bounds.as_ref().unwrap() {
        bounds.push((bound.value, bound.lower, bound.upper));
    }
    bounds.sort_unstable();
    let sampled = &study.sampled;
    let mut choosers: Vec<_> = sampled
        .roles
        .iter()
        .map(|role| role.moves.is_some())
        .collect();
    choosers.sort_unstable();
    let factors = structure.factors.as_ref().unwrap().iter();
    let mut factors: Vec<_> = factors
        .map(|factor| (factor.bases, factor.moves, factor.roles.len()))
        .collect();
    factors.sort_unstable();
    // Random players solve a puzzle now and then.
    let length = sampled.fixed_length.filter(|_| study.roles.len() > 1);
    vec![
        ("factors", format!("{factors:?}")),
        ("roles", study.roles.len().to_string()),
        ("network", format!("{} {}", network.bases, network.moves)),
        ("step counter", autonomous.step_counter.len().to_string()),
        ("turn", autonomous.turn.len().to_string()),
        ("others", autonomous.others.to_string()),
        (
            "ends",
            format!("{:?} {}", autonomous.horizon, autonomous.earliest_end),
        ),
        (
            "latches",
            format!("{} {}", latches.positive.len(), latches.negative.len()),
        ),
        ("conditional", latches.conditional.to_string()),
        ("complete", latches.is_complete.to_string()),
        ("bounds", format!("{bounds:?}")),
        (
            "symmetries",
            format!("{:?} {:?}", symmetries.order, symmetries.order_at_start),
        ),
        ("swaps", symmetries.swaps_roles.to_string()),
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
        let text = Rulesheet::find(name).unwrap().text;
        let (statements, _) = sexpr::parse(&text);
        let known = studied(&gdl::load(&text).0);
        for seed in [1, 2] {
            // Goals are numbers, and mean something.
            let is_number = |symbol: &str| symbol.parse::<u32>().is_ok();
            let mut disguise = Disguise::new(&statements, seed, is_number);
            let met = studied(&gdl::load(&disguise.rulesheet(&statements)).0);
            for (found, other) in exact(&known).iter().zip(exact(&met)) {
                assert_eq!(*found, other, "{name}, seed {seed}");
            }
            let (known, met) = (&known.sampled, &met.sampled);
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
        let study = studied(&gdl::load(&Rulesheet::find(name).unwrap().text).0);
        let factors = study.structure.unwrap().factors.unwrap();
        let relevant = factors.iter().filter(|factor| factor.is_relevant);
        assert_eq!(relevant.count(), n_factors, "{name}: {factors:?}");
    }
}

#[test]
fn findings_use_the_names_of_the_rules() {
    let text = Rulesheet::find("ticTacToe").unwrap().text;
    let study = studied(&gdl::load(&text).0);
    assert_eq!(study.roles, ["xplayer", "oplayer"]);
    assert_eq!(study.sampled.turns, Some(Turns::Alternating));
    let latches = study.structure.unwrap().latches.unwrap();
    for fact in ["(cell 1 1 x)", "(cell 2 3 o)"] {
        assert!(
            latches.positive.iter().any(|known| known == fact),
            "{latches:?}"
        );
    }
    assert!(
        latches
            .negative
            .iter()
            .any(|known| known == "(cell 2 2 blank)"),
        "{latches:?}"
    );
}
