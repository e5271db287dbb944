//! The game over packed states: an expander whose states are those of a store.
//!
//! Invariant: a state is the packed state of [`Packing`], unless its overflow bit is on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::compiled::{compiled, may_derive};
use super::packing::Packing;
use panza_machine::lanes::expand::GoalScope;
use panza_machine::{Expander, ExpanderLayout};
use panza_propnet::Network;
use panza_sync::Budget;

/// Time to build the network.
const BUILD_TIME: Duration = Duration::from_secs(1);

pub(super) struct PackedGame {
    layout: Arc<ExpanderLayout>,
    packing: Arc<Packing>,
    overflow: usize,
    has_overflowed: AtomicBool,
}

impl PackedGame {
    /// The game over states packed in this way; `None` where it is too large.
    pub fn new(network: &Network, packing: &Arc<Packing>) -> Option<Self> {
        let overflow = packing.free_bit()?;
        if !may_derive(network) {
            return None;
        }
        let n_bits = packing.n_words().max(overflow / 64 + 1) * 64;
        let limits = Budget::lasting(BUILD_TIME);
        let fields = packing.binary_fields();
        let network = panza_propnet::packed(network, &fields, n_bits, overflow, &limits)?;
        Some(Self {
            layout: compiled(&network)?,
            packing: Arc::clone(packing),
            overflow,
            has_overflowed: AtomicBool::new(false),
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

    /// Whether a successor did not fit. From then on the game [is unfit](Self::is_unfit).
    pub fn overflows(&self, packed: &[u64]) -> bool {
        let overflows = packed[self.overflow / 64] >> (self.overflow % 64) & 1 == 1;
        if overflows {
            self.has_overflowed.store(true, Ordering::Relaxed);
        }
        overflows
    }

    /// Whether some state did not fit.
    pub fn is_unfit(&self) -> bool {
        self.has_overflowed.load(Ordering::Relaxed)
    }
}
