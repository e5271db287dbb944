//! Holds the counter engine to the prover along random playouts.

use std::collections::BTreeSet;
use std::sync::Arc;

use panza::gdl::{self, Rules};
use panza::ground::{self, Budget};
use panza::ids::{Id, RoleId};
use panza::machine::compile::Layout;
use panza::machine::counter::{CounterMachine, CounterReasoner};
use panza::machine::random::Random;
use panza::machine::{Machine, Reasoner};
use panza::propnet::passes::{self, Pass, PassSet};
use panza::propnet::{self, Network};
use panza::prover::{Prover, State};

/// A way from network to machine.
pub type Treatment = (&'static str, fn(&Network) -> CounterMachine);

fn whole(network: &Network) -> CounterMachine {
    CounterMachine::new(Layout::compile(network))
}

fn in_phases(network: &Network) -> CounterMachine {
    let network = passes::optimise(network.clone(), Budget::generous());
    match propnet::phases(&network, Budget::generous()) {
        Some(phases) => {
            let layouts = phases.networks.iter().map(Layout::compile).collect();
            CounterMachine::with_phases(Layout::compile(&network), phases.controls, layouts)
        }
        None => whole(&network),
    }
}

fn with(network: &Network, passes: PassSet) -> CounterMachine {
    whole(&passes::optimise_with(
        network.clone(),
        &passes,
        Budget::generous(),
    ))
}

pub const TREATMENTS: [Treatment; 12] = [
    ("plain", whole),
    ("no pass", |network| with(network, PassSet::none())),
    ("every pass", |network| with(network, PassSet::all())),
    ("in phases", in_phases),
    ("absorb", |network| {
        with(network, PassSet::only(Pass::Absorb))
    }),
    ("flatten", |network| {
        with(network, PassSet::only(Pass::Flatten))
    }),
    ("products", |network| {
        with(network, PassSet::only(Pass::Products))
    }),
    ("factors", |network| {
        with(network, PassSet::only(Pass::Factors))
    }),
    ("one move", |network| {
        with(network, PassSet::only(Pass::OneMove))
    }),
    ("spread", |network| {
        with(network, PassSet::only(Pass::Spread))
    }),
    ("shared", |network| {
        with(network, PassSet::only(Pass::Shared))
    }),
    ("guards", |network| {
        with(network, PassSet::only(Pass::Guards))
    }),
];

/// The network of a game, no pass applied.
pub fn network_of(rules: &Rules) -> Network {
    let program = ground::ground(rules, Budget::generous()).expect("the game can be grounded");
    propnet::build(&program, Budget::generous()).expect("the game has a network")
}

/// The rules of a playable sheet.
pub fn rules_of(text: &str) -> Rules {
    let (rules, diagnostics) = gdl::load(text);
    assert!(gdl::is_playable(&diagnostics), "{diagnostics:?}");
    rules
}

/// Walks random playouts of up to `max_steps` joint moves on both until `max_states` states were compared.
pub fn compare(
    name: &str,
    rules: &Rules,
    machine: CounterMachine,
    max_states: usize,
    max_steps: usize,
) {
    let machine = Arc::new(machine);
    let mut reasoner = machine.clone().counter_reasoner();
    let mut prover = Prover::new(rules).expect("the prover takes the game");
    let mut random = Random::new(1);
    let n_roles = machine.n_roles();
    assert_eq!(n_roles, prover.roles().len(), "{name}: roles");
    let mut states = 0;
    while states < max_states {
        let mut state = prover.initial_state();
        let mut words = machine.initial_state();
        for step in 0..=max_steps {
            let place = format!("{name}, state {states}, step {step}");
            reasoner.set_state(&words);
            reasoner
                .check()
                .unwrap_or_else(|error| panic!("{place}: {error}"));
            states += 1;
            let is_over =
                compare_state(&place, &machine, &mut reasoner, &words, &mut prover, &state);
            if is_over || step == max_steps {
                break;
            }
            let mut moves = Vec::new();
            let mut joint_move = Vec::new();
            for role in (0..n_roles).map(RoleId::from_index) {
                let legal = prover
                    .legal_moves(&state, role)
                    .expect("legal moves can be proven");
                let chosen = legal[random.below(legal.len() as u32) as usize];
                let text = prover.show(chosen);
                joint_move.push(
                    machine
                        .find_move(role, &text)
                        .unwrap_or_else(|| panic!("{place}: no move {text}")),
                );
                moves.push(chosen);
            }
            state = prover
                .next_state(&state, &moves)
                .expect("the next state can be proven");
            reasoner.next_state(&joint_move, &mut words);
        }
    }
}

/// Compares everything there is to say about one state; true when the game is over there.
fn compare_state(
    place: &str,
    machine: &CounterMachine,
    reasoner: &mut CounterReasoner,
    words: &[u64],
    prover: &mut Prover,
    state: &State,
) -> bool {
    let facts: BTreeSet<String> = prover
        .facts(state)
        .iter()
        .map(|&fact| prover.show(fact))
        .collect();
    let found: BTreeSet<String> = machine.state_facts(words).into_iter().collect();
    assert_eq!(found, facts, "{place}: facts");
    let is_terminal = prover.is_terminal(state).expect("terminal can be proven");
    assert_eq!(reasoner.is_terminal(), is_terminal, "{place}: terminal");
    let mut goals = vec![None; machine.n_roles()];
    reasoner.goals(&mut goals);
    let mut is_over = is_terminal;
    for role in (0..machine.n_roles()).map(RoleId::from_index) {
        let expected = prover.goal(state, role).expect("goals can be proven");
        if is_terminal || expected.is_some() {
            assert_eq!(
                goals[role.index()],
                expected,
                "{place}: goal of role {}",
                role.index()
            );
        }
        if !is_terminal {
            let legal = prover
                .legal_moves(state, role)
                .expect("legal moves can be proven");
            let expected: BTreeSet<String> = legal.iter().map(|&mv| prover.show(mv)).collect();
            let found = reasoner.legal_moves(role);
            let found: BTreeSet<String> = found.iter().map(|&mv| machine.move_text(mv)).collect();
            is_over |= expected.is_empty();
            assert_eq!(
                found,
                expected,
                "{place}: legal moves of role {}",
                role.index()
            );
        }
    }
    is_over
}
