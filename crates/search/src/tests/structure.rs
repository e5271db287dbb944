//! Proven facts in the search: goals bounded by latches.

use std::sync::Arc;

use panza_analysis::ScoreRange;
use panza_analysis::latches::latches;
use panza_analysis::score_ranges::score_ranges;
use panza_gdl::RoleId;
use panza_machine::Machine;
use panza_testing::{machine_of, network_of};

use crate::{Search, SearchConfig};
use panza_sync::Budget;

/// Ten doors, each opened by one of two keys; a wrong key breaks the lock for good, and then
/// nothing is to be had. The doors can be taken in any order, so that there is much to search once
/// a lock is broken.
const DOORS: &str = "(role thief)
    (door a) (door b) (door c) (door d) (door e) (door f)
    (<= (init (shut ?d)) (door ?d)) (init (hour 0))
    (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6)
    (<= (legal thief (turn ?d gold)) (true (shut ?d))) (<= (legal thief (turn ?d iron)) (true (shut ?d)))
    (<= (legal thief rest) (true (hour ?h)))
    (<= (next (hour ?n)) (true (hour ?h)) (succ ?h ?n))
    (<= (next broken) (true broken)) (<= (next broken) (does thief (turn ?d iron)))
    (<= (next (shut ?d)) (true (shut ?d)) (not (does thief (turn ?d gold))))
    (<= some (true (shut ?d))) (<= terminal (not some)) (<= terminal (true (hour 6)))
    (<= won (not some) (not (true broken)))
    (<= (goal thief 100) won) (<= (goal thief 0) (not won))";

/// A machine of the rules, and what settled facts make certain.
fn game(text: &str) -> (Arc<dyn Machine>, Vec<ScoreRange>) {
    let (rules, faults) = panza_gdl::load(text);
    assert!(faults.is_empty(), "{faults:?}");
    let network = network_of(&rules);
    let mut budget = Budget::of_steps(1 << 26);
    let latches = latches(&network, &mut budget);
    let ranges = score_ranges(&network, &latches, &mut budget);
    (machine_of(&rules), ranges)
}

/// The goal proven at the root, and the iterations that it took.
fn proof(machine: &Arc<dyn Machine>, effects: &[ScoreRange]) -> (Option<u8>, u64) {
    let config = SearchConfig {
        score_ranges: effects.into(),
        ..SearchConfig::deterministic(1)
    };
    let mut search = Search::new(Arc::clone(machine), RoleId(0), config);
    search.run(&Budget::of_steps(300_000));
    let root = search.root();
    (root.proven, search.statistics().iterations)
}

#[test]
fn a_conditional_latch_bounds_no_goal_before_its_condition_holds() {
    // Nobody has cell `a` yet. That is final only once the cell is not free.
    let cells =
        "(role x) (role o) (cell a) (cell b) (init (turn x)) (<= (init (free ?c)) (cell ?c))
        (<= (legal ?p (mark ?c)) (true (turn ?p)) (true (free ?c)))
        (<= (legal x wait) (true (turn o))) (<= (legal o wait) (true (turn x)))
        (<= (next (free ?c)) (true (free ?c)) (not (does x (mark ?c))) (not (does o (mark ?c))))
        (<= (next (has ?p ?c)) (does ?p (mark ?c))) (<= (next (has ?p ?c)) (true (has ?p ?c)))
        (<= (next (turn o)) (true (turn x))) (<= (next (turn x)) (true (turn o)))
        (<= some (true (free ?c))) (<= terminal (not some))
        (<= (goal x 100) (true (has x a))) (<= (goal x 0) (not (true (has x a)))) (goal o 50)";
    let (machine, ranges) = game(cells);
    assert!(ranges.iter().any(|range| range.given != range.setting));
    let state = machine.initial_state();
    assert!(!ranges.iter().any(|range| range.holds_in(&state)));
    assert_eq!(proof(&machine, &ranges).0, Some(100));
}

#[test]
fn unreachable_goals_bound_the_root() {
    let (machine, effects) = game(DOORS);
    let is_known = |range: &&ScoreRange| range.setting.value && range.upper == 0;
    assert!(
        effects.iter().any(|effect| is_known(&effect)),
        "{effects:?}"
    );
    let state = machine
        .info()
        .state_from_facts(&["broken".into(), "(shut a)".into(), "(hour 0)".into()])
        .unwrap();
    assert!(
        effects
            .iter()
            .filter(is_known)
            .any(|effect| effect.setting.holds_in(&state))
    );
    let (plain, without) = proof(&machine, &[]);
    let (proven, with) = proof(&machine, &effects);
    assert_eq!(plain.unwrap_or(100), 100);
    assert_eq!(proven, Some(100));
    assert!(with <= without, "{with} {without}");
    let config = SearchConfig {
        score_ranges: effects.into(),
        ..SearchConfig::deterministic(1)
    };
    let mut broken = Search::new(Arc::clone(&machine), RoleId(0), config);
    broken.set_state(&state);
    broken.run(&Budget::of_steps(10));
    assert_eq!(broken.root().proven, Some(0));
}
