//! The transposition table, and the states of nodes.
//!
//! A chained hash table leads from a state to its node.
//!
//! Invariant: a node is in the table exactly while it stores a state.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::graph::Graph;
use super::pool::PoolId;
use super::record::StateId;
use panza_gdl::NodeId;
use panza_sync::pages::prefetch;

impl Graph {
    /// The node of a state.
    pub(super) fn find(&self, state: &[u64]) -> Option<NodeId> {
        let hash = hash_of(state);
        let mut at = self.head(hash);
        while at.is_some() {
            let node = &self.nodes[at];
            if node.hash == hash && self.state(at) == state {
                return Some(at);
            }
            at = node.next_in_bucket;
        }
        None
    }

    #[inline]
    fn bucket(&self, hash: u32) -> usize {
        hash as usize & (self.table.len() - 1)
    }

    /// The first node of the chain of a hash.
    #[inline]
    fn head(&self, hash: u32) -> NodeId {
        NodeId(self.table[self.bucket(hash)].wrapping_sub(1))
    }

    /// Starts to load the bucket of a state.
    pub(super) fn prefetch_bucket(&self, state: &[u64]) {
        prefetch(&self.table[self.bucket(hash_of(state))]);
    }

    /// Starts to load the first node of the chain of a state, from its bucket.
    pub(super) fn prefetch_chain(&self, state: &[u64]) {
        let head = self.head(hash_of(state));
        if head.is_some() {
            prefetch(&self.nodes[head]);
        }
    }

    #[cfg(test)]
    pub(super) fn table_len(&self) -> usize {
        let mut count = 0;
        for &head in &self.table {
            let mut at = NodeId(head.wrapping_sub(1));
            while at.is_some() {
                count += 1;
                at = self.nodes[at].next_in_bucket;
            }
        }
        count
    }

    fn insert_into_table(&mut self, node: NodeId, hash: u32) {
        let bucket = self.bucket(hash);
        let head = std::mem::replace(&mut self.table[bucket], node.0 + 1);
        let record = &mut self.nodes[node];
        record.hash = hash;
        record.next_in_bucket = NodeId(head.wrapping_sub(1));
        record.in_table = true;
    }

    /// Removes a node from the table, if it is there.
    pub(super) fn remove_from_table(&mut self, node: NodeId) {
        let record = &mut self.nodes[node];
        if !std::mem::replace(&mut record.in_table, false) {
            return;
        }
        let (hash, next) = (record.hash, record.next_in_bucket);
        let bucket = self.bucket(hash);
        let head = NodeId(self.table[bucket].wrapping_sub(1));
        if head == node {
            self.table[bucket] = next.0.wrapping_add(1);
            return;
        }
        let mut at = head;
        while at.is_some() {
            let after = self.nodes[at].next_in_bucket;
            if after == node {
                self.nodes[at].next_in_bucket = next;
                return;
            }
            at = after;
        }
    }

    /// Stores the state of a node in place of its old one, and inserts the node into the table.
    /// `None` when memory is exhausted. The node must be in flight, so that it is not evicted.
    pub(super) fn store_state(&mut self, node: NodeId, state: &[u64]) -> Option<()> {
        if !self.nodes[node].state.is_some() {
            let row = self.with_eviction(|graph| {
                graph
                    .states
                    .grow_to(graph.state_rows.created_after_next())?;
                graph.state_rows.allocate(&mut graph.budget)
            })?;
            self.nodes[node].state = row;
        }
        let row = self.nodes[node].state;
        self.states[row].copy_from_slice(state);
        self.remove_from_table(node);
        self.insert_into_table(node, hash_of(state));
        Some(())
    }

    /// The state of a node that is not terminal.
    #[inline]
    pub(super) fn state(&self, node: NodeId) -> &[u64] {
        &self.states[self.nodes[node].state]
    }

    pub(super) fn free_state(&mut self, node: NodeId) {
        let row = std::mem::replace(&mut self.nodes[node].state, StateId::NONE);
        if row.is_some() {
            self.state_rows.release(row);
        }
    }
}

fn hash_of(state: &[u64]) -> u32 {
    let mut hasher = FxHasher::default();
    for &word in state {
        hasher.write_u64(word);
    }
    hasher.finish() as u32
}
