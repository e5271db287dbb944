//! Eviction: making room in a full graph by the clock algorithm (Corbató 1968).
//!
//! When memory is exhausted, a clock hand sweeps over all nodes and frees those of least weight:
//! the visits, discounted by age, unless recent. The threshold doubles while the hand finds too
//! little. Nodes that the match left behind age and go first. The edges to an evicted node keep
//! their mean and bounds, and the node is created again when selected.
//!
//! Invariants: nodes in flight, the root and its children are never evicted; links to an evicted
//! node are recognised by its generation.

use super::graph::Graph;
use super::pool::PoolId;
use super::record::{EdgeBlockId, JointChildId, MoveBlockId, Node, RoleMovesId, SIMULTANEOUS};
use panza_gdl::{Id, NodeId};

/// Nodes evicted at a time.
const BATCH: usize = 256;
/// Nodes examined before the threshold doubles.
const NODES_PER_THRESHOLD: usize = 2048;
/// The visits of a node are halved this many times for each root since its last descent.
const HALVINGS_PER_AGE: u32 = 4;
/// A node is recent for as many descents as there are nodes, divided by this.
const RECENT_DIVISOR: u32 = 4;
/// From this threshold on, recent nodes are evicted too: hardly any others are left.
const RECENT_THRESHOLD: u32 = 1 << 10;

impl Node {
    /// Whether the record is in use.
    fn is_in_use(&self) -> bool {
        self.terminal || self.state.is_some()
    }
}

impl Graph {
    /// Allocates, and evicts nodes where that fails.
    #[inline]
    pub(super) fn with_eviction<I>(
        &mut self,
        mut allocate: impl FnMut(&mut Self) -> Option<I>,
    ) -> Option<I> {
        let first = allocate(self);
        if first.is_some() {
            return first;
        }
        self.evict_and_allocate(&mut allocate)
    }

    #[cold]
    fn evict_and_allocate<I>(
        &mut self,
        allocate: &mut dyn FnMut(&mut Self) -> Option<I>,
    ) -> Option<I> {
        /// Batches evicted before the allocation fails.
        const ROUNDS: usize = 16;
        for _ in 0..ROUNDS {
            let n_evicted = self.evict(BATCH);
            if n_evicted == 0 {
                break;
            }
            self.evicted += n_evicted as u64;
            let allocated = allocate(self);
            if allocated.is_some() {
                return allocated;
            }
        }
        self.allocation_failures += 1;
        None
    }

    /// Evicts about `wanted` nodes, fewer where no more can be evicted, and returns their number.
    fn evict(&mut self, wanted: usize) -> usize {
        let created = self.nodes.created;
        if created == 0 {
            return 0;
        }
        self.pin_root_children(true);
        let wanted = wanted.min(created / 8).max(1);
        let mut n_evicted = 0;
        let mut examined = 0;
        let mut at_this_threshold = 0;
        while n_evicted < wanted && self.eviction_threshold < u32::MAX {
            if examined >= 2 * created && n_evicted > 0 {
                break;
            }
            let node = NodeId::from_index(self.clock_hand as usize % created);
            self.clock_hand = (self.clock_hand + 1) % created as u32;
            examined += 1;
            at_this_threshold += 1;
            if self.is_evictable(node, created as u32) {
                self.free(node);
                n_evicted += 1;
            }
            if at_this_threshold >= NODES_PER_THRESHOLD.min(created) {
                at_this_threshold = 0;
                self.eviction_threshold =
                    self.eviction_threshold.saturating_mul(2).saturating_add(1);
            }
        }
        // Enough was found quickly: a lower threshold may do next time.
        if at_this_threshold < NODES_PER_THRESHOLD / 2 || self.eviction_threshold == u32::MAX {
            self.eviction_threshold /= 2;
        }
        self.pin_root_children(false);
        n_evicted
    }

    fn is_evictable(&self, node: NodeId, created: u32) -> bool {
        let record = &self.nodes[node];
        if !record.is_in_use() || record.in_flight > 0 || record.pinned || node == self.root {
            return false;
        }
        let age = self.age.wrapping_sub(record.age);
        let weight = record
            .visits
            .checked_shr(u32::from(age).saturating_mul(HALVINGS_PER_AGE))
            .unwrap_or(0);
        let descents = self.descent.wrapping_sub(record.last_descent);
        let is_recent = age == 0
            && descents < created / RECENT_DIVISOR
            && self.eviction_threshold < RECENT_THRESHOLD;
        weight <= self.eviction_threshold && !is_recent
    }

    fn pin_root_children(&mut self, pinned: bool) {
        if !self.root.is_some() {
            return;
        }
        let mut children = std::mem::take(&mut self.root_children);
        if pinned {
            children.clear();
            children.extend(self.children(self.root));
        }
        for &child in &children {
            self.nodes[child].pinned = pinned;
        }
        self.root_children = children;
    }

    fn free(&mut self, node: NodeId) {
        if self.nodes[node].is_expanded() {
            self.collapse(node);
        }
        self.remove_from_table(node);
        self.free_state(node);
        let record = &mut self.nodes[node];
        record.terminal = false;
        record.generation = record.generation.wrapping_add(1);
        if record.generation == u16::MAX {
            self.retired += 1;
        } else {
            self.nodes.release(node);
        }
    }

    /// Frees the moves of an expanded node with their statistics. Its values and bounds stay.
    pub(super) fn collapse(&mut self, node: NodeId) {
        let mut at = std::mem::replace(&mut self.nodes[node].joint_children, JointChildId::NONE);
        while at.is_some() {
            let next = self.joint_children[at].link;
            self.unlink_joint_child(at);
            self.joint_children.release(at);
            at = next;
        }
        let record = &mut self.nodes[node];
        let set = std::mem::replace(&mut record.role_moves, RoleMovesId::NONE);
        record.first_block = EdgeBlockId::NONE;
        record.untried = MoveBlockId::NONE;
        record.mover = SIMULTANEOUS;
        self.free_role_moves(set);
    }

    /// Frees the moves of all roles of a node, with and without edges.
    pub(super) fn free_role_moves(&mut self, set: RoleMovesId) {
        for role in 0..self.roles {
            let role_moves = std::mem::take(&mut self.role_moves[set][role]);
            let mut at = role_moves.first_block;
            while at.is_some() {
                let next = self.edge_blocks[at].link;
                self.edge_blocks.release(at);
                at = next;
            }
            let mut at = role_moves.untried;
            while at.is_some() {
                let next = self.move_blocks[at].link;
                self.move_blocks.release(at);
                at = next;
            }
        }
        self.role_moves_pool.release(set);
    }

    /// Removes a joint child from its hash chain.
    fn unlink_joint_child(&mut self, id: JointChildId) {
        let record = self.joint_children[id];
        // A key has one edge per role with a choice; the rest of its row is unused.
        let n_movers = self.n_movers(record.parent);
        let key = &self.joint_child_edges[id][..n_movers];
        let bucket = self.joint_child_bucket(record.parent, key);
        if self.joint_child_buckets[bucket] == id {
            self.joint_child_buckets[bucket] = record.next_in_bucket;
            return;
        }
        let mut at = self.joint_child_buckets[bucket];
        while at.is_some() {
            let next = self.joint_children[at].next_in_bucket;
            if next == id {
                self.joint_children[at].next_in_bucket = record.next_in_bucket;
                return;
            }
            at = next;
        }
    }
}
