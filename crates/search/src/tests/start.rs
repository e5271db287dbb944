//! The one door to both searches.

use std::sync::Arc;

use crate::alpha_beta::{AlphaBetaValues, Turns};
use crate::{
    AlphaBetaParameters, LineLimits, Method, SearchConfig, SearchReport, Started, StopReason,
    WhyTree, start,
};
use panza_gdl::{Id, RoleId};
use panza_learning::Evaluation;
use panza_machine::Machine;
use panza_sync::{Budget, Random};

const LINES: LineLimits = LineLimits {
    lines: 3,
    moves: 20,
};

fn machine(name: &str) -> Arc<dyn Machine> {
    panza_testing::game(name).machine
}

fn config(method: Method) -> SearchConfig {
    SearchConfig {
        method,
        ..SearchConfig::deterministic(3)
    }
}

fn begun(machine: &Arc<dyn Machine>, config: &SearchConfig) -> Started {
    start(machine, RoleId(0), &machine.initial_state(), config)
}

/// Values that were trained for alpha-beta, as far as a search can tell.
fn values(machine: &Arc<dyn Machine>) -> AlphaBetaValues {
    let n_facts = machine.info().facts().unwrap().len();
    let random = &mut Random::new(2);
    AlphaBetaValues {
        evaluation: Arc::new(Evaluation::new(2, n_facts, Some(100), None, random).unwrap()),
        units: crate::alpha_beta::Units::default(),
        turns: Turns::find(machine, &mut Random::new(1), || false).unwrap(),
        training: None,
    }
}

fn report(machine: &Arc<dyn Machine>, config: &SearchConfig, steps: u64) -> SearchReport {
    let mut search = begun(machine, config).as_asked(config.method).unwrap();
    search.run(&Budget::of_steps(steps));
    search.settle();
    search.report(LINES)
}

#[test]
fn the_method_and_what_is_known_choose_the_search() {
    let machine = machine("connectFour");
    let trained = |method| SearchConfig {
        alpha_beta_values: Ok(values(&machine)),
        ..config(method)
    };
    let stronger = SearchConfig {
        alpha_beta_values: Err(WhyTree::TreeIsStronger),
        ..config(Method::Auto)
    };
    for (config, method, reason) in [
        (
            config(Method::Auto),
            Method::Tree,
            Some(WhyTree::NotTrained),
        ),
        (stronger, Method::Tree, Some(WhyTree::TreeIsStronger)),
        (trained(Method::Auto), Method::AlphaBeta, None),
        (trained(Method::Tree), Method::Tree, None),
        (trained(Method::AlphaBeta), Method::AlphaBeta, None),
        // With values that know nothing.
        (config(Method::AlphaBeta), Method::AlphaBeta, None),
    ] {
        let begun = begun(&machine, &config);
        assert_eq!(begun.search.method(), method, "{config:?}");
        assert_eq!(begun.why_tree, reason, "{config:?}");
        assert_eq!(config.is_of_tree(), method == Method::Tree, "{config:?}");
    }
}

#[test]
fn where_alpha_beta_cannot_play_the_tree_does_and_the_reason_is_told() {
    for (name, reason) in [
        ("connectFourSimultaneous", WhyTree::NotInTurns),
        ("ticTacToeThree", WhyTree::NotInTurns),
        ("eightPuzzle", WhyTree::NotInTurns),
    ] {
        let machine = machine(name);
        let begun = begun(&machine, &config(Method::AlphaBeta));
        assert_eq!(begun.search.method(), Method::Tree, "{name}");
        assert_eq!(begun.why_tree, Some(reason), "{name}");
        assert_eq!(begun.as_asked(Method::AlphaBeta).err(), Some(reason));
    }
    let no_time = SearchConfig {
        alpha_beta_values: Err(WhyTree::NoTime),
        ..config(Method::AlphaBeta)
    };
    let begun = begun(&machine("connectFour"), &no_time);
    assert_eq!(
        begun.as_asked(Method::AlphaBeta).err(),
        Some(WhyTree::NoTime)
    );
    let text = WhyTree::SumNotFixed.to_string();
    assert_eq!(
        text,
        "alpha-beta does not play: it is for games whose goals have a fixed sum"
    );
}

#[test]
fn the_parameters_of_alpha_beta_are_read_and_bound_its_table() {
    let machine = machine("breakthrough");
    let with = |alpha_beta, max_bytes| SearchConfig {
        alpha_beta_values: Ok(values(&machine)),
        alpha_beta,
        max_bytes,
        ..config(Method::Auto)
    };
    let usual = AlphaBetaParameters::USUAL;
    let quiet = AlphaBetaParameters {
        quiescence: 0,
        ..usual
    };
    let share = |config: &SearchConfig| {
        let report = report(&machine, config, 20_000);
        report
            .shares
            .iter()
            .find(|it| it.0 == "quiescence")
            .unwrap()
            .1
    };
    assert!(share(&with(usual, 1 << 30)) > 0.0);
    assert_eq!(share(&with(quiet, 1 << 30)), 0.0);
    let small = AlphaBetaParameters {
        table_bytes: 1 << 20,
        ..usual
    };
    for (parameters, max_bytes, most) in [
        (usual, 1 << 30, 128 << 20),
        (usual, 64 << 20, 16 << 20),
        (small, 1 << 30, 1 << 20),
    ] {
        let bytes = report(&machine, &with(parameters, max_bytes), 10).bytes;
        assert!(bytes <= most && bytes > most / 4, "{bytes} of {most}");
    }
}

#[test]
fn reports_of_both_searches_say_the_same_of_a_proven_position() {
    let machine = machine("ticTacToe");
    let facts = [
        "(cell 1 1 x)",
        "(cell 1 2 x)",
        "(cell 1 3 b)",
        "(cell 2 1 o)",
        "(cell 2 2 o)",
        "(cell 2 3 b)",
        "(cell 3 1 b)",
        "(cell 3 2 b)",
        "(cell 3 3 b)",
        "(control oplayer)",
    ];
    let blank = |fact: &&str| fact.replace(" b)", " blank)");
    let facts: Vec<String> = facts.iter().map(blank).collect();
    let state = machine.info().state_from_facts(&facts).unwrap();
    for method in [Method::Tree, Method::AlphaBeta] {
        for (role, goal) in [(0, 0), (1, 100)] {
            let role = RoleId::from_index(role);
            let mut search = start(&machine, role, &state, &config(method)).search;
            let reason = search.run(&Budget::of_steps(20_000));
            assert_eq!(reason, StopReason::Proven, "{method:?}");
            let report = search.report(LINES);
            assert_eq!(report.method, method);
            assert_eq!(
                (report.proven, report.value),
                (Some(goal), Some(f32::from(goal)))
            );
            assert_eq!(report.roles[1].proven(), Some(100));
            assert_eq!(report.best, search.choose().map(|best| best.mv));
            let won = machine.info().find_move(RoleId(1), "(mark 2 3)").unwrap();
            assert_eq!(report.lines[0].joint_moves[0][1], won, "{method:?}");
            if goal == 100 {
                assert_eq!(report.best, Some(won));
                assert!(search.choose().unwrap().is_proven_best);
                let stats = report.moves.iter().find(|stats| stats.mv == won);
                assert_eq!(stats.unwrap().proven(), Some(100));
            }
        }
    }
}
