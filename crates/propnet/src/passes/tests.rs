//! Each pass removes its pattern from a rulesheet made for it. That no pass changes an output is
//! tested by the engines in the crate `game`.

use super::{Pass, PassSet, optimise_with};
use crate::{Network, Signal};
use panza_sync::Budget;

/// The network of a rulesheet, no pass applied.
fn network_of(text: &str) -> Network {
    let (rules, diagnostics) = panza_gdl::load(text);
    assert!(
        panza_gdl::is_playable(&rules, &diagnostics),
        "{diagnostics:?}"
    );
    let budget = Budget::generous();
    let program = panza_ground::ground(&rules, &budget).expect("the game can be grounded");
    crate::build(&program, &budget).expect("the game has a network")
}

fn with(network: &Network, passes: PassSet) -> Network {
    optimise_with(network.clone(), &passes, &Budget::generous())
}

/// Four squares hold a card each, and it is over when all four have a mark in common.
const CARDS: &str = "
    (role dealer) (square 1) (square 2) (square 3) (square 4)
    (card a) (card b) (card c) (card d) (card e) (card f) (card g) (card h)
    (mark a red) (mark b red) (mark c red) (mark d red) (mark e blue) (mark f blue) (mark g blue) (mark h blue)
    (mark a round) (mark b round) (mark e round) (mark f round) (mark c flat) (mark d flat) (mark g flat) (mark h flat)
    (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6)
    (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
    (<= (legal dealer (put ?s ?c)) (square ?s) (card ?c))
    (<= (next (on ?s ?c)) (does dealer (put ?s ?c)))
    (<= (next (on ?s ?c)) (true (on ?s ?c)) (not (changed ?s)))
    (<= (changed ?s) (does dealer (put ?s ?c)))
    (<= (alike ?a ?b ?c ?d) (mark ?a ?m) (mark ?b ?m) (mark ?c ?m) (mark ?d ?m))
    (<= terminal (true (on 1 ?a)) (true (on 2 ?b)) (true (on 3 ?c)) (true (on 4 ?d)) (alike ?a ?b ?c ?d))
    (<= terminal (true (step 6)))
    (goal dealer 50)";

#[test]
fn products_restore_the_structure_of_the_rules() {
    let network = network_of(CARDS);
    let before = with(&network, PassSet::only(Pass::Flatten));
    let after = with(&network, PassSet::only(Pass::Products));
    assert!(before.n_edges() > 2000, "{} edges before", before.n_edges());
    assert!(after.n_edges() < 400, "{} edges after", after.n_edges());
}

#[test]
fn a_set_without_passes_changes_nothing() {
    let network = network_of(CARDS);
    let same = with(&network, PassSet::none());
    assert_eq!(same.gates.len(), network.gates.len());
    assert_eq!(same.n_edges(), network.n_edges());
}

#[test]
fn the_same_rules_give_the_same_network() {
    let network = network_of(CARDS);
    let first = with(&network, PassSet::all());
    let second = with(&network, PassSet::all());
    assert_eq!(first.terminal, second.terminal);
    let inputs = |network: &Network| -> Vec<Vec<Signal>> {
        let gates = network.gates.ids();
        gates.map(|gate| network.inputs(gate).to_vec()).collect()
    };
    assert_eq!(inputs(&first), inputs(&second));
}
