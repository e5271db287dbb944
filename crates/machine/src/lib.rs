#![doc = include_str!("../README.md")]
//!
//! A [`Machine`] is a game compiled once and shared by all threads. A [`Reasoner`] is one thread's
//! instance with a current state, [`BatchPlayouts`] and an [`Expander`] work on many states at
//! once. Search uses these traits only, so that engines are interchangeable.
//!
//! Invariants: states are slices of `u64` words, of one length for a machine, equal exactly when
//! the states are equal, and valid for their own machine only. A [`MoveId`] belongs to one role. A
//! counter reasoner allocates nothing in a playout once its buffers have grown.
//!
//! Never uses: trees, GDL text (names are strings).

#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod compile;
pub mod counter;
pub mod info;
pub mod lanes;
pub mod multiversion;
pub mod rows;
pub mod parts;
pub mod sequential;
pub mod specialised;
pub mod stepper;

use std::sync::Arc;

pub use compile::CounterLayout;
pub use counter::{CounterMachine, CounterReasoner};
pub use info::{GameInfo, NetworkInfo, UnknownFact};
pub use lanes::compile::PlayoutPolicy;
pub use lanes::expand::ExpanderLayout;
pub use lanes::gang::GangLayout;
pub use lanes::machine::LanesMachine;
pub use multiversion::with_wide_vectors;
use panza_gdl::{BaseId, Id, MoveId, RoleId};
use panza_sync::Random;
pub use parts::{Condition, GamePart, GameParts, Supply};
pub use sequential::SequentialExpander;
pub use specialised::SpecialisedLayout;
pub use stepper::{NO_GOAL, NO_MOVE, RowSizes, SequentialStepper, StateRows, Stepper};

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

/// A compiled game.
pub trait Machine: Send + Sync {
    /// The engine's name, for logs: `counter`, `lanes`, `prover`.
    fn kind(&self) -> &'static str;

    /// The names of roles, moves and facts.
    fn info(&self) -> &dyn GameInfo;

    /// The initial state.
    fn initial_state(&self) -> Vec<u64>;

    /// A reasoner for a new thread, in the initial state.
    fn reasoner(self: Arc<Self>) -> Box<dyn Reasoner>;

    /// A move that is legal for the role in every state, if that is known without a search.
    fn unconditional_move(&self, role: RoleId) -> Option<MoveId> {
        let _ = role;
        None
    }

    /// Fits the machine to the game, where that is worth while before the first joint move.
    fn prepare(&self) {}

    /// Why a question had no answer, so that its default was given, if there was one.
    fn fault(&self) -> Option<String> {
        None
    }

    /// Batch playouts with random numbers seeded by `random`, each cut off after `max_steps` joint
    /// moves. `None` where sequential playouts are as fast.
    fn playouts(
        self: Arc<Self>,
        random: &mut Random,
        max_steps: u32,
    ) -> Option<Box<dyn BatchPlayouts>> {
        let _ = (random, max_steps);
        None
    }

    /// The same game on an engine that was not chosen by measurement: its playouts from a seed, and
    /// the order of its moves, are the same in every process. `None` where this is such an engine.
    fn unmeasured(&self) -> Option<Arc<dyn Machine>> {
        None
    }

    /// An expander for a new thread; a sequential one where the engine has no faster one.
    fn expander(self: Arc<Self>) -> Box<dyn Expander> {
        let n_roles = self.info().n_roles();
        Box::new(SequentialExpander::new(n_roles, self.reasoner()))
    }
}

/// One thread's instance of a game, with a current state.
pub trait Reasoner: Send {
    /// Sets the current state, which must be of the same machine.
    fn set_state(&mut self, state: &[u64]);

    /// Whether the game is over here.
    fn is_terminal(&mut self) -> bool;

    /// Each role's goal, 0 to 100, in role order; `None` where it is undefined. Of several values
    /// the highest counts.
    fn goals(&mut self, out: &mut [Option<u8>]);

    /// The goals of all `n_roles` roles, as [`goals`](Self::goals) gives them, 0 where undefined.
    fn final_goals(&mut self, n_roles: usize) -> Vec<u8> {
        let mut goals = vec![None; n_roles];
        self.goals(&mut goals);
        goals.iter().map(|goal| goal.unwrap_or(0)).collect()
    }

    /// The role's legal moves, in no particular order, each once. May be empty in a broken game.
    fn legal_moves(&mut self, role: RoleId) -> &[MoveId];

    /// One of the role's legal moves. Engines that take long to list all moves find it sooner.
    fn first_legal(&mut self, role: RoleId) -> Option<MoveId> {
        self.legal_moves(role).first().copied()
    }

    /// The legal move of the role with this text, as far as the engine can tell it without listing
    /// all moves.
    fn find_legal(&mut self, role: RoleId, text: &str) -> Option<MoveId> {
        let _ = (role, text);
        None
    }

    /// Whether a move is legal for the role.
    fn is_legal(&mut self, role: RoleId, mv: MoveId) -> bool {
        self.legal_moves(role).contains(&mv)
    }

    /// A random legal move of each of all `n_roles` roles; `None` where a role has none.
    fn random_joint_move(&mut self, n_roles: usize, random: &mut Random) -> Option<Vec<MoveId>> {
        let roles = (0..n_roles).map(RoleId::from_index);
        let moves = roles.map(|role| {
            let legal = self.legal_moves(role);
            (!legal.is_empty()).then(|| *random.choose(legal))
        });
        moves.collect()
    }

    /// Writes the state after a joint move (one move per role, in role order) to `out`. The current
    /// state stays.
    fn next_state(&mut self, joint_move: &[MoveId], out: &mut Vec<u64>);

    /// Puts the questions of this reasoner before those of others, where they wait for each other.
    fn set_urgent(&mut self) {}

    /// Plays uniformly random legal moves until the game ends or `max_steps` joint moves were made
    /// (fewer in games of tens of thousands of moves, whose steps take long), and writes the final
    /// goals (0 where undefined). The last state becomes the current one.
    fn playout(&mut self, random: &mut Random, max_steps: u32, goals: &mut [u8]) -> PlayoutEnd;
}

/// The number of a request of playouts.
pub type PlayoutTicket = u32;

/// The totals of some playouts from one state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlayoutTotals {
    /// Sum of the final goals, one per role.
    pub totals: Vec<u64>,
    /// The number of playouts.
    pub playouts: u32,
    /// Joint moves made.
    pub steps: u64,
    /// Playouts that ended at the step limit.
    pub cut_off: u32,
    /// For each observed fact the playouts whose final state has it.
    pub observed: Vec<u32>,
    /// For each observed fact and role, roles innermost, the sum of the goals of these playouts.
    pub observed_totals: Vec<u32>,
}

impl PlayoutTotals {
    /// Resets the totals; no facts are observed.
    pub fn clear(&mut self, n_roles: usize) {
        self.totals.clear();
        self.totals.resize(n_roles, 0);
        self.playouts = 0;
        self.steps = 0;
        self.cut_off = 0;
        self.observed.clear();
        self.observed_totals.clear();
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.playouts += other.playouts;
        self.steps += other.steps;
        self.cut_off += other.cut_off;
        for (sum, &total) in self.totals.iter_mut().zip(&other.totals) {
            *sum += total;
        }
        add_counts(&mut self.observed, &other.observed);
        add_counts(&mut self.observed_totals, &other.observed_totals);
    }
}

fn add_counts(sums: &mut Vec<u32>, counts: &[u32]) {
    if sums.len() < counts.len() {
        sums.resize(counts.len(), 0);
    }
    for (sum, &count) in sums.iter_mut().zip(counts) {
        *sum += count;
    }
}

/// Many playouts at once. Requests are submitted, and taken back when all their playouts ended.
pub trait BatchPlayouts: Send {
    /// The most playouts that run at once.
    fn width(&self) -> usize;

    /// Requested playouts that have not ended. While there are fewer than the width, lanes are
    /// idle.
    fn n_outstanding(&self) -> u64;

    /// Requests playouts from a state. `None` when `samples` is 0 or the state is not supported and
    /// has to be played by a [`Reasoner`].
    fn submit(&mut self, state: &[u64], samples: u32) -> Option<PlayoutTicket>;

    /// As [`submit`](Self::submit) for a state that is known not to be terminal.
    fn submit_nonterminal(&mut self, state: &[u64], samples: u32) -> Option<PlayoutTicket> {
        self.submit(state, samples)
    }

    /// From now on counts the final states that have each of these facts. Without a call, and in
    /// implementations that cannot, nothing is observed.
    fn observe(&mut self, _facts: &[BaseId]) {}

    /// Makes a step in all running playouts.
    fn advance(&mut self);

    /// Takes a request whose playouts have all ended, and replaces `tally` by its totals.
    fn take_finished(&mut self, tally: &mut PlayoutTotals) -> Option<PlayoutTicket>;
}

/// A position to expand: a state, or its successor after a joint move.
#[derive(Clone, Copy, Debug)]
pub struct ExpansionStep<'a> {
    /// The state.
    pub state: &'a [u64],
    /// One legal move per role in role order; `None` for the state itself.
    pub joint_move: Option<&'a [MoveId]>,
}

/// Expanded positions: states, terminality, goals and legal moves.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PositionBatch {
    /// The number of roles.
    pub n_roles: usize,
    /// The states, concatenated.
    pub states: Vec<u64>,
    /// For each position the end of its state in `states`.
    pub state_ends: Vec<u32>,
    /// Whether each position is terminal.
    pub terminal: Vec<bool>,
    /// For each position each role's goal, as of [`Reasoner::goals`], if the position is terminal,
    /// else `None`.
    pub goals: Vec<Option<u8>>,
    /// For each position and role the end of its legal moves in `legal`. Empty when they were not
    /// requested.
    pub legal_ends: Vec<u32>,
    /// The legal moves, in rising order. Empty when they were not requested.
    pub legal: Vec<MoveId>,
}

impl PositionBatch {
    /// The number of positions.
    pub fn len(&self) -> usize {
        self.terminal.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.terminal.is_empty()
    }

    /// The state of a position; empty when the index is out of range.
    #[inline]
    pub fn state(&self, index: usize) -> &[u64] {
        run_of(&self.states, &self.state_ends, index)
    }

    /// Each role's goal in a position; empty when the index is out of range.
    #[inline]
    pub fn goals(&self, index: usize) -> &[Option<u8>] {
        let start = index * self.n_roles;
        let goals = self.goals.get(start..start + self.n_roles);
        goals.unwrap_or_default()
    }

    /// The role's legal moves in a position, in rising order; empty when they were not requested,
    /// or the index or role is out of range.
    #[inline]
    pub fn legal(&self, index: usize, role: RoleId) -> &[MoveId] {
        if role.index() >= self.n_roles {
            return &[];
        }
        let run = index * self.n_roles + role.index();
        run_of(&self.legal, &self.legal_ends, run)
    }

    /// Removes all positions and keeps the allocations, for a game with `n_roles` roles.
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

#[inline]
fn run_of<'a, T>(all: &'a [T], ends: &[u32], index: usize) -> &'a [T] {
    let Some(&end) = ends.get(index) else {
        return &[];
    };
    let start = index.checked_sub(1).map_or(0, |before| ends[before]);
    all.get(start as usize..end as usize).unwrap_or_default()
}

/// Expands many positions at once.
///
/// Steps from one state should be consecutive: some engines then set it only once.
pub trait Expander: Send {
    /// The number of positions that cost as much as one.
    fn width(&self) -> usize;

    /// Replaces `positions` by the expansions of the steps, in their order. Legal moves are
    /// included if `with_legal` is set, goals for terminal positions only.
    fn expand(
        &mut self,
        steps: &[ExpansionStep<'_>],
        with_legal: bool,
        positions: &mut PositionBatch,
    );
}
