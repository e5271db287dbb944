//! Edges: the legal moves of expanded nodes, and the children that they lead to.
//!
//! Untried moves get an edge when they are first selected. Where several roles choose, children are
//! found by hashing one edge per role.
//!
//! Invariant: `n_legal` of a role with a choice is the number of its edges and untried moves,
//! unless expansion kept only a winning move. Dominated moves are not counted.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::graph::Graph;
use super::pool::{Linked, PoolId};
use super::record::{
    EdgeBlock, EdgeBlockId, EdgeId, JointChild, JointChildId, MoveBlockId, RoleMoves, RoleMovesId,
    SIMULTANEOUS, UntriedMove,
};
use super::slots::EDGES_PER_BLOCK;
use panza_gdl::{MoveId, NodeId};

/// The moves without an edge of a new node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Untried<'a> {
    /// All legal moves; their values are unknown.
    All,
    /// These moves of the mover.
    Some(&'a [UntriedMove]),
    /// These moves of all roles, one for each legal move; or none.
    Joint(&'a [UntriedMove]),
}

impl Graph {
    /// Expands a node: `legal` holds the moves of all roles in role order, `ends` the end of each
    /// role's moves. No move has an edge yet; untried moves are tried last to first. `None` when
    /// memory is exhausted; the node then stays unexpanded. The node must be in flight.
    pub(super) fn expand_with(
        &mut self,
        node: NodeId,
        legal: &[MoveId],
        ends: &[u32],
        untried: Untried<'_>,
    ) -> Option<()> {
        debug_assert!(!self.nodes[node].is_expanded() && self.nodes[node].in_flight > 0);
        let set = self.with_eviction(|graph| {
            let rows = graph.role_moves_pool.created_after_next();
            graph.role_moves.grow_to(rows)?;
            graph.role_moves_pool.allocate(&mut graph.budget)
        })?;
        self.role_moves[set].fill(RoleMoves::default());
        let mut mover = None;
        let mut start = 0;
        for (role, &end) in ends.iter().enumerate() {
            let range = start..end as usize;
            let moves = &legal[range.clone()];
            start = end as usize;
            self.role_moves[set][role].n_legal = moves.len() as u32;
            self.role_moves[set][role].only_move = moves[0];
            if moves.len() > 1 {
                mover = Some(if mover.is_none() {
                    role as u16
                } else {
                    SIMULTANEOUS
                });
                let stored = match untried {
                    Untried::All => {
                        let moves = moves.iter().map(|&mv| UntriedMove::unknown(mv));
                        self.store_untried(set, role, moves)
                    }
                    Untried::Some(moves) => self.store_untried(set, role, moves.iter().copied()),
                    Untried::Joint(moves) => {
                        let moves = moves.get(range).unwrap_or_default();
                        self.store_untried(set, role, moves.iter().copied())
                    }
                };
                if stored.is_none() {
                    self.free_role_moves(set);
                    return None;
                }
            }
        }
        let record = &mut self.nodes[node];
        record.role_moves = set;
        record.mover = mover.unwrap_or(SIMULTANEOUS);
        self.copy_mover_lists(node);
        Some(())
    }

    /// Stores moves so that the last one is tried first.
    fn store_untried(
        &mut self,
        set: RoleMovesId,
        role: usize,
        mut moves: impl ExactSizeIterator<Item = UntriedMove>,
    ) -> Option<()> {
        while moves.len() > 0 {
            let block =
                self.with_eviction(|graph| graph.move_blocks.allocate(&mut graph.budget))?;
            let link = self.role_moves[set][role].untried;
            let record = &mut self.move_blocks[block];
            record.len = 0;
            for (place, mv) in record.moves.iter_mut().zip(&mut moves) {
                *place = mv;
                record.len += 1;
            }
            record.link = link;
            self.role_moves[set][role].untried = block;
        }
        Some(())
    }

    /// Updates the node's copies of its mover's lists.
    fn copy_mover_lists(&mut self, node: NodeId) {
        let record = &mut self.nodes[node];
        if record.mover != SIMULTANEOUS {
            let role_moves = &self.role_moves[record.role_moves][record.mover as usize];
            record.first_block = role_moves.first_block;
            record.untried = role_moves.untried;
        }
    }

    #[inline]
    pub(super) fn role_moves(&self, node: NodeId, role: usize) -> &RoleMoves {
        &self.role_moves[self.nodes[node].role_moves][role]
    }

    /// The next untried move of a role.
    #[inline]
    pub(super) fn next_untried(&self, untried: MoveBlockId) -> Option<UntriedMove> {
        untried.is_some().then(|| {
            let block = &self.move_blocks[untried];
            block.moves[block.len as usize - 1]
        })
    }

    /// Adds an edge for the next untried move. `None` when none is left or memory is exhausted. The
    /// node must be in flight.
    pub(super) fn add_edge(&mut self, node: NodeId, role: usize) -> Option<EdgeId> {
        let set = self.nodes[node].role_moves;
        let head = self.role_moves[set][role].untried;
        let untried = self.next_untried(head)?;
        let value = untried.value_or(self.values[node][role].mean);
        let edge = self.push_edge(node, role, untried.mv)?;
        let (block, slot) = (&mut self.edge_blocks[edge.block()], edge.slot());
        block.means[slot] = value;
        if untried.value().is_some() {
            block.minimax[slot] = value;
        }
        block.priors[slot] = untried.prior;
        let record = &mut self.move_blocks[head];
        record.len -= 1;
        if record.len == 0 {
            self.role_moves[set][role].untried = record.link;
            self.move_blocks.release(head);
        }
        self.copy_mover_lists(node);
        Some(edge)
    }

    /// Makes the untried move with the greatest key the next one, and returns the key.
    pub(super) fn bring_best_untried_forward(
        &mut self,
        node: NodeId,
        role: usize,
        key: impl Fn(MoveId) -> f32,
    ) -> Option<f32> {
        let head = self.role_moves(node, role).untried;
        let mut best: Option<(f32, MoveBlockId, usize)> = None;
        let mut at = head;
        while at.is_some() {
            let block = &self.move_blocks[at];
            for (slot, untried) in block.moves[..block.len as usize].iter().enumerate() {
                let key = key(untried.mv);
                if best.is_none_or(|(greatest, ..)| key > greatest) {
                    best = Some((key, at, slot));
                }
            }
            at = block.link;
        }
        let (greatest, at, slot) = best?;
        let next = self.move_blocks[head].len as usize - 1;
        let untried = self.move_blocks[at].moves[slot];
        self.move_blocks[at].moves[slot] = self.move_blocks[head].moves[next];
        self.move_blocks[head].moves[next] = untried;
        Some(greatest)
    }

    /// Adds an edge without statistics. `None` when memory is exhausted. The node must be in
    /// flight.
    pub(super) fn push_edge(&mut self, node: NodeId, role: usize, mv: MoveId) -> Option<EdgeId> {
        let set = self.nodes[node].role_moves;
        let first = self.role_moves[set][role].first_block;
        let mut block = first;
        if !block.is_some() || self.edge_blocks[block].len as usize == EDGES_PER_BLOCK {
            block = self.with_eviction(|graph| graph.edge_blocks.allocate(&mut graph.budget))?;
            self.edge_blocks[block] = EdgeBlock {
                link: first,
                role: role as u16,
                ..EdgeBlock::BLANK
            };
            self.role_moves[set][role].first_block = block;
            self.copy_mover_lists(node);
        }
        self.role_moves[set][role].n_edges += 1;
        let record = &mut self.edge_blocks[block];
        let slot = record.len as usize;
        record.moves[slot] = mv;
        record.len += 1;
        Some(EdgeId::new(block, slot))
    }

    #[inline]
    pub(super) fn move_of(&self, edge: EdgeId) -> MoveId {
        self.edge_blocks[edge.block()].moves[edge.slot()]
    }

    /// The edge of a move, if it has one.
    pub(super) fn edge_of(&self, role_moves: &RoleMoves, mv: MoveId) -> Option<EdgeId> {
        let mut edges = self.edges(role_moves);
        edges.find(|&edge| self.move_of(edge) == mv)
    }

    pub(super) fn joint_move(
        &self,
        node: NodeId,
        selected: &[EdgeId],
        joint_move: &mut Vec<MoveId>,
    ) {
        joint_move.clear();
        let mut selected = selected.iter();
        for role_moves in &self.role_moves[self.nodes[node].role_moves] {
            let edge = if role_moves.has_choice() {
                selected.next()
            } else {
                None
            };
            joint_move.push(edge.map_or(role_moves.only_move, |&edge| self.move_of(edge)));
        }
    }

    pub(super) fn edges<'a>(
        &'a self,
        role_moves: &RoleMoves,
    ) -> impl Iterator<Item = EdgeId> + use<'a> {
        self.blocks_of(role_moves)
            .flat_map(|(id, block)| (0..block.len as usize).map(move |slot| EdgeId::new(id, slot)))
    }

    #[inline]
    pub(super) fn blocks_of<'a>(
        &'a self,
        role_moves: &RoleMoves,
    ) -> impl Iterator<Item = (EdgeBlockId, &'a EdgeBlock)> + use<'a> {
        let mut next = role_moves.first_block;
        std::iter::from_fn(move || {
            let id = next;
            id.is_some().then(|| {
                let block = &self.edge_blocks[id];
                next = block.link;
                (id, block)
            })
        })
    }

    /// The greatest upper bound of a role's edges; 100 where an untried move may be better.
    pub(super) fn greatest_upper(&self, role_moves: &RoleMoves) -> u8 {
        if role_moves.has_untried() {
            return 100;
        }
        self.blocks_of(role_moves)
            .flat_map(|(_, block)| &block.upper[..block.len as usize])
            .max()
            .copied()
            .unwrap_or(100)
    }

    pub(super) fn untried<'a>(
        &'a self,
        role_moves: &RoleMoves,
    ) -> impl Iterator<Item = MoveId> + use<'a> {
        let mut next = role_moves.untried;
        std::iter::from_fn(move || {
            let id = next;
            id.is_some().then(|| {
                let block = &self.move_blocks[id];
                next = block.link;
                &block.moves[..block.len as usize]
            })
        })
        .flatten()
        .map(|untried| untried.mv)
    }

    /// The child behind the selected edges, one per role with a choice; none where it was never
    /// created or was freed.
    #[inline]
    pub(super) fn child(&self, node: NodeId, selected: &[EdgeId]) -> NodeId {
        if self.nodes[node].mover != SIMULTANEOUS {
            return self.child_of(selected[0]);
        }
        let found = self.find_joint_child(node, selected);
        if !found.is_some() {
            return NodeId::NONE;
        }
        let found = &self.joint_children[found];
        self.resolve(found.child, found.generation)
    }

    /// The child of a mover's edge; none where it was never created or was freed.
    #[inline]
    pub(super) fn child_of(&self, edge: EdgeId) -> NodeId {
        let (block, slot) = (&self.edge_blocks[edge.block()], edge.slot());
        self.resolve(block.children[slot], block.generations[slot])
    }

    /// The node, unless it was freed since the link was made.
    #[inline]
    pub(super) fn resolve(&self, node: NodeId, generation: u16) -> NodeId {
        if node.is_some() && self.nodes[node].generation == generation {
            node
        } else {
            NodeId::NONE
        }
    }

    /// Links a child. `None` when memory is exhausted. Both nodes must be in flight.
    pub(super) fn set_child(
        &mut self,
        node: NodeId,
        selected: &[EdgeId],
        child: NodeId,
    ) -> Option<()> {
        let generation = self.nodes[child].generation;
        if self.nodes[node].mover != SIMULTANEOUS {
            let edge = selected[0];
            let block = &mut self.edge_blocks[edge.block()];
            block.children[edge.slot()] = child;
            block.generations[edge.slot()] = generation;
            return Some(());
        }
        let found = self.find_joint_child(node, selected);
        if found.is_some() {
            self.joint_children[found].child = child;
            self.joint_children[found].generation = generation;
            return Some(());
        }
        if self.joint_child_buckets.is_empty() {
            self.budget
                .take(self.n_joint_child_buckets * size_of::<JointChildId>());
            self.joint_child_buckets = vec![JointChildId::NONE; self.n_joint_child_buckets];
        }
        let id = self.with_eviction(|graph| {
            let rows = graph.joint_children.created_after_next();
            graph.joint_child_edges.grow_to(rows)?;
            graph.joint_children.allocate(&mut graph.budget)
        })?;
        let bucket = self.joint_child_bucket(node, selected);
        self.joint_children[id] = JointChild {
            parent: node,
            child,
            generation,
            next_in_bucket: self.joint_child_buckets[bucket],
            link: self.nodes[node].joint_children,
        };
        self.joint_child_edges[id][..selected.len()].copy_from_slice(selected);
        self.joint_child_buckets[bucket] = id;
        self.nodes[node].joint_children = id;
        Some(())
    }

    pub(super) fn joint_child_bucket(&self, node: NodeId, selected: &[EdgeId]) -> usize {
        let mut hasher = FxHasher::default();
        hasher.write_u32(node.0);
        for edge in selected {
            hasher.write_u32(edge.0);
        }
        hasher.finish() as usize & (self.n_joint_child_buckets - 1)
    }

    fn find_joint_child(&self, node: NodeId, selected: &[EdgeId]) -> JointChildId {
        if self.joint_child_buckets.is_empty() {
            return JointChildId::NONE;
        }
        let mut at = self.joint_child_buckets[self.joint_child_bucket(node, selected)];
        while at.is_some() {
            let record = &self.joint_children[at];
            if record.parent == node && self.joint_child_edges[at][..selected.len()] == *selected {
                break;
            }
            at = record.next_in_bucket;
        }
        at
    }

    pub(super) fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let record = &self.nodes[node];
        let mover = (record.is_expanded() && record.mover != SIMULTANEOUS)
            .then(|| self.role_moves(node, record.mover as usize));
        let mut next = record.joint_children;
        let joint_children = std::iter::from_fn(move || {
            let id = next;
            id.is_some().then(|| {
                let record = &self.joint_children[id];
                next = record.link;
                self.resolve(record.child, record.generation)
            })
        });
        mover
            .into_iter()
            .flat_map(|role_moves| self.edges(role_moves))
            .map(|edge| self.child_of(edge))
            .chain(joint_children)
            .filter(|child| child.is_some())
    }

    pub(super) fn n_movers(&self, node: NodeId) -> usize {
        self.role_moves[self.nodes[node].role_moves]
            .iter()
            .filter(|role_moves| role_moves.has_choice())
            .count()
    }
}
