//! Mixing: how roles choose that choose at the same time.
//!
//! Where nobody knows what the others are about to play, the best is often to play by chance. So
//! each role follows regret matching (Hart and Mas-Colell 2000): it plays each move in proportion
//! to how much better that move would have done so far than what it wanted to play, and what it
//! wanted to play on average approaches an equilibrium. In a tree the moves' results are taken from
//! what is known of the joint moves that they would have made (Lisý, Kovařík, Lanctot and Bošanský
//! 2013): means of many visits, which stray less than the one result at hand. A small part of the
//! visits goes to all moves alike, so that nothing is forgotten; it does not count as wanted.
//!
//! At first the moves below are played badly, and what is learned from that is to be forgotten
//! soon. So a regret never falls below 0, which lets a move come back as soon as it does better
//! (regret matching plus), and later visits count for more in what was wanted on average, each in
//! proportion to its number (both Tammelin 2014). What a role only tried must not be mistaken for
//! what it wants: what others do better against it counts by the chance that it was wanted.
//!
//! That is done where it is to be played, at the root. Below it each role goes by upper confidence
//! bounds as if it were alone: that comes to good moves much sooner where they are good whatever
//! the others do, which is so in most positions of most games. Mixing everywhere won a third of the
//! matches of Tron and a fifth of those of a bidding game against it.
//!
//! Invariants: joint moves are looked up, never enumerated: a visit costs a role as many look-ups
//! as it has moves, and a role with more than [`MANY`] moves goes by upper confidence bounds
//! instead. A move that is certainly no match for another is not played.
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

/// From this visit on, later ones no longer count for more: single precision would lose what they
/// add.
const LAST_TO_GROW: u32 = 1 << 20;

/// How far a mean moves to what this visit says, numbered from 1, where each counts in proportion
/// to its number.
#[inline]
fn step(visit: u32) -> f32 {
    2.0 / (visit.clamp(1, LAST_TO_GROW) + 1) as f32
}

/// How often a role wants to play each of its moves: in proportion to its regrets.
#[derive(Clone, Copy)]
struct Wish {
    /// The sum of all regrets.
    total: f32,
    /// The share of each move where there are none.
    even: f32,
}

impl Wish {
    /// The share of a move of this regret.
    #[inline]
    fn share(self, regret: f32) -> f32 {
        if self.total > 0.0 {
            regret / self.total
        } else {
            self.even
        }
    }
}

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
        self.visits_before = record.visits;
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
        let graph = &mut self.graph;
        let floor = graph.bounds[node][role].lower;
        let wish = graph.wish(choice, floor);
        let record = &graph.nodes[node];
        let visits = record.visits + record.in_flight;
        let step = step(visits.saturating_sub(self.visits_before));
        let random = &mut self.hands.random;
        let is_trial = fraction(random) < TRIALS;
        let mut left = fraction(random);
        let mut picked = None;
        let mut at = choice.first;
        while at.is_some() {
            let chunk = &mut graph.chunks[at];
            for slot in 0..chunk.len as usize {
                if chunk.upper[slot] < floor {
                    continue;
                }
                let wanted = wish.share(chunk.variances[slot]);
                chunk.shares[slot] += (wanted - chunk.shares[slot]) * step;
                let chance = if is_trial { wish.even } else { wanted };
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
    /// What a role wants to play among its tried moves that can still reach `floor`.
    fn wish(&self, choice: &Choice, floor: u8) -> Wish {
        let mut total = 0.0;
        let mut count = 0;
        for (_, chunk) in self.chunks_of(choice) {
            for slot in 0..chunk.len as usize {
                if chunk.upper[slot] >= floor {
                    total += chunk.variances[slot];
                    count += 1;
                }
            }
        }
        Wish {
            total,
            even: 1.0 / count.max(1) as f32,
        }
    }

    /// Notes, for each role that mixes in this node, how much better each of its moves would have
    /// done than what it wants to play, against what the others picked.
    pub(super) fn regret(&mut self, node: NodeId, picks: &[EntryId]) {
        let mut joint = std::mem::take(&mut self.joint);
        let mut chances = std::mem::take(&mut self.chances);
        joint.clear();
        joint.extend_from_slice(picks);
        chances.clear();
        chances.extend(picks.iter().map(|&pick| self.chance_of_wish(node, pick)));
        for index in 0..picks.len() {
            let others = chances[..index].iter().chain(&chances[index + 1..]);
            let weight = others.product();
            self.regret_of(node, index, weight, &mut joint);
        }
        self.joint = joint;
        self.chances = chances;
    }

    /// The chance that a role picked a move because it wanted to, and did not just try it.
    fn chance_of_wish(&self, node: NodeId, pick: EntryId) -> f32 {
        let (chunk, slot) = (&self.chunks[pick.chunk()], pick.slot());
        let role = chunk.role as usize;
        let choice = self.choice(node, role);
        if choice.legal > MANY {
            return 1.0;
        }
        let floor = self.bounds[node][role].lower;
        if chunk.upper[slot] < floor {
            return 0.0;
        }
        let wish = self.wish(choice, floor);
        let wanted = (1.0 - TRIALS) * wish.share(chunk.variances[slot]);
        wanted / (wanted + TRIALS * wish.even)
    }

    /// Notes the regrets of the role whose pick has this place in the joint move; what the others
    /// picked has a weight from 0 to 1.
    fn regret_of(&mut self, node: NodeId, index: usize, weight: f32, joint: &mut [EntryId]) {
        let pick = joint[index];
        let role = self.chunks[pick.chunk()].role as usize;
        let choice = *self.choice(node, role);
        if choice.legal > MANY {
            return;
        }
        let floor = self.bounds[node][role].lower;
        let wish = self.wish(&choice, floor);
        let mut worths = [None; MANY as usize];
        // What the role gets by what it wants to play, as far as that is known.
        let mut sum = 0.0;
        let mut shares = 0.0;
        for (entry, worth) in self.entries(&choice).zip(&mut worths) {
            joint[index] = entry;
            *worth = self.worth(node, role, joint, entry);
            let (chunk, slot) = (&self.chunks[entry.chunk()], entry.slot());
            if let Some(worth) = *worth
                && chunk.upper[slot] >= floor
            {
                let share = wish.share(chunk.variances[slot]);
                sum += share * worth;
                shares += share;
            }
        }
        joint[index] = pick;
        if shares <= 0.0 {
            return;
        }
        let wanted = sum / shares;
        let mut worths = worths.iter();
        let mut at = choice.first;
        while at.is_some() {
            let chunk = &mut self.chunks[at];
            for (slot, worth) in (0..chunk.len as usize).zip(&mut worths) {
                if let Some(worth) = worth {
                    let regret = &mut chunk.variances[slot];
                    *regret = (*regret + (worth - wanted) * weight).max(0.0);
                }
            }
            at = chunk.link;
        }
    }

    /// What is known that a role gets by a joint move; where nothing is, what it got by its own
    /// part of it.
    fn worth(&self, node: NodeId, role: usize, joint: &[EntryId], own: EntryId) -> Option<f32> {
        let child = self.child(node, joint);
        if child.is_some() && (self.nodes[child].visits > 0 || self.nodes[child].solved) {
            return Some(self.bounds[child][role].clamp(self.means[child][role]));
        }
        let (chunk, slot) = (&self.chunks[own.chunk()], own.slot());
        (chunk.visits[slot] > 0).then(|| chunk.means[slot])
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
