//! Walks: games of uniformly random moves, gone through state by state, many abreast.
//!
//! Each game draws from a stream of its own, so that games are the same however many go abreast.
//!
//! Never knows: what the figures are for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;

use super::spread::{Counts, GoalCounts};
use super::{SampleBudget, Turns};
use crate::ids::{Id, MoveId, RoleId};
use crate::machine::random::Random;
use crate::machine::{Expander, Machine, Positions, Reasoner, Step};

/// Games abreast, once it is known that they are quick.
const MOST_ABREAST: u32 = 512;
/// Games of the first generation where positions are looked at many at once.
const FIRST_ABREAST: u32 = 16;
/// Games that are kept to be gone through again, and words of states that they may take, of one
/// game and together.
const KEPT_GAMES: usize = 256;
const KEPT_WORDS_A_GAME: usize = 1 << 18;
const KEPT_WORDS: usize = 1 << 22;
/// Moves that transpositions are counted over.
const MAX_EDGES: usize = 1 << 18;
/// With more roles in turn than this no round is looked for.
const MAX_ROUND: usize = 8;

/// A game that was kept: its states, one behind the other, and the joint move made in each.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    number: u32,
    pub(super) states: Vec<u64>,
    pub(super) moves: Vec<MoveId>,
    /// The goals at the end; nothing where the end was not reached or not kept.
    pub(super) goals: Option<Vec<Option<u8>>>,
}

/// What was counted of one role.
#[derive(Clone, Default, Debug)]
pub(super) struct SeenRole {
    /// Legal moves in the states in which there were several.
    pub(super) moves: Counts,
    pub(super) goals: GoalCounts,
}

/// What was counted of some games.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) games: u32,
    pub(super) cut_off: u32,
    pub(super) stuck: u32,
    pub(super) unfinished: u32,
    pub(super) states: u64,
    pub(super) roles: Vec<SeenRole>,
    pub(super) branching: Counts,
    pub(super) lengths: Counts,
    pub(super) sums: Counts,
    pub(super) n_several: u64,
    pub(super) draws: u64,
    /// Ends at which some role's goal was undefined.
    pub(super) undefined: u64,
    /// Games in which a state came again.
    pub(super) returned: u32,
    /// For each round of 1 to [`MAX_ROUND`] states and each place in it, the roles that chose alone
    /// there.
    rounds: Vec<Vec<u64>>,
}

impl Seen {
    fn new(n_roles: usize) -> Self {
        Self {
            games: 0,
            cut_off: 0,
            stuck: 0,
            unfinished: 0,
            states: 0,
            roles: vec![SeenRole::default(); n_roles],
            branching: Counts::default(),
            lengths: Counts::default(),
            sums: Counts::default(),
            n_several: 0,
            draws: 0,
            undefined: 0,
            returned: 0,
            rounds: (1..=MAX_ROUND).map(|length| vec![0; length]).collect(),
        }
    }

    fn add(&mut self, other: &Seen) {
        self.games += other.games;
        self.cut_off += other.cut_off;
        self.stuck += other.stuck;
        self.unfinished += other.unfinished;
        self.states += other.states;
        for (role, other) in self.roles.iter_mut().zip(&other.roles) {
            role.moves.add(&other.moves);
            role.goals.add(&other.goals);
        }
        self.branching.add(&other.branching);
        self.lengths.add(&other.lengths);
        self.sums.add(&other.sums);
        self.n_several += other.n_several;
        self.draws += other.draws;
        self.undefined += other.undefined;
        self.returned += other.returned;
        let others = other.rounds.iter().flatten();
        for (roles, other) in self.rounds.iter_mut().flatten().zip(others) {
            *roles |= other;
        }
    }

    /// Notes a state, so many joint moves into its game, in which each role has so many moves.
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
            for round in &mut self.rounds {
                let place = step as usize % round.len();
                round[place] |= 1 << role;
            }
        }
    }

    /// Notes a game's end.
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

    /// Whose turn it is.
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
            n if choosers.iter().all(|&role| role < 64) && self.goes_round(n) => Turns::Alternating,
            _ => Turns::Varying,
        })
    }

    /// Whether each place in a round of so many states belongs to one role, each to another.
    fn goes_round(&self, length: usize) -> bool {
        self.rounds.get(length - 1).is_some_and(|round| {
            let all = round.iter().fold(0, |all, roles| all | roles);
            round.iter().all(|roles| roles.count_ones() <= 1) && all.count_ones() as usize == length
        })
    }
}

/// A game under way.
struct Game {
    random: Random,
    state: Vec<u64>,
    joint_move: Vec<MoveId>,
    length: u32,
    /// The states' hashes, for cycles.
    hashes: Vec<u64>,
    /// What is kept of it.
    kept: Option<Kept>,
}

impl Game {
    fn new(seed: u64, number: u32, initial: &[u64]) -> Self {
        let is_kept = (number as usize) < KEPT_GAMES;
        let own = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(number);
        Self {
            random: Random::new(own),
            state: initial.to_vec(),
            joint_move: Vec::new(),
            length: 0,
            hashes: Vec::new(),
            kept: is_kept.then(|| Kept {
                number,
                states: Vec::new(),
                moves: Vec::new(),
                goals: None,
            }),
        }
    }

    /// Whether a state came again.
    fn has_returned(&mut self) -> bool {
        self.hashes.sort_unstable();
        self.hashes.windows(2).any(|pair| pair[0] == pair[1])
    }
}

/// Goes through games.
pub(super) struct Walks<'a> {
    machine: &'a Arc<dyn Machine>,
    budget: SampleBudget,
    expander: Box<dyn Expander>,
    /// For the goals of states that are no ends by the rules.
    reasoner: Box<dyn Reasoner>,
    positions: Positions,
    pub(super) seen: Seen,
    pub(super) kept: Vec<Kept>,
    kept_words: usize,
    /// Hashes of the states that were met, and of the moves between them.
    states: FxHashSet<u64>,
    edges: FxHashSet<u64>,
}

impl<'a> Walks<'a> {
    pub(super) fn new(machine: &'a Arc<dyn Machine>, budget: SampleBudget) -> Self {
        Self {
            machine,
            budget,
            expander: Arc::clone(machine).expander(),
            reasoner: Arc::clone(machine).reasoner(),
            positions: Positions::default(),
            seen: Seen::new(machine.info().n_roles()),
            kept: Vec::new(),
            kept_words: 0,
            states: FxHashSet::default(),
            edges: FxHashSet::default(),
        }
    }

    /// Walks through games, generation after generation, while there is time for a whole one.
    pub(super) fn run(&mut self) {
        self.generations();
        // Those that ended first are short, and not all may be gone through again.
        self.kept.sort_by_key(|kept| kept.number);
    }

    fn generations(&mut self) {
        let budget = self.budget;
        let is_abreast = self.expander.width() > 1;
        let mut wanted = if is_abreast { FIRST_ABREAST } else { 1 };
        let mut n_begun = 0;
        // What the last generation took, and how many games it had.
        let mut last: Option<(Duration, u32)> = None;
        while n_begun < budget.games {
            let n_games = wanted.min(budget.games - n_begun);
            if let Some((took, n_last)) = last
                && took.mul_f64(f64::from(n_games) / f64::from(n_last)) > budget.left()
            {
                // A smaller one may still be done; without lanes the next is as small as the last.
                return;
            }
            let started = Instant::now();
            let n_kept = self.kept.len();
            let mut seen = Seen::new(self.machine.info().n_roles());
            let is_done = self.generation(n_begun, n_games, &mut seen);
            if !is_done && n_begun > 0 {
                self.kept.truncate(n_kept);
                return;
            }
            self.seen.add(&seen);
            if !is_done {
                return;
            }
            last = Some((started.elapsed(), n_games));
            n_begun += n_games;
            if is_abreast {
                wanted = (4 * wanted).min(MOST_ABREAST);
            }
        }
    }

    /// Goes through `n_games` games from number `first` on, abreast. False when the time was up
    /// before the last of them had ended; of the games under way, the states count.
    fn generation(&mut self, first: u32, n_games: u32, seen: &mut Seen) -> bool {
        let initial = self.machine.initial_state();
        let mut games: Vec<Game> = (first..first + n_games)
            .map(|number| Game::new(self.budget.seed, number, &initial))
            .collect();
        while !games.is_empty() {
            if self.budget.is_over() {
                seen.unfinished += games.len() as u32;
                for game in games {
                    self.keep(game.kept);
                }
                return false;
            }
            let steps: Vec<Step<'_>> = games
                .iter()
                .map(|game| Step {
                    state: &game.state,
                    joint_move: Some(game.joint_move.as_slice()).filter(|moves| !moves.is_empty()),
                })
                .collect();
            let mut positions = std::mem::take(&mut self.positions);
            self.expander.expand(&steps, true, &mut positions);
            drop(steps);
            let mut index = 0;
            games.retain_mut(|game| {
                let goes_on = self.go_on(game, &positions, index, seen);
                index += 1;
                goes_on
            });
            self.positions = positions;
        }
        true
    }

    /// Takes a game to the position with this index and chooses a joint move there; false where the
    /// game is over.
    fn go_on(
        &mut self,
        game: &mut Game,
        positions: &Positions,
        index: usize,
        seen: &mut Seen,
    ) -> bool {
        let before = game.hashes.last().copied();
        let state = positions.state(index);
        let hash = hash_of(state);
        self.note_edge(before, hash);
        game.state.clear();
        game.state.extend_from_slice(state);
        game.hashes.push(hash);
        game.length += u32::from(before.is_some());
        let roles = || (0..self.machine.info().n_roles()).map(RoleId::from_index);
        let is_terminal = positions.terminal[index];
        let is_stuck = roles().any(|role| positions.legal(index, role).is_empty());
        if is_terminal || is_stuck {
            let goals = if is_terminal {
                positions.goals(index).to_vec()
            } else {
                seen.stuck += 1;
                self.reasoner.set_state(state);
                let mut goals = vec![None; positions.n_roles];
                self.reasoner.goals(&mut goals);
                goals
            };
            seen.note_end(game.length, &goals);
            seen.returned += u32::from(game.has_returned());
            let kept = game.kept.take().map(|kept| Kept {
                goals: Some(goals),
                ..kept
            });
            self.keep(kept);
            return false;
        }
        if game.length == self.budget.max_steps {
            seen.cut_off += 1;
            seen.returned += u32::from(game.has_returned());
            self.keep(game.kept.take());
            return false;
        }
        seen.note_state(
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
        let is_full = |kept: &Kept| kept.states.len() + state.len() > KEPT_WORDS_A_GAME;
        if game.kept.as_ref().is_some_and(is_full) {
            // What was kept stands for a game whose end is not known.
            self.keep(game.kept.take());
        }
        if let Some(kept) = &mut game.kept {
            kept.states.extend_from_slice(state);
            kept.moves.extend_from_slice(&game.joint_move);
        }
        true
    }

    fn keep(&mut self, kept: Option<Kept>) {
        let Some(kept) = kept.filter(|kept| !kept.moves.is_empty()) else {
            return;
        };
        if self.kept_words + kept.states.len() <= KEPT_WORDS {
            self.kept_words += kept.states.len();
            self.kept.push(kept);
        }
    }

    fn note_edge(&mut self, before: Option<u64>, hash: u64) {
        let Some(before) = before else {
            return;
        };
        if self.edges.len() < MAX_EDGES && self.edges.insert(hash_of(&[before, hash])) {
            self.states.insert(hash);
        }
    }

    /// The share of moves that led to where another had led from elsewhere; nothing when no move
    /// was seen.
    pub(super) fn transpositions(&self) -> Option<f64> {
        let n_edges = self.edges.len();
        let n_again = n_edges.saturating_sub(self.states.len());
        (n_edges > 0).then(|| n_again as f64 / n_edges as f64)
    }
}

/// A hash of words, each mixed so that equal sums do not make equal hashes.
fn hash_of(words: &[u64]) -> u64 {
    words.iter().fold(words.len() as u64, |hash, &word| {
        let mixed = (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    })
}
