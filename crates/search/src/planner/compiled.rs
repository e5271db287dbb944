//! Networks made by the planner, compiled for lanes.

use std::sync::Arc;

use panza_machine::machine::lanes::compile::compile_expander;
use panza_machine::machine::lanes::expand::ExpanderLayout;
use panza_machine::machine::lanes::interpret::Features;
use panza_machine::propnet::Network;

/// Larger networks take seconds to compile.
const MAX_GATES: usize = 1 << 15;
/// Words of a vector.
const VECTOR_WORDS: usize = 8;

/// The network for lanes; `None` where it is too large.
pub(super) fn compiled(network: &Network) -> Option<Arc<ExpanderLayout>> {
    if network.gates.len() > MAX_GATES {
        return None;
    }
    let programs = compile_expander(network)?;
    let layout = ExpanderLayout::new(programs, Features::detect(), VECTOR_WORDS);
    Some(Arc::new(layout))
}
