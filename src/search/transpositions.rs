//! The transposition table, and the states of nodes.
//!
//! A chained hash table leads from a state to its node. States of varying length are stored as
//! chains of blocks; most games have states of one length, which take one block each.
//!
//! Invariant: a node is in the table exactly while it stores a state.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::graph::Graph;
use super::pool::PoolId;
use super::record::StateBlockId;
use crate::ids::NodeId;

impl Graph {
    /// The node of a state.
    pub(super) fn find(&self, state: &[u64]) -> Option<NodeId> {
        let hash = hash_of(state);
        let head = self.table[hash as usize & (self.table.len() - 1)];
        let mut at = NodeId(head.wrapping_sub(1));
        while at.is_some() {
            let node = &self.nodes[at];
            if node.hash == hash && self.has_state(at, state) {
                return Some(at);
            }
            at = node.next_in_bucket;
        }
        None
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
        let bucket = hash as usize & (self.table.len() - 1);
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
        let bucket = hash as usize & (self.table.len() - 1);
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
    /// `false` when memory is exhausted; the old state then stays. The node must be in flight, so
    /// that it is not evicted.
    pub(super) fn store_state(&mut self, node: NodeId, state: &[u64]) -> bool {
        let mut head = StateBlockId::NONE;
        // Built from the last block, so that the links lead through the words in order. An empty
        // state takes one block.
        let n_blocks = state.len().div_ceil(self.block_words).max(1);
        for index in (0..n_blocks).rev() {
            let Some(block) =
                self.with_eviction(|graph| graph.state_blocks.allocate(&mut graph.budget))
            else {
                self.free_state_blocks(head);
                return false;
            };
            self.state_words.grow_to(self.state_blocks.created);
            self.state_blocks[block].0 = head;
            head = block;
            let from = index * self.block_words;
            let words = &state[from..state.len().min(from + self.block_words)];
            self.state_words[block][..words.len()].copy_from_slice(words);
        }
        self.remove_from_table(node);
        self.free_state(node);
        self.nodes[node].state = head;
        self.nodes[node].state_words = state.len() as u32;
        self.insert_into_table(node, hash_of(state));
        true
    }

    fn has_state(&self, node: NodeId, state: &[u64]) -> bool {
        if self.nodes[node].state_words as usize != state.len() {
            return false;
        }
        let mut block = self.nodes[node].state;
        for words in state.chunks(self.block_words) {
            if self.state_words[block][..words.len()] != *words {
                return false;
            }
            block = self.state_blocks[block].0;
        }
        true
    }

    /// The state of a node that is not terminal. A state of several blocks is copied to `buffer`.
    pub(super) fn state<'a>(&'a self, node: NodeId, buffer: &'a mut Vec<u64>) -> &'a [u64] {
        let words = self.nodes[node].state_words as usize;
        let mut block = self.nodes[node].state;
        debug_assert!(block.is_some(), "terminal nodes store no state");
        if words <= self.block_words {
            return &self.state_words[block][..words];
        }
        buffer.clear();
        while block.is_some() {
            let rest = (words - buffer.len()).min(self.block_words);
            buffer.extend_from_slice(&self.state_words[block][..rest]);
            block = self.state_blocks[block].0;
        }
        buffer
    }

    pub(super) fn free_state(&mut self, node: NodeId) {
        let head = std::mem::replace(&mut self.nodes[node].state, StateBlockId::NONE);
        self.free_state_blocks(head);
    }

    fn free_state_blocks(&mut self, mut head: StateBlockId) {
        while head.is_some() {
            let next = self.state_blocks[head].0;
            self.state_blocks.release(head);
            head = next;
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
