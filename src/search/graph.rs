//! The game tree: nodes, their legal moves and statistics, and the links between them.
//!
//! A node is a state. It is *closed* when made: nobody has asked yet which moves are legal there. Opened, it has one
//! [`Choice`] per role: how many moves are legal, which were not tried yet, and an *entry* for each tried one with
//! its visits and mean score. A role with one legal move has no entries; a role with several is a *decider*. With one
//! decider, each entry names the child. With several, each keeps entries of its own (decoupled statistics: joint
//! moves are never enumerated) and children are found through a hash table keyed by the tuple of entries.
//!
//! ```text
//! node ──choices──▶ [Choice; roles] ──first──▶ chunk of 8 entries ──link──▶ chunk ...
//!   │                     └──untried──▶ run of 14 moves ──link──▶ run ...
//!   └──replies (several deciders)──▶ reply (tuple of entries, child) ──link──▶ reply ...
//! ```
//!
//! Bytes, for R roles and a state of W words: a closed node costs `44 + 6 R + 8 W`; opening it adds `4 + 20 R` and 64
//! for every 14 legal moves of a decider; every 8 tried moves take 168 more and every joint child `16 + 4 R`. So a
//! two-player game with 2-word states and 30 moves costs about 70 bytes for a leaf and 450 for a node visited a few
//! times.
//!
//! Entries live in chunks and never move, so that a path can name them while requests are under way. A path names a
//! node by id and *generation*, which changes when the node is freed; while the generation holds, its entries are
//! there, because only nodes that nothing in flight passes through are closed, unless the whole node is freed.
//!
//! Invariants: each node but the root and the garbage has one parent; `in_flight` of a node counts the paths under
//! way through it, and of an entry those that chose it, so that a node's is never below its child's; a freed node is
//! first cut off its parent, then waits in the garbage list until [`collect`](Graph::collect) gets to it.
//!
//! Never knows: how moves are selected, what a proof is, threads.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::config::SearchConfig;
use super::pool::{Budget, Linked, Place, Pool, SEGMENT, Strided};
use super::proof::Judgement;
use super::record::{
    Bare, BlockId, Bounds, Choice, ChoicesId, Chunk, ChunkId, ENTRIES, EntryId, Node, RUN, Reply,
    ReplyId, Run, RunId, SEVERAL,
};
use crate::ids::{MoveId, NodeId};

/// The tree.
pub(super) struct Graph {
    pub(super) roles: usize,
    /// The role that is searched for.
    pub(super) searcher: usize,
    /// See [`SearchConfig::fixed_sum`].
    pub(super) fixed_sum: Option<u32>,
    /// Where the search stands. None only before the first state is set.
    pub(super) root: NodeId,
    pub(super) nodes: Pool<NodeId, Node>,
    /// Mean score of each role over a node's visits.
    pub(super) means: Strided<NodeId, f32>,
    /// What is proven about each role's goal.
    pub(super) bounds: Strided<NodeId, Bounds>,
    pub(super) chunks: Pool<ChunkId, Chunk>,
    pub(super) choices: Strided<ChoicesId, Choice>,
    pub(super) choice_sets: Pool<ChoicesId, Bare<ChoicesId>>,
    pub(super) runs: Pool<RunId, Run>,
    blocks: Pool<BlockId, Bare<BlockId>>,
    words: Strided<BlockId, u64>,
    block_words: usize,
    pub(super) replies: Pool<ReplyId, Reply>,
    /// The tuple of entries of each reply, one per decider in role order.
    pub(super) reply_keys: Strided<ReplyId, EntryId>,
    /// Heads of the hash chains; made when the first node with several deciders needs them.
    pub(super) buckets: Vec<ReplyId>,
    pub(super) n_buckets: usize,
    budget: Budget,
    /// Subtrees cut off and not yet freed.
    pub(super) garbage: NodeId,
    /// Buffers of the proof rules.
    pub(super) judgement: Judgement,
    /// Times that memory was refused.
    pub(super) refused: u64,
    /// Nodes freed to make room.
    pub(super) recycled: u64,
}

impl Graph {
    /// An empty tree for `roles` roles and states of about `state_words` words.
    pub(super) fn new(
        config: &SearchConfig,
        roles: usize,
        searcher: usize,
        state_words: usize,
    ) -> Self {
        let block_words = state_words.max(1);
        let beside_node =
            Strided::<NodeId, f32>::row_bytes(roles) + Strided::<NodeId, Bounds>::row_bytes(roles);
        let beside_block = Strided::<BlockId, u64>::row_bytes(block_words);
        let node_bytes = size_of::<Node>() + beside_node + size_of::<BlockId>() + beside_block;
        let max_nodes = (config.max_nodes as usize)
            .min((config.max_bytes / 2 / node_bytes).max(SEGMENT))
            .max(2);
        Self {
            roles,
            searcher,
            fixed_sum: config.fixed_sum,
            root: NodeId::NONE,
            nodes: Pool::new(max_nodes, beside_node),
            means: Strided::new(roles),
            bounds: Strided::new(roles),
            chunks: Pool::new(u32::MAX as usize / ENTRIES, 0),
            choices: Strided::new(roles),
            choice_sets: Pool::new(max_nodes, Strided::<ChoicesId, Choice>::row_bytes(roles)),
            runs: Pool::new(usize::MAX, 0),
            blocks: Pool::new(usize::MAX, beside_block),
            words: Strided::new(block_words),
            block_words,
            replies: Pool::new(max_nodes, Strided::<ReplyId, EntryId>::row_bytes(roles)),
            reply_keys: Strided::new(roles),
            buckets: Vec::new(),
            n_buckets: (max_nodes / 2).next_power_of_two().max(SEGMENT),
            budget: Budget::new(config.max_bytes),
            garbage: NodeId::NONE,
            judgement: Judgement::default(),
            refused: 0,
            recycled: 0,
        }
    }

    /// Bytes taken so far.
    pub(super) fn bytes(&self) -> usize {
        self.budget.used()
    }

    /// Makes a fresh node for this state the root, and cuts the old tree off, to be freed bit by bit. There is always
    /// a root: where memory has run out, the old tree makes room at once, and a state too large for the bound is
    /// stored in spite of it.
    pub(super) fn plant(&mut self, state: &[u64], goals: Option<&[u8]>) {
        let old = std::mem::replace(&mut self.root, NodeId::NONE);
        if old.is_some() {
            self.discard(old);
        }
        let mut made = self.make_node(state, goals);
        if made.is_none() {
            self.collect(usize::MAX);
            let bound = self.budget.lift();
            made = self.make_node(state, goals);
            self.budget.restore(bound);
        }
        // The pool of nodes is empty now and holds at least two.
        self.root = made.expect("a node can be made in an empty tree");
    }

    /// Makes one of the root's descendants the root.
    pub(super) fn move_root(&mut self, child: NodeId) {
        let old = std::mem::replace(&mut self.root, child);
        self.discard(old);
    }

    /// A new closed node for a state, or a terminal one for the goals given.
    pub(super) fn make_node(&mut self, state: &[u64], goals: Option<&[u8]>) -> Option<NodeId> {
        let node = self.with_pressure(|graph| graph.nodes.allocate(&mut graph.budget))?;
        self.means.follow(self.nodes.segments());
        self.bounds.follow(self.nodes.segments());
        let generation = self.nodes[node].generation;
        self.nodes[node] = Node {
            generation,
            terminal: goals.is_some(),
            solved: goals.is_some(),
            ..Node::BLANK
        };
        self.means[node].fill(0.0);
        self.bounds[node].fill(Bounds::OPEN);
        match goals {
            Some(goals) => self.set_goals(node, goals),
            None => {
                if !self.store_state(node, state) {
                    self.nodes.release(node);
                    return None;
                }
            }
        }
        Some(node)
    }

    /// Makes a node terminal.
    pub(super) fn end(&mut self, node: NodeId, goals: &[u8]) {
        self.drop_state(node);
        self.set_goals(node, goals);
        self.nodes[node].terminal = true;
        self.nodes[node].solved = true;
        self.nodes[node].proof_length = 0;
    }

    fn set_goals(&mut self, node: NodeId, goals: &[u8]) {
        for (bounds, &goal) in self.bounds[node].iter_mut().zip(goals) {
            *bounds = Bounds::exact(goal);
        }
    }

    /// Writes the node's state, in place of the one it had. On `false` there was no memory, and it keeps the old one.
    pub(super) fn store_state(&mut self, node: NodeId, state: &[u64]) -> bool {
        let mut head = BlockId::NONE;
        // The last part is stored first, so that following the links gives the parts in order. An empty state still
        // takes one block.
        let parts = state.len().div_ceil(self.block_words).max(1);
        for part in (0..parts).rev() {
            let Some(block) = self.with_pressure(|graph| graph.blocks.allocate(&mut graph.budget))
            else {
                self.free_blocks(head);
                return false;
            };
            self.words.follow(self.blocks.segments());
            self.blocks[block].0 = head;
            head = block;
            let from = part * self.block_words;
            let words = &state[from..state.len().min(from + self.block_words)];
            self.words[block][..words.len()].copy_from_slice(words);
        }
        self.drop_state(node);
        self.nodes[node].state = head;
        self.nodes[node].state_words = state.len() as u32;
        true
    }

    /// The node's state. Games with states of one length get it without a copy, others through `buffer`.
    pub(super) fn state<'a>(&'a self, node: NodeId, buffer: &'a mut Vec<u64>) -> &'a [u64] {
        let words = self.nodes[node].state_words as usize;
        let mut block = self.nodes[node].state;
        debug_assert!(block.is_some(), "terminal nodes keep no state");
        if words <= self.block_words {
            return &self.words[block][..words];
        }
        buffer.clear();
        while block.is_some() {
            let rest = (words - buffer.len()).min(self.block_words);
            buffer.extend_from_slice(&self.words[block][..rest]);
            block = self.blocks[block].0;
        }
        buffer
    }

    pub(super) fn drop_state(&mut self, node: NodeId) {
        let head = std::mem::replace(&mut self.nodes[node].state, BlockId::NONE);
        self.free_blocks(head);
    }

    fn free_blocks(&mut self, mut head: BlockId) {
        while head.is_some() {
            let next = self.blocks[head].0;
            self.blocks.release(head);
            head = next;
        }
    }

    /// Opens a closed node: `legal` holds the moves of all roles one after the other, `ends` where each role's end.
    /// On `false` there was no memory, and the node stays closed.
    pub(super) fn open_with(&mut self, node: NodeId, legal: &[MoveId], ends: &[usize]) -> bool {
        debug_assert!(!self.nodes[node].is_open());
        let Some(set) = self.with_pressure(|graph| graph.choice_sets.allocate(&mut graph.budget))
        else {
            return false;
        };
        self.choices.follow(self.choice_sets.segments());
        self.choices[set].fill(Choice::default());
        let mut decider = None;
        let mut start = 0;
        for (role, &end) in ends.iter().enumerate() {
            let moves = &legal[start..end];
            start = end;
            self.choices[set][role].legal = moves.len() as u32;
            self.choices[set][role].sole = moves[0];
            if moves.len() > 1 {
                decider = Some(if decider.is_none() {
                    role as u16
                } else {
                    SEVERAL
                });
                for part in moves.chunks(RUN) {
                    let Some(run) =
                        self.with_pressure(|graph| graph.runs.allocate(&mut graph.budget))
                    else {
                        self.free_choices(set);
                        return false;
                    };
                    let link = self.choices[set][role].untried;
                    let record = &mut self.runs[run];
                    record.moves[..part.len()].copy_from_slice(part);
                    record.len = part.len() as u32;
                    record.link = link;
                    self.choices[set][role].untried = run;
                }
            }
        }
        self.nodes[node].choices = set;
        self.nodes[node].decider = decider.unwrap_or(SEVERAL);
        true
    }

    /// One role's legal moves in an open node.
    #[inline]
    pub(super) fn choice(&self, node: NodeId, role: usize) -> &Choice {
        &self.choices[self.nodes[node].choices][role]
    }

    /// Gives an entry to the next untried move. `None` when none is left or there is no memory.
    pub(super) fn try_next(&mut self, node: NodeId, role: usize) -> Option<EntryId> {
        let set = self.nodes[node].choices;
        let choice = self.choices[set][role];
        if !choice.has_untried() {
            return None;
        }
        let mut chunk = choice.first;
        if !chunk.is_some() || self.chunks[chunk].len as usize == ENTRIES {
            chunk = self.with_pressure(|graph| graph.chunks.allocate(&mut graph.budget))?;
            self.chunks[chunk] = Chunk {
                link: choice.first,
                role: role as u16,
                ..Chunk::BLANK
            };
            self.choices[set][role].first = chunk;
        }
        let run = &mut self.runs[choice.untried];
        run.len -= 1;
        let mv = run.moves[run.len as usize];
        if run.len == 0 {
            self.choices[set][role].untried = run.link;
            self.runs.release(choice.untried);
        }
        self.choices[set][role].tried += 1;
        let record = &mut self.chunks[chunk];
        let slot = record.len as usize;
        record.moves[slot] = mv;
        record.len += 1;
        Some(EntryId::new(chunk, slot))
    }

    /// The entries of a role's tried moves.
    pub(super) fn entries<'a>(
        &'a self,
        choice: &Choice,
    ) -> impl Iterator<Item = EntryId> + use<'a> {
        self.chunks_of(choice)
            .flat_map(|(id, chunk)| (0..chunk.len as usize).map(move |slot| EntryId::new(id, slot)))
    }

    /// The chunks of a role's tried moves, newest first.
    #[inline]
    pub(super) fn chunks_of<'a>(
        &'a self,
        choice: &Choice,
    ) -> impl Iterator<Item = (ChunkId, &'a Chunk)> + use<'a> {
        let mut next = choice.first;
        std::iter::from_fn(move || {
            let id = next;
            id.is_some().then(|| {
                let chunk = &self.chunks[id];
                next = chunk.link;
                (id, chunk)
            })
        })
    }

    /// The moves of a role that were not tried yet.
    pub(super) fn untried<'a>(&'a self, choice: &Choice) -> impl Iterator<Item = MoveId> + use<'a> {
        let mut next = choice.untried;
        std::iter::from_fn(move || {
            let id = next;
            id.is_some().then(|| {
                let run = &self.runs[id];
                next = run.link;
                &run.moves[..run.len as usize]
            })
        })
        .flatten()
        .copied()
    }

    /// The child that these entries, one per decider in role order, lead to.
    #[inline]
    pub(super) fn child(&self, node: NodeId, picks: &[EntryId]) -> NodeId {
        if self.nodes[node].decider != SEVERAL {
            let pick = picks[0];
            return self.chunks[pick.chunk()].children[pick.slot()];
        }
        let reply = self.find_reply(node, picks);
        if reply.is_some() {
            self.replies[reply].child
        } else {
            NodeId::NONE
        }
    }

    /// Links a child. On `false` there was no memory for the link.
    pub(super) fn set_child(&mut self, node: NodeId, picks: &[EntryId], child: NodeId) -> bool {
        if self.nodes[node].decider != SEVERAL {
            let pick = picks[0];
            self.chunks[pick.chunk()].children[pick.slot()] = child;
            return true;
        }
        let found = self.find_reply(node, picks);
        if found.is_some() {
            self.replies[found].child = child;
            return true;
        }
        if self.buckets.is_empty() {
            self.budget
                .take_anyway(self.n_buckets * size_of::<ReplyId>());
            self.buckets = vec![ReplyId::NONE; self.n_buckets];
        }
        let Some(reply) = self.with_pressure(|graph| graph.replies.allocate(&mut graph.budget))
        else {
            return false;
        };
        self.reply_keys.follow(self.replies.segments());
        let bucket = self.bucket(node, picks);
        self.replies[reply] = Reply {
            owner: node,
            child,
            next_in_bucket: self.buckets[bucket],
            link: self.nodes[node].replies,
        };
        self.reply_keys[reply][..picks.len()].copy_from_slice(picks);
        self.buckets[bucket] = reply;
        self.nodes[node].replies = reply;
        true
    }

    pub(super) fn bucket(&self, node: NodeId, picks: &[EntryId]) -> usize {
        let mut hasher = FxHasher::default();
        hasher.write_u32(node.0);
        for pick in picks {
            hasher.write_u32(pick.0);
        }
        hasher.finish() as usize & (self.n_buckets - 1)
    }

    fn find_reply(&self, node: NodeId, picks: &[EntryId]) -> ReplyId {
        if self.buckets.is_empty() {
            return ReplyId::NONE;
        }
        let mut at = self.buckets[self.bucket(node, picks)];
        while at.is_some() {
            let reply = &self.replies[at];
            if reply.owner == node && self.reply_keys[at][..picks.len()] == *picks {
                break;
            }
            at = reply.next_in_bucket;
        }
        at
    }

    /// All children that exist.
    pub(super) fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let record = &self.nodes[node];
        let decider = (record.is_open() && record.decider != SEVERAL)
            .then(|| self.choice(node, record.decider as usize));
        let mut next = record.replies;
        let replies = std::iter::from_fn(move || {
            let id = next;
            id.is_some().then(|| {
                next = self.replies[id].link;
                self.replies[id].child
            })
        });
        decider
            .into_iter()
            .flat_map(|choice| self.chunks_of(choice))
            .flat_map(|(_, chunk)| chunk.children[..chunk.len as usize].iter().copied())
            .chain(replies)
            .filter(|child| child.is_some())
    }

    /// Cuts the link to one child, wherever it is.
    pub(super) fn cut(&mut self, node: NodeId, child: NodeId) {
        let mut reply = self.nodes[node].replies;
        while reply.is_some() {
            if self.replies[reply].child == child {
                self.replies[reply].child = NodeId::NONE;
                return;
            }
            reply = self.replies[reply].link;
        }
        if self.nodes[node].is_open() && self.nodes[node].decider != SEVERAL {
            let mut at = self.choice(node, self.nodes[node].decider as usize).first;
            while at.is_some() {
                let chunk = &mut self.chunks[at];
                if let Some(slot) = chunk.children.iter().position(|&known| known == child) {
                    chunk.children[slot] = NodeId::NONE;
                    return;
                }
                at = chunk.link;
            }
        }
    }

    /// How many roles have a choice in an open node.
    pub(super) fn deciders(&self, node: NodeId) -> usize {
        self.choices[self.nodes[node].choices]
            .iter()
            .filter(|choice| choice.decides())
            .count()
    }

    /// Forgets that anything is under way, everywhere.
    pub(super) fn forget_flights(&mut self) {
        for node in self.nodes.all_mut() {
            node.in_flight = 0;
        }
        for chunk in self.chunks.all_mut() {
            chunk.in_flight = [0; ENTRIES];
        }
    }
}
