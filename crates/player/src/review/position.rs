//! What a review knows of the match: its settings, the positions, and what was found in each.
//!
//! Invariant: proven goals go before values.
//!
//! Never uses: searches.

use std::thread::available_parallelism;

use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::Reasoner;
use panza_search::RoleOutlook;

/// Threads, at most: each holds the memory of a search.
const MAX_THREADS: usize = 8;

/// How a match is analysed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReviewSettings {
    /// Iterations for each position.
    pub iterations: u64,
    /// A move that loses at least this many points is a blunder, if the loss is proven; a loss that
    /// is not proven has to be greater.
    pub threshold: f64,
    /// Threads; 0 stands for one on each processor. They change nothing but the time.
    pub threads: usize,
}

impl ReviewSettings {
    /// Iterations that stand for a millisecond: about as many as a small game makes in it.
    pub const ITERATIONS_PER_MS: u64 = 100;
    /// The points of a blunder on lichess.
    pub const THRESHOLD: f64 = 15.0;

    pub(super) fn n_threads(&self) -> usize {
        let all = match self.threads {
            0 => available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        all.min(MAX_THREADS)
    }
}

impl Default for ReviewSettings {
    fn default() -> Self {
        Self {
            iterations: 300 * Self::ITERATIONS_PER_MS,
            threshold: Self::THRESHOLD,
            threads: 0,
        }
    }
}

/// What a position is worth to each role, with best play from there on; empty where the search said
/// nothing.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Worth(pub(super) Vec<RoleOutlook>);

impl Worth {
    /// The proven goal of a role, or else its value.
    pub fn of(&self, role: usize) -> Option<f64> {
        let value = self.0.get(role)?.value.map(f64::from);
        match self.proven(role) {
            Some(goal) => Some(goal.into()),
            None => value.map(|value| value.clamp(self.least(role), self.most(role))),
        }
    }

    /// The goal of a role, once proven.
    pub fn proven(&self, role: usize) -> Option<u8> {
        self.0.get(role)?.proven()
    }

    /// The least goal that is still possible for a role, and the greatest.
    pub(super) fn least(&self, role: usize) -> f64 {
        self.0.get(role).map_or(0.0, |it| it.bounds.0.into())
    }

    pub(super) fn most(&self, role: usize) -> f64 {
        self.0.get(role).map_or(100.0, |it| it.bounds.1.into())
    }

    /// Whether anything is proven about a role.
    pub(super) fn is_bounded(&self, role: usize) -> bool {
        self.least(role) > 0.0 || self.most(role) < 100.0
    }

    pub(super) fn is_proven(&self, role: usize) -> bool {
        self.proven(role).is_some()
    }

    /// The first of these goals of which it is open whether the role can force it.
    pub(super) fn open_goal(&self, role: usize, goals: [f64; 2]) -> Option<u8> {
        let is_open = |&goal: &f64| goal > self.least(role) && goal <= self.most(role);
        let open = goals.into_iter().find(is_open);
        open.filter(|goal| (1.0..=100.0).contains(goal))
            .map(|goal| goal as u8)
    }

    /// Narrows the bounds of a role, unless they would contradict what is known.
    pub(super) fn narrow(&mut self, role: usize, least: u8, most: u8) {
        if let Some(RoleOutlook { bounds, .. }) = self.0.get_mut(role) {
            let both = (bounds.0.max(least), bounds.1.min(most));
            if both.0 <= both.1 {
                *bounds = both;
            }
        }
    }
}

/// What a role lost by a move.
pub(super) fn loss_of(before: &Worth, after: &Worth, role: usize) -> f64 {
    match (before.of(role), after.of(role)) {
        (Some(before), Some(after)) => before - after,
        _ => 0.0,
    }
}

/// A position of the match.
pub(super) struct Position {
    pub(super) state: Vec<u64>,
    /// The joint move that was made here; `None` in the last position.
    pub(super) made: Option<Vec<MoveId>>,
    /// The roles that have a choice and an aim.
    pub(super) choosers: Vec<usize>,
    /// The most legal moves of a role.
    pub(super) n_moves: usize,
    /// Whether chance draws here.
    pub(super) has_chance: bool,
    pub(super) is_terminal: bool,
}

impl Position {
    pub(super) fn new(
        reasoner: &mut dyn Reasoner,
        state: &[u64],
        made: Option<&Vec<MoveId>>,
        (n_roles, chance): (usize, Option<usize>),
    ) -> Self {
        reasoner.set_state(state);
        let is_terminal = reasoner.is_terminal();
        let mut choosers = Vec::new();
        let mut n_moves = 0;
        for role in (0..n_roles).filter(|_| !is_terminal) {
            let n_legal = reasoner.legal_moves(RoleId::from_index(role)).len();
            n_moves = n_moves.max(n_legal);
            if n_legal > 1 {
                choosers.push(role);
            }
        }
        let n_choosers = choosers.len();
        choosers.retain(|&role| Some(role) != chance);
        Self {
            state: state.to_vec(),
            made: made.cloned(),
            n_moves,
            has_chance: choosers.len() < n_choosers,
            choosers,
            is_terminal,
        }
    }

    /// Whether it is searched: somebody has a choice, or nothing is known of what follows.
    pub(super) fn is_open(&self) -> bool {
        let has_choice = self.has_chance || !self.choosers.is_empty();
        !self.is_terminal && (has_choice || self.made.is_none())
    }

    /// The role that alone decides what follows.
    pub(super) fn mover(&self) -> Option<usize> {
        match self.choosers[..] {
            [role] if !self.has_chance => Some(role),
            _ => None,
        }
    }
}

/// What the search found in a position.
#[derive(Clone, Default)]
pub(super) struct Found {
    pub(super) worth: Worth,
    pub(super) line: Vec<Vec<MoveId>>,
    /// Where several roles choose at once: each one's best move, its value and that of the move
    /// made.
    pub(super) choices: Vec<(usize, MoveId, f64, f64)>,
    /// The sum of the goals of two roles, where it is fixed.
    pub(super) sum: Option<u16>,
}

impl Found {
    /// The goals of a position in which the game is over.
    pub(super) fn of_goals(goals: &[Option<u8>]) -> Self {
        let outlook = goals.iter().map(|goal| RoleOutlook {
            value: goal.map(f32::from),
            bounds: goal.map_or((0, 100), |goal| (goal, goal)),
        });
        Self {
            worth: Worth(outlook.collect()),
            ..Self::default()
        }
    }

    /// Takes what a later search has found. Proofs of before stay.
    pub(super) fn renew(&mut self, newer: Self) {
        let known = std::mem::replace(self, newer);
        self.sum = self.sum.or(known.sum);
        for (role, outlook) in known.worth.0.iter().enumerate() {
            self.narrow(role, outlook.bounds.0, outlook.bounds.1);
        }
    }

    /// Narrows the bounds of a role, and those of the other one where the sum is fixed.
    pub(super) fn narrow(&mut self, role: usize, least: u8, most: u8) {
        self.worth.narrow(role, least, most);
        if let Some(sum) = self.sum
            && self.worth.0.len() == 2
        {
            let rest = |goal: f64| (f64::from(sum) - goal).clamp(0.0, 100.0) as u8;
            let (least, most) = (self.worth.least(role), self.worth.most(role));
            self.worth.narrow(1 - role, rest(most), rest(least));
        }
    }
}
