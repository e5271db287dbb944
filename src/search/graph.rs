//! The game graph: nodes, their legal moves and statistics, and the links between them.
//!
//! A node is a state, and a state is one node, by whatever moves it was reached: a table finds it
//! by a hash, and the whole state is compared. A node is *closed* while nobody has asked which
//! moves are legal there. Opened, it has one [`Choice`] per role: how many moves are legal, which
//! have no entry yet, and an *entry* for each other one with its visits and mean score. A role with
//! one legal move has no entries; a role with several is a *decider*. With one decider, each entry
//! names the child. With several, each keeps entries of its own (decoupled statistics: joint moves
//! are never enumerated) and children are found through a hash table keyed by the tuple of entries.
//!
//! ```text
//! table ─▶ node ──choices──▶ [Choice; roles] ──first──▶ chunk of 8 entries ──link──▶ chunk ...
//!           │                     └──untried──▶ run of 14 moves ──link──▶ run ...
//!           └──replies (several deciders)──▶ reply (tuple of entries, child) ──link──▶ reply ...
//! ```
//!
//! Bytes, for R roles and a state of W words: a closed node costs `72 + 6 R + 8 W`; opening it adds
//! `4 + 20 R` and 256 for every 8 entries, 64 for every 14 legal moves without one; every joint
//! child costs `20 + 4 R`. So a two-player game with 2-word states and 8 moves costs about 400
//! bytes for each open node. The table of states takes 4 to 8 more for each node there may be.
//!
//! Entries live in chunks and never move, so that a path can name them while requests are under
//! way. Whoever names a node (a path, an entry, a reply) names its *generation* too, which changes
//! when the node is freed: links to freed nodes are not hunted down, they are recognised. A node is
//! freed only while nothing under way passes through it, so while the generation holds, its entries
//! are there.
//!
//! Invariants: a node that is not terminal is in the table once, unless two forced lines came to
//! one state; `in_flight` of a node counts the paths under way through it, and of an entry those
//! that chose it.
//!
//! Never knows: how moves are selected, what a proof is, threads.

use std::hash::Hasher;
use std::sync::Arc;

use rustc_hash::FxHasher;

use super::config::SearchConfig;
use super::pool::{ALWAYS, Budget, Linked, Place, Pool, Strided};
use super::proof::Judgement;
use super::record::{
    Bare, BlockId, Bounds, Choice, ChoicesId, Chunk, ChunkId, ENTRIES, EntryId, Node, RUN, Reply,
    ReplyId, Run, RunId, SEVERAL,
};
use crate::analysis::score_ranges::ScoreRange;
use crate::ids::{Id, MoveId, NodeId};

/// Which moves of a fresh node get entries at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entries {
    None,
    /// All, in their order.
    All,
    /// The one with this index among the moves of the only decider; the others are not kept, since
    /// it is certain that it is as good as any.
    Only(usize),
}

/// The graph.
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
    /// Heads of the hash chains of states, a node's number and one more; 0 where there is none.
    table: Vec<u32>,
    /// Counts the positions of the match that were searched.
    pub(super) page: u32,
    /// Counts descents.
    pub(super) descent: u32,
    /// The node that is looked at next when room has to be made, and how little it must matter to
    /// be freed.
    pub(super) hand: u32,
    pub(super) threshold: u32,
    /// Those that are spared while room is made.
    pub(super) children_of_root: Vec<NodeId>,
    /// Nodes that are not used again.
    pub(super) retired: u64,
    /// What each move came to, wherever it was played: the mean for its role, and how often, up to
    /// a bound that lets old results be forgotten. Empty where nobody asks.
    pub(super) averages: Vec<(f32, f32)>,
    pub(super) uses_averages: bool,
    /// How much what a position promises counts beside playouts.
    pub(super) evaluation_share: f32,
    /// What settled facts make certain.
    score_ranges: Arc<[ScoreRange]>,
    /// Room for a joint move.
    pub(super) joint: Vec<EntryId>,
    /// Room for the chances that the moves of a joint move were wanted.
    pub(super) chances: Vec<f32>,
    /// Room for moves in random order.
    pub(super) shuffled: Vec<MoveId>,
    /// Room for goals, and for bounds.
    pub(super) goals: Vec<u8>,
    pub(super) facts: Vec<Bounds>,
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
            .min((config.max_bytes / 2 / node_bytes).max(ALWAYS))
            .max(2);
        let n_buckets = max_nodes.next_power_of_two().max(ALWAYS);
        let mut budget = Budget::new(config.max_bytes);
        budget.take_anyway(n_buckets * size_of::<u32>());
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
            n_buckets: (max_nodes / 2).next_power_of_two().max(ALWAYS),
            budget,
            // Zeros come from the system and take no memory until they are written over.
            table: vec![0; n_buckets],
            page: 0,
            descent: 0,
            hand: 0,
            threshold: 1,
            children_of_root: Vec::new(),
            retired: 0,
            averages: Vec::new(),
            uses_averages: config.move_averages,
            evaluation_share: config.evaluation_share,
            score_ranges: Arc::clone(&config.score_ranges),
            joint: Vec::new(),
            chances: Vec::new(),
            shuffled: Vec::new(),
            goals: Vec::new(),
            facts: Vec::new(),
            judgement: Judgement::default(),
            refused: 0,
            recycled: 0,
        }
    }

    /// Bytes taken so far.
    pub(super) fn bytes(&self) -> usize {
        self.budget.used()
    }

    /// The node of a state, made if there is none yet, becomes the root. There is always a root:
    /// where memory has run out, all that can be spared makes room, and a state too large for the
    /// bound is stored in spite of it.
    pub(super) fn plant(&mut self, state: &[u64], goals: Option<&[u8]>) {
        self.page = self.page.wrapping_add(1);
        if goals.is_none()
            && let Some(known) = self.find(state)
        {
            self.root = known;
            return;
        }
        self.root = NodeId::NONE;
        let mut made = self.make_node(state, goals);
        if made.is_none() {
            let bound = self.budget.lift();
            made = self.make_node(state, goals);
            if made.is_none() {
                self.free_all_idle();
                made = self.make_node(state, goals);
            }
            self.budget.restore(bound);
        }
        // Paths under way may hold all nodes there are. Then the pool takes one more.
        self.root = made.unwrap_or_else(|| self.make_node_beyond(state, goals));
    }

    /// Makes a known node the root.
    pub(super) fn move_root(&mut self, node: NodeId) {
        self.page = self.page.wrapping_add(1);
        self.root = node;
    }

    fn make_node_beyond(&mut self, state: &[u64], goals: Option<&[u8]>) -> NodeId {
        let bound = self.budget.lift();
        let limit = self.nodes.raise_limit();
        let made = self.make_node(state, goals);
        self.nodes.restore_limit(limit);
        self.budget.restore(bound);
        made.expect("without bounds there is memory for a node")
    }

    /// A new closed node for a state, or a terminal one for the goals given.
    pub(super) fn make_node(&mut self, state: &[u64], goals: Option<&[u8]>) -> Option<NodeId> {
        let node = self.with_pressure(|graph| graph.nodes.allocate(&mut graph.budget))?;
        self.means.follow(self.nodes.made());
        self.bounds.follow(self.nodes.made());
        let generation = self.nodes[node].generation;
        self.nodes[node] = Node {
            generation,
            page: self.page,
            terminal: goals.is_some(),
            solved: goals.is_some(),
            // Nothing under way goes through it yet; the mark keeps it while its state is stored.
            in_flight: 1,
            ..Node::BLANK
        };
        self.means[node].fill(0.0);
        self.bounds[node].fill(Bounds::OPEN);
        let stored = match goals {
            Some(goals) => {
                self.set_goals(node, goals);
                true
            }
            None => {
                self.bound_by_settled(node, state);
                self.store_state(node, state)
            }
        };
        self.nodes[node].in_flight = 0;
        if !stored {
            self.nodes.release(node);
            return None;
        }
        Some(node)
    }

    /// Narrows a fresh node's bounds by the facts that are settled in its state.
    #[inline]
    fn bound_by_settled(&mut self, node: NodeId, state: &[u64]) {
        for range in &*self.score_ranges {
            if range.holds_in(state)
                && let Some(bounds) = self.bounds[node].get_mut(range.role.index())
            {
                *bounds = bounds.and(Bounds {
                    lower: range.lower,
                    upper: range.upper,
                });
            }
        }
    }

    /// The node of a state.
    pub(super) fn find(&self, state: &[u64]) -> Option<NodeId> {
        let hash = hash_of(state);
        let head = self.table[hash as usize & (self.table.len() - 1)];
        let mut at = NodeId(head.wrapping_sub(1));
        while at.is_some() {
            let node = &self.nodes[at];
            if node.hash == hash && self.is_state(at, state) {
                return Some(at);
            }
            at = node.next_in_bucket;
        }
        None
    }

    /// How many nodes the table of states leads to.
    #[cfg(test)]
    pub(super) fn in_table(&self) -> usize {
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

    /// Puts a node into the table of states.
    fn list(&mut self, node: NodeId, hash: u32) {
        let bucket = hash as usize & (self.table.len() - 1);
        let head = std::mem::replace(&mut self.table[bucket], node.0 + 1);
        let record = &mut self.nodes[node];
        record.hash = hash;
        record.next_in_bucket = NodeId(head.wrapping_sub(1));
        record.listed = true;
    }

    /// Takes a node out of the table of states.
    pub(super) fn unlist(&mut self, node: NodeId) {
        let record = &mut self.nodes[node];
        if !std::mem::replace(&mut record.listed, false) {
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

    /// Makes a node terminal.
    pub(super) fn end(&mut self, node: NodeId, goals: &[u8]) {
        self.unlist(node);
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

    /// Writes the node's state, in place of the one it had, and lists it. On `false` there was no
    /// memory, and it keeps the old one. The node must be marked as under way, so that making room
    /// does not free it.
    pub(super) fn store_state(&mut self, node: NodeId, state: &[u64]) -> bool {
        let mut head = BlockId::NONE;
        // The last part is stored first, so that following the links gives the parts in order. An
        // empty state still takes one block.
        let parts = state.len().div_ceil(self.block_words).max(1);
        for part in (0..parts).rev() {
            let Some(block) = self.with_pressure(|graph| graph.blocks.allocate(&mut graph.budget))
            else {
                self.free_blocks(head);
                return false;
            };
            self.words.follow(self.blocks.made());
            self.blocks[block].0 = head;
            head = block;
            let from = part * self.block_words;
            let words = &state[from..state.len().min(from + self.block_words)];
            self.words[block][..words.len()].copy_from_slice(words);
        }
        self.unlist(node);
        self.drop_state(node);
        self.nodes[node].state = head;
        self.nodes[node].state_words = state.len() as u32;
        self.list(node, hash_of(state));
        true
    }

    /// Whether this is the node's state.
    fn is_state(&self, node: NodeId, state: &[u64]) -> bool {
        if self.nodes[node].state_words as usize != state.len() {
            return false;
        }
        let mut block = self.nodes[node].state;
        for part in state.chunks(self.block_words) {
            if self.words[block][..part.len()] != *part {
                return false;
            }
            block = self.blocks[block].0;
        }
        true
    }

    /// The node's state. Games with states of one length get it without a copy, others through
    /// `buffer`.
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

    /// Opens a closed node: `legal` holds the moves of all roles one after the other, `ends` where
    /// each role's end. Moves of deciders without an entry are tried one by one, the last ones
    /// first. On `false` there was no memory, and the node stays closed. The node must be marked as
    /// under way.
    pub(super) fn open_with(
        &mut self,
        node: NodeId,
        legal: &[MoveId],
        ends: &[u32],
        entries: Entries,
    ) -> bool {
        debug_assert!(!self.nodes[node].is_open() && self.nodes[node].in_flight > 0);
        let Some(set) = self.with_pressure(|graph| graph.choice_sets.allocate(&mut graph.budget))
        else {
            return false;
        };
        self.choices.follow(self.choice_sets.made());
        self.choices[set].fill(Choice::default());
        let mut decider = None;
        let mut start = 0;
        for (role, &end) in ends.iter().enumerate() {
            let moves = &legal[start..end as usize];
            start = end as usize;
            self.choices[set][role].legal = moves.len() as u32;
            self.choices[set][role].sole = moves[0];
            if moves.len() > 1 {
                decider = Some(if decider.is_none() {
                    role as u16
                } else {
                    SEVERAL
                });
                let stored = match entries {
                    Entries::None => self.store_runs(set, role, moves),
                    Entries::All => self.store_entries(set, role, moves),
                    Entries::Only(index) => self.store_entries(set, role, &moves[index..=index]),
                };
                if !stored {
                    self.free_choices(set);
                    return false;
                }
            }
        }
        let decider = decider.unwrap_or(SEVERAL);
        let record = &mut self.nodes[node];
        record.choices = set;
        record.decider = decider;
        self.mirror(node);
        true
    }

    fn store_runs(&mut self, set: ChoicesId, role: usize, moves: &[MoveId]) -> bool {
        for part in moves.chunks(RUN) {
            let Some(run) = self.with_pressure(|graph| graph.runs.allocate(&mut graph.budget))
            else {
                return false;
            };
            let link = self.choices[set][role].untried;
            let record = &mut self.runs[run];
            record.moves[..part.len()].copy_from_slice(part);
            record.len = part.len() as u32;
            record.link = link;
            self.choices[set][role].untried = run;
        }
        true
    }

    /// The chunks are linked so that the first moves come first.
    fn store_entries(&mut self, set: ChoicesId, role: usize, moves: &[MoveId]) -> bool {
        for part in moves.chunks(ENTRIES).rev() {
            let Some(chunk) = self.with_pressure(|graph| graph.chunks.allocate(&mut graph.budget))
            else {
                return false;
            };
            let record = &mut self.chunks[chunk];
            *record = Chunk {
                link: self.choices[set][role].first,
                role: role as u16,
                len: part.len() as u8,
                ..Chunk::BLANK
            };
            record.moves[..part.len()].copy_from_slice(part);
            self.choices[set][role].first = chunk;
        }
        self.choices[set][role].tried = moves.len() as u32;
        true
    }

    /// Brings what a node has of its only decider's choice up to date.
    fn mirror(&mut self, node: NodeId) {
        let record = &mut self.nodes[node];
        if record.decider != SEVERAL {
            let choice = &self.choices[record.choices][record.decider as usize];
            record.first = choice.first;
            record.untried = choice.untried;
        }
    }

    /// One role's legal moves in an open node.
    #[inline]
    pub(super) fn choice(&self, node: NodeId, role: usize) -> &Choice {
        &self.choices[self.nodes[node].choices][role]
    }

    /// Gives an entry to the next untried move. `None` when none is left or there is no memory. The
    /// node must be marked as under way.
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
        if self.uses_averages {
            let worth = |mv: &MoveId| {
                self.averages
                    .get(mv.index())
                    .map_or(50.0, |average| average.0)
            };
            let moves = &run.moves[..run.len as usize];
            let best = moves.iter().enumerate();
            let best = best.max_by(|(_, one), (_, other)| worth(one).total_cmp(&worth(other)));
            if let Some((best, _)) = best {
                run.moves.swap(best, run.len as usize - 1);
            }
        }
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
        self.mirror(node);
        Some(EntryId::new(chunk, slot))
    }

    /// The joint move that picks in a node stand for.
    pub(super) fn joint_move(&self, node: NodeId, picks: &[EntryId], joint_move: &mut Vec<MoveId>) {
        joint_move.clear();
        let mut picks = picks.iter();
        for choice in &self.choices[self.nodes[node].choices] {
            let pick = if choice.decides() { picks.next() } else { None };
            joint_move.push(pick.map_or(choice.sole, |pick| {
                self.chunks[pick.chunk()].moves[pick.slot()]
            }));
        }
    }

    /// Notes what a move came to for its role.
    pub(super) fn note_average(&mut self, mv: MoveId, value: f32) {
        /// Later results count as one in so many.
        const REMEMBERED: f32 = 2000.0;
        if mv.index() >= self.averages.len() {
            self.averages.resize(mv.index() + 1, (50.0, 1.0));
        }
        let (mean, count) = &mut self.averages[mv.index()];
        *count = (*count + 1.0).min(REMEMBERED);
        *mean += (value - *mean) / *count;
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

    /// The child that these entries, one per decider in role order, lead to; none where it was
    /// never made or was freed.
    #[inline]
    pub(super) fn child(&self, node: NodeId, picks: &[EntryId]) -> NodeId {
        if self.nodes[node].decider != SEVERAL {
            return self.child_of(picks[0]);
        }
        let reply = self.find_reply(node, picks);
        if reply.is_some() {
            let Reply {
                child, generation, ..
            } = self.replies[reply];
            self.living(child, generation)
        } else {
            NodeId::NONE
        }
    }

    /// The child that an entry of a sole decider leads to; none where it was never made or was
    /// freed.
    #[inline]
    pub(super) fn child_of(&self, entry: EntryId) -> NodeId {
        let (chunk, slot) = (&self.chunks[entry.chunk()], entry.slot());
        self.living(chunk.children[slot], chunk.generations[slot])
    }

    #[inline]
    fn living(&self, node: NodeId, generation: u16) -> NodeId {
        if node.is_some() && self.nodes[node].generation == generation {
            node
        } else {
            NodeId::NONE
        }
    }

    /// Links a child. On `false` there was no memory for the link. Both nodes must be marked as
    /// under way.
    pub(super) fn set_child(&mut self, node: NodeId, picks: &[EntryId], child: NodeId) -> bool {
        let generation = self.nodes[child].generation;
        if self.nodes[node].decider != SEVERAL {
            let pick = picks[0];
            let chunk = &mut self.chunks[pick.chunk()];
            chunk.children[pick.slot()] = child;
            chunk.generations[pick.slot()] = generation;
            return true;
        }
        let found = self.find_reply(node, picks);
        if found.is_some() {
            self.replies[found].child = child;
            self.replies[found].generation = generation;
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
        self.reply_keys.follow(self.replies.made());
        let bucket = self.bucket(node, picks);
        self.replies[reply] = Reply {
            owner: node,
            child,
            generation,
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
                let reply = &self.replies[id];
                next = reply.link;
                self.living(reply.child, reply.generation)
            })
        });
        decider
            .into_iter()
            .flat_map(|choice| self.entries(choice))
            .map(|entry| self.child_of(entry))
            .chain(replies)
            .filter(|child| child.is_some())
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

/// What a state hashes to.
fn hash_of(state: &[u64]) -> u32 {
    let mut hasher = FxHasher::default();
    for &word in state {
        hasher.write_u64(word);
    }
    hasher.finish() as u32
}
