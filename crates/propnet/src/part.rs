//! A factor of a game as a network of its own.
//!
//! The factor has some of the bases, and for each role one move in place of several that have the
//! same effect in it. Inputs from outside the factor are left out: they count as true in a
//! conjunction and as false in a disjunction. So a board is full when its own squares are.
//! A move of the factor is legal when any of the moves that it stands for is.

use rustc_hash::FxHashMap;

use super::builder::{Builder, NetworkError};
use super::copy::copy_gates;
use super::network::{Network, Node, Signal};
use super::normalise::normalised;
use panza_gdl::{BaseId, Id, IdVec, MoveId, RoleId};
use panza_sync::Budget;

/// The bases and moves of a factor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selection {
    /// The factor's bases; the index of each is its number in the factor.
    pub bases: Vec<BaseId>,
    /// The factor's moves, by role; the index of each is its number in the factor. Each stands for
    /// at least one move of the game; several have the same effect in the factor. Moves of the game
    /// that none stands for are never made.
    pub moves: Vec<(RoleId, Vec<MoveId>)>,
}

/// The network of a factor of a game.
///
/// # Errors
/// When the budget ends.
pub fn part(
    network: &Network,
    selection: &Selection,
    budget: Budget<'_>,
) -> Result<Network, NetworkError> {
    let (n_bases, n_moves) = (selection.bases.len(), selection.moves.len());
    let mut base_of: IdVec<BaseId, Option<Signal>> = network.facts.iter().map(|_| None).collect();
    for (index, &base) in selection.bases.iter().enumerate() {
        base_of[base] = Some(Signal::of_node(1 + index));
    }
    // The first of the moves that a move of the factor stands for is made, and no other.
    let mut move_of: IdVec<MoveId, Signal> = network.moves.iter().map(|_| Signal::FALSE).collect();
    for (index, (_, members)) in selection.moves.iter().enumerate() {
        if let Some(&first) = members.first() {
            move_of[first] = Signal::of_node(1 + n_bases + index);
        }
    }
    let leaf = |signal: Signal| {
        let plain = match network.node(signal) {
            Node::Base(base) => base_of[base]?,
            Node::Move(mv) => move_of[mv],
            _ => return Some(signal),
        };
        Some(plain.inverted_if(signal.is_inverted()))
    };
    let mut builder = Builder::new(n_bases + n_moves, budget);
    let copies = copy_gates(network, &mut builder, &leaf, |builder, _, inputs, _| {
        (!inputs.is_empty()).then(|| builder.and(inputs))
    })?;
    let output = |signal: Signal| copies.of(signal).unwrap_or(Signal::FALSE);
    let next = selection.bases.iter();
    let next = next.map(|&base| output(network.next[base])).collect();
    let mut legal = IdVec::new();
    let mut alternatives: Vec<Signal> = Vec::new();
    for (_, members) in &selection.moves {
        alternatives.clear();
        let of_members = members.iter().map(|&mv| copies.of(network.legal[mv]));
        alternatives.extend(of_members.map(|legal| legal.unwrap_or(Signal::TRUE)));
        legal.push(builder.or(&mut alternatives));
    }
    let goals = network.goals.iter();
    let goals = goals.map(|&(role, value, signal)| (role, value, output(signal)));
    let goals = goals.collect();
    let terminal = output(network.terminal);
    let moves = selection.moves.iter().map(|(role, members)| {
        let first = members.first();
        let text = first.map_or_else(String::new, |&first| network.moves[first].1.clone());
        (*role, text)
    });
    let bases = selection.bases.iter().enumerate();
    let places: FxHashMap<BaseId, usize> = bases.map(|(place, &base)| (base, place)).collect();
    let index_of = |base: &BaseId| places.get(base).copied();
    let initial = network.initial.iter().filter_map(index_of);
    let facts = selection.bases.iter();
    let (gates, inputs) = builder.into_gates()?;
    normalised(
        Network {
            roles: network.roles.clone(),
            facts: facts.map(|&base| network.facts[base].clone()).collect(),
            moves: moves.collect(),
            initial: initial.map(BaseId::from_index).collect(),
            next,
            legal,
            terminal,
            goals,
            gates,
            inputs,
            blocks: Vec::new(),
            sample: None,
            unweighted: None,
        },
        budget,
    )
}
