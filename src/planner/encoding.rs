//! The game over packed states: an expander whose states are those of a store.
//!
//! Invariant: a state is the packed state of [`Packing`], with the overflow bit off.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::packing::Packing;
use crate::machine::Expander;
use crate::machine::lanes::compile::compile_expander;
use crate::machine::lanes::expand::{ExpanderLayout, GoalScope};
use crate::machine::lanes::interpret::Features;
use crate::propnet::{self, Network};

/// Time to build the network.
const BUILD_TIME: Duration = Duration::from_secs(1);
/// Networks of more gates before the passes are not tried.
const MAX_GATES: usize = 1 << 17;
/// Networks of more gates after them take seconds to compile.
const MAX_COMPILED_GATES: usize = 1 << 15;
/// Words of a vector.
const VECTOR_WORDS: usize = 8;

pub(super) struct Encoding {
    layout: Arc<ExpanderLayout>,
    packing: Arc<Packing>,
    overflow: usize,
}

impl Encoding {
    /// The game over states packed in this way; `None` where it is too large.
    pub fn new(network: &Network, packing: &Arc<Packing>) -> Option<Self> {
        let overflow = packing.free_bit()?;
        if network.gates.len() > MAX_GATES {
            return None;
        }
        let n_bits = packing.n_words().max(overflow / 64 + 1) * 64;
        let until = Instant::now() + BUILD_TIME;
        let network = propnet::encoded(network, &packing.binary_fields(), n_bits, overflow, until)?;
        let network = Some(network).filter(|network| network.gates.len() <= MAX_COMPILED_GATES)?;
        let programs = compile_expander(&network)?;
        Some(Self {
            layout: Arc::new(ExpanderLayout::new(
                programs,
                Features::detect(),
                VECTOR_WORDS,
            )),
            packing: Arc::clone(packing),
            overflow,
        })
    }

    pub fn expander(&self) -> Box<dyn Expander> {
        self.layout.expander(GoalScope::Terminal)
    }

    /// How stores keep packed states: as they are.
    pub fn packing(&self) -> Packing {
        Packing::kept(self.layout.state_words(), self.packing.key_words())
    }

    /// The packed state; `None` if the state does not fit.
    pub fn pack(&self, state: &[u64]) -> Option<Vec<u64>> {
        let mut packed = vec![0; self.layout.state_words()];
        let n_words = self.packing.n_words();
        (self.packing.pack(state, &mut packed[..n_words])).then_some(packed)
    }

    /// Appends the state that is packed.
    pub fn unpack(&self, packed: &[u64], state: &mut Vec<u64>) {
        self.packing
            .unpack(&packed[..self.packing.n_words()], state);
    }

    /// Whether a successor did not fit.
    pub fn has_overflowed(&self, packed: &[u64]) -> bool {
        packed[self.overflow / 64] >> (self.overflow % 64) & 1 == 1
    }
}
