//! Games in phases whose mutex groups were found by play, compared with the prover.
//!
//! A group that held in a few games may break in another, so some games here break theirs.

use panza_gdl_games::EMBEDDED;
use std::sync::Arc;

use panza_analysis::mutex_groups;
use panza_gdl::BaseId;
use panza_machine::{CounterLayout, CounterMachine, Machine};
use panza_propnet::{Network, Phases, passes};
use panza_sync::Budget;
use panza_testing::compare::{Machines, compare, phases_by_play, phases_of, run_phases};
use panza_testing::corpus::corpus;
use panza_testing::{network_of, rules_of};

/// The optimised network of a game, and its phases as the player makes them.
fn in_phases(text: &str) -> (Network, Option<Phases>) {
    let network = passes::optimise(network_of(&rules_of(text)), &Budget::generous());
    let phases = phases_by_play(&network).into_iter().next();
    (network, phases)
}

fn whole(network: &Network) -> Arc<dyn Machine> {
    Arc::new(CounterMachine::new(CounterLayout::compile(network)))
}

/// The phases counted, and specialised if they can be.
fn machines(network: &Network, phases: &Phases) -> Machines {
    let mut machines = Machines::new();
    run_phases("phases", network, phases, &mut machines);
    machines
}

fn names(network: &Network, group: &[BaseId]) -> Vec<String> {
    let mut names: Vec<String> = group
        .iter()
        .map(|&base| network.facts[base].clone())
        .collect();
    names.sort();
    names
}

#[test]
fn games_of_the_project_agree_with_the_prover_in_phases() {
    let mut in_two = Vec::new();
    for &(name, text) in EMBEDDED {
        let (network, Some(phases)) = in_phases(text) else {
            continue;
        };
        let machines = machines(&network, &phases);
        compare(name, &rules_of(text), machines, 120, 500);
        in_two.push(name);
    }
    for expected in ["ticTacToe", "connectFour", "breakthrough", "hex"] {
        assert!(in_two.contains(&expected), "{in_two:?}");
    }
}

#[test]
#[ignore = "needs the published games, see CONTRIBUTING.md"]
fn published_games_agree_with_the_prover_in_phases() {
    let corpus = corpus();
    for key in [
        "dotsAndBoxes",
        "kalaha5x2x3",
        "englishDraughts",
        "quad_5x5",
        "cubicup",
        "biddingTicTacToe",
        "cubicup_3player",
    ] {
        let text = std::fs::read_to_string(corpus.rulesheet(key)).expect("the game is there");
        let (network, phases) = in_phases(&text);
        let phases = phases.unwrap_or_else(|| panic!("{key} has phases"));
        let machines = machines(&network, &phases);
        compare(key, &rules_of(&text), machines, 60, 300);
    }
}

/// Marks on six cells; whose turn it is alternates for thirty moves, then it is everybody's, and at
/// last nobody's.
const BREAKING: &str = "
    (role a) (role b) (init (turn a)) (init (step 0))
    (cell 1) (cell 2) (cell 3) (cell 4) (cell 5) (cell 6)
    (link 1 2) (link 2 3) (link 3 4) (link 4 5) (link 5 6) (link 6 1)
    (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7) (succ 7 8) (succ 8 9) (succ 9 10)
    (succ 10 11) (succ 11 12) (succ 12 13) (succ 13 14) (succ 14 15) (succ 15 16) (succ 16 17) (succ 17 18)
    (succ 18 19) (succ 19 20) (succ 20 21) (succ 21 22) (succ 22 23) (succ 23 24) (succ 24 25) (succ 25 26)
    (succ 26 27) (succ 27 28) (succ 28 29) (succ 29 30) (succ 30 31) (succ 31 32) (succ 32 33) (succ 33 34)
    (succ 34 35) (succ 35 36) (succ 36 37) (succ 37 38)
    (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
    (<= (next (turn a)) (true (turn b)) (not (true (step 34))))
    (<= (next (turn b)) (true (turn a)) (not (true (step 34))))
    (<= (next (turn ?r)) (role ?r) (true (step 30)))
    (<= (legal ?r wait) (role ?r))
    (<= (legal ?r (mark ?x)) (true (turn ?r)) (cell ?x) (not (true (marked ?x ?r))))
    (<= (legal ?r (swap ?x ?y)) (true (turn ?r)) (link ?x ?y) (true (marked ?x ?r)))
    (<= (next (marked ?x ?r)) (does ?r (mark ?x)))
    (<= (next (marked ?y ?r)) (does ?r (swap ?x ?y)))
    (<= (next (marked ?x ?r)) (true (marked ?x ?r)) (not (wiped ?x)))
    (<= (wiped ?x) (role ?r) (does ?r (swap ?x ?y)))
    (<= (wiped ?y) (role ?r) (does ?r (mark ?x)) (link ?x ?y))
    (<= terminal (true (step 38)))
    (<= (goal ?r 100) (true (marked 1 ?r)))
    (<= (goal ?r 0) (role ?r) (not (true (marked 1 ?r))))";

#[test]
fn a_broken_mutex_group_falls_back_to_the_whole_network() {
    let rules = rules_of(BREAKING);
    let network = passes::optimise(network_of(&rules), &Budget::generous());
    let in_games_of = |longest| {
        let budget = Budget::of_steps(200);
        mutex_groups::find_in_games(&network, &whole(&network), &budget, longest, 3)
    };
    let found = in_games_of(25);
    let group = panza_propnet::shortlist(&network, &found.groups, &found.played)[0];
    let phases = phases_of(&network, group);
    assert_eq!(
        names(&network, &phases.mutex_group),
        ["(turn a)", "(turn b)"],
        "a game of 25 states shows no break"
    );
    assert!(!phases.is_proven);
    compare("breaking", &rules, machines(&network, &phases), 400, 100);

    // Whoever looks longer sees it break.
    let found = in_games_of(100);
    let turn = phases.mutex_group[0];
    assert!(found.groups.iter().all(|group| !group.contains(&turn)));
}

#[test]
fn a_mutex_group_that_may_rest_is_found_and_proven() {
    // Who marks a free cell moves again when it is an odd one.
    let sheet = "
        (role a) (role b) (init (turn a)) (init (step 0)) (cell 1) (cell 2) (cell 3) (cell 4) (odd 1) (odd 3)
        (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7) (succ 7 8) (succ 8 9)
        (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
        (<= (legal ?r wait) (role ?r) (not (true (turn ?r))))
        (<= (legal ?r (mark ?x)) (true (turn ?r)) (cell ?x))
        (<= (legal ?r (clear ?x)) (true (turn ?r)) (cell ?x))
        (<= again (does ?r (mark ?x)) (odd ?x) (not (true (marked ?x))))
        (<= (next (marked ?x)) (does ?r (mark ?x)))
        (<= (next (marked ?x)) (true (marked ?x)) (not (cleared ?x)))
        (<= (cleared ?x) (does ?r (clear ?x)))
        (<= (next (turn ?r)) (true (turn ?r)) again)
        (<= (next (turn a)) (true (turn b)) (not again))
        (<= (next (turn b)) (true (turn a)) (not again))
        (<= terminal (true (step 9)))
        (<= (goal ?r 100) (true (turn ?r))) (<= (goal ?r 0) (role ?r) (not (true (turn ?r))))";
    let (network, phases) = in_phases(sheet);
    let phases = phases.expect("the turn gates most of this game");
    assert_eq!(
        names(&network, &phases.mutex_group),
        ["(turn a)", "(turn b)"]
    );
    assert!(phases.is_proven);
    compare(
        "again",
        &rules_of(sheet),
        machines(&network, &phases),
        200,
        100,
    );
}
