//! Machines: what runs a game.
//!
//! A [`Machine`] is a game compiled once and shared by all threads; a [`Reasoner`] is one thread's
//! hands on it, holding the one state it stands on. Search and measurement speak to games through
//! these two traits alone, so that every engine can take the place of any other.
//!
//! Invariants: states are slices of `u64` words, equal exactly when the states are equal, and mean
//! something to their own machine only. A [`MoveId`] belongs to one role. After a reasoner is made,
//! asking it allocates nothing but what the caller hands in.
//!
//! Never knows: trees, clocks, GDL text (names are handed through as strings).

pub mod compile;
pub mod counter;
pub mod info;
pub mod lanes;
pub mod multiversion;
pub mod parts;
pub mod random;
pub mod sequential;
pub mod specialised;

use std::sync::Arc;

use crate::ids::{Id, MoveId, RoleId};
pub use info::{GameInfo, NetworkInfo};
use random::Random;
pub use sequential::SequentialExpander;

/// How a playout ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlayoutEnd {
    /// In a terminal state, or one in which some role has no legal move.
    Finished {
        /// Joint moves made.
        steps: u32,
    },
    /// At the step limit.
    CutOff,
}

/// A game, ready to run.
pub trait Machine: Send + Sync {
    /// What kind of machine it is, for logs: `counter`, `lanes`, `prover`.
    fn kind(&self) -> &'static str;

    /// The names of roles, moves and facts.
    fn info(&self) -> &dyn GameInfo;

    /// The state that the game starts in.
    fn initial_state(&self) -> Vec<u64>;

    /// A new thread's hands on the game, standing on the initial state.
    fn reasoner(self: Arc<Self>) -> Box<dyn Reasoner>;

    /// Many playouts at once, drawing from a stream that `random` seeds, each cut off after
    /// `max_steps` joint moves; nothing where one after the other is as fast.
    fn playouts(
        self: Arc<Self>,
        random: &mut Random,
        max_steps: u32,
    ) -> Option<Box<dyn BatchPlayouts>> {
        let _ = (random, max_steps);
        None
    }

    /// A new thread's hands for looking at many positions in one go; one after the other where
    /// nothing faster is to be had.
    fn expander(self: Arc<Self>) -> Box<dyn Expander> {
        let n_roles = self.info().n_roles();
        Box::new(SequentialExpander::new(n_roles, self.reasoner()))
    }
}

/// One thread's view of a game, standing on one state.
pub trait Reasoner: Send {
    /// Stands on this state of the same machine.
    fn set_state(&mut self, state: &[u64]);

    /// Whether the game is over here.
    fn is_terminal(&mut self) -> bool;

    /// Each role's goal here, 0 to 100, in role order. A role whose goal is undefined gets `None`.
    /// Of several goal values the highest counts.
    fn goals(&mut self, out: &mut [Option<u8>]);

    /// The role's legal moves here, in no particular order, each once. May be empty in a broken
    /// game.
    fn legal_moves(&mut self, role: RoleId) -> &[MoveId];

    /// The state after a joint move (one move per role, in role order), written over `out`. This
    /// reasoner keeps standing where it stood.
    fn next_state(&mut self, joint_move: &[MoveId], out: &mut Vec<u64>);

    /// Plays uniformly random legal moves from here until the game ends or `max_steps` joint moves
    /// were made, and writes the final goals (undefined counts as 0). The reasoner stands on the
    /// last state afterwards.
    fn playout(&mut self, random: &mut Random, max_steps: u32, goals: &mut [u8]) -> PlayoutEnd;
}

/// A number for playouts that were asked for together.
pub type PlayoutTicket = u32;

/// What came of some playouts from one state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlayoutTotals {
    /// Sum of the final goals, one per role.
    pub totals: Vec<u64>,
    /// How many there were.
    pub playouts: u32,
    /// Joint moves made.
    pub steps: u64,
    /// Playouts that ended at the step limit.
    pub cut_off: u32,
}

impl PlayoutTotals {
    /// Starts counting anew.
    pub fn clear(&mut self, n_roles: usize) {
        self.totals.clear();
        self.totals.resize(n_roles, 0);
        self.playouts = 0;
        self.steps = 0;
        self.cut_off = 0;
    }
}

/// Many playouts at once: what is wanted goes in, and comes out when all of it is played.
pub trait BatchPlayouts: Send {
    /// How many can be under way abreast.
    fn width(&self) -> usize;

    /// Playouts wanted and not ended. While there are fewer than the width, some lanes idle.
    fn n_outstanding(&self) -> u64;

    /// Asks for playouts from a state. Nothing when none are wanted or the state is not one of
    /// these playouts' kind: then a [`Reasoner`] has to play them.
    fn submit(&mut self, state: &[u64], samples: u32) -> Option<PlayoutTicket>;

    /// Takes all playouts under way a step further.
    fn advance(&mut self);

    /// A ticket all of whose playouts have ended, and what came of them, put in place of what
    /// `tally` was.
    fn take_finished(&mut self, tally: &mut PlayoutTotals) -> Option<PlayoutTicket>;
}

/// What to look at: a state, or what a joint move makes of it.
#[derive(Clone, Copy, Debug)]
pub struct ExpansionStep<'a> {
    /// The state.
    pub state: &'a [u64],
    /// One move per role in role order, legal there; nothing to look at the state itself.
    pub joint_move: Option<&'a [MoveId]>,
}

/// What positions are like, one after the other.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PositionBatch {
    /// How many roles each position speaks of.
    pub n_roles: usize,
    /// The states, one behind the other.
    pub states: Vec<u64>,
    /// For each position the end of its state in `states`.
    pub state_ends: Vec<u32>,
    /// Whether the game is over there.
    pub terminal: Vec<bool>,
    /// For each position each role's goal, as [`Reasoner::goals`] has them, where the game is over;
    /// `None` for each role elsewhere.
    pub goals: Vec<Option<u8>>,
    /// For each position and role the end of its legal moves in `legal`. Empty when legal moves
    /// were not asked for.
    pub legal_ends: Vec<u32>,
    /// The legal moves, in rising order. Empty when they were not asked for.
    pub legal: Vec<MoveId>,
}

impl PositionBatch {
    /// How many positions there are.
    pub fn len(&self) -> usize {
        self.terminal.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.terminal.is_empty()
    }

    /// The state of the position with this index; empty when there is no such position.
    #[inline]
    pub fn state(&self, index: usize) -> &[u64] {
        run_of(&self.states, &self.state_ends, index)
    }

    /// Each role's goal where the game is over, `None` for each elsewhere; empty when there is no
    /// such position.
    #[inline]
    pub fn goals(&self, index: usize) -> &[Option<u8>] {
        let start = index * self.n_roles;
        let goals = self.goals.get(start..start + self.n_roles);
        goals.unwrap_or_default()
    }

    /// The role's legal moves in the position with this index, in rising order; empty when they
    /// were not asked for or there is no such position or role.
    #[inline]
    pub fn legal(&self, index: usize, role: RoleId) -> &[MoveId] {
        if role.index() >= self.n_roles {
            return &[];
        }
        let run = index * self.n_roles + role.index();
        run_of(&self.legal, &self.legal_ends, run)
    }

    /// Forgets all positions and keeps the room they took: a start for positions of a game with so
    /// many roles.
    pub fn clear(&mut self, n_roles: usize) {
        self.n_roles = n_roles;
        self.states.clear();
        self.state_ends.clear();
        self.terminal.clear();
        self.goals.clear();
        self.legal_ends.clear();
        self.legal.clear();
    }
}

/// One of the runs that lie one behind the other and end where `ends` says; empty when there is no
/// such run.
#[inline]
fn run_of<'a, T>(all: &'a [T], ends: &[u32], index: usize) -> &'a [T] {
    let Some(&end) = ends.get(index) else {
        return &[];
    };
    let start = index.checked_sub(1).map_or(0, |before| ends[before]);
    all.get(start as usize..end as usize).unwrap_or_default()
}

/// Looks at many positions in one go.
///
/// Where several steps start from one state, they should follow each other: some engines then stand
/// on it only once.
pub trait Expander: Send {
    /// How many positions cost as much as one.
    fn width(&self) -> usize;

    /// Looks at as many positions as steps are given, and puts what they are like in place of what
    /// `positions` was. The order is that of the steps. Legal moves are told if `with_legal` says
    /// so; goals only of positions in which the game is over.
    fn expand(
        &mut self,
        steps: &[ExpansionStep<'_>],
        with_legal: bool,
        positions: &mut PositionBatch,
    );
}
