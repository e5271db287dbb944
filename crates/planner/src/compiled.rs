//! Networks made by the planner, compiled for lanes.

use std::sync::Arc;

use panza_machine::ExpanderLayout;
use panza_machine::lanes::compile::compile_expander;
use panza_machine::lanes::interpret::Features;
use panza_propnet::Network;

/// Larger networks take seconds to compile.
const MAX_GATES: usize = 1 << 15;
/// Of more moves, derived networks take seconds too.
const MAX_MOVES: usize = 1 << 16;

/// Whether networks may be derived from this one, and compiled if they have few gates.
pub(super) fn may_derive(network: &Network) -> bool {
    network.gates.len() <= 4 * MAX_GATES && network.moves.len() <= MAX_MOVES
}
/// Words of a vector.
const VECTOR_WORDS: usize = 8;

/// The network for lanes; `None` where it is too large.
pub(super) fn compiled(network: &Network) -> Option<Arc<ExpanderLayout>> {
    if network.gates.len() > MAX_GATES || network.moves.len() > MAX_MOVES {
        return None;
    }
    let programs = compile_expander(network)?;
    let layout = ExpanderLayout::new(programs, Features::detect(), VECTOR_WORDS);
    Some(Arc::new(layout))
}
