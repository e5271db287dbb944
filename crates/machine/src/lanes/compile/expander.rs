//! The programs of an expander: the next state of a joint move, and the evaluation of a state.
//!
//! Results that are not always requested, legal moves and goals, have programs of their own. Each
//! move that the next state depends on has a slot, which is on in the lanes that make the move.
//! Every result has a slot too, even if it is constant.
//!
//! Invariants: all programs are of the whole game, so they hold for every state and every joint
//! move, reachable and legal or not. Only the caller writes the slots of moves. Never uses: how
//! lanes are filled and read.

use super::block::are_monotone;
use super::circuit::{Circuit, Literal};
use super::cover::LutCover;
use super::{
    MAX_OPERATIONS, SectionedProgram, current_bases, goal_program, is_small_enough, leaves_under,
    n_operations, sectioned_programs,
};
use crate::lanes::program::Location;
use panza_gdl::{IdVec, MoveId, RoleId};
use panza_propnet::{Network, Signal};

/// The programs of an expander.
#[derive(Clone, Debug)]
pub struct ExpanderPrograms {
    /// Computes the next state from the state and the moves.
    pub step: SectionedProgram,
    /// Computes terminality.
    pub end: SectionedProgram,
    /// Computes the legal moves, after `end` was run on the same state.
    pub legal: SectionedProgram,
    /// Computes the goals. It preserves the slots of the others.
    pub goals: SectionedProgram,
    /// The slot of each move; `None` where the next state does not depend on it.
    pub moves: IdVec<MoveId, Option<u32>>,
    /// Slots of moves: these, from the first on.
    pub n_made: u32,
    /// The slot for terminality.
    pub terminal: u32,
    /// The slots for legal moves.
    pub legal_slots: Vec<LegalSlots>,
    /// Role, value and slot of each goal; in each lane at most one of a role's is on.
    pub goal_slots: Vec<(RoleId, u8, u32)>,
    /// The number of named slots.
    pub n_slots: u32,
    /// The vectors of a state.
    pub n_bases: usize,
}

/// The slots of one role's legal moves.
#[derive(Clone, Debug)]
pub struct LegalSlots {
    /// The slot of the first move; the others follow.
    pub first: u32,
    /// The moves that can be legal, in rising order.
    pub moves: Vec<MoveId>,
}

/// Compiles the whole game's network for an expander. `None` when the programs would be too large.
pub fn compile_expander(network: &Network) -> Option<ExpanderPrograms> {
    if !is_small_enough(network) || !are_monotone(network) {
        return None;
    }
    let programs = with_evaluation(network, step(network));
    let ran = [
        &programs.step,
        &programs.end,
        &programs.legal,
        &programs.goals,
    ];
    let n_operations: usize = ran.into_iter().map(|piece| n_operations(piece)).sum();
    (n_operations <= MAX_OPERATIONS).then_some(programs)
}

struct StepProgram {
    program: SectionedProgram,
    moves: IdVec<MoveId, Option<u32>>,
    n_made: u32,
    n_slots: u32,
}

fn step(network: &Network) -> StepProgram {
    let next: Vec<Signal> = network.next.iter().copied().collect();
    let mut moves: IdVec<MoveId, Option<u32>> = network.moves.iter().map(|_| None).collect();
    let mut n_made = 0;
    for mv in leaves_under(network, &next).1 {
        moves[mv] = Some(n_made);
        n_made += 1;
    }
    let mut circuit = Circuit::new();
    let mut cover = LutCover::new(network, current_bases(network, &mut circuit), &next, n_made);
    for (mv, &slot) in moves.enumerate() {
        if let Some(slot) = slot {
            cover.set_move(mv, circuit.location(Location::Slot(slot)));
        }
    }
    let loops = cover.make(&mut circuit, &next);
    let outputs = network
        .next
        .enumerate()
        .map(|(base, &signal)| (cover.literal(signal), Location::Next(base.0)))
        .collect();
    let (pieces, n_slots) = sectioned_programs(&circuit, vec![(loops, outputs)], cover.n_slots());
    StepProgram {
        program: pieces.into_iter().next().unwrap_or_default(),
        moves,
        n_made,
        n_slots,
    }
}

/// Adds the programs that evaluate a state, in slots of their own.
fn with_evaluation(network: &Network, step: StepProgram) -> ExpanderPrograms {
    let mut next_slot = step.n_slots;
    let mut slots = |count: usize| {
        let start = next_slot;
        next_slot += count as u32;
        start
    };
    let terminal = slots(1);
    let legal_slots: Vec<LegalSlots> = network
        .roles
        .ids()
        .map(|role| {
            let can_be_legal =
                |&mv: &MoveId| network.moves[mv].0 == role && network.legal[mv] != Signal::FALSE;
            let moves: Vec<MoveId> = network.legal.ids().filter(can_be_legal).collect();
            LegalSlots {
                first: slots(moves.len()),
                moves,
            }
        })
        .collect();
    let possible = legal_slots.iter().flat_map(|role| &role.moves);
    let legal_signals: Vec<Signal> = possible.map(|&mv| network.legal[mv]).collect();
    let mut signals = vec![network.terminal];
    signals.extend(&legal_signals);
    let mut circuit = Circuit::new();
    let bases = current_bases(network, &mut circuit);
    let mut cover = LutCover::new(network, bases, &signals, next_slot);
    let end_loops = cover.make(&mut circuit, &[network.terminal]);
    let end_outputs = vec![(cover.literal(network.terminal), Location::Slot(terminal))];
    let legal_loops = cover.make(&mut circuit, &legal_signals);
    let mut legal_outputs: Vec<(Literal, Location)> = Vec::with_capacity(legal_signals.len());
    for role in &legal_slots {
        for (&mv, slot) in role.moves.iter().zip(role.first..) {
            legal_outputs.push((cover.literal(network.legal[mv]), Location::Slot(slot)));
        }
    }
    let (programs, n_slots) = sectioned_programs(
        &circuit,
        vec![(end_loops, end_outputs), (legal_loops, legal_outputs)],
        cover.n_slots(),
    );
    let [end, legal] = <[SectionedProgram; 2]>::try_from(programs).unwrap_or_default();
    let mut goal_circuit = Circuit::new();
    let goal_bases = current_bases(network, &mut goal_circuit);
    let (goals, goal_slots, n_slots) = goal_program(network, goal_circuit, goal_bases, n_slots, 0);
    ExpanderPrograms {
        step: step.program,
        end,
        legal,
        goals,
        moves: step.moves,
        n_made: step.n_made,
        terminal,
        legal_slots,
        goal_slots,
        n_slots,
        n_bases: network.facts.len(),
    }
}
