//! Tables have the assignments that brute force finds, and propagate as it does.

use panza_sync::Budget;
use std::sync::Arc;

use super::*;
use crate::PlanningGame;
use crate::task::Task;
use crate::tests::{built, rules};
use panza_analysis::implications::Scope;
use panza_gdl::{IdVec, Rules};

const LENGTH: usize = 6;

/// A line of six squares, to be painted until the player stops, without its blocks.
const LINE: &str = "
    (role r) (place 1) (place 2) (place 3) (place 4) (place 5) (place 6)
    (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6)
    (<= (legal r (paint ?p)) (place ?p) (not (true (dark ?p)))) (legal r stop)
    (<= (next (dark ?p)) (does r (paint ?p))) (<= (next (dark ?p)) (true (dark ?p)))
    (<= (next stopped) (does r stop)) (<= terminal (true stopped))
    (reads 0 1 0)
    (<= (reads ?q ?b ?m) (reads ?p ?b ?n) (succ ?p ?q) (true (dark ?q)) (succ ?n ?m) (fits ?b ?m))
    (<= (reads ?q ?b 0) (reads ?p ?b 0) (succ ?p ?q) (not (true (dark ?q))))
    (<= (reads ?q ?c 0) (reads ?p ?b ?n) (block ?b ?n) (succ ?b ?c) (succ ?p ?q)
        (not (true (dark ?q))))
    (<= (fits ?b ?n) (block ?b ?n)) (<= (fits ?b ?m) (fits ?b ?n) (succ ?m ?n))
    (<= right (reads 6 2 ?n) (block 2 ?n)) (<= right (reads 6 3 0))
    (<= (goal r 100) right) (<= (goal r 0) (not right))";

fn line(blocks: [usize; 2]) -> Rules {
    let [first, second] = blocks;
    panza_gdl::load(&format!("{LINE} (block 1 {first}) (block 2 {second})")).0
}

fn task_of(rules: &Rules) -> Task {
    let game = built(rules);
    let planned = PlanningGame::new(&game.machine, game.network.as_ref()).unwrap();
    Task::new(planned.analysis(), game.machine.initial_state())
}

/// The lengths of the runs of ones.
fn runs(bits: u32) -> Vec<usize> {
    let text = format!("{bits:b}");
    let runs = text.split('0').map(str::len).filter(|&length| length > 0);
    runs.rev().collect()
}

/// The assignments of a line that are right.
fn right(blocks: &[usize]) -> Vec<u32> {
    (0..1 << LENGTH)
        .filter(|&bits| runs(bits) == blocks)
        .collect()
}

#[test]
fn a_line_has_a_table_of_its_pictures() {
    for blocks in [[1, 2], [2, 1], [1, 1], [2, 2]] {
        let task = task_of(&line(blocks));
        let network = task.game.network.as_ref().unwrap();
        let [table] = &task.tables.tables[..] else {
            panic!("{:?}", task.tables);
        };
        let place = |fact: &BaseId| network.facts[*fact].clone();
        let mut found: Vec<u32> = Vec::new();
        for assignment in &table.assignments {
            let mut bits = 0;
            for (index, fact) in table.facts.iter().enumerate() {
                let place: u32 = place(fact)[6..7].parse().unwrap();
                bits |= (assignment >> index & 1) << (place - 1);
            }
            found.push(bits);
        }
        found.sort_unstable();
        assert_eq!(found, right(&blocks), "{blocks:?}");
    }
}

#[test]
fn each_partial_picture_is_completed_as_far_as_all_pictures_agree() {
    let task = task_of(&line([1, 2]));
    let network = Arc::clone(task.game.network.as_ref().unwrap());
    let budget = &mut Budget::of_steps(1 << 30);
    let mut known = Implications::new(&network, Scope::States, budget).unwrap();
    known.assume(task.best_goal.unwrap());
    known.assume(network.terminal);
    let mut weights = Vec::new();
    let mut last = FinalState::new(known, &task.tables, &mut weights);
    assert_eq!(last.propagate(budget), Outcome::Consistent);
    let mut n_by_tables = 0;
    let facts: IdVec<BaseId, &String> = network.facts.iter().collect();
    let signal = |place: usize| {
        let text = format!("(dark {})", place + 1);
        let fact = facts.enumerate().find(|(_, fact)| ***fact == text);
        Signal::of_base(fact.unwrap().0)
    };
    let signals: Vec<Signal> = (0..LENGTH).map(signal).collect();
    let pictures = right(&[1, 2]);
    for mut code in 0..3usize.pow(LENGTH as u32) {
        let mark = last.mark();
        let mut left = pictures.clone();
        for (place, &signal) in signals.iter().enumerate() {
            // Free, painted or unknown.
            if code % 3 < 2 {
                let is_on = code % 3 == 1;
                last.assume(signal.inverted_if(!is_on));
                left.retain(|picture| (picture >> place & 1 == 1) == is_on);
            }
            code /= 3;
        }
        let by_gates = last.known.propagate(budget);
        let values = |last: &FinalState<'_, '_>| {
            signals
                .iter()
                .map(|&signal| last.value(signal))
                .collect::<Vec<_>>()
        };
        let before = values(&last);
        let outcome = last.propagate(budget);
        n_by_tables += usize::from(outcome != by_gates || before != values(&last));
        assert_eq!(outcome == Outcome::Contradiction, left.is_empty());
        for (place, &signal) in signals.iter().enumerate() {
            let mut values = left.iter().map(|picture| picture >> place & 1 == 1);
            if let Some(first) = values.next() {
                let agreed = values.all(|value| value == first).then_some(first);
                assert_eq!(last.value(signal), agreed);
            }
        }
        last.undo_to(mark);
    }
    assert!(n_by_tables > 0, "gates alone say as much");
}

#[test]
fn a_line_that_cannot_be_right_lowers_the_bound_of_the_goal() {
    assert_eq!(task_of(&line([2, 3])).goal_bound, 100);
    assert_eq!(task_of(&line([3, 3])).goal_bound, 0);
}

#[test]
fn conditions_that_unit_propagation_completes_have_no_table() {
    assert!(task_of(&rules("sudoku4")).tables.tables.is_empty());
    assert!(!task_of(&rules("nonogram")).tables.tables.is_empty());
}

#[test]
fn a_spent_budget_leaves_fewer_tables() {
    let task = task_of(&line([1, 2]));
    let network = task.game.network.as_ref().unwrap();
    for steps in [0, 100, 1_000, 10_000] {
        let budget = &mut Budget::of_steps(1 << 30);
        let mut known = Implications::new(network, Scope::States, budget).unwrap();
        known.assume(task.best_goal.unwrap());
        known.assume(network.terminal);
        known.propagate(budget);
        let tables = Tables::find(network, &mut known, &mut Budget::of_steps(steps));
        for table in &tables.tables {
            assert_eq!(table.assignments.len(), right(&[1, 2]).len());
        }
    }
}
