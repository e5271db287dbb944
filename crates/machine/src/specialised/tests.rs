//! The specialised engine beside the general counters on small games, one of them small enough for
//! Miri.

use std::fmt::Write;
use std::sync::Arc;

use super::SpecialisedLayout;
use super::phase::phase_of_group;
use crate::compile::CounterLayout;
use crate::counter::CounterMachine;
use crate::{Machine, Reasoner};
use panza_propnet::{Network, Phases};
use panza_sync::Random;

use panza_gdl::{Id, MoveId, RoleId};
use panza_ground::ground;
use panza_sync::Budget;

fn network(text: &str) -> Network {
    let program =
        ground(&panza_gdl::load(text).0, &Budget::generous()).expect("the game can be grounded");
    panza_propnet::build(&program, &Budget::generous()).expect("the game has a network")
}

/// The machine that counts the network as it is, and the one that runs it specialised.
fn machines(network: &Network, phases: Option<&Phases>) -> [Arc<CounterMachine>; 2] {
    let specialised =
        panza_propnet::specialise(network, phases, &Budget::generous()).expect("there is time");
    let specialised = SpecialisedLayout::compile(&specialised.expect("the game has no recursion"));
    let mutex_group = phases.map_or_else(Vec::new, |phases| phases.mutex_group.clone());
    [
        CounterMachine::new(CounterLayout::compile(network)),
        CounterMachine::new(CounterLayout::compile(network))
            .specialise(mutex_group, specialised.expect("the gates are not deep")),
    ]
    .map(Arc::new)
}

/// Walks at random, and now and then plays to the end or makes a move that is not legal.
fn agree(machines: &[Arc<CounterMachine>; 2], n_states: usize) {
    let mut reasoners = machines.clone().map(CounterMachine::counter_reasoner);
    let n_roles = machines[0].info().n_roles();
    let initial = machines[0].initial_state();
    let mut random = Random::new(4);
    let mut state = initial.clone();
    for index in 0..n_states {
        let [counted, specialised] = reasoners.each_mut().map(|reasoner| {
            reasoner.set_state(&state);
            reasoner.check().expect("every counter is right");
            let mut goals = vec![None; n_roles];
            reasoner.goals(&mut goals);
            let legal: Vec<Vec<MoveId>> = (0..n_roles)
                .map(|role| {
                    let mut moves = reasoner.legal_moves(RoleId::from_index(role)).to_vec();
                    moves.sort();
                    moves
                })
                .collect();
            (reasoner.is_terminal(), goals, legal)
        });
        assert_eq!(counted, specialised, "state {index}");
        let (is_terminal, _, legal) = counted;
        if index % 4 == 3 {
            let seed = random.bits();
            let [counted, specialised] = reasoners.each_mut().map(|reasoner| {
                let (mut random, mut goals) = (Random::new(seed), vec![0; n_roles]);
                let end = reasoner.playout(&mut random, 40, &mut goals);
                reasoner.check().expect("every counter is right");
                reasoner.set_state(&state);
                (end, goals, random.bits())
            });
            assert_eq!(counted, specialised, "playout {index}");
        }
        if is_terminal || legal.iter().any(Vec::is_empty) {
            state.clone_from(&initial);
            continue;
        }
        let mut joint_move: Vec<MoveId> = legal
            .iter()
            .map(|moves| moves[random.below(moves.len() as u32) as usize])
            .collect();
        if index % 5 == 4 {
            // One past the role's last may be another role's, or nobody's.
            joint_move[0].0 += 1;
        }
        let [counted, specialised] = reasoners.each_mut().map(|reasoner| {
            let mut next = Vec::new();
            reasoner.next_state(&joint_move, &mut next);
            reasoner.check().expect("every counter is right");
            next
        });
        assert_eq!(counted, specialised, "after state {index}");
        state = counted;
    }
}

/// Two phases; marks that spread to either side; values that hang on both roles' moves.
const MARKS: &str = "
    (role a) (role b) (init (turn a)) (init (step 0)) (cell 1) (cell 2) (cell 3)
    (link 1 2) (link 2 3) (link 3 1) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6)
    (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
    (<= (next (turn a)) (true (turn b))) (<= (next (turn b)) (true (turn a)))
    (<= (legal ?r (mark ?x)) (true (turn ?r)) (cell ?x) (not (true (marked ?x))))
    (<= (legal ?r wait) (role ?r) (not (true (turn ?r))))
    (<= (legal ?r nod) (role ?r) (not (true (turn ?r))) (true (marked 1)))
    (<= (next (marked ?x)) (does ?r (mark ?x)))
    (<= (next (marked ?x)) (true (marked ?x)) (not (wiped ?x)))
    (<= (wiped ?y) (does ?r (mark ?x)) (link ?x ?y) (true (marked ?x)))
    (<= (next agreed) (does ?r (mark 2)) (does ?s nod))
    (<= terminal (true (step 6))) (<= terminal (true agreed) (true (marked 3)))
    (<= (goal ?r 100) (role ?r) (true agreed)) (<= (goal ?r 10) (role ?r) (not (true agreed)))";

#[test]
fn phases_and_the_whole_come_to_the_same() {
    let network = network(MARKS);
    let states = if cfg!(miri) { 12 } else { 600 };
    agree(&machines(&network, None), states);
    let phases =
        panza_propnet::phases(&network, &Budget::generous()).expect("the turn is a mutex group");
    let machines = machines(&network, Some(&phases));
    agree(&machines, states);

    // Whose turn it is may be said of both, and of none; that is no phase.
    for turns in [vec!["(turn a)", "(turn b)"], vec![]] {
        let facts = turns
            .iter()
            .map(|turn| turn.to_string())
            .collect::<Vec<_>>();
        let state = machines[0]
            .info()
            .state_from_facts(&facts)
            .expect("the facts are known");
        assert_eq!(phase_of_group(machines[1].mutex_group(), &state), None);
        let found = machines.clone().map(|machine| {
            let mut reasoner = machine.counter_reasoner();
            let mut goals = vec![0; 2];
            reasoner.set_state(&state);
            let end = reasoner.playout(&mut Random::new(2), 50, &mut goals);
            reasoner.check().expect("every counter is right");
            (end, goals)
        });
        assert_eq!(found[0], found[1]);
    }
}

/// A register of so many bits that is shifted, cleared, or taken step by step, and a goal that asks
/// whether its sum is odd.
fn register(n_bits: usize) -> String {
    let mut text = String::from(
        "(role r) (init (step 0)) (init (on 1)) (even 0)
         (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7)
         (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n)) (<= terminal (true (step 7)))
         (<= (legal r (flip ?x)) (bit ?x)) (legal r shift) (legal r wait)
         (<= (next (on ?x)) (does r (flip ?x)) (not (true (on ?x))))
         (<= (next (on ?x)) (does r wait) (true (on ?x)))
         (<= (next (on ?x)) (does r (flip ?y)) (true (on ?x)) (distinct ?x ?y))
         (<= (next (on ?x)) (does r shift) (after ?y ?x) (true (on ?y)))
         (<= (odd ?y) (after ?x ?y) (even ?x) (true (on ?y)))
         (<= (odd ?y) (after ?x ?y) (odd ?x) (not (true (on ?y))))
         (<= (even ?y) (after ?x ?y) (even ?x) (not (true (on ?y))))
         (<= (even ?y) (after ?x ?y) (odd ?x) (true (on ?y)))",
    );
    for bit in 1..=n_bits {
        let _ = write!(text, "(bit {bit}) (after {} {bit})", bit - 1);
    }
    let _ = write!(
        text,
        "(<= (goal r 90) (odd {n_bits})) (<= (goal r 20) (even {n_bits}))"
    );
    text
}

#[test]
#[cfg_attr(
    miri,
    ignore = "takes minutes to compile there, and has no unsafe code of its own"
)]
fn goals_in_one_pass_and_copies_by_the_word() {
    let machines = machines(&network(&register(20)), None);
    let layout = machines[1].specialised().expect("the game is specialised");
    assert!(!layout.effects.copies.is_empty(), "the shift copies bases");
    assert_eq!(layout.goal_passes.len(), 1, "sums need many gates");
    assert_eq!(layout.phases[0].goal_pass, Some(0));
    agree(&machines, 300);
}

#[test]
#[cfg_attr(
    miri,
    ignore = "takes minutes to compile there, and has no unsafe code of its own"
)]
fn legal_moves_in_several_rows_and_wide_gates() {
    let text = register(150);
    let text = format!("{text} (<= any (true (on ?x))) (<= (legal r rest) (not any))");
    let machines = machines(&network(&text), None);
    let layout = machines[1].specialised().expect("the game is specialised");
    assert!(layout.phases[0].roles[RoleId(0)].n_rows > 1);
    agree(&machines, 100);
}

#[test]
#[cfg_attr(
    miri,
    ignore = "takes minutes to compile there, and has no unsafe code of its own"
)]
fn states_of_another_width_are_cut_or_padded() {
    let machine = machines(&network(&register(70)), None)[1].clone();
    let mut reasoner = machine.clone().counter_reasoner();
    let mut state = machine.initial_state();
    assert_eq!(state.len(), 2);
    let mut wide = state.clone();
    wide[1] |= u64::MAX << 40;
    wide.push(u64::MAX);
    for odd in [wide, state.clone(), vec![state[0]], Vec::new()] {
        reasoner.set_state(&odd);
        reasoner.check().expect("every counter is right");
        assert!(!reasoner.is_terminal());
        assert_eq!(reasoner.legal_moves(RoleId(0)).len(), 72);
        let wait = machine
            .info()
            .find_move(RoleId(0), "wait")
            .expect("it is known");
        reasoner.next_state(&[wait], &mut state);
        assert_eq!(state.len(), 2);
    }
    assert!(machine.info().state_facts(&[]).is_empty());
}
