//! Games of two settings of the search against each other.
//!
//! With two roles the settings play each other in both roles. Otherwise one role plays with the
//! first settings, and the same game is played without them for comparison. The chance role draws
//! its moves and does not count.
//!
//! Invariant: both sides get the same time, or the same iterations, for a move.
//!
//! Never uses: matches.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use super::sprt::{Hypotheses, PairTally, Verdict};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Machine, PlayoutEnd, Reasoner};
use panza_search::{AlphaBetaParameters, SearchConfig, Searcher, start};
use panza_sync::{Budget, Random};

/// Joint moves after which a game is given up.
const MAX_MOVES: usize = 1000;
/// Memory limits of a search.
const MAX_NODES: u32 = 50_000;
const MAX_BYTES: usize = 64 << 20;
const TABLE_BYTES: usize = 4 << 20;
/// Playouts per request of a search.
const SAMPLES_PER_REQUEST: u32 = 16;
/// Playouts from the last position of a game that is cut off, and the time that they may take.
const PLAYOUTS: u32 = 256;
const PLAYOUT_TIME: Duration = Duration::from_millis(20);
/// The test of a generation: not stronger, or stronger by this.
const HYPOTHESES: Hypotheses = Hypotheses {
    elo0: 0.0,
    elo1: 40.0,
};
/// Pairs after which a test ends without a new generation.
const MAX_PAIRS: u32 = 400;
/// Random joint moves before a test game, at most.
const TEST_OPENING: u32 = 6;

/// The result of a round: one opening played in both roles, or with and without other settings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// Games that count: two where two roles exchange the settings.
    pub games: u32,
    /// Points of the first settings in them.
    pub points: f32,
}

/// Games of two settings against each other.
pub(super) struct Contest<'a> {
    pub machine: &'a Arc<dyn Machine>,
    /// The first settings and those they are compared with.
    pub configs: [SearchConfig; 2],
    /// What a search may cost for a move that it begins now. Iterations do not depend on the speed
    /// of the machine.
    pub of_move: fn() -> Budget,
    /// That of all games.
    pub budget: Budget,
}

impl Contest<'_> {
    /// Plays a round from a position. Games of a round differ only in who plays which role; rounds
    /// differ in their random numbers. `None` when time ran out or a game did not end.
    pub fn round(&self, initial: &[u64], round: u64) -> Option<Round> {
        let mut reasoner = Arc::clone(self.machine).reasoner();
        let roles = self.roles_with_aim();
        let seed = 2 * round;
        if let [first, second] = roles[..] {
            let mut points = 0.0;
            for (role, other) in [(first, second), (second, first)] {
                let goals = self.play(&mut *reasoner, initial, Some(role), seed).ok()?;
                points += point(goals[role], goals[other]);
            }
            return Some(Round { games: 2, points });
        }
        let role = roles[(round % roles.len().max(1) as u64) as usize];
        let with = self.play(&mut *reasoner, initial, Some(role), seed).ok()?;
        let without = self.play(&mut *reasoner, initial, None, seed).ok()?;
        Some(Round {
            games: 1,
            points: point(with[role], without[role]),
        })
    }

    /// The points of the first settings in a game of two roles, of which they play this one, and
    /// whether it was cut off. Such a game counts by playouts from its last position, half-way to
    /// a draw.
    pub fn game_or_part(&self, initial: &[u64], role: usize, round: u64) -> (f32, bool) {
        let mut reasoner = Arc::clone(self.machine).reasoner();
        match self.play(&mut *reasoner, initial, Some(role), 2 * round) {
            Ok(goals) => (point(goals[role], goals[1 - role]), false),
            Err(last) => {
                let by_playouts = points_by_playouts(&mut *reasoner, &last, role, round);
                (0.5 * (by_playouts + 0.5), true)
            }
        }
    }

    /// All roles but that of chance; all where that is the only one.
    fn roles_with_aim(&self) -> Vec<usize> {
        let info = self.machine.info();
        let chance = info.chance_role().filter(|_| info.n_roles() > 1);
        let roles = 0..info.n_roles();
        roles
            .filter(|&role| chance != Some(RoleId::from_index(role)))
            .collect()
    }

    /// The goals of one game, in which this role plays with the first settings. The last position
    /// as an error when time ran out or the game did not end.
    fn play(
        &self,
        reasoner: &mut dyn Reasoner,
        initial: &[u64],
        tried: Option<usize>,
        seed: u64,
    ) -> Result<Vec<u8>, Vec<u64>> {
        let n_roles = self.machine.info().n_roles();
        let chance = self.machine.info().chance_role().map(RoleId::index);
        let mut random = Random::new(seed);
        let searches = (0..n_roles).map(|role| {
            let config = &self.configs[usize::from(tried != Some(role))];
            self.search(role, initial, config, seed)
        });
        let mut searches: Vec<Box<dyn Searcher>> = searches.collect();
        let mut state = initial.to_vec();
        for _ in 0..MAX_MOVES {
            // At every move, since there are games without choices.
            if self.budget.is_over() {
                break;
            }
            reasoner.set_state(&state);
            if reasoner.is_terminal() {
                let mut goals = vec![None; n_roles];
                reasoner.goals(&mut goals);
                return Ok(goals.iter().map(|goal| goal.unwrap_or(0)).collect());
            }
            let mut joint_move: Vec<MoveId> = Vec::with_capacity(n_roles);
            for (role, search) in searches.iter_mut().enumerate() {
                let legal = reasoner.legal_moves(RoleId::from_index(role));
                let Some(&first) = legal.first() else {
                    return Err(state);
                };
                if legal.len() == 1 {
                    joint_move.push(first);
                    continue;
                }
                if chance == Some(role) {
                    joint_move.push(legal[random.below(legal.len() as u32) as usize]);
                    continue;
                }
                search.run(&(self.of_move)());
                joint_move.push(search.choose().map_or(first, |best| best.mv));
            }
            let mut next = Vec::with_capacity(state.len());
            reasoner.next_state(&joint_move, &mut next);
            for search in &mut searches {
                search.advance(&joint_move, &next);
            }
            state = next;
        }
        Err(state)
    }

    /// The search of a role in one game.
    fn search(
        &self,
        role: usize,
        initial: &[u64],
        config: &SearchConfig,
        seed: u64,
    ) -> Box<dyn Searcher> {
        let config = SearchConfig {
            seed: config.seed.wrapping_add(seed + role as u64),
            ..config.clone()
        };
        start(self.machine, RoleId::from_index(role), initial, &config).search
    }
}

/// Settings of searches beside a preparation: one thread, little memory.
pub(super) fn small_search(config: SearchConfig) -> SearchConfig {
    SearchConfig {
        rollout_threads: 0,
        max_nodes: MAX_NODES,
        max_bytes: MAX_BYTES,
        samples_per_request: SAMPLES_PER_REQUEST,
        alpha_beta: AlphaBetaParameters {
            table_bytes: TABLE_BYTES,
            ..config.alpha_beta
        },
        ..config
    }
}

/// The position after `moves` random joint moves from the initial state. If the game ends sooner,
/// the last position before its end.
pub(super) fn random_opening(
    machine: &Arc<dyn Machine>,
    moves: usize,
    random: &mut Random,
) -> Vec<u64> {
    let mut reasoner = Arc::clone(machine).reasoner();
    let mut state = machine.initial_state();
    let mut next = Vec::with_capacity(state.len());
    for _ in 0..moves {
        reasoner.set_state(&state);
        let n_roles = machine.info().n_roles();
        let Some(joint_move) = reasoner.random_joint_move(n_roles, random) else {
            break;
        };
        next.clear();
        reasoner.next_state(&joint_move, &mut next);
        reasoner.set_state(&next);
        if reasoner.is_terminal() {
            break;
        }
        state.clone_from(&next);
    }
    state
}

/// The position in which a pair of test games begins: one of the book, or one after some random
/// moves.
pub(super) fn test_opening(
    machine: &Arc<dyn Machine>,
    book: &[Vec<u64>],
    seed: u64,
    number: u64,
) -> Vec<u64> {
    let mut random = Random::new(seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let count = u32::try_from(book.len()).unwrap_or(u32::MAX);
    if count > 0 && number % 2 == 1 {
        return book[random.below(count) as usize].clone();
    }
    let moves = random.below(TEST_OPENING + 1) as usize;
    random_opening(machine, moves, &mut random)
}

/// Whether the first settings of a test are stronger by its pairs; `None` while it is not decided.
pub(super) fn decision(tally: &PairTally) -> Option<bool> {
    match tally.verdict(HYPOTHESES) {
        Verdict::Stronger => Some(true),
        Verdict::NotStronger => Some(false),
        Verdict::Open => (tally.pairs() >= MAX_PAIRS).then_some(false),
    }
}

/// The mean points of one of two roles in random playouts from a position; half a point where none
/// ends.
fn points_by_playouts(reasoner: &mut dyn Reasoner, state: &[u64], role: usize, seed: u64) -> f32 {
    let (mut random, budget) = (Random::new(seed), Budget::lasting(PLAYOUT_TIME));
    let (mut ended, mut points) = (0.0, 0.0);
    let mut goals = [0; 2];
    for _ in 0..PLAYOUTS {
        if budget.is_over() {
            break;
        }
        reasoner.set_state(state);
        let end = reasoner.playout(&mut random, MAX_MOVES as u32, &mut goals);
        if end != PlayoutEnd::CutOff {
            ended += 1.0;
            points += point(goals[role], goals[1 - role]);
        }
    }
    if ended > 0.0 { points / ended } else { 0.5 }
}

/// One point for the greater goal, half a point for an equal one.
fn point(goal: u8, other: u8) -> f32 {
    match goal.cmp(&other) {
        Ordering::Greater => 1.0,
        Ordering::Equal => 0.5,
        Ordering::Less => 0.0,
    }
}
