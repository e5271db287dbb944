//! The programs of an expander: what a joint move makes of a state, and what there is to say about
//! a state.
//!
//! What is not always asked for has a program of its own: legal moves, which go on from what the
//! program of the end has worked out, and goals.
//!
//! Other than a gang's, these programs choose nothing. Each move that the next state hangs on has a
//! slot, which is on in the lanes that make the move; and every answer has a slot of its own,
//! constant ones too, so that whoever reads them needs to know nothing else.
//!
//! Invariants: all programs are of the whole game, so they hold for every state and every joint
//! move, reachable and legal or not. The slots of moves are written by nobody but the caller. Never
//! knows: how lanes are filled and read.

use super::circuit::{Circuit, Literal};
use super::cover::Cover;
use super::{
    MAX_OPERATIONS, Piece, highest_goals, is_small_enough, n_operations, pieces, visit_under,
};
use crate::ids::{BaseId, IdVec, MoveId, RoleId};
use crate::machine::lanes::program::Place;
use crate::propnet::{Network, Node, Signal};

/// A game as the programs of an expander.
#[derive(Clone, Debug)]
pub struct ExpanderPrograms {
    /// Makes the next state of the state and the moves.
    pub step: Piece,
    /// Says whether the game is over.
    pub end: Piece,
    /// Says which moves are legal, after `end` was run on the same state.
    pub legal: Piece,
    /// Says what the goals are. It leaves what the others said as it is.
    pub goals: Piece,
    /// The slot that says whether a move is made; nothing where the next state does not hang on it.
    pub moves: IdVec<MoveId, Option<u32>>,
    /// Slots of moves: these, from the first on.
    pub n_made: u32,
    /// The slot that `end` sets where the game is over.
    pub terminal: u32,
    /// The slots that `legal` sets where moves are legal.
    pub legal_places: Vec<LegalPlaces>,
    /// The slots that `goals` sets where a role's goal has a value; in each lane at most one of a
    /// role's is on.
    pub goal_places: Vec<(RoleId, u8, u32)>,
    /// Slots that are named.
    pub n_slots: u32,
    /// Vectors of a state.
    pub n_bases: usize,
}

/// Where one role's legal moves are told.
#[derive(Clone, Debug)]
pub struct LegalPlaces {
    /// The slot of the first move; the others follow.
    pub first: u32,
    /// The moves that can be legal, in rising order.
    pub moves: Vec<MoveId>,
}

/// Compiles the whole game's network for an expander. Nothing when the programs would be too large.
pub fn compile_expander(network: &Network) -> Option<ExpanderPrograms> {
    if !is_small_enough(network) {
        return None;
    }
    let programs = with_looks(network, step(network));
    let ExpanderPrograms {
        step,
        end,
        legal,
        goals,
        ..
    } = &programs;
    let n_operations: usize = [step, end, legal, goals]
        .map(|piece| n_operations(piece))
        .iter()
        .sum();
    (n_operations <= MAX_OPERATIONS).then_some(programs)
}

/// The program of a step.
struct Step {
    piece: Piece,
    moves: IdVec<MoveId, Option<u32>>,
    n_made: u32,
    n_slots: u32,
}

fn step(network: &Network) -> Step {
    let next: Vec<Signal> = network.next.iter().copied().collect();
    let mut moves: IdVec<MoveId, Option<u32>> = network.moves.iter().map(|_| None).collect();
    let mut n_made = 0;
    for mv in moves_under(network, &next) {
        moves[mv] = Some(n_made);
        n_made += 1;
    }
    let mut circuit = Circuit::new();
    let mut cover = Cover::new(network, bases(network, &mut circuit), &next, n_made);
    for (mv, &slot) in moves.enumerate() {
        if let Some(slot) = slot {
            cover.set_move(mv, circuit.place(Place::Slot(slot)));
        }
    }
    let loops = cover.make(&mut circuit, &next);
    let outputs = network
        .next
        .enumerate()
        .map(|(base, &signal)| (cover.literal(signal), Place::Next(base.0)))
        .collect();
    let (pieces, n_slots) = pieces(&circuit, vec![(loops, outputs)], cover.n_slots());
    Step {
        piece: pieces.into_iter().next().unwrap_or_default(),
        moves,
        n_made,
        n_slots,
    }
}

/// The programs that look at a state beside that of a step, in slots of their own.
fn with_looks(network: &Network, step: Step) -> ExpanderPrograms {
    let mut next_slot = step.n_slots;
    let mut slots = |count: usize| {
        let start = next_slot;
        next_slot += count as u32;
        start
    };
    let terminal = slots(1);
    let legal_places: Vec<LegalPlaces> = network
        .roles
        .ids()
        .map(|role| {
            let can_be_legal =
                |&mv: &MoveId| network.moves[mv].0 == role && network.legal[mv] != Signal::FALSE;
            let moves: Vec<MoveId> = network.legal.ids().filter(can_be_legal).collect();
            LegalPlaces {
                first: slots(moves.len()),
                moves,
            }
        })
        .collect();
    let possible = legal_places.iter().flat_map(|role| &role.moves);
    let legal_signals: Vec<Signal> = possible.map(|&mv| network.legal[mv]).collect();
    let mut signals = vec![network.terminal];
    signals.extend(&legal_signals);
    let mut circuit = Circuit::new();
    let bases = bases(network, &mut circuit);
    let mut cover = Cover::new(network, bases, &signals, next_slot);
    let end_loops = cover.make(&mut circuit, &[network.terminal]);
    let end_outputs = vec![(cover.literal(network.terminal), Place::Slot(terminal))];
    let legal_loops = cover.make(&mut circuit, &legal_signals);
    let mut legal_outputs: Vec<(Literal, Place)> = Vec::with_capacity(legal_signals.len());
    for role in &legal_places {
        for (&mv, slot) in role.moves.iter().zip(role.first..) {
            legal_outputs.push((cover.literal(network.legal[mv]), Place::Slot(slot)));
        }
    }
    let (looks, n_slots) = pieces(
        &circuit,
        vec![(end_loops, end_outputs), (legal_loops, legal_outputs)],
        cover.n_slots(),
    );
    let [end, legal] = <[Piece; 2]>::try_from(looks).unwrap_or_default();
    let (goals, goal_places, n_slots) = goals(network, n_slots);
    ExpanderPrograms {
        step: step.piece,
        end,
        legal,
        goals,
        moves: step.moves,
        n_made: step.n_made,
        terminal,
        legal_places,
        goal_places,
        n_slots,
        n_bases: network.facts.len(),
    }
}

/// The program of goals, where its slots are, and the first slot above them; `first_slot` is the
/// first that is free.
fn goals(network: &Network, first_slot: u32) -> (Piece, Vec<(RoleId, u8, u32)>, u32) {
    let signals: Vec<Signal> = network.goals.iter().map(|&(_, _, signal)| signal).collect();
    let mut circuit = Circuit::new();
    let bases = bases(network, &mut circuit);
    let mut cover = Cover::new(network, bases, &signals, first_slot);
    let loops = cover.make(&mut circuit, &signals);
    let highest = highest_goals(network, &mut circuit, &cover);
    let first = cover.n_slots();
    let mut outputs: Vec<(Literal, Place)> = Vec::with_capacity(highest.len());
    let mut places = Vec::with_capacity(highest.len());
    for ((role, value, literal), slot) in highest.into_iter().zip(first..) {
        outputs.push((literal, Place::Slot(slot)));
        places.push((role, value, slot));
    }
    let n_named = first + places.len() as u32;
    let (goals, n_slots) = pieces(&circuit, vec![(loops, outputs)], n_named);
    let goals = goals.into_iter().next().unwrap_or_default();
    (goals, places, n_slots)
}

/// Each base as the state at hand has it.
fn bases(network: &Network, circuit: &mut Circuit) -> IdVec<BaseId, Literal> {
    let bases = network.facts.ids();
    bases
        .map(|base| circuit.place(Place::Now(base.0)))
        .collect()
}

/// The moves that signals hang on, in rising order.
fn moves_under(network: &Network, signals: &[Signal]) -> Vec<MoveId> {
    let mut moves = Vec::new();
    visit_under(network, signals, |node| {
        if let Node::Move(mv) = node {
            moves.push(mv);
        }
    });
    moves.sort_unstable();
    moves
}
