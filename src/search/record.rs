//! The records that the tree is made of, each of a fixed size, linked by ids; `graph` has the
//! picture.
//!
//! Invariant: sizes are pinned, since they are what a node costs and what a cache line holds.
//!
//! Never knows: where records are kept.

use super::pool::{Linked, Place, define_place};
use crate::ids::{MoveId, NodeId};

define_place! {
    /// A [`Chunk`].
    ChunkId
}
define_place! {
    /// A [`Run`].
    RunId
}
define_place! {
    /// A block of state words.
    BlockId
}
define_place! {
    /// One [`Choice`] per role.
    ChoicesId
}
define_place! {
    /// A [`Reply`].
    ReplyId
}
define_place! {
    /// An entry: a chunk and a slot in it.
    EntryId
}

/// Entries in a chunk.
pub(super) const ENTRIES: usize = 8;
/// Moves in a run.
pub(super) const RUN: usize = 14;
/// [`Node::decider`] when several roles have a choice.
pub(super) const SEVERAL: u16 = u16::MAX;

impl Default for EntryId {
    fn default() -> Self {
        Self::NONE
    }
}

impl EntryId {
    #[inline]
    pub(super) fn new(chunk: ChunkId, slot: usize) -> Self {
        Self(chunk.0 * ENTRIES as u32 + slot as u32)
    }

    #[inline]
    pub(super) fn chunk(self) -> ChunkId {
        ChunkId(self.0 / ENTRIES as u32)
    }

    #[inline]
    pub(super) fn slot(self) -> usize {
        self.0 as usize % ENTRIES
    }
}

/// What a role's goal is known to lie between, with best play by everyone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bounds {
    pub(super) lower: u8,
    pub(super) upper: u8,
}

impl Bounds {
    /// Nothing known.
    pub(super) const OPEN: Self = Self {
        lower: 0,
        upper: 100,
    };

    /// A known goal.
    pub(super) fn exact(goal: u8) -> Self {
        Self {
            lower: goal,
            upper: goal,
        }
    }

    /// What is left when another source is heard. Both speak the truth, so they overlap; where they
    /// do not, because a setting promised something false, the first is kept.
    pub(super) fn and(self, other: Self) -> Self {
        let both = Self {
            lower: self.lower.max(other.lower),
            upper: self.upper.min(other.upper),
        };
        if both.lower <= both.upper { both } else { self }
    }

    /// Whether the goal is known.
    #[inline]
    pub(super) fn is_exact(self) -> bool {
        self.lower == self.upper
    }

    /// The score moved to where the goal can be.
    #[inline]
    pub(super) fn clamp(self, score: f32) -> f32 {
        score.max(f32::from(self.lower)).min(f32::from(self.upper))
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self::OPEN
    }
}

/// A state of the game and how to get at what is known of it; one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Node {
    /// Finished iterations through it, from whatever parent.
    pub(super) visits: u32,
    /// Iterations under way through it.
    pub(super) in_flight: u32,
    /// The legal moves; none while the node is closed or terminal.
    pub(super) choices: ChoicesId,
    /// The newest chunk of the one role that has a choice, as its [`Choice`] has it; none where
    /// several have one.
    pub(super) first: ChunkId,
    /// The moves without an entry of the one role that has a choice, as its [`Choice`] has them.
    pub(super) untried: RunId,
    /// The descent that came by last, which is how a cycle is noticed.
    pub(super) descent: u32,
    /// The state; none in a terminal node.
    pub(super) state: BlockId,
    pub(super) state_words: u32,
    /// What the state hashes to.
    pub(super) hash: u32,
    /// The next node in the same bucket of the table of states.
    pub(super) next_in_bucket: NodeId,
    /// The first child of a node with several deciders.
    pub(super) replies: ReplyId,
    /// The next free node.
    pub(super) link: NodeId,
    /// The position of the match that was searched when it was last met, counted.
    pub(super) page: u32,
    /// Changes when the node is freed. A node whose last generation is over is not used again, so
    /// that none comes twice.
    pub(super) generation: u16,
    /// Joint moves from the state to the end along the proof, once the decider's goal is proven. An
    /// estimate where several roles choose at once, several parents lead here by ways of different
    /// length, or parts of the proof were freed.
    pub(super) proof_length: u16,
    /// Joint moves in which no role had a choice, walked between the first parent's move and this
    /// state.
    pub(super) forced: u16,
    /// The one role that has a choice, or [`SEVERAL`]. Says nothing while the node is closed.
    pub(super) decider: u16,
    /// Whether the game is over here.
    pub(super) terminal: bool,
    /// Whether no further visit can teach anything.
    pub(super) solved: bool,
    /// Whether the table of states leads here.
    pub(super) listed: bool,
    /// Whether it is not to be freed, whatever it is worth.
    pub(super) spared: bool,
}

const _: () = assert!(size_of::<Node>() == 64);

impl Node {
    /// Whether the legal moves are known.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.choices.is_some()
    }

    /// Joint moves from the parent's state to the end along the proof.
    pub(super) fn length_from_parent(&self) -> u16 {
        self.proof_length
            .saturating_add(self.forced)
            .saturating_add(1)
    }
}

impl Linked<NodeId> for Node {
    const BLANK: Self = Self {
        visits: 0,
        in_flight: 0,
        choices: ChoicesId::NONE,
        first: ChunkId::NONE,
        untried: RunId::NONE,
        descent: 0,
        state: BlockId::NONE,
        state_words: 0,
        hash: 0,
        next_in_bucket: NodeId::NONE,
        replies: ReplyId::NONE,
        link: NodeId::NONE,
        page: 0,
        generation: 0,
        proof_length: 0,
        forced: 0,
        decider: SEVERAL,
        terminal: false,
        solved: false,
        listed: false,
        spared: false,
    };
    fn link(&self) -> NodeId {
        self.link
    }
    fn set_link(&mut self, next: NodeId) {
        self.link = next;
    }
}

/// One role's legal moves in an open node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    /// The newest chunk of entries; the older ones are full.
    pub(super) first: ChunkId,
    /// The moves without an entry, in random order.
    pub(super) untried: RunId,
    /// How many moves are legal.
    pub(super) legal: u32,
    /// How many have an entry.
    pub(super) tried: u32,
    /// The legal move when there is only one.
    pub(super) sole: MoveId,
}

impl Choice {
    /// Whether moves without an entry are left.
    #[inline]
    pub(super) fn has_untried(&self) -> bool {
        self.untried.is_some()
    }

    /// Whether the role has more than one legal move.
    #[inline]
    pub(super) fn decides(&self) -> bool {
        self.legal > 1
    }
}

impl Default for Choice {
    fn default() -> Self {
        Self {
            first: ChunkId::NONE,
            untried: RunId::NONE,
            legal: 0,
            tried: 0,
            sole: MoveId(0),
        }
    }
}

/// Eight entries, field by field, so that eight scores are computed side by side: the first three
/// cache lines are all that a descent looks at.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Chunk {
    /// Mean score of the role, 0 to 100: where one role decides that of the child over all its
    /// visits, else that of the visits through the entry.
    pub(super) means: [f32; ENTRIES],
    /// How much the results of one visit vary, in squared points. Where roles mix: by how much the
    /// role would have done better with the move than with what it wanted to play (its regret), in
    /// points, as `mixing` sums it.
    pub(super) variances: [f32; ENTRIES],
    /// Finished visits. A first estimate from playouts counts as one.
    pub(super) visits: [u32; ENTRIES],
    /// Visits under way.
    pub(super) in_flight: [u16; ENTRIES],
    /// Lower bounds of the role's goal after the move.
    pub(super) lower: [u8; ENTRIES],
    /// Upper bounds of the role's goal after the move.
    pub(super) upper: [u8; ENTRIES],
    /// The children, where one role decides.
    pub(super) children: [NodeId; ENTRIES],
    /// The generations of the children: another one means that the child was freed.
    pub(super) generations: [u16; ENTRIES],
    pub(super) link: ChunkId,
    /// The role whose moves these are.
    pub(super) role: u16,
    /// A bit for each entry whose child is solved.
    pub(super) solved: u8,
    /// Entries in use.
    pub(super) len: u8,
    /// The moves.
    pub(super) moves: [MoveId; ENTRIES],
    /// Where roles mix: how often the role wanted to play the move, on average, as `mixing` weighs
    /// visits.
    pub(super) shares: [f32; ENTRIES],
}

const _: () = assert!(size_of::<Chunk>() == 256);

impl Chunk {
    /// The entry's bounds.
    pub(super) fn bounds(&self, slot: usize) -> Bounds {
        Bounds {
            lower: self.lower[slot],
            upper: self.upper[slot],
        }
    }

    /// Whether the entry's child is solved.
    #[inline]
    pub(super) fn is_solved(&self, slot: usize) -> bool {
        self.solved >> slot & 1 == 1
    }
}

impl Linked<ChunkId> for Chunk {
    const BLANK: Self = Self {
        means: [0.0; ENTRIES],
        variances: [0.0; ENTRIES],
        visits: [0; ENTRIES],
        in_flight: [0; ENTRIES],
        lower: [0; ENTRIES],
        upper: [100; ENTRIES],
        children: [NodeId::NONE; ENTRIES],
        generations: [0; ENTRIES],
        link: ChunkId::NONE,
        role: 0,
        solved: 0,
        len: 0,
        moves: [MoveId(0); ENTRIES],
        shares: [0.0; ENTRIES],
    };
    fn link(&self) -> ChunkId {
        self.link
    }
    fn set_link(&mut self, next: ChunkId) {
        self.link = next;
    }
}

/// Legal moves that were not tried yet; one cache line.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) moves: [MoveId; RUN],
    pub(super) len: u32,
    pub(super) link: RunId,
}

const _: () = assert!(size_of::<Run>() == 64);

impl Linked<RunId> for Run {
    const BLANK: Self = Self {
        moves: [MoveId(0); RUN],
        len: 0,
        link: RunId::NONE,
    };
    fn link(&self) -> RunId {
        self.link
    }
    fn set_link(&mut self, next: RunId) {
        self.link = next;
    }
}

/// A record that is nothing but its link; the values lie beside it.
#[derive(Clone, Copy)]
pub(super) struct Bare<I>(pub(super) I);

impl<I: Place> Linked<I> for Bare<I> {
    const BLANK: Self = Self(I::NONE);
    fn link(&self) -> I {
        self.0
    }
    fn set_link(&mut self, next: I) {
        self.0 = next;
    }
}

/// A child of a node with several deciders. The entries that lead to it lie beside it.
#[derive(Clone, Copy)]
pub(super) struct Reply {
    pub(super) owner: NodeId,
    pub(super) child: NodeId,
    /// The child's generation: another one means that the child was freed.
    pub(super) generation: u16,
    pub(super) next_in_bucket: ReplyId,
    /// The next reply of the owner.
    pub(super) link: ReplyId,
}

impl Linked<ReplyId> for Reply {
    const BLANK: Self = Self {
        owner: NodeId::NONE,
        child: NodeId::NONE,
        generation: 0,
        next_in_bucket: ReplyId::NONE,
        link: ReplyId::NONE,
    };
    fn link(&self) -> ReplyId {
        self.link
    }
    fn set_link(&mut self, next: ReplyId) {
        self.link = next;
    }
}
