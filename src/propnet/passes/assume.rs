//! What is left of a network when some bases are known.
//!
//! Known bases become constants. A move whose `legal` then never holds is never made, and when one
//! move alone of a role may be legal it is always made, so these become constants as well. Sound in
//! every state in which the bases have the assumed values, for legal joint moves; a state in which
//! a role has no legal move at all ends the game before anything that follows from its move is
//! asked for.

use std::sync::Arc;

use super::{Sample, rewrite_with};
use crate::ground::Budget;
use crate::ids::{BaseId, IdVec, MoveId, RoleId};
use crate::propnet::{BuildError, Network, Node, Signal};

/// The network under the assumption that these bases have these values.
///
/// # Errors
/// When the budget ends.
pub fn assume(
    network: &Network,
    known: &[(BaseId, bool)],
    budget: Budget,
) -> Result<Network, BuildError> {
    let mut bases: IdVec<BaseId, Option<bool>> = network.facts.iter().map(|_| None).collect();
    known
        .iter()
        .for_each(|&(base, value)| bases[base] = Some(value));
    let no_moves: IdVec<MoveId, Option<bool>> = network.moves.iter().map(|_| None).collect();
    let whole = network.unweighed.as_deref().unwrap_or(network);
    let without_bases = with_constants(whole, &bases, &no_moves, budget)?;
    let mut n_possible: IdVec<RoleId, usize> = network.roles.iter().map(|_| 0).collect();
    for (mv, &legal) in without_bases.legal.enumerate() {
        n_possible[network.moves[mv].0] += usize::from(legal != Signal::FALSE);
    }
    let moves = without_bases
        .legal
        .enumerate()
        .map(|(mv, &legal)| match legal {
            Signal::FALSE => Some(false),
            _ => (n_possible[network.moves[mv].0] == 1).then_some(true),
        })
        .collect();
    let mut assumed = with_constants(&without_bases, &bases, &moves, budget)?;
    // Play cannot be followed on the assumed network, since the next state need not be one of its
    // own.
    let sample = network.sample.as_ref();
    let seen = sample.map_or_else(Sample::unknown, |sample| sample.assuming(known));
    assumed.sample = Some(Arc::new(seen));
    Ok(assumed)
}

fn with_constants(
    network: &Network,
    bases: &IdVec<BaseId, Option<bool>>,
    moves: &IdVec<MoveId, Option<bool>>,
    budget: Budget,
) -> Result<Network, BuildError> {
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
