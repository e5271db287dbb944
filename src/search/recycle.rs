//! Making room in a full graph.
//!
//! When memory runs out, a hand goes round over all nodes, as in the clock algorithm of page
//! caches, and frees those that matter least: few visits, not met lately, or not met since the
//! match moved on. So following the match takes no time at all: what it left behind is simply not
//! met again, and goes first. A freed node takes its moves and their statistics with it; the
//! entries that lead to it keep their mean and their proof, and the node grows again if selection
//! ever comes back.
//!
//! Invariants: a node that something under way goes through, the root and its children are never
//! freed; whoever still names a freed node sees by its generation that it is gone.
//!
//! Never knows: who asks for the memory.

use super::graph::Graph;
use super::pool::Place;
use super::record::{ChoicesId, ChunkId, Node, Reply, ReplyId, RunId, SEVERAL};
use crate::ids::{Id, NodeId};

/// Nodes freed at a time.
const PORTION: usize = 256;
/// Nodes looked at before the hand asks for less.
const LOOKED_AT: usize = 2048;
/// For each position of the match since a node was met, so many powers of two of its visits count
/// for nothing.
const FORGOTTEN: u32 = 4;
/// What was met within as many descents as there are nodes, divided by this, is spared as long as
/// there is anything else.
const LATELY: u32 = 4;

impl Node {
    /// Whether the record is in use.
    fn is_alive(&self) -> bool {
        self.terminal || self.state.is_some()
    }
}

impl Graph {
    /// Tries to allocate, and again when room was made.
    #[inline]
    pub(super) fn with_pressure<I>(
        &mut self,
        mut allocate: impl FnMut(&mut Self) -> Option<I>,
    ) -> Option<I> {
        let first = allocate(self);
        if first.is_some() {
            return first;
        }
        self.allocate_pressed(&mut allocate)
    }

    #[cold]
    fn allocate_pressed<I>(
        &mut self,
        allocate: &mut dyn FnMut(&mut Self) -> Option<I>,
    ) -> Option<I> {
        /// Rounds of making room; each frees at least something.
        const ROUNDS: usize = 16;
        for _ in 0..ROUNDS {
            let freed = self.make_room(PORTION);
            if freed == 0 {
                break;
            }
            self.recycled += freed as u64;
            let found = allocate(self);
            if found.is_some() {
                return found;
            }
        }
        self.refused += 1;
        None
    }

    /// Frees about so many nodes, fewer where that many cannot be spared, and says how many.
    fn make_room(&mut self, wanted: usize) -> usize {
        self.spare_children_of_root(true);
        let made = self.nodes.made();
        let wanted = wanted.min(made / 8).max(1);
        let mut freed = 0;
        let mut looked_at = 0;
        let mut since_asking_less = 0;
        while freed < wanted && self.threshold < u32::MAX {
            if looked_at >= 2 * made && freed > 0 {
                break;
            }
            let node = NodeId::from_index(self.hand as usize % made);
            self.hand = (self.hand + 1) % made as u32;
            looked_at += 1;
            since_asking_less += 1;
            if self.can_go(node, made as u32) {
                self.free(node);
                freed += 1;
            }
            if since_asking_less >= LOOKED_AT.min(made) {
                since_asking_less = 0;
                self.threshold = self.threshold.saturating_mul(2).saturating_add(1);
            }
        }
        // Much was found at once: less may be enough next time.
        if since_asking_less < LOOKED_AT / 2 || self.threshold == u32::MAX {
            self.threshold /= 2;
        }
        self.spare_children_of_root(false);
        freed
    }

    /// Whether a node matters so little that it may be freed.
    fn can_go(&self, node: NodeId, made: u32) -> bool {
        let record = &self.nodes[node];
        if !record.is_alive() || record.in_flight > 0 || record.spared || node == self.root {
            return false;
        }
        let pages = self.page.wrapping_sub(record.page);
        let worth = record
            .visits
            .checked_shr(pages.saturating_mul(FORGOTTEN))
            .unwrap_or(0);
        let since = self.descent.wrapping_sub(record.descent);
        // A threshold far beyond what is usual says that hardly anything else is left.
        let lately = pages == 0 && since < made / LATELY && self.threshold < 1 << 10;
        worth <= self.threshold && !lately
    }

    fn spare_children_of_root(&mut self, spared: bool) {
        if !self.root.is_some() {
            return;
        }
        let mut children = std::mem::take(&mut self.children_of_root);
        if spared {
            children.clear();
            children.extend(self.children(self.root));
        }
        for &child in &children {
            self.nodes[child].spared = spared;
        }
        self.children_of_root = children;
    }

    /// Frees every node that nothing under way goes through, the root too.
    pub(super) fn free_all_idle(&mut self) {
        for index in 0..self.nodes.made() {
            let node = NodeId::from_index(index);
            let record = &self.nodes[node];
            if record.is_alive() && record.in_flight == 0 {
                self.free(node);
            }
        }
    }

    /// Frees a node and all that belongs to it alone.
    fn free(&mut self, node: NodeId) {
        if self.nodes[node].is_open() {
            self.close(node);
        }
        self.unlist(node);
        self.drop_state(node);
        let record = &mut self.nodes[node];
        record.terminal = false;
        record.generation = record.generation.wrapping_add(1);
        // All generations of a retired node are used up, so that none can come twice.
        if record.generation == u16::MAX {
            self.retired += 1;
        } else {
            self.nodes.release(node);
        }
    }

    /// Closes an open node: its moves and their statistics are freed. What is proven about it and
    /// its mean stay.
    pub(super) fn close(&mut self, node: NodeId) {
        let mut reply = std::mem::replace(&mut self.nodes[node].replies, ReplyId::NONE);
        while reply.is_some() {
            let Reply { link, .. } = self.replies[reply];
            self.unchain(reply);
            self.replies.release(reply);
            reply = link;
        }
        let record = &mut self.nodes[node];
        let set = std::mem::replace(&mut record.choices, ChoicesId::NONE);
        record.first = ChunkId::NONE;
        record.untried = RunId::NONE;
        record.decider = SEVERAL;
        self.free_choices(set);
    }

    /// Frees a role set with its entries and untried moves.
    pub(super) fn free_choices(&mut self, set: ChoicesId) {
        for role in 0..self.roles {
            let mut chunk = std::mem::replace(&mut self.choices[set][role].first, ChunkId::NONE);
            while chunk.is_some() {
                let next = self.chunks[chunk].link;
                self.chunks.release(chunk);
                chunk = next;
            }
            let mut run = std::mem::replace(&mut self.choices[set][role].untried, RunId::NONE);
            while run.is_some() {
                let next = self.runs[run].link;
                self.runs.release(run);
                run = next;
            }
        }
        self.choice_sets.release(set);
    }

    /// Takes a reply out of its hash chain.
    fn unchain(&mut self, reply: ReplyId) {
        let record = self.replies[reply];
        // In nodes with fewer deciders than roles, the last places of a key are not in use.
        let deciders = self.deciders(record.owner);
        let bucket = self.bucket(record.owner, &self.reply_keys[reply][..deciders]);
        if self.buckets[bucket] == reply {
            self.buckets[bucket] = record.next_in_bucket;
            return;
        }
        let mut at = self.buckets[bucket];
        while at.is_some() {
            let next = self.replies[at].next_in_bucket;
            if next == reply {
                self.replies[at].next_in_bucket = record.next_in_bucket;
                return;
            }
            at = next;
        }
    }
}
