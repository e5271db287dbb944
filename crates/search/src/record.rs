//! The fixed-size records of the graph, linked by ids; `graph` has the picture.
//!
//! Invariant: the sizes are asserted, since they decide the memory of a node and the cache lines
//! that a descent loads.
//!
//! Never uses: where records are stored.

use super::pool::{Linked, PoolId, define_pool_ids};
use super::slots::{EDGES_PER_BLOCK, Slots, each, greater, lesser};
use panza_gdl::{MoveId, NodeId};

define_pool_ids! {
    /// An [`EdgeBlock`].
    EdgeBlockId;
    /// A [`MoveBlock`].
    MoveBlockId;
    /// A row of state words.
    StateId;
    /// One [`RoleMoves`] per role.
    RoleMovesId;
    /// A [`JointChild`].
    JointChildId;
    /// An edge: a block and a slot in it.
    EdgeId;
}

/// Moves in a block of untried moves.
pub(super) const MOVES_PER_BLOCK: usize = 7;
/// [`Node::mover`] where several roles have a choice.
pub(super) const SIMULTANEOUS: u16 = u16::MAX;

impl Default for EdgeId {
    fn default() -> Self {
        Self::NONE
    }
}

impl EdgeId {
    #[inline]
    pub(super) fn new(block: EdgeBlockId, slot: usize) -> Self {
        Self(block.0 * EDGES_PER_BLOCK as u32 + slot as u32)
    }

    #[inline]
    pub(super) fn block(self) -> EdgeBlockId {
        EdgeBlockId(self.0 / EDGES_PER_BLOCK as u32)
    }

    #[inline]
    pub(super) fn slot(self) -> usize {
        self.0 as usize % EDGES_PER_BLOCK
    }
}

/// Proven bounds of a role's goal under best play by all roles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bounds {
    pub(super) lower: u8,
    pub(super) upper: u8,
}

impl Bounds {
    /// Nothing is proven.
    pub(super) const UNKNOWN: Self = Self::new(0, 100);

    /// The start of a union by [`widen`](Self::widen).
    pub(super) const EMPTY: Self = Self::new(100, 0);

    #[inline]
    pub(super) const fn new(lower: u8, upper: u8) -> Self {
        Self { lower, upper }
    }

    pub(super) fn exact(goal: u8) -> Self {
        Self::new(goal, goal)
    }

    /// The intersection of two true bounds. Where a wrong setting makes them disjoint, `self`
    /// stays.
    pub(super) fn intersect(self, other: Self) -> Self {
        let both = Self::new(self.lower.max(other.lower), self.upper.min(other.upper));
        if both.lower <= both.upper { both } else { self }
    }

    /// Extends the bounds to include others.
    #[inline]
    pub(super) fn widen(&mut self, other: Self) {
        self.lower = self.lower.min(other.lower);
        self.upper = self.upper.max(other.upper);
    }

    #[inline]
    pub(super) fn is_exact(self) -> bool {
        self.lower == self.upper
    }

    /// A score limited to the bounds.
    #[inline]
    pub(super) fn clamp(self, score: f32) -> f32 {
        lesser(greater(score, self.lower.into()), self.upper.into())
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self::UNKNOWN
    }
}

/// The values of a node for a role, 0 to 100.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(super) struct RoleValue {
    /// Mean over all visits, recomputed from the edges where one role has a choice.
    pub(super) mean: f32,
    /// Minimax value of the best edge; the mean where several roles choose.
    pub(super) minimax: f32,
    /// Mean of the node's own results, which passed through no edge.
    pub(super) own: f32,
}

/// A state of the game with its statistics; one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Node {
    /// Finished iterations through the node, from all parents.
    pub(super) visits: u32,
    pub(super) in_flight: u32,
    /// The legal moves; none while the node is unexpanded or terminal.
    pub(super) role_moves: RoleMovesId,
    /// Copy of the mover's [`RoleMoves::first_block`]; none where several roles choose.
    pub(super) first_block: EdgeBlockId,
    /// Copy of the mover's [`RoleMoves::untried`].
    pub(super) untried: MoveBlockId,
    /// Number of the last descent through the node; detects cycles.
    pub(super) last_descent: u32,
    /// The state; none in a terminal node.
    pub(super) state: StateId,
    pub(super) hash: u32,
    /// The next node in the same bucket of the transposition table.
    pub(super) next_in_bucket: NodeId,
    /// The first child of a node where several roles choose.
    pub(super) joint_children: JointChildId,
    pub(super) link: NodeId,
    /// Results of the node itself, which passed through no edge.
    pub(super) own_visits: u32,
    /// [`Graph::age`](super::graph::Graph::age) at the last descent through the node.
    pub(super) age: u16,
    /// Incremented when the node is freed. After the last generation the node is not reused.
    pub(super) generation: u16,
    /// Joint moves from the state to the end of the proven line, once the mover's goal is proven.
    /// An estimate where several roles choose, or where parts of the line were evicted.
    pub(super) proof_length: u16,
    /// Forced joint moves between the first parent's move and this state.
    pub(super) forced_moves: u16,
    /// The only role with a choice, or [`SIMULTANEOUS`]. Undefined while the node is unexpanded.
    pub(super) mover: u16,
    pub(super) terminal: bool,
    /// Whether no further visit can change a proof.
    pub(super) solved: bool,
    /// Whether the transposition table has the node.
    pub(super) in_table: bool,
    /// Whether the node must not be evicted.
    pub(super) pinned: bool,
    /// Whether the mover's moves have priors.
    pub(super) has_priors: bool,
}

const _: () = assert!(size_of::<Node>() == 64);

impl Node {
    #[inline]
    pub(super) fn is_expanded(&self) -> bool {
        self.role_moves.is_some()
    }

    /// Joint moves from the parent's state to the end of the proven line.
    pub(super) fn length_from_parent(&self) -> u16 {
        self.proof_length
            .saturating_add(self.forced_moves)
            .saturating_add(1)
    }
}

impl Linked<NodeId> for Node {
    const BLANK: Self = Self {
        visits: 0,
        in_flight: 0,
        role_moves: RoleMovesId::NONE,
        first_block: EdgeBlockId::NONE,
        untried: MoveBlockId::NONE,
        last_descent: 0,
        state: StateId::NONE,
        hash: 0,
        next_in_bucket: NodeId::NONE,
        joint_children: JointChildId::NONE,
        link: NodeId::NONE,
        own_visits: 0,
        age: 0,
        generation: 0,
        proof_length: 0,
        forced_moves: 0,
        mover: SIMULTANEOUS,
        terminal: false,
        solved: false,
        in_table: false,
        pinned: false,
        has_priors: false,
    };
    fn link(&mut self) -> &mut NodeId {
        &mut self.link
    }
}

/// One role's legal moves in an expanded node.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoleMoves {
    /// The newest block of edges; the older ones are full.
    pub(super) first_block: EdgeBlockId,
    /// The moves without an edge, the one to try next first.
    pub(super) untried: MoveBlockId,
    pub(super) n_legal: u32,
    /// Moves with an edge.
    pub(super) n_edges: u32,
    /// The first legal move: the move of a role without a choice.
    pub(super) only_move: MoveId,
}

impl RoleMoves {
    #[inline]
    pub(super) fn has_untried(&self) -> bool {
        self.untried.is_some()
    }

    #[inline]
    pub(super) fn has_choice(&self) -> bool {
        self.n_legal > 1
    }
}

impl Default for RoleMoves {
    fn default() -> Self {
        Self {
            first_block: EdgeBlockId::NONE,
            untried: MoveBlockId::NONE,
            n_legal: 0,
            n_edges: 0,
            only_move: MoveId(0),
        }
    }
}

/// Eight edges as a struct of arrays, for vector instructions; a descent reads the first three
/// cache lines only.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct EdgeBlock {
    /// Mean value for the role, 0 to 100: that of the child where the role alone has a choice, else
    /// over the visits through the edge. Before the first visit the static value, or the mean of
    /// the node.
    pub(super) means: [f32; EDGES_PER_BLOCK],
    /// With an evaluation, where the role alone has a choice: the minimax value for the role, 0 to
    /// 100, which is that of the child, before the first visit the static value. Otherwise
    /// the variance of results, in squared points. At the root of simultaneous moves: the
    /// cumulative regret of `regret_matching`, in points.
    pub(super) minimax: [f32; EDGES_PER_BLOCK],
    /// Finished visits.
    pub(super) visits: [u32; EDGES_PER_BLOCK],
    pub(super) in_flight: [u16; EDGES_PER_BLOCK],
    /// Lower bounds of the role's goal after the move.
    pub(super) lower: [u8; EDGES_PER_BLOCK],
    /// Upper bounds of the role's goal after the move.
    pub(super) upper: [u8; EDGES_PER_BLOCK],
    /// Priors as of [`Prior`].
    pub(super) priors: [Prior; EDGES_PER_BLOCK],
    /// The children, where the role alone has a choice.
    pub(super) children: [NodeId; EDGES_PER_BLOCK],
    /// The generations of the children; a child of another generation was freed.
    pub(super) generations: [u16; EDGES_PER_BLOCK],
    pub(super) link: EdgeBlockId,
    pub(super) role: u16,
    /// A bit for each edge whose child is solved.
    pub(super) solved: u8,
    pub(super) len: u8,
    pub(super) moves: [MoveId; EDGES_PER_BLOCK],
    /// At the root of simultaneous moves: the average strategy of `regret_matching`.
    pub(super) average_strategy: [f32; EDGES_PER_BLOCK],
}

const _: () = assert!(size_of::<EdgeBlock>() == 256);

impl EdgeBlock {
    pub(super) fn bounds(&self, slot: usize) -> Bounds {
        Bounds::new(self.lower[slot], self.upper[slot])
    }

    /// Intersects the bounds of an edge with others and returns the result.
    pub(super) fn narrow(&mut self, slot: usize, other: Bounds) -> Bounds {
        let bounds = self.bounds(slot).intersect(other);
        self.lower[slot] = bounds.lower;
        self.upper[slot] = bounds.upper;
        bounds
    }

    #[inline]
    pub(super) fn is_solved(&self, slot: usize) -> bool {
        self.solved >> slot & 1 == 1
    }

    /// The lower and the upper bounds of all slots.
    #[inline(always)]
    pub(super) fn limits(&self) -> (Slots, Slots) {
        // Vector instructions convert signed integers to floats, but not unsigned ones.
        (
            each(|slot| i32::from(self.lower[slot]) as f32),
            each(|slot| i32::from(self.upper[slot]) as f32),
        )
    }

    /// The slots without an edge, one bit each.
    #[inline(always)]
    pub(super) fn unused_slots(&self) -> u32 {
        u32::MAX << self.len
    }
}

/// Numbers limited to the bounds of each slot.
#[inline(always)]
pub(super) fn clamped((lower, upper): &(Slots, Slots), numbers: &Slots) -> Slots {
    let raised = each(|slot| greater(numbers[slot], lower[slot]));
    each(|slot| lesser(raised[slot], upper[slot]))
}

impl Linked<EdgeBlockId> for EdgeBlock {
    const BLANK: Self = Self {
        means: [0.0; EDGES_PER_BLOCK],
        minimax: [0.0; EDGES_PER_BLOCK],
        visits: [0; EDGES_PER_BLOCK],
        in_flight: [0; EDGES_PER_BLOCK],
        lower: [0; EDGES_PER_BLOCK],
        upper: [100; EDGES_PER_BLOCK],
        priors: [Prior::NONE; EDGES_PER_BLOCK],
        children: [NodeId::NONE; EDGES_PER_BLOCK],
        generations: [0; EDGES_PER_BLOCK],
        link: EdgeBlockId::NONE,
        role: 0,
        solved: 0,
        len: 0,
        moves: [MoveId(0); EDGES_PER_BLOCK],
        average_strategy: [0.0; EDGES_PER_BLOCK],
    };
    fn link(&mut self) -> &mut EdgeBlockId {
        &mut self.link
    }
}

/// A probability in a byte: the square of a multiple of 1/255, so that small ones are precise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Prior(u8);

impl Prior {
    /// Probability 0, or no prior.
    pub(super) const NONE: Self = Self(0);

    #[inline]
    pub(super) fn new(probability: f32) -> Self {
        Self((probability.sqrt() * 255.0 + 0.5) as u8)
    }

    #[inline]
    pub(super) fn probability(self) -> f32 {
        // Vector instructions convert signed integers only.
        let root = i32::from(self.0) as f32 * (1.0 / 255.0);
        root * root
    }
}

/// A legal move without an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct UntriedMove {
    pub(super) mv: MoveId,
    /// The static value of the child for the mover, in units of 1/600 points.
    value: u16,
    pub(super) prior: Prior,
}

const _: () = assert!(size_of::<UntriedMove>() == 8);

impl UntriedMove {
    const UNKNOWN: u16 = u16::MAX;
    const UNITS_PER_POINT: f32 = 600.0;

    /// A move of unknown value.
    pub(super) fn unknown(mv: MoveId) -> Self {
        Self {
            mv,
            value: Self::UNKNOWN,
            prior: Prior::NONE,
        }
    }

    /// A move with the static value of its child for the mover, 0 to 100.
    #[inline]
    pub(super) fn valued(mv: MoveId, value: f32) -> Self {
        Self {
            mv,
            value: (value.clamp(0.0, 100.0) * Self::UNITS_PER_POINT) as u16,
            prior: Prior::NONE,
        }
    }

    /// A number that rises with the static value.
    #[inline]
    pub(super) fn order(&self) -> u16 {
        self.value
    }

    /// The static value, unless it is unknown.
    #[inline]
    pub(super) fn value(self) -> Option<f32> {
        (self.value != Self::UNKNOWN).then(|| f32::from(self.value) / Self::UNITS_PER_POINT)
    }

    /// The static value, or `other` where it is unknown.
    #[inline]
    pub(super) fn value_or(self, other: f32) -> f32 {
        self.value().unwrap_or(other)
    }
}

/// Untried legal moves; one cache line.
#[derive(Clone, Copy)]
pub(super) struct MoveBlock {
    pub(super) moves: [UntriedMove; MOVES_PER_BLOCK],
    pub(super) len: u32,
    pub(super) link: MoveBlockId,
}

const _: () = assert!(size_of::<MoveBlock>() == 64);

impl Linked<MoveBlockId> for MoveBlock {
    const BLANK: Self = Self {
        moves: [UntriedMove {
            mv: MoveId(0),
            value: UntriedMove::UNKNOWN,
            prior: Prior::NONE,
        }; MOVES_PER_BLOCK],
        len: 0,
        link: MoveBlockId::NONE,
    };
    fn link(&mut self) -> &mut MoveBlockId {
        &mut self.link
    }
}

/// A record without fields of its own: its values lie in a strided table.
#[derive(Clone, Copy)]
pub(super) struct LinkOnly<I>(pub(super) I);

impl<I: PoolId> Linked<I> for LinkOnly<I> {
    const BLANK: Self = Self(I::NONE);
    fn link(&mut self) -> &mut I {
        &mut self.0
    }
}

/// A child of a node where several roles choose. The edges to it, one per role with a choice, lie
/// in a strided table.
#[derive(Clone, Copy)]
pub(super) struct JointChild {
    pub(super) parent: NodeId,
    pub(super) child: NodeId,
    /// The child's generation; a child of another generation was freed.
    pub(super) generation: u16,
    pub(super) next_in_bucket: JointChildId,
    pub(super) link: JointChildId,
}

impl Linked<JointChildId> for JointChild {
    const BLANK: Self = Self {
        parent: NodeId::NONE,
        child: NodeId::NONE,
        generation: 0,
        next_in_bucket: JointChildId::NONE,
        link: JointChildId::NONE,
    };
    fn link(&mut self) -> &mut JointChildId {
        &mut self.link
    }
}
