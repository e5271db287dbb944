//! The game graph: nodes, their legal moves with statistics, and the links between them.
//!
//! Equal states are one node (transpositions; Childs, Brodeur and Kocsis 2008). An expanded node
//! has a [`RoleMoves`] per role: the untried moves, and an *edge* with its statistics for each
//! other. A role with one legal move has no edges. Where one role has a choice, the
//! *mover*, each edge names its child. Where several have one, each keeps edges of its own
//! (decoupled statistics, so that joint moves are never enumerated), and a hash table leads from
//! one edge per role to the child.
//!
//! ```text
//! table ─▶ node ──role_moves──▶ [RoleMoves; roles] ──▶ block of 8 edges ──link──▶ block ...
//!           │                          └──untried──▶ block of 7 moves ──link──▶ block ...
//!           └──joint_children (several roles choose)──▶ joint child ──link──▶ joint child ...
//! ```
//!
//! Bytes, for R roles and a state of W words: an unexpanded node takes `72 + 14 R + 8 W`; expansion
//! adds `4 + 20 R`, 256 for every 8 edges and 64 for every 7 untried moves; a joint child takes
//! `20 + 4 R`. The transposition table takes 4 to 8 more for each node of the limit.
//!
//! Edges never move, so that paths in flight can name them. Every link to a node carries the
//! node's *generation*, which changes when the node is freed, so that stale links are recognised.
//! A node is freed only while no path in flight passes through it.
//!
//! Invariants: a node that is not terminal is in the table once, unless two forced lines led to one
//! state; `in_flight` counts the paths in flight through a node or edge.
//!
//! Never uses: selection, threads.

use std::sync::Arc;

use super::matrix::{Matrix, MatrixSolver};
use super::parameters::SearchConfig;
use super::pool::{ByteCount, Linked, MIN_RECORDS, Pool, PoolId, Strided};
use super::record::{
    Bounds, EdgeBlock, EdgeBlockId, EdgeId, JointChild, JointChildId, LinkOnly, MoveBlock,
    MoveBlockId, Node, RoleMoves, RoleMovesId, RoleValue, StateId, UntriedMove,
};
use super::slots::EDGES_PER_BLOCK;
use panza_analysis::ScoreRange;
use panza_gdl::{Id, MoveId, NodeId, RoleId};

/// Buffers of proof updates.
#[derive(Default)]
pub(super) struct ProofBuffers {
    /// The new bounds of the node, one per role.
    pub(super) bounds: Vec<Bounds>,
    /// The union of the bounds of all possible children, one per role.
    pub(super) possible: Vec<Bounds>,
    /// The least upper bound over the sure children, one per role.
    pub(super) sure: Vec<u8>,
    /// The edges of all roles with a choice, in role order.
    pub(super) edges: Vec<EdgeId>,
    /// The end of the edges of each role with a choice.
    pub(super) ends: Vec<usize>,
    /// The joint move examined: for each role with a choice the index of its edge, and the edge.
    pub(super) indices: Vec<usize>,
    pub(super) joint: Vec<EdgeId>,
    /// A role's bounds after each joint move, row by row.
    pub(super) cells: Vec<Bounds>,
    pub(super) matrix: Matrix,
    pub(super) solver: MatrixSolver,
}

pub(super) struct Graph {
    pub(super) roles: usize,
    /// The role that is searched for.
    pub(super) searcher: usize,
    /// The chance role, if there is one.
    pub(super) chance: Option<u16>,
    /// The roles that have an aim, where there are two.
    pub(super) pair: Option<[usize; 2]>,
    /// None only before the first root is set.
    pub(super) root: NodeId,
    pub(super) nodes: Pool<NodeId, Node>,
    /// The values of each role.
    pub(super) values: Strided<NodeId, RoleValue>,
    /// Proven bounds of each role's goal.
    pub(super) bounds: Strided<NodeId, Bounds>,
    pub(super) edge_blocks: Pool<EdgeBlockId, EdgeBlock>,
    pub(super) role_moves: Strided<RoleMovesId, RoleMoves>,
    pub(super) role_moves_pool: Pool<RoleMovesId, LinkOnly<RoleMovesId>>,
    pub(super) move_blocks: Pool<MoveBlockId, MoveBlock>,
    pub(super) states: Strided<StateId, u64>,
    pub(super) state_rows: Pool<StateId, LinkOnly<StateId>>,
    pub(super) joint_children: Pool<JointChildId, JointChild>,
    /// The edges to each joint child, one per role with a choice, in role order.
    pub(super) joint_child_edges: Strided<JointChildId, EdgeId>,
    /// Heads of the hash chains of joint children; allocated on first use.
    pub(super) joint_child_buckets: Vec<JointChildId>,
    pub(super) n_joint_child_buckets: usize,
    pub(super) budget: ByteCount,
    /// The transposition table: heads of its hash chains as node index plus one; 0 is none.
    pub(super) table: Vec<u32>,
    /// Number of roots so far, modulo 2^16.
    pub(super) age: u16,
    /// Number of descents so far.
    pub(super) descent: u32,
    /// The next node that eviction examines, and the greatest weight that it evicts.
    pub(super) clock_hand: u32,
    pub(super) eviction_threshold: u32,
    /// The nodes pinned during eviction.
    pub(super) root_children: Vec<NodeId>,
    /// Nodes whose generations are used up.
    pub(super) retired: u64,
    /// The sum of the values of the pair, while it was the same in all results.
    pub(super) fixed_sum: Option<f32>,
    /// The same after `iteration::MIN_SUMS` results. Bounds of nodes in which several roles choose
    /// rely on it: it is observed, not proven.
    pub(super) sure_sum: Option<u16>,
    score_ranges: Arc<[ScoreRange]>,
    // Buffers of single functions, kept so that nothing is allocated per iteration.
    pub(super) joint_edges: Vec<EdgeId>,
    pub(super) probabilities: Vec<f32>,
    pub(super) untried_moves: Vec<UntriedMove>,
    pub(super) shuffled: Vec<MoveId>,
    pub(super) child_bounds: Vec<Bounds>,
    pub(super) proof: ProofBuffers,
    pub(super) allocation_failures: u64,
    pub(super) evicted: u64,
}

impl Graph {
    /// An empty graph for states of `state_words` words.
    pub(super) fn new(
        config: &SearchConfig,
        roles: usize,
        chance: Option<RoleId>,
        searcher: usize,
        state_words: usize,
    ) -> Self {
        let node_row = Strided::<NodeId, RoleValue>::row_bytes(roles)
            + Strided::<NodeId, Bounds>::row_bytes(roles);
        let state_row = Strided::<StateId, u64>::row_bytes(state_words);
        let node_bytes = size_of::<Node>() + node_row + size_of::<StateId>() + state_row;
        let max_nodes = (config.max_nodes as usize)
            .min((config.max_bytes / 2 / node_bytes).max(MIN_RECORDS))
            .max(2);
        let n_buckets = max_nodes.next_power_of_two().max(MIN_RECORDS);
        let mut budget = ByteCount::new(config.max_bytes);
        budget.take(n_buckets * size_of::<u32>());
        Self {
            roles,
            searcher,
            chance: chance.map(|role| role.index() as u16),
            pair: pair_of(roles, chance),
            root: NodeId::NONE,
            nodes: Pool::new(max_nodes, node_row),
            values: Strided::new(roles),
            bounds: Strided::new(roles),
            edge_blocks: Pool::new(u32::MAX as usize / EDGES_PER_BLOCK, 0),
            role_moves: Strided::new(roles),
            role_moves_pool: Pool::new(
                max_nodes,
                Strided::<RoleMovesId, RoleMoves>::row_bytes(roles),
            ),
            move_blocks: Pool::new(usize::MAX, 0),
            states: Strided::new(state_words),
            state_rows: Pool::new(usize::MAX, state_row),
            joint_children: Pool::new(max_nodes, Strided::<JointChildId, EdgeId>::row_bytes(roles)),
            joint_child_edges: Strided::new(roles),
            joint_child_buckets: Vec::new(),
            n_joint_child_buckets: (max_nodes / 2).next_power_of_two().max(MIN_RECORDS),
            budget,
            // The system commits zeroed memory when it is first written.
            table: vec![0; n_buckets],
            age: 0,
            descent: 0,
            clock_hand: 0,
            eviction_threshold: 1,
            root_children: Vec::new(),
            retired: 0,
            fixed_sum: None,
            sure_sum: None,
            score_ranges: Arc::clone(&config.score_ranges),
            joint_edges: Vec::new(),
            probabilities: Vec::new(),
            untried_moves: Vec::new(),
            shuffled: Vec::new(),
            child_bounds: Vec::new(),
            proof: ProofBuffers::default(),
            allocation_failures: 0,
            evicted: 0,
        }
    }

    /// Makes the node of a state the root, and creates it if there is none, if necessary beyond the
    /// bounds.
    pub(super) fn set_root_state(&mut self, state: &[u64], goals: Option<&[u8]>) {
        if goals.is_none()
            && let Some(known) = self.find(state)
        {
            self.set_root(known);
            return;
        }
        self.set_root(NodeId::NONE);
        let node = self.make_node(state, goals);
        self.root = node.unwrap_or_else(|| self.make_node_unbounded(state, goals));
    }

    pub(super) fn set_root(&mut self, node: NodeId) {
        self.age = self.age.wrapping_add(1);
        self.root = node;
    }

    fn make_node_unbounded(&mut self, state: &[u64], goals: Option<&[u8]>) -> NodeId {
        let bound = std::mem::replace(&mut self.budget.limit, usize::MAX);
        let mut node = self.make_node(state, goals);
        if node.is_none() {
            // All nodes are in flight.
            let limit = std::mem::replace(&mut self.nodes.limit, u32::MAX as usize - 1);
            node = self.make_node(state, goals);
            self.nodes.limit = limit;
        }
        self.budget.limit = bound;
        node.expect("without bounds there is memory for a node")
    }

    /// A new unexpanded node, or a terminal one where goals are given.
    pub(super) fn make_node(&mut self, state: &[u64], goals: Option<&[u8]>) -> Option<NodeId> {
        let node = self.with_eviction(|graph| {
            let rows = graph.nodes.created_after_next();
            graph.values.grow_to(rows)?;
            graph.bounds.grow_to(rows)?;
            graph.nodes.allocate(&mut graph.budget)
        })?;
        let generation = self.nodes[node].generation;
        self.nodes[node] = Node {
            generation,
            age: self.age,
            terminal: goals.is_some(),
            solved: goals.is_some(),
            // Protects the node from eviction while its state is stored.
            in_flight: 1,
            ..Node::BLANK
        };
        self.values[node].fill(RoleValue::default());
        self.bounds[node].fill(Bounds::UNKNOWN);
        if let Some(chance) = self.chance {
            self.bounds[node][usize::from(chance)] = Bounds::exact(0);
        }
        let stored = if let Some(goals) = goals {
            self.set_goals(node, goals);
            Some(())
        } else {
            self.apply_score_ranges(node, state);
            self.store_state(node, state)
        };
        self.nodes[node].in_flight = 0;
        if stored.is_none() {
            self.nodes.release(node);
        }
        stored.map(|()| node)
    }

    /// Narrows the bounds of a new node by the facts that are settled in its state.
    #[inline]
    fn apply_score_ranges(&mut self, node: NodeId, state: &[u64]) {
        for range in &*self.score_ranges {
            if range.holds_in(state)
                && let Some(bounds) = self.bounds[node].get_mut(range.role.index())
            {
                *bounds = bounds.intersect(Bounds::new(range.lower, range.upper));
            }
        }
    }

    pub(super) fn make_terminal(&mut self, node: NodeId, goals: &[u8]) {
        self.remove_from_table(node);
        self.free_state(node);
        self.set_goals(node, goals);
        self.nodes[node].terminal = true;
        self.nodes[node].solved = true;
        self.nodes[node].proof_length = 0;
    }

    fn set_goals(&mut self, node: NodeId, goals: &[u8]) {
        for (bounds, &goal) in self.bounds[node].iter_mut().zip(goals) {
            *bounds = Bounds::exact(goal);
        }
        if let Some(chance) = self.chance {
            self.bounds[node][usize::from(chance)] = Bounds::exact(0);
        }
    }

    /// Clears all counts of iterations in flight.
    pub(super) fn clear_in_flight(&mut self) {
        for node in self.nodes.all_mut() {
            node.in_flight = 0;
        }
        for block in self.edge_blocks.all_mut() {
            block.in_flight = [0; EDGES_PER_BLOCK];
        }
    }

    #[cfg(test)]
    pub(super) fn total_in_flight(&mut self) -> u64 {
        let nodes = self.nodes.all_mut().map(|node| u64::from(node.in_flight));
        let nodes: u64 = nodes.sum();
        let edges = self.edge_blocks.all_mut().flat_map(|block| block.in_flight);
        nodes + edges.map(u64::from).sum::<u64>()
    }
}

/// The roles that have an aim, where there are two.
fn pair_of(roles: usize, chance: Option<RoleId>) -> Option<[usize; 2]> {
    let mut with_aim = (0..roles).filter(|&role| chance != Some(RoleId::from_index(role)));
    let pair = [with_aim.next()?, with_aim.next()?];
    with_aim.next().is_none().then_some(pair)
}
