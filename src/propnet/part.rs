//! A part of a game as a game of its own.
//!
//! The part has some of the bases, and for each role one move in place of several that do the same
//! in it. Where a gate asks for something in the part and for something elsewhere, what is
//! elsewhere is left out, which takes it for granted in a conjunction and for not to be in a
//! disjunction: a board is full when its own squares are, and won by its own lines. A move of the
//! part is legal when any of those that it stands for is, with what is asked elsewhere taken for
//! granted.

use super::build::BuildError;
use super::builder::Builder;
use super::network::{GateKind, Network, Node, Signal};
use super::tidy::tidied;
use crate::ground::Budget;
use crate::ids::{BaseId, GateId, Id, IdVec, MoveId, RoleId};

/// Gates between two looks at the budget.
const CHECK_EVERY: usize = 1 << 12;

/// What belongs to a part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selection {
    /// The part's bases; the place of each is its number in the part.
    pub bases: Vec<BaseId>,
    /// The part's moves, by role; the place of each is its number in the part. Each stands for some
    /// moves of the game, at least one, that do the same in the part. Moves of the game that none
    /// stands for are never made.
    pub moves: Vec<(RoleId, Vec<MoveId>)>,
}

/// The network of a part of a game.
///
/// # Errors
/// When the budget ends.
pub fn part(
    network: &Network,
    selection: &Selection,
    budget: Budget,
) -> Result<Network, BuildError> {
    let (n_bases, n_moves) = (selection.bases.len(), selection.moves.len());
    let mut base_of: IdVec<BaseId, Option<Signal>> = network.facts.iter().map(|_| None).collect();
    for (place, &base) in selection.bases.iter().enumerate() {
        base_of[base] = Some(Signal::of_node(1 + place));
    }
    // The first of those that a move stands for is made, and no other.
    let mut move_of: IdVec<MoveId, Signal> = network.moves.iter().map(|_| Signal::FALSE).collect();
    for (place, (_, members)) in selection.moves.iter().enumerate() {
        if let Some(&first) = members.first() {
            move_of[first] = Signal::of_node(1 + n_bases + place);
        }
    }
    let mut builder = Builder::new(n_bases + n_moves);
    let mut gates: IdVec<GateId, Option<Signal>> = network.gates.iter().map(|_| None).collect();
    let of = |signal: Signal, gates: &IdVec<GateId, Option<Signal>>| {
        let plain = match network.node(signal) {
            Node::False => Some(Signal::FALSE),
            Node::Base(base) => base_of[base],
            Node::Move(mv) => Some(move_of[mv]),
            Node::Gate(gate) => gates[gate],
        };
        plain.map(|plain| if signal.is_inverted() { !plain } else { plain })
    };
    let mut in_block = vec![false; network.gates.len()];
    for gate in network.blocks.iter().flatten() {
        in_block[gate.index()] = true;
    }
    let mut blocks = network.blocks.iter();
    let mut inputs: Vec<Signal> = Vec::new();
    for gate in network.gates.ids() {
        if gate.index().is_multiple_of(CHECK_EVERY) {
            builder.check(budget)?;
        }
        if in_block[gate.index()] {
            // A block's gates are consecutive, so its first gate stands for all.
            if gates[gate].is_none()
                && let Some(block) = blocks.next()
            {
                for &member in block {
                    gates[member] = Some(builder.reserve(network.gates[member].kind));
                }
                for &member in block {
                    inputs.clear();
                    inputs.extend(
                        network
                            .inputs(member)
                            .iter()
                            .filter_map(|&input| of(input, &gates)),
                    );
                    if let Some(signal) = gates[member] {
                        builder.fill(signal, &mut inputs);
                    }
                }
            }
            continue;
        }
        inputs.clear();
        inputs.extend(
            network
                .inputs(gate)
                .iter()
                .filter_map(|&input| of(input, &gates)),
        );
        gates[gate] = match network.gates[gate].kind {
            _ if inputs.is_empty() => None,
            GateKind::And => Some(builder.and(&mut inputs)),
            GateKind::Or => Some(builder.or(&mut inputs)),
        };
    }
    let next = selection.bases.iter();
    let next = next.map(|&base| of(network.next[base], &gates).unwrap_or(Signal::FALSE));
    let next = next.collect();
    let mut legal = IdVec::new();
    let mut alternatives: Vec<Signal> = Vec::new();
    for (_, members) in &selection.moves {
        alternatives.clear();
        let of_members = members.iter().map(|&mv| of(network.legal[mv], &gates));
        alternatives.extend(of_members.map(|legal| legal.unwrap_or(Signal::TRUE)));
        legal.push(builder.or(&mut alternatives));
    }
    let output = |signal: Signal| of(signal, &gates).unwrap_or(Signal::FALSE);
    let goals = network.goals.iter();
    let goals = goals.map(|&(role, value, signal)| (role, value, output(signal)));
    let goals = goals.collect();
    let place = |base: &BaseId| selection.bases.iter().position(|other| other == base);
    let terminal = output(network.terminal);
    let (gates, inputs) = builder.into_gates();
    Ok(tidied(Network {
        roles: network.roles.clone(),
        facts: selection
            .bases
            .iter()
            .map(|&base| network.facts[base].clone())
            .collect(),
        moves: selection
            .moves
            .iter()
            .map(|(role, members)| {
                let first = members.first();
                let text = first.map_or_else(String::new, |&first| network.moves[first].1.clone());
                (*role, text)
            })
            .collect(),
        initial: network
            .initial
            .iter()
            .filter_map(place)
            .map(BaseId::from_index)
            .collect(),
        next,
        legal,
        terminal,
        goals,
        gates,
        inputs,
        blocks: Vec::new(),
        sample: None,
        unweighed: None,
    }))
}
