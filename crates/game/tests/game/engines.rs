//! The counter engine and the lanes engine give the answers of the prover, state by state, on every
//! game of the project.
//!
//! Both follow the same random playouts. At each state the facts, terminality, goals and legal
//! moves are compared. The network is tested without passes, with every pass, with each pass alone,
//! in phases, each counted and specialised, and by lanes.

use panza_gdl_games::EMBEDDED;

mod phases;
mod specialised;

use panza_testing::compare::{compare, machines};
use panza_testing::{network_of, rules_of};

#[test]
fn every_engine_agrees_with_the_prover_on_every_game() {
    for (name, text) in EMBEDDED {
        let rules = rules_of(text);
        let machines = machines(&network_of(&rules));
        compare(name, &rules, machines, 150, 500);
    }
    assert!(EMBEDDED.len() >= 18, "only {} games", EMBEDDED.len());
}

/// A graph whose edges come and go while reachability recurses over them: a latch would keep what
/// lost its support.
const COMING_AND_GOING: &str = "
    (role walker)
    (node a) (node b) (node c) (node d)
    (init (open a b)) (init (step 0))
    (<= (legal walker (open ?x ?y)) (node ?x) (node ?y) (distinct ?x ?y) (not (true (open ?x ?y))))
    (<= (legal walker (close ?x ?y)) (true (open ?x ?y)))
    (<= (legal walker (swap ?x ?y)) (true (open ?x ?y)))
    (<= (next (open ?x ?y)) (does walker (open ?x ?y)))
    (<= (next (open ?y ?x)) (does walker (swap ?x ?y)))
    (<= (next (open ?x ?y)) (true (open ?x ?y)) (not (gone ?x ?y)))
    (<= (gone ?x ?y) (does walker (close ?x ?y)))
    (<= (gone ?x ?y) (does walker (swap ?x ?y)))
    (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
    (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7) (succ 7 8) (succ 8 9) (succ 9 10)
    (succ 10 11) (succ 11 12) (succ 12 13) (succ 13 14) (succ 14 15) (succ 15 16) (succ 16 17) (succ 17 18)
    (<= (reach ?x ?y) (true (open ?x ?y)))
    (<= (reach ?x ?z) (reach ?x ?y) (reach ?y ?z))
    (<= (even ?x) (reach a ?x) (not (odd ?x)))
    (<= (odd ?x) (true (open a ?x)))
    (<= (next (seen ?x)) (even ?x))
    (<= terminal (true (step 18)))
    (<= (goal walker 100) (reach a d) (reach d a))
    (<= (goal walker 40) (reach a d) (not (reach d a)))
    (<= (goal walker 0) (not (reach a d)))";

#[test]
fn recursive_facts_become_false_without_support() {
    let rules = rules_of(COMING_AND_GOING);
    let network = network_of(&rules);
    assert!(!network.blocks.is_empty(), "the recursion makes a block");
    compare("coming and going", &rules, machines(&network), 600, 500);
}

/// Recursion below recursion, the lower one negated, and a block that depends on the move made.
const STACKED: &str = "
    (role r)
    (cell 1) (cell 2) (cell 3)
    (init (on 1))
    (<= (legal r (flip ?x)) (cell ?x))
    (<= (next (on ?x)) (does r (flip ?x)) (not (true (on ?x))))
    (<= (next (on ?x)) (true (on ?x)) (not (does r (flip ?x))))
    (<= (next (mark ?x)) (spread ?x))
    (<= (spread ?x) (does r (flip ?x)))
    (<= (spread ?y) (spread ?x) (link ?x ?y) (true (on ?y)))
    (link 1 2) (link 2 3) (link 3 1) (link 2 1)
    (<= (low ?x) (true (on ?x)) (true (mark ?x)))
    (<= (low ?x) (low ?y) (link ?y ?x))
    (<= (high ?x) (cell ?x) (not (low ?x)))
    (<= (high ?x) (high ?y) (link ?y ?x) (true (on ?x)))
    (<= terminal (high 1) (high 2) (not (true (on 3))) (true (mark 3)))
    (<= (goal r 70) (high 3))
    (<= (goal r 20) (not (high 3)))";

#[test]
fn recursions_may_depend_on_recursions() {
    let rules = rules_of(STACKED);
    let network = network_of(&rules);
    assert!(
        network.blocks.len() >= 2,
        "found {} blocks",
        network.blocks.len()
    );
    compare("stacked", &rules, machines(&network), 600, 60);
}

#[test]
fn odd_rules_agree_with_the_prover() {
    let sheets = [
        // Roles that `legal` and `goal` leave open.
        "(role a) (role b) (init p) (on b) (<= (legal ?r ?r) (true p)) (<= (goal ?r 70) (on ?r))
         (<= (goal ?r 20) (not (on ?r))) (<= terminal (not (true p)))",
        // One variable twice in a condition, bound nowhere before it.
        "(role r) (legal r go) (init (at a)) (edge a b) (edge b b) (pair ?x ?x) (same c c) (same c d)
         (<= (next (at ?z)) (edge ?z ?z)) (<= (next (at ?z)) (same ?z ?z)) (<= (next (on (f ?z ?z))) (true (at ?z)))
         (<= terminal (true (on (f ?x ?x))) (true (on (f ?y ?y))) (distinct ?x ?y)) (goal r 50)",
        // A role without moves at some point ends the game without an end.
        "(role r) (init p) (<= (legal r go) (true p)) (<= (goal r 30) (true p)) (<= (goal r 60) (not (true p)))",
        // Outputs that never change.
        "(role r) (init p) (legal r go) (next p) (next q) (goal r 50) (<= terminal (true q))",
        // Bare variables, or with not inside, an unbound variable under not, nested functions.
        "(role r) (role s) (init (f (g a) 1)) (init b) (m a) (m b)
         (<= (legal ?r (say (h ?x) ?x)) (role ?r) (m ?x))
         (<= (next ?x) (true ?x) (not (does r (say (h a) ?any))))
         (<= (next (f (g ?x) ?y)) (does s (say ?h ?x)) (does r (say (h ?y) ?z)) (or (distinct ?x ?y) (not (true b))))
         (<= terminal (not (true (f ?x ?y))))
         (<= (goal ?r 100) (role ?r) (true b)) (<= (goal ?r 0) (role ?r) (not (true b)))",
    ];
    for sheet in sheets {
        let rules = rules_of(sheet);
        compare(sheet, &rules, machines(&network_of(&rules)), 60, 12);
    }
}
