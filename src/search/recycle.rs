//! Giving memory back: freeing what was cut off, and making room in a full tree.
//!
//! A subtree that is cut off is freed a few nodes at a time, so that following the match causes no pause. When the tree
//! is full, what matters least is closed: the walk goes down from the root, at each node to the open child with the fewest visits, solved ones first, and
//! closes where only a little is lost. The closed node keeps its mean and its proof; what it loses are its moves and
//! the nodes below, which grow again if selection ever comes back.
//!
//! Invariant: a node that a path under way goes through is never closed, so that paths need not check entries.

use super::graph::Graph;
use super::pool::Place;
use super::record::{ChoicesId, Chunk, ChunkId, ENTRIES, Reply, ReplyId};
use crate::ids::NodeId;

/// A subtree with no more visits than the nodes in use divided by this is closed as a whole, in one go.
const SHARE: usize = 1024;

impl Graph {
    /// Puts a node that has no parent any more into the garbage.
    pub(super) fn discard(&mut self, node: NodeId) {
        self.nodes[node].link = self.garbage;
        self.garbage = node;
    }

    /// Frees up to `limit` nodes of the garbage and says how many.
    pub(super) fn collect(&mut self, limit: usize) -> usize {
        let mut freed = 0;
        while freed < limit && self.garbage.is_some() {
            let node = self.garbage;
            self.garbage = self.nodes[node].link;
            if self.nodes[node].is_open() {
                self.close(node);
            }
            self.drop_state(node);
            let record = &mut self.nodes[node];
            record.generation = record.generation.wrapping_add(1);
            record.in_flight = 0;
            self.nodes.release(node);
            freed += 1;
        }
        freed
    }

    /// Whether cut-off nodes wait to be freed.
    #[inline]
    pub(super) fn has_garbage(&self) -> bool {
        self.garbage.is_some()
    }

    /// Closes an open node: its children become garbage, its moves and their statistics are freed. What is proven
    /// about it and its mean stay.
    pub(super) fn close(&mut self, node: NodeId) {
        let mut reply = std::mem::replace(&mut self.nodes[node].replies, ReplyId::NONE);
        while reply.is_some() {
            let Reply { child, link, .. } = self.replies[reply];
            if child.is_some() {
                self.discard(child);
            }
            self.unchain(reply);
            self.replies.release(reply);
            reply = link;
        }
        let set = std::mem::replace(&mut self.nodes[node].choices, ChoicesId::NONE);
        for role in 0..self.roles {
            let mut chunk = self.choices[set][role].first;
            while chunk.is_some() {
                let Chunk { children, link, .. } = self.chunks[chunk];
                for child in children.into_iter().filter(|child| child.is_some()) {
                    self.discard(child);
                }
                self.chunks[chunk].in_flight = [0; ENTRIES];
                self.chunks.release(chunk);
                chunk = link;
            }
            self.choices[set][role].first = ChunkId::NONE;
        }
        self.free_choices(set);
    }

    /// Frees a role set whose entries are gone.
    pub(super) fn free_choices(&mut self, set: ChoicesId) {
        for role in 0..self.roles {
            let mut run = self.choices[set][role].untried;
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

    /// Tries to allocate, and again while room can be made.
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
        /// Nodes freed before trying again.
        const PORTION: usize = 64;
        /// Rounds of making room; each frees at least something.
        const ROUNDS: usize = 16;
        for _ in 0..ROUNDS {
            let mut freed = self.collect(PORTION);
            if freed == 0 && self.recycle() {
                freed = self.collect(PORTION);
                self.recycled += freed as u64;
                // A closed node gives back its moves even when it had no children.
                freed = freed.max(1);
            }
            if freed == 0 {
                break;
            }
            let found = allocate(self);
            if found.is_some() {
                return found;
            }
        }
        self.refused += 1;
        None
    }

    /// Closes one node, so that memory can be collected. `false` when nothing can be spared.
    pub(super) fn recycle(&mut self) -> bool {
        if !self.root.is_some() {
            return false;
        }
        // The least visited of the nodes that paths under way go through has the fewest idle nodes below it. When there
        // is none, the most visited is the likeliest to have some.
        self.recycle_below_busy(false) || self.recycle_below_busy(true)
    }

    /// The walk. Where every open child is busy, it goes on below the least or below the most visited.
    fn recycle_below_busy(&mut self, most_visited: bool) -> bool {
        let small = (self.nodes.in_use() / SHARE).clamp(2, 256) as u32;
        let mut at = self.root;
        loop {
            let mut idle = None;
            let mut busy = None;
            for child in self.children(at) {
                let node = &self.nodes[child];
                if node.is_open() {
                    let (best, visits) = if node.in_flight == 0 {
                        (&mut idle, node.visits)
                    } else if most_visited {
                        (&mut busy, u32::MAX - node.visits)
                    } else {
                        (&mut busy, node.visits)
                    };
                    let rank = (!node.solved, visits);
                    if best.is_none_or(|(known, _)| rank < known) {
                        *best = Some((rank, child));
                    }
                }
            }
            at = match (idle, busy) {
                (Some(((unsolved, visits), child)), _) => {
                    if !unsolved || visits <= small {
                        return self.give_up(child);
                    }
                    child
                }
                (None, Some((_, child))) => child,
                (None, None) => return self.give_up(at),
            };
        }
    }

    fn give_up(&mut self, node: NodeId) -> bool {
        let spared = node == self.root || self.nodes[node].in_flight > 0;
        if !spared {
            self.close(node);
        }
        !spared
    }
}
