//! Keyed updates: rare changes of the next state as lists instead of gates.

use rustc_hash::{FxHashMap, FxHashSet};

use super::phase::PhaseSpecialiser;
use super::{KeyedUpdate, SpecialisedPhase};
use crate::network::{Node, Signal};
use panza_gdl::BaseId;

/// Keys are used when at most one in so many is true at the start, and at least so many bases
/// depend on each.
const MIN_SPARSITY: usize = 8;

/// The keys that clear a base, and the keys that set it, each with its condition.
type ClearsAndSets = (Vec<Signal>, Vec<(Signal, Signal)>);

impl PhaseSpecialiser<'_, '_> {
    /// Replaces propagated next values by keyed updates where that pays.
    ///
    /// A next value `(base ∧ ¬c ∧ …) ∨ (k ∧ s) ∨ …`, k being a base, needs no gates: `c` clears the
    /// base, and `k` sets it if `s` is on. It pays where many bases depend on few keys, hardly any
    /// of which is on at a time.
    pub(super) fn key_updates(&mut self, propagated: &[BaseId], phase: &mut SpecialisedPhase) {
        let mut clears: FxHashMap<Signal, Vec<BaseId>> = FxHashMap::default();
        let mut sets: FxHashMap<Signal, Vec<(BaseId, Signal)>> = FxHashMap::default();
        let mut keyed = Vec::new();
        for &base in propagated {
            let Some((cleared_by, set_by)) = self.decompose(base, phase.next[base]) else {
                continue;
            };
            keyed.push(base);
            for key in cleared_by {
                clears.entry(key).or_default().push(base);
            }
            for (key, signal) in set_by {
                sets.entry(key).or_default().push((base, signal));
            }
        }
        let initial: FxHashSet<BaseId> = self.network.initial.iter().copied().collect();
        let n_initial = sets
            .keys()
            .filter(|&&key| match self.network.node(key) {
                Node::Base(base) => initial.contains(&base),
                _ => true,
            })
            .count();
        let is_sparse = MIN_SPARSITY * n_initial <= sets.len();
        if !is_sparse || keyed.len() < MIN_SPARSITY * (clears.len() + sets.len()) {
            return;
        }
        let mut keys: Vec<Signal> = clears.keys().chain(sets.keys()).copied().collect();
        keys.sort_unstable();
        keys.dedup();
        for base in keyed {
            phase.next[base] = Signal::of_base(base);
        }
        phase.keyed = keys
            .into_iter()
            .map(|key| KeyedUpdate {
                key,
                clears: clears.remove(&key).unwrap_or_default(),
                sets: sets.remove(&key).unwrap_or_default(),
            })
            .collect();
    }

    /// A base's [`ClearsAndSets`]; `None` when its next value has another form.
    fn decompose(&mut self, base: BaseId, next: Signal) -> Option<ClearsAndSets> {
        if !next.is_inverted() {
            return None;
        }
        let itself = Signal::of_base(base);
        let none = self.builder.and_inputs(next)?.to_vec();
        let (mut clears, mut sets) = (Vec::new(), Vec::new());
        let mut stays = false;
        for term in none.into_iter().map(|term| !term) {
            if term == itself {
                stays = true;
                clears.clear();
                continue;
            }
            if term.is_inverted() {
                return None;
            }
            let mut inputs = self.builder.and_inputs(term)?.to_vec();
            if inputs.contains(&itself) {
                if stays {
                    return None;
                }
                stays = true;
                clears = inputs
                    .iter()
                    .filter(|&&input| input != itself)
                    .map(|&input| !input)
                    .collect();
                continue;
            }
            let is_key = |input: &Signal| {
                !input.is_inverted() && matches!(self.network.node(*input), Node::Base(_))
            };
            let key = inputs.remove(inputs.iter().position(is_key)?);
            sets.push((key, self.builder.and(&mut inputs)));
        }
        stays.then_some((clears, sets))
    }
}
