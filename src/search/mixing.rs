//! Mixing: how roles choose that choose at the same time.
//!
//! Where nobody knows what the others are about to play, the best is often to play by chance. So each role follows
//! regret matching (Hart and Mas-Colell 2000): it plays each move in proportion to how much better that move would
//! have done so far than what was played, and what it wanted to play on average approaches an equilibrium. In a tree the
//! other moves' results are taken from what is known of the joint moves that they would have made (Lisý, Kovařík,
//! Lanctot and Bošanský 2013). A small part of the visits goes to all moves alike, so that nothing is forgotten; it does not
//! count as wanted.
//!
//! That is done where it is to be played, at the root. Below it each role goes by upper confidence bounds as if it were alone: that
//! comes to good moves much sooner where they are good whatever the others do, which is so in most positions of most games.
//! Mixing everywhere won a third of the matches of Tron and a fifth of those of a bidding game against it.
//!
//! Invariants: joint moves are looked up, never enumerated: a visit costs a role as many look-ups as it has moves, and a
//! role with more than [`MANY`] moves goes by upper confidence bounds instead. A move that is certainly no match for
//! another is not played.
//!
//! Never knows: what a proof is made of, threads.

use super::Search;
use super::graph::Graph;
use super::pool::Place;
use super::record::{Choice, ENTRIES, EntryId, SEVERAL};
use crate::ids::NodeId;
use crate::machine::random::Random;

/// A role with more moves than this goes by upper confidence bounds.
pub(super) const MANY: u32 = 32;
/// The part of the visits in which a role tries any move.
const TRIALS: f32 = 0.1;
/// A share so much smaller than the greatest is taken for noise, and not played.
const NOISE: f32 = 0.1;

/// A number from 0 to below 1.
pub(super) fn fraction(random: &mut Random) -> f32 {
    (random.bits() >> 40) as f32 / (1u64 << 24) as f32
}

impl Search {
    /// Whether roles mix their moves in a node.
    #[inline]
    pub(super) fn mixes(&self, node: NodeId) -> bool {
        self.config.mixing && node == self.graph.root
    }

    /// Starts to mix in a root that was searched below another one so far.
    pub(super) fn begin_mixing(&mut self) {
        let root = self.graph.root;
        let record = &self.graph.nodes[root];
        if !self.config.mixing || !record.is_open() || record.decider != SEVERAL {
            return;
        }
        for role in 0..self.graph.roles {
            let mut at = self.graph.choice(root, role).first;
            while at.is_some() {
                let chunk = &mut self.graph.chunks[at];
                chunk.variances = [0.0; ENTRIES];
                chunk.shares = [0.0; ENTRIES];
                at = chunk.link;
            }
        }
    }

    /// The entry that a role picks by regret matching among its tried moves.
    pub(super) fn mix(&mut self, node: NodeId, role: usize, choice: &Choice) -> Option<EntryId> {
        let floor = self.graph.bounds[node][role].lower;
        let graph = &mut self.graph;
        let mut total = 0.0;
        let mut count = 0;
        let mut at = choice.first;
        while at.is_some() {
            let chunk = &graph.chunks[at];
            for slot in 0..chunk.len as usize {
                if chunk.upper[slot] >= floor {
                    total += chunk.variances[slot].max(0.0);
                    count += 1;
                }
            }
            at = chunk.link;
        }
        let random = &mut self.hands.random;
        let is_trial = fraction(random) < TRIALS;
        let even = 1.0 / count.max(1) as f32;
        let mut left = fraction(random);
        let mut picked = None;
        let mut at = choice.first;
        while at.is_some() {
            let chunk = &mut graph.chunks[at];
            for slot in 0..chunk.len as usize {
                if chunk.upper[slot] < floor {
                    continue;
                }
                let wanted = if total > 0.0 {
                    chunk.variances[slot].max(0.0) / total
                } else {
                    even
                };
                chunk.shares[slot] += wanted;
                let chance = if is_trial { even } else { wanted };
                // Rounding may leave a little at the end: then the last possible move is picked.
                if left >= 0.0 && chance > 0.0 {
                    picked = Some(EntryId::new(at, slot));
                    left -= chance;
                }
            }
            at = chunk.link;
        }
        picked
    }
}

impl Graph {
    /// Notes, for each role that mixes in this node, how much better its other moves would have done than the result.
    pub(super) fn regret(&mut self, node: NodeId, picks: &[EntryId], values: &[f32]) {
        let mut joint = std::mem::take(&mut self.joint);
        joint.clear();
        joint.extend_from_slice(picks);
        for (index, &pick) in picks.iter().enumerate() {
            let role = self.chunks[pick.chunk()].role as usize;
            let choice = *self.choice(node, role);
            if choice.legal > MANY {
                continue;
            }
            let mut at = choice.first;
            while at.is_some() {
                let link = self.chunks[at].link;
                for slot in 0..self.chunks[at].len as usize {
                    let entry = EntryId::new(at, slot);
                    if entry == pick {
                        continue;
                    }
                    joint[index] = entry;
                    let child = self.child(node, &joint);
                    let chunk = &self.chunks[at];
                    let known = child.is_some()
                        && (self.nodes[child].visits > 0 || self.nodes[child].solved);
                    let worth = if known {
                        self.bounds[child][role].clamp(self.means[child][role])
                    } else if chunk.visits[slot] > 0 {
                        chunk.means[slot]
                    } else {
                        continue;
                    };
                    self.chunks[at].variances[slot] += worth - values[role];
                }
                at = link;
            }
            joint[index] = pick;
        }
        self.joint = joint;
    }

    /// How often a role wants to play each tried move, by entry; nothing where it does not mix.
    pub(super) fn mixture(&self, choice: &Choice, floor: u8) -> Vec<(EntryId, f32)> {
        if choice.legal > MANY {
            return Vec::new();
        }
        let mut shares: Vec<(EntryId, f32)> = self
            .entries(choice)
            .filter(|entry| self.chunks[entry.chunk()].upper[entry.slot()] >= floor)
            .map(|entry| (entry, self.chunks[entry.chunk()].shares[entry.slot()]))
            .collect();
        let greatest = shares.iter().map(|&(_, share)| share).fold(0.0, f32::max);
        shares.retain(|&(_, share)| share > NOISE * greatest);
        let total: f32 = shares.iter().map(|&(_, share)| share).sum();
        for (_, share) in &mut shares {
            *share /= total;
        }
        shares
    }
}
