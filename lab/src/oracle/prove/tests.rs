//! Verdicts against plain minimax, and states without a verdict.

use super::super::states::{final_goal, texts};
use super::*;
use panza_cli::Game;
use panza_cli::engine_choice::build_machine;

fn judged(machine: &Arc<dyn Machine>, role: usize, state: &[u64]) -> Option<Verdict> {
    let mut prover = GoalProver::new(machine, RoleId::from_index(role));
    prover.budget = 100_000;
    prover.judge(state, &[0, 25, 50, 75, 100])
}

/// A game of one joint move with these goals of the first role, by its move and the other's.
fn one_move(goals: [[u8; 2]; 2]) -> Arc<dyn Machine> {
    let mut rules = "(role a) (role b) (<= (legal ?r (take 1)) (role ?r) (not (true over)))
         (<= (legal ?r (take 2)) (role ?r) (not (true over))) (<= (next over) (does a (take 1)))
         (<= (next over) (does a (take 2))) (<= terminal (true over)) (init start) (goal b 0)
         (<= (next (took ?r ?n)) (does ?r (take ?n)))"
        .to_string();
    for (own, row) in goals.iter().enumerate() {
        for (other, goal) in row.iter().enumerate() {
            rules.push_str(&format!(
                " (<= (goal a {goal}) (true (took a {})) (true (took b {})))",
                own + 1,
                other + 1
            ));
        }
    }
    build_machine(&panza_gdl::load(&rules).0).unwrap()
}

/// The minimax value for the first role of a game in which the
/// roles take turns.
fn minimax(machine: &Arc<dyn Machine>, state: &[u64], seen: &mut HashMap<Vec<u64>, u8>) -> u8 {
    if let Some(&value) = seen.get(state) {
        return value;
    }
    let mut states = States::new(machine);
    let value = match states.choices(state) {
        None => {
            states.reasoner.set_state(state);
            final_goal(states.reasoner.as_mut(), 2, RoleId(0))
        }
        Some(legal) => {
            let mut values = Vec::new();
            for &own in &legal[0] {
                for &other in &legal[1] {
                    let next = states.after(state, &[own, other]);
                    values.push(minimax(machine, &next, seen));
                }
            }
            let best = match legal[0].len() > 1 {
                true => values.into_iter().max(),
                false => values.into_iter().min(),
            };
            best.unwrap()
        }
    };
    seen.insert(state.to_vec(), value);
    value
}

#[test]
fn verdicts_agree_with_minimax_on_states_of_tic_tac_toe() {
    let machine = build_machine(&Game::load("ticTacToe").unwrap().rules).unwrap();
    let mut seen = HashMap::new();
    assert_eq!(minimax(&machine, &machine.initial_state(), &mut seen), 50);
    let mut provers = [0, 1].map(|role| GoalProver::new(&machine, RoleId::from_index(role)));
    let mut met: Vec<&Vec<u64>> = seen.keys().collect();
    met.sort_unstable();
    let mut states = States::new(&machine);
    let mut counts = [0; 2];
    for &state in met.iter().step_by(5) {
        let Some(legal) = states.choices(state) else {
            continue;
        };
        for (role, prover) in provers.iter_mut().enumerate() {
            if legal[role].len() < 2 {
                continue;
            }
            // The game is a contest for a sum of 100.
            let value_of = |state: &[u64]| match role {
                0 => seen[state],
                _ => 100 - seen[state],
            };
            prover.budget = 10_000;
            let verdict = prover.judge(state, &[0, 50, 100]).unwrap();
            assert_eq!(verdict.goal, value_of(state));
            for &mv in &legal[role] {
                let role = RoleId::from_index(role);
                let next = states.after(state, &joint_move(&legal, role, mv, 0));
                let is_good = value_of(&next) == verdict.goal;
                assert_eq!(verdict.good.contains(&mv), is_good);
                assert_eq!(verdict.bad.contains(&mv), !is_good);
            }
            counts[role] += 1;
        }
    }
    assert!(counts.iter().all(|&count| count > 300), "{counts:?}");
}

#[test]
fn simultaneous_moves_are_judged_where_their_order_makes_no_difference() {
    let judged = |goals| {
        let machine = one_move(goals);
        let verdict = judged(&machine, 0, &machine.initial_state())?;
        let texts = |moves: &[MoveId]| texts(&machine, moves);
        Some((verdict.goal, texts(&verdict.good), texts(&verdict.bad)))
    };
    let (one, two) = (vec!["(take 1)".to_string()], vec!["(take 2)".to_string()]);
    // The second move forces 50, whatever the other does, and nothing forces more.
    assert_eq!(
        judged([[0, 100], [50, 50]]),
        Some((50, two.clone(), one.clone()))
    );
    assert_eq!(judged([[75, 100], [50, 100]]), Some((75, one, two)));
    // The side that moves last wins, as in matching pennies.
    assert_eq!(judged([[100, 0], [0, 100]]), None);
    assert_eq!(judged([[50, 0], [25, 75]]), None);
}

#[test]
fn without_budget_there_is_no_verdict() {
    let machine = build_machine(&Game::load("ticTacToe").unwrap().rules).unwrap();
    let initial = machine.initial_state();
    let mut prover = GoalProver::new(&machine, RoleId::from_index(0));
    prover.budget = 100;
    assert_eq!(prover.judge(&initial, &[0, 50, 100]), None);
    assert_eq!(prover.budget, 0);
    prover.budget = 100_000;
    let verdict = prover.judge(&initial, &[0, 50, 100]).unwrap();
    assert_eq!(
        (verdict.goal, verdict.good.len(), verdict.bad.len()),
        (50, 9, 0)
    );
}

#[test]
fn endless_games_have_no_verdict() {
    let rules = "(role a) (init p) (legal a x) (legal a y) (<= (next p) (does a x)) (<= (next q) (does a y))
        (<= terminal (true r)) (goal a 0)";
    let machine = build_machine(&panza_gdl::load(rules).0).unwrap();
    assert_eq!(judged(&machine, 0, &machine.initial_state()), None);
}
