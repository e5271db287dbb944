//! Gangs held to the counter engine, lane by lane and step by step.

use super::*;
use crate::ids::MoveId;
use crate::machine::compile::Layout as WholeLayout;
use crate::machine::counter::CounterMachine;
use crate::machine::lanes::compile::compile;
use crate::machine::{Machine, Reasoner};
use crate::propnet::{self, Network, passes};
use crate::{gdl, ground};

/// The network of some rules.
fn network(rules: &str) -> Network {
    let (rules, _) = gdl::load(rules);
    let budget = ground::Budget {
        until: None,
        max_bytes: 4 << 30,
    };
    let program = ground::ground(&rules, budget).unwrap();
    passes::optimise(propnet::build(&program, budget).unwrap(), budget)
}

/// Checks each step of a gang of 256.
struct Checker {
    gang: Gang<4>,
    reasoner: Box<dyn Reasoner>,
    n_roles: usize,
    checked: usize,
}

impl Checker {
    fn new(network: &Network, phases: Option<&propnet::Phases>) -> Self {
        let programs = compile(network, phases, 40.0).unwrap();
        let layout = Layout::new(&programs, network.roles.len(), Features::Portable, 4);
        let machine = Arc::new(CounterMachine::new(WholeLayout::compile(network)));
        let initial = machine.initial_state();
        let mut gang = Gang::new(Arc::new(layout), &mut Random::new(1), 200);
        gang.submit(&initial, 400).unwrap();
        Self {
            gang,
            n_roles: network.roles.len(),
            reasoner: (machine as Arc<dyn Machine>).reasoner(),
            checked: 0,
        }
    }

    /// The state that a lane has in a bank.
    fn state(bank: &[Vector<4>], lane: usize) -> Vec<u64> {
        let mut state = vec![0u64; bank.len().div_ceil(64)];
        for (base, vector) in bank.iter().enumerate() {
            state[base / 64] |= (vector[lane / 64] >> (lane % 64) & 1) << (base % 64);
        }
        state
    }

    fn number(slots: &[Vector<4>], lane: usize) -> usize {
        slots
            .iter()
            .enumerate()
            .map(|(digit, vector)| ((vector[lane / 64] >> (lane % 64) & 1) << digit) as usize)
            .sum()
    }

    /// Makes a step as the gang does, and compares all that is in sight.
    fn step(&mut self) {
        let layout = Arc::clone(&self.gang.layout);
        if !is_any(&self.gang.live) {
            self.gang.step();
            return;
        }
        let phase = &layout.phases[self.gang.phase];
        let side = self.gang.side;
        let mut memory = self.gang.memory.clone();
        phase.look.run(&mut memory, side);
        let now = memory.now(side).to_vec();
        for lane in lanes(&self.gang.live) {
            let state = Self::state(&now, lane);
            self.reasoner.set_state(&state);
            let is_terminal = self.reasoner.is_terminal();
            if phase.end.is_some() {
                assert!(
                    !is_terminal,
                    "a lane in play has ended: {lane} at {}",
                    self.gang.clock
                );
            }
            let mut is_stuck = false;
            for role in 0..self.n_roles {
                let role = RoleId::from_index(role);
                let n_legal = self.reasoner.legal_moves(role).len();
                is_stuck |= n_legal == 0;
                if let Some(choice) = phase.choices.iter().find(|choice| choice.role == role) {
                    let slots =
                        &memory.slots()[choice.count.start as usize..choice.count.end as usize];
                    assert_eq!(
                        Self::number(slots, lane),
                        n_legal,
                        "legal moves of {role:?} in lane {lane} at {}",
                        self.gang.clock
                    );
                }
            }
            if let Some(over) = phase.over {
                let over = memory.slots()[over][lane / 64] >> (lane % 64) & 1 == 1;
                assert_eq!(
                    over,
                    is_stuck || is_terminal && phase.end.is_none(),
                    "over in lane {lane} at {}",
                    self.gang.clock
                );
            } else {
                assert!(!is_stuck);
            }
            self.checked += 1;
        }
        let live = self.gang.live;
        self.gang.step();
        // What was drawn lies in the slots of ranks, and the next state in the other bank until lanes are filled again.
        let moved = self.gang.memory.clone();
        let mut moved = moved;
        let started = self.gang.started.clone();
        for lane in lanes(&live) {
            if started[lane] == self.gang.clock || self.gang.live[lane / 64] >> (lane % 64) & 1 == 0
            {
                continue;
            }
            let state = Self::state(&now, lane);
            self.reasoner.set_state(&state);
            let mut joint_move: Vec<MoveId> = Vec::new();
            for role in 0..self.n_roles {
                let role = RoleId::from_index(role);
                let legal = self.reasoner.legal_moves(role).to_vec();
                match phase.choices.iter().find(|choice| choice.role == role) {
                    Some(choice) => {
                        let rank = Self::number(&memory_rank(&mut moved, choice), lane);
                        let mut of_choice = choice.moves.iter().filter(|mv| legal.contains(mv));
                        joint_move.push(*of_choice.nth(rank).unwrap());
                    }
                    None => joint_move.push(legal[0]),
                }
            }
            let mut next = Vec::new();
            self.reasoner.next_state(&joint_move, &mut next);
            let bank = moved.now(self.gang.side).to_vec();
            assert_eq!(
                Self::state(&bank, lane),
                next,
                "next state of lane {lane} at {}",
                self.gang.clock
            );
        }
    }
}

fn memory_rank(memory: &mut Memory<4>, choice: &ChoicePlaces) -> Vec<Vector<4>> {
    memory.slots()[choice.rank.start as usize..choice.rank.end as usize].to_vec()
}

#[test]
fn dbg() {
    let file = std::env::var("G").unwrap();
    let network = network(&std::fs::read_to_string(file).unwrap());
    let budget = ground::Budget {
        until: None,
        max_bytes: 4 << 30,
    };
    let phases = propnet::phases(&network, budget);
    let mut checker = Checker::new(&network, phases.as_ref());
    for _ in 0..60 {
        checker.step();
    }
    println!("{}", checker.checked);
}
