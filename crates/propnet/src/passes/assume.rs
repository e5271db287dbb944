//! The network under an assumption: some bases have known values.
//!
//! Known bases become constants, and so do moves whose legality is then constant: a move that is
//! never legal is never made, and a role's only move always is. Sound in every state in which the
//! bases have the assumed values, for legal joint moves. A state in which a role has no legal move
//! ends the game before its successor is evaluated.

use super::rewrite_with;
use crate::{Network, NetworkError, Node, Signal};
use panza_gdl::{BaseId, IdVec, MoveId};
use panza_sync::Budget;

/// The network under the assumption that these bases have these values.
pub(crate) fn assume(
    network: &Network,
    known: &[(BaseId, bool)],
    budget: &Budget,
) -> Result<Network, NetworkError> {
    let mut bases: IdVec<BaseId, Option<bool>> = network.facts.iter().map(|_| None).collect();
    known
        .iter()
        .for_each(|&(base, value)| bases[base] = Some(value));
    let no_moves: IdVec<MoveId, Option<bool>> = network.moves.iter().map(|_| None).collect();
    let without_bases = with_constants(network, &bases, &no_moves, budget)?;
    let moves = without_bases.forced_moves();
    with_constants(&without_bases, &bases, &moves, budget)
}

fn with_constants(
    network: &Network,
    bases: &IdVec<BaseId, Option<bool>>,
    moves: &IdVec<MoveId, Option<bool>>,
    budget: &Budget,
) -> Result<Network, NetworkError> {
    let substitute = |signal: Signal| {
        let value = match network.node(signal) {
            Node::Base(base) => bases[base],
            Node::Move(mv) => moves[mv],
            _ => None,
        };
        match value {
            None => signal,
            Some(value) if value != signal.is_inverted() => Signal::TRUE,
            Some(_) => Signal::FALSE,
        }
    };
    rewrite_with(network, budget, &substitute, |context, inputs| {
        context.builder.and(inputs)
    })
}
