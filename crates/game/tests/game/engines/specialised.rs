//! Games at the limits of the specialised engine, compared with the prover.

use std::fmt::Write;

use panza_gdl::BaseId;
use panza_machine::SpecialisedLayout;
use panza_propnet::{Network, Pass, PassSet, Phases, SpecialisedGame, passes};
use panza_sync::Budget;
use panza_testing::compare::{Machines, compare, machines, phases_by_play, run_phases};
use panza_testing::corpus::corpus;
use panza_testing::{network_of, rules_of};

/// The facts `(name 1) .. (name n)`.
fn numbered(name: &str, n: usize) -> String {
    (1..=n).fold(String::new(), |mut text, number| {
        let _ = write!(text, "({name} {number}) ");
        text
    })
}

/// The facts `(name 0 1) .. (name n-1 n)`.
fn successors(name: &str, n: usize) -> String {
    (0..n).fold(String::new(), |mut text, number| {
        let _ = write!(text, "({name} {number} {}) ", number + 1);
        text
    })
}

/// A clock that ends the game after so many moves.
fn clock(n: usize) -> String {
    format!(
        "(init (clock 0)) (<= (next (clock ?n)) (true (clock ?m)) (tick ?m ?n)) (<= terminal (true (clock {n}))) {}",
        successors("tick", n)
    )
}

fn optimised(sheet: &str) -> Network {
    passes::optimise(network_of(&rules_of(sheet)), &Budget::generous())
}

fn specialised(network: &Network) -> SpecialisedGame {
    let specialised =
        panza_propnet::specialise(network, None, &Budget::generous()).expect("there is time");
    specialised.expect("the game has no recursion")
}

fn compare_all(name: &str, sheet: &str, states: usize) {
    let rules = rules_of(sheet);
    compare(name, &rules, machines(&network_of(&rules)), states, 100);
}

#[test]
fn more_inputs_than_a_counter_counts() {
    // Whether all of 200 lamps are on, and whether any is; moves that turn on, turn off or copy all
    // of them.
    let mut sheet = format!(
        "(role r) {} {} {} {}
         (<= (init (on ?x)) (lamp ?x) (not (last ?x))) (last 199) (last 200)
         (<= dark (lamp ?x) (not (true (on ?x)))) (<= full (not dark)) (<= any (true (on ?x)))
         (<= (legal r (flip ?x)) (last ?x)) (legal r fill) (legal r clear) (legal r shift) (legal r wait)
         (<= (legal r celebrate) full) (<= (legal r mourn) (not any)) (<= (legal r muse) any dark)
         (<= (next (on ?x)) (true (on ?x)) (not (lost ?x))) (<= (lost ?x) (does r (flip ?x)))
         (<= (lost ?x) (lamp ?x) (does r clear)) (<= (lost ?x) (lamp ?x) (does r shift))
         (<= (next (on ?x)) (does r (flip ?x)) (not (true (on ?x))))
         (<= (next (on ?x)) (lamp ?x) (does r fill))
         (<= (next (on ?x)) (does r shift) (beside ?x ?y) (true (on ?y)))
         (<= (next was_full) full) (<= (next was_any) any)
         (<= (goal r 100) full) (<= (goal r 50) any dark) (<= (goal r 0) (not any))",
        numbered("lamp", 200),
        successors("beside", 200),
        clock(16),
        "(<= over full any (true was_full)) (<= terminal over)",
    );
    compare_all("wide", &sheet, 160);
    sheet = sheet.replace(
        "(<= full (not dark))",
        "(<= full (not dark) (true was_any))",
    );
    compare_all("wide with memory", &sheet, 60);
}

/// Whether the number of lamps that are on is odd, derived lamp by lamp; `ask` remembers it.
fn parity(n_lamps: usize) -> String {
    format!(
        "(role r) {} {} {} (even 0)
         (<= (init (on ?x)) (lamp ?x) (lamp 1) (distinct ?x 1))
         (<= (odd ?y) (after ?x ?y) (even ?x) (true (on ?y)))
         (<= (odd ?y) (after ?x ?y) (odd ?x) (not (true (on ?y))))
         (<= (even ?y) (after ?x ?y) (even ?x) (not (true (on ?y))))
         (<= (even ?y) (after ?x ?y) (odd ?x) (true (on ?y)))
         (<= (legal r (flip ?x)) (lamp ?x)) (<= (legal r ask) (not (true asked)))
         (<= (next (on ?x)) (true (on ?x)) (not (does r (flip ?x))))
         (<= (next (on ?x)) (does r (flip ?x)) (not (true (on ?x))))
         (<= (next asked) (does r ask)) (<= (next asked) (true asked))
         (<= (next was_odd) (does r ask) (odd {n_lamps})) (<= (next was_odd) (true was_odd) (true asked))
         (<= (goal r 100) (true was_odd) (odd {n_lamps})) (<= (goal r 30) (even {n_lamps}))
         (<= (goal r 0) (not (true was_odd)) (odd {n_lamps}))",
        numbered("lamp", n_lamps),
        successors("after", n_lamps),
        clock(12),
    )
}

#[test]
fn deep_derivations_and_many_moves() {
    compare_all("deep", &parity(150), 60);
}

#[test]
fn derivations_too_deep_to_be_pulled_are_counted() {
    let network = network_of(&rules_of(&parity(700)));
    let layout = SpecialisedLayout::compile(&specialised(&network));
    assert!(layout.is_none(), "the gates are pulled, however deep");
}

#[test]
fn roles_move_at_once() {
    // Who takes what the other takes gets nothing: next values that hang on two roles' moves.
    let sheet = format!(
        "(role a) (role b) {} {} {}
         (<= (legal ?r (take ?x)) (role ?r) (cell ?x) (free ?x)) (<= (legal ?r pass) (role ?r))
         (<= (free ?x) (cell ?x) (not (gone ?x))) (<= (gone ?x) (true (has ?r ?x)))
         (<= (next (has ?r ?x)) (does ?r (take ?x)) (not (clash ?x)))
         (<= (next (has ?r ?x)) (true (has ?r ?x)) (not clashed) )
         (<= (clash ?x) (does a (take ?x)) (does b (take ?x))) (<= clashed (clash ?x))
         (<= (next lazy) (does a pass) (does b pass)) (<= terminal (true lazy))
         (<= (goal ?r 100) (true (has ?r 7))) (<= (goal ?r 40) (role ?r) (not (true (has ?r 7))))",
        numbered("cell", 7),
        clock(14),
        numbered("spare", 1),
    );
    compare_all("at once", &sheet, 400);
    let larger = sheet.replace("(cell 7)", &numbered("cell", 90));
    let rules = rules_of(&larger);
    compare(
        "many at once",
        &rules,
        machines(&network_of(&rules)),
        60,
        100,
    );
}

#[test]
fn roles_with_one_move_or_none() {
    // The judge has one move and no choice; the guest has one that is legal in two of three states;
    // in the third nobody but the judge moves, which ends the game.
    let sheet = "
        (role judge) (role guest) (role host) (init (turn host)) (init (step 0))
        (legal judge watch) (<= (legal guest knock) (not (true (step 9))))
        (<= (legal host open) (true (turn host)) (not (true open)))
        (<= (legal host close) (true (turn host)) (true open))
        (<= (legal host wait) (true (turn guest)))
        (<= (next open) (does host open)) (<= (next open) (true open) (not (does host close)))
        (<= (next heard) (does guest knock) (does judge watch) (true open))
        (<= (next (turn guest)) (true (turn host)) (does judge watch))
        (<= (next (turn host)) (true (turn guest)))
        (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n)) (<= terminal (true (step 12)))
        (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7) (succ 7 8) (succ 8 9)
        (<= (goal judge 100) (true heard)) (<= (goal judge 1) (not (true heard)))
        (goal guest 50) (<= (goal host 70) (true open))";
    compare_all("one or none", sheet, 400);
}

/// Stones of two colours on a ring; a stone gets the number of the move as its group's, and the
/// groups beside it join it.
fn groups(n_cells: usize, n_moves: usize) -> String {
    format!(
        "(role red) (role blue) (opponent red blue) (opponent blue red) (init (control red))
         (<= (next (control ?s)) (true (control ?r)) (opponent ?r ?s))
         {} {} {}
         (<= (beside ?x ?y) (after ?x ?y)) (<= (beside ?x ?y) (after ?y ?x)) (after {n_cells} 1)
         (<= (taken ?x) (true (group ?x ?n))) (<= (legal ?r (put ?x)) (true (control ?r)) (cell ?x) (not (taken ?x)))
         (<= (legal ?r wait) (role ?r) (not (true (control ?r))))
         (<= (next (group ?x ?n)) (does ?r (put ?x)) (true (clock ?n)))
         (<= (next (owner ?n ?r)) (does ?r (put ?x)) (true (clock ?n)))
         (<= (next (owner ?n ?r)) (true (owner ?n ?r)))
         (<= (joins ?n) (does ?r (put ?x)) (beside ?x ?y) (true (group ?y ?n)) (true (owner ?n ?r)))
         (<= (next (group ?x ?n)) (true (group ?x ?n)) (not (joins ?n)))
         (<= (next (group ?x ?m)) (true (clock ?m)) (true (group ?x ?n)) (joins ?n))
         (<= (across ?r) (true (owner ?n ?r)) (true (group 1 ?n)) (true (group {} ?n)))
         (<= terminal (across ?r))
         (<= (goal ?r 100) (across ?r)) (<= (goal ?r 0) (role ?r) (not (across ?r)))",
        numbered("cell", n_cells),
        successors("after", n_cells).replace("(after 0 1)", ""),
        clock(n_moves),
        n_cells / 2,
    )
}

/// Whether what happens seldom was taken out of the gates, in each phase.
fn is_keyed(network: &Network, phases: &Phases) -> Vec<bool> {
    let specialised = panza_propnet::specialise(network, Some(phases), &Budget::generous())
        .expect("there is time");
    let specialised = specialised.expect("the game has no recursion");
    specialised
        .phases
        .iter()
        .map(|phase| !phase.keyed.is_empty())
        .collect()
}

#[test]
fn groups_with_numbers_are_keyed() {
    let sheet = groups(60, 30);
    // Factors would hide which terms clear a base and which set it.
    let set = PassSet::default().without(Pass::Factors);
    let network = passes::optimise_with(network_of(&rules_of(&sheet)), &set, &Budget::generous());
    let facts = network.facts.enumerate();
    let group: Vec<BaseId> = facts
        .filter(|(_, fact)| fact.starts_with("(control "))
        .map(|(base, _)| base)
        .collect();
    let phases = panza_propnet::phases_of(&network, &group, &set, &Budget::generous());
    let phases = phases.expect("there is time");
    assert_eq!(is_keyed(&network, &phases), [true, true]);
    let mut machines = Machines::new();
    run_phases("keyed", &network, &phases, &mut machines);
    compare("groups", &rules_of(&sheet), machines, 200, 100);
    compare_all("smaller groups", &groups(9, 9), 100);
}

#[test]
#[ignore = "needs the published games, see CONTRIBUTING.md"]
fn published_connection_games_are_keyed() {
    let corpus = corpus();
    for key in ["hex", "hexPie"] {
        let text = std::fs::read_to_string(corpus.rulesheet(key)).expect("the game is there");
        let network = optimised(&text);
        let phases = phases_by_play(&network).into_iter().next();
        let phases = phases.expect("the game has phases");
        assert_eq!(is_keyed(&network, &phases), [true, true], "{key}");
        let mut machines = Machines::new();
        run_phases("keyed", &network, &phases, &mut machines);
        compare(key, &rules_of(&text), machines, 100, 100);
    }
}

#[test]
fn a_move_and_its_inverse_in_one_conjunction() {
    // Two of three moves are all but one of them, so 'one of these' becomes 'not that one', which
    // then meets that one.
    let sheet = "(role r) (spot 1) (spot 2) (init (turn r))
        (<= (legal ?r wait) (role ?r) (not (true (turn ?r))))
        (<= (legal ?r (put ?x)) (true (turn ?r)) (spot ?x))
        (<= (next (over)) (does ?r wait) (does r (put ?x)) (spot ?x))
        (<= terminal (true (over)))
        (<= (goal r 100) (true (over))) (<= (goal r 0) (not (true (over))))";
    compare_all("inverse", sheet, 20);
}

#[test]
fn a_key_whose_signal_is_never_on() {
    // While `k` holds, a light goes on where both marks are and the first is not: never. It has to
    // leave the lights alone.
    let sheet = format!(
        "(role a) (role b) (role spec) {}
         (<= (init (light ?i)) (spot ?i)) (legal spec noop)
         (legal a m1) (legal a m2) (legal b m1) (legal b m2)
         (<= (legal a (put ?i)) (spot ?i) (not (true (x ?i))))
         (<= (legal b (put ?i)) (spot ?i) (not (true (y ?i))))
         (<= (next (x ?i)) (does a (put ?i))) (<= (next (x ?i)) (true (x ?i)))
         (<= (next (y ?i)) (does b (put ?i))) (<= (next (y ?i)) (true (y ?i)))
         (<= (next (z ?i)) (does a (put ?i)) (does b m2))
         (<= (next k) (does a m2)) (<= out (does a m1) (does b m1))
         (<= (both ?i) (true (x ?i)) (true (y ?i)))
         (<= (both ?i) (not (does spec noop)) (true (z ?i)))
         (<= (next (light ?i)) (true (light ?i)) (not out))
         (<= (next (light ?i)) (true k) (both ?i) (not (true (x ?i))))
         (<= terminal (true (x 1)) (true (y 1)))
         (<= (goal ?r 100) (role ?r) (true (light 2))) (<= (goal ?r 0) (role ?r) (not (true (light 2))))",
        numbered("spot", 40)
    );
    let specialised = specialised(&optimised(&sheet));
    assert!(!specialised.phases[0].keyed.is_empty(), "lights are keyed");
    compare_all("never on", &sheet, 60);
}
