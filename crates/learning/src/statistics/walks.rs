//! Walks: games of uniformly random moves, many in parallel.
//!
//! Each game has a random stream of its own, so that games are the same however many run in
//! parallel.

#![expect(clippy::disallowed_methods, reason = "games are counted per second")]

use std::sync::Arc;
use std::time::Duration;

use super::counts::{Counts, GoalCounts};
use super::{SampleSize, Turns};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Expander, ExpansionStep, Machine, PositionBatch, Reasoner};
use panza_sync::{Budget, Instant, Random};

/// The most games of a generation.
const MAX_GAMES: u32 = 512;
/// The games of the first generation of a parallel expander.
const FIRST_GAMES: u32 = 16;
/// The longest turn order that is recognised.
const MAX_PERIOD: usize = 8;

/// Statistics of one role.
#[derive(Clone, Default, Debug)]
pub(super) struct RoleCounts {
    /// The numbers of legal moves where there are several.
    pub(super) moves: Counts,
    pub(super) goals: GoalCounts,
}

/// Statistics of some games.
#[derive(Clone, Default, Debug)]
pub(super) struct WalkCounts {
    pub(super) games: u32,
    pub(super) cut_off: u32,
    pub(super) unfinished: u32,
    pub(super) states: u64,
    pub(super) roles: Vec<RoleCounts>,
    pub(super) branching: Counts,
    pub(super) lengths: Counts,
    pub(super) sums: Counts,
    pub(super) n_several: u64,
    pub(super) draws: u64,
    /// Ends with an undefined goal.
    pub(super) undefined: u64,
    /// For each period of 1 to [`MAX_PERIOD`] steps and each phase of it, the set of roles that
    /// alone had a choice there.
    choosers: Vec<Vec<u64>>,
}

impl WalkCounts {
    fn new(n_roles: usize) -> Self {
        Self {
            roles: vec![RoleCounts::default(); n_roles],
            choosers: (1..=MAX_PERIOD).map(|length| vec![0; length]).collect(),
            ..Self::default()
        }
    }

    /// Counts a state after `step` joint moves, with the number of legal moves of each role.
    fn note_state(&mut self, step: u32, n_legal: impl Iterator<Item = usize>) {
        self.states += 1;
        let mut joint = 1u64;
        let mut chooser = None;
        let mut n_choosers = 0;
        for (role, n_legal) in n_legal.enumerate() {
            joint = joint.saturating_mul(n_legal as u64);
            if n_legal > 1 {
                self.roles[role].moves.note(n_legal as u64);
                chooser = Some(role);
                n_choosers += 1;
            }
        }
        self.branching.note(joint);
        self.n_several += u64::from(n_choosers > 1);
        if let Some(role) = chooser.filter(|&role| n_choosers == 1 && role < 64) {
            for phases in &mut self.choosers {
                let phase = step as usize % phases.len();
                phases[phase] |= 1 << role;
            }
        }
    }

    /// Counts the end of a game.
    fn note_end(&mut self, length: u32, goals: &[Option<u8>]) {
        self.games += 1;
        self.lengths.note(u64::from(length));
        for (role, &goal) in self.roles.iter_mut().zip(goals) {
            role.goals.note(goal);
        }
        let sum = goals.iter().map(|goal| u64::from(goal.unwrap_or(0))).sum();
        self.sums.note(sum);
        self.undefined += u64::from(goals.contains(&None));
        self.draws += u64::from(goals.windows(2).all(|pair| pair[0] == pair[1]));
    }

    /// The turn order.
    pub(super) fn turns(&self) -> Option<Turns> {
        if self.states == 0 {
            return None;
        }
        let choosers = self.roles.iter().enumerate();
        let choosers: Vec<usize> = choosers
            .filter(|(_, role)| role.moves.count() > 0)
            .map(|(role, _)| role)
            .collect();
        Some(match choosers.len() {
            _ if self.n_several > 0 => Turns::Simultaneous,
            0 => Turns::Nobody,
            1 => Turns::One,
            n if choosers.iter().all(|&role| role < 64) && self.has_period(n) => Turns::Alternating,
            _ => Turns::Varying,
        })
    }

    /// Whether each phase of a period of `n` steps belongs to another role.
    fn has_period(&self, n: usize) -> bool {
        self.choosers.get(n - 1).is_some_and(|phases| {
            let all = phases.iter().fold(0, |all, roles| all | roles);
            phases.iter().all(|roles| roles.count_ones() <= 1) && all.count_ones() as usize == n
        })
    }
}

/// A game in progress.
struct Game {
    random: Random,
    state: Vec<u64>,
    /// The joint move to make next; empty in the initial state.
    joint_move: Vec<MoveId>,
    length: u32,
}

impl Game {
    fn new(seed: u64, number: u32, initial: &[u64]) -> Self {
        let own = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(number);
        Self {
            random: Random::new(own),
            state: initial.to_vec(),
            joint_move: Vec::new(),
            length: 0,
        }
    }
}

/// Plays the games.
pub(super) struct Walks<'a> {
    machine: &'a Arc<dyn Machine>,
    size: SampleSize,
    seed: u64,
    budget: Budget,
    expander: Box<dyn Expander>,
    /// For the goals of states that are not terminal.
    reasoner: Box<dyn Reasoner>,
    positions: PositionBatch,
}

impl<'a> Walks<'a> {
    pub(super) fn new(
        machine: &'a Arc<dyn Machine>,
        size: SampleSize,
        seed: u64,
        budget: Budget,
    ) -> Self {
        Self {
            machine,
            size,
            seed,
            budget,
            expander: Arc::clone(machine).expander(),
            reasoner: Arc::clone(machine).reasoner(),
            positions: PositionBatch::default(),
        }
    }

    /// Plays generations of games while there is time for a whole one.
    pub(super) fn run(mut self) -> WalkCounts {
        let most = self.size.games;
        let is_parallel = self.expander.width() > 1;
        let mut wanted = if is_parallel { FIRST_GAMES } else { 1 };
        let mut n_begun = 0;
        let mut counts = WalkCounts::new(self.machine.info().n_roles());
        // The duration and the number of games of the last generation.
        let mut last: Option<(Duration, u32)> = None;
        while n_begun < most {
            let n_games = wanted.min(most - n_begun);
            if let Some((took, n_last)) = last
                && took.mul_f64(f64::from(n_games) / f64::from(n_last)) > self.budget.left()
            {
                break;
            }
            let started = Instant::now();
            let before = counts.clone();
            if !self.generation(n_begun, n_games, &mut counts) {
                // Of an unfinished generation only the first one counts.
                if n_begun > 0 {
                    counts = before;
                }
                break;
            }
            last = Some((started.elapsed(), n_games));
            n_begun += n_games;
            if is_parallel {
                wanted = (4 * wanted).min(MAX_GAMES);
            }
        }
        counts
    }

    /// Plays `n_games` games in parallel, from number `first` on. Returns false if the time was up
    /// before the last of them ended.
    fn generation(&mut self, first: u32, n_games: u32, counts: &mut WalkCounts) -> bool {
        let initial = self.machine.initial_state();
        let mut games: Vec<Game> = (first..first + n_games)
            .map(|number| Game::new(self.seed, number, &initial))
            .collect();
        while !games.is_empty() {
            if self.budget.is_over() {
                counts.unfinished += games.len() as u32;
                return false;
            }
            let steps: Vec<ExpansionStep<'_>> = games
                .iter()
                .map(|game| ExpansionStep {
                    state: &game.state,
                    joint_move: Some(game.joint_move.as_slice()).filter(|moves| !moves.is_empty()),
                })
                .collect();
            let mut positions = std::mem::take(&mut self.positions);
            self.expander.expand(&steps, true, &mut positions);
            drop(steps);
            let mut index = 0;
            games.retain_mut(|game| {
                let continues = self.advance(game, &positions, index, counts);
                index += 1;
                continues
            });
            self.positions = positions;
        }
        true
    }

    /// Moves a game to the position with this index and draws a joint move there. Returns false if
    /// the game is over.
    fn advance(
        &mut self,
        game: &mut Game,
        positions: &PositionBatch,
        index: usize,
        counts: &mut WalkCounts,
    ) -> bool {
        let state = positions.state(index);
        game.state.clear();
        game.state.extend_from_slice(state);
        game.length += u32::from(!game.joint_move.is_empty());
        let roles = || (0..self.machine.info().n_roles()).map(RoleId::from_index);
        if positions.terminal[index] {
            counts.note_end(game.length, positions.goals(index));
            return false;
        }
        if roles().any(|role| positions.legal(index, role).is_empty()) {
            self.reasoner.set_state(state);
            let mut goals = vec![None; positions.n_roles];
            self.reasoner.goals(&mut goals);
            counts.note_end(game.length, &goals);
            return false;
        }
        if game.length == self.size.max_length {
            counts.cut_off += 1;
            return false;
        }
        counts.note_state(
            game.length,
            roles().map(|role| positions.legal(index, role).len()),
        );
        game.joint_move.clear();
        for role in roles() {
            let legal = positions.legal(index, role);
            let drawn = match legal.len() {
                1 => 0,
                n => game.random.below(n as u32) as usize,
            };
            game.joint_move.push(legal[drawn]);
        }
        true
    }
}
