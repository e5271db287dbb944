//! Small games on the counters of phases and of the whole.

use super::*;

use panza_ground::ground;
use panza_sync::Budget;

/// Small enough for Miri, with a recursion, two phases and a choice for each role.
const TOKENS: &str = "
    (role a) (role b) (init (turn a)) (init (at 1)) (step 1 2) (step 2 3) (step 3 4) (step 4 1)
    (<= (next (turn b)) (true (turn a))) (<= (next (turn a)) (true (turn b)))
    (<= (legal ?r (open ?x)) (true (turn ?r)) (step ?x ?y) (not (true (open ?x))))
    (<= (legal ?r wait) (role ?r) (not (true (turn ?r))))
    (<= (next (open ?x)) (does ?r (open ?x)))
    (<= (next (open ?x)) (true (open ?x)) (not (blocked ?x)))
    (<= (blocked ?x) (reach ?x) (true (turn b)))
    (<= (next (at ?x)) (true (at ?x)))
    (<= (reach ?x) (true (at ?x)))
    (<= (reach ?y) (reach ?x) (step ?x ?y) (true (open ?x)))
    (<= terminal (reach 4))
    (<= (goal a 100) (true (turn a))) (<= (goal a 0) (true (turn b)))
    (<= (goal b 100) (true (turn b))) (<= (goal b 0) (true (turn a)))";

fn machine(text: &str) -> Arc<CounterMachine> {
    let program =
        ground(&panza_gdl::load(text).0, &Budget::generous()).expect("the game can be grounded");
    let network =
        panza_propnet::build(&program, &Budget::generous()).expect("the game has a network");
    let phases =
        panza_propnet::phases(&network, &Budget::generous()).expect("the turn is a mutex group");
    assert_eq!(phases.mutex_group.len(), 2);
    let layouts = phases.networks.iter().map(CounterLayout::compile).collect();
    Arc::new(CounterMachine::with_phases(
        CounterLayout::compile(&network),
        phases.mutex_group,
        layouts,
    ))
}

#[test]
fn counters_stay_what_their_inputs_make_them() {
    let machine = machine(TOKENS);
    let mut reasoner = machine.clone().counter_reasoner();
    let mut random = Random::new(5);
    let mut goals = [0u8; 2];
    let playouts = if cfg!(miri) { 3 } else { 200 };
    for _ in 0..playouts {
        reasoner.set_state(&machine.initial_state());
        assert!(matches!(
            reasoner.playout(&mut random, 60, &mut goals),
            PlayoutEnd::Finished { .. }
        ));
        assert_eq!(goals[0] + goals[1], 100);
        reasoner.check().expect("every counter is right");
    }
}

#[test]
fn a_phase_and_the_whole_say_the_same() {
    let phased = machine(TOKENS);
    let mut left = phased.clone().counter_reasoner();
    let mut right = phased.clone().counter_reasoner();
    right.current = 0;
    right.phases[0].set_state(&phased.layouts[0], &phased.initial_state());
    let mut random = Random::new(9);
    let mut state = phased.initial_state();
    let mut successor = Vec::new();
    for _ in 0..if cfg!(miri) { 6 } else { 300 } {
        left.set_state(&state);
        right.phases[0].set_state(&phased.layouts[0], &state);
        assert_eq!(left.is_terminal(), right.is_terminal());
        if left.is_terminal() {
            state = phased.initial_state();
            continue;
        }
        let mut joint_move = Vec::new();
        for role in [RoleId(0), RoleId(1)] {
            let mut moves = [
                left.legal_moves(role).to_vec(),
                right.legal_moves(role).to_vec(),
            ];
            moves.iter_mut().for_each(|moves| moves.sort());
            assert_eq!(moves[0], moves[1]);
            joint_move.push(moves[0][random.below(moves[0].len() as u32) as usize]);
        }
        left.next_state(&joint_move, &mut state);
        right.next_state(&joint_move, &mut successor);
        assert_eq!(state, successor);
    }
}

#[test]
fn illegal_moves_are_followed_as_the_rules_say() {
    let machine = machine(TOKENS);
    let mut reasoner = machine.clone().counter_reasoner();
    let initial = machine.initial_state();
    let find = |role, text| {
        machine
            .info()
            .find_move(role, text)
            .expect("the move is known")
    };
    // It is a's turn; b moves all the same, and the rules let what is opened stay open.
    let moves = [find(RoleId(0), "(open 1)"), find(RoleId(1), "(open 2)")];
    let mut state = Vec::new();
    reasoner.set_state(&initial);
    reasoner.next_state(&moves, &mut state);
    assert_eq!(
        machine.info().state_facts(&state),
        ["(at 1)", "(open 1)", "(open 2)", "(turn b)"]
    );
    reasoner.check().expect("every counter is right");
    let legal = [find(RoleId(0), "(open 1)"), find(RoleId(1), "wait")];
    reasoner.next_state(&legal, &mut state);
    assert_eq!(
        machine.info().state_facts(&state),
        ["(at 1)", "(open 1)", "(turn b)"]
    );
}

#[test]
fn a_state_outside_the_mutex_group_is_run_on_the_whole_game() {
    let machine = machine(TOKENS);
    let both =
        machine
            .info()
            .state_from_facts(&["(turn a)".into(), "(turn b)".into(), "(at 1)".into()]);
    let both = both.expect("the facts are known");
    assert_eq!(machine.phase_of(&both), 0);
    assert_ne!(machine.phase_of(&machine.initial_state()), 0);
    assert_eq!(machine.phase_of(&[]), 0);
}
