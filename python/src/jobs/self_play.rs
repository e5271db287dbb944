//! Games that searches play against each other, as samples for training.
//!
//! In each state every role with a choice has a search of its own. The move is drawn by visits in
//! the first moves of a game, and is the best one afterwards.
//!
//! Invariant: a game depends on its number and the seed, not on the threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use panza_game::BuiltGame;
use panza_gdl::{Id, MoveId, RoleId};
use panza_search::Search;
use panza_sync::{Budget, Random};

use super::search::SearchOptions;
use crate::batch::{in_parallel, mix};
use crate::core::Core;

/// How games are played.
#[derive(Clone, Debug)]
pub struct SelfPlayOptions {
    /// The number of games.
    pub games: usize,
    /// Iterations of each search.
    pub iterations: u64,
    /// The joint moves of a game that are drawn by visits.
    pub drawn_moves: u32,
    /// Steps after which a game is cut off.
    pub max_steps: u32,
    /// Threads, each with a game.
    pub threads: usize,
    /// The other settings of a search; `role`, `iterations`, `time` and `threads` are not read.
    pub search: SearchOptions,
}

/// A decision of one role.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The state.
    pub state: Vec<u64>,
    /// The role.
    pub role: usize,
    /// The share of visits of each action.
    pub policy: Vec<f32>,
    /// The value that the search found, 0 to 100.
    pub value: f32,
    /// The action that was made.
    pub action: u32,
}

/// A finished game.
#[derive(Clone, Debug)]
pub struct Played {
    /// Its decisions, in order.
    pub samples: Vec<Sample>,
    /// Each role's goal; `None` where the game was cut off, or a goal is undefined.
    pub goals: Vec<Option<u8>>,
}

/// Plays games.
pub fn self_play(
    core: &Arc<Core>,
    game: &BuiltGame,
    options: &SelfPlayOptions,
    stop: &Arc<AtomicBool>,
) -> Vec<Played> {
    let next = AtomicUsize::new(0);
    let threads = (0..options.threads.min(options.games.max(1))).collect();
    let played = in_parallel(threads, &|_thread: usize| {
        let mut played = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= options.games || stop.load(Ordering::Relaxed) {
                return played;
            }
            played.push((number, play(core, game, options, number, stop)));
        }
    });
    let mut played: Vec<(usize, Played)> = played.into_iter().flatten().collect();
    played.sort_by_key(|&(number, _)| number);
    played.into_iter().map(|(_, played)| played).collect()
}

fn play(
    core: &Arc<Core>,
    game: &BuiltGame,
    options: &SelfPlayOptions,
    number: usize,
    stop: &Arc<AtomicBool>,
) -> Played {
    let n_roles = core.sizes.n_roles;
    let mut random = Random::new(mix(options.search.seed ^ mix(number as u64)));
    let mut searches: Vec<Option<Search>> = (0..n_roles).map(|_| None).collect();
    let mut reasoner = Arc::clone(&game.machine).reasoner();
    let mut state = game.machine.initial_state();
    let mut samples = Vec::new();
    let mut goals = vec![None; n_roles];
    for step in 0..options.max_steps {
        reasoner.set_state(&state);
        if reasoner.is_terminal() {
            reasoner.goals(&mut goals);
            break;
        }
        let mut joint_move = Vec::with_capacity(n_roles);
        for (role, search) in searches.iter_mut().enumerate() {
            let legal = reasoner.legal_moves(RoleId::from_index(role)).to_vec();
            let chosen = match legal[..] {
                [] => break,
                [only] => only,
                _ if core.chance == Some(role) => legal[random.below(legal.len() as u32) as usize],
                _ => {
                    let search = search.get_or_insert_with(|| {
                        let config = SearchOptions {
                            role,
                            threads: 1,
                            seed: random.bits(),
                            ..options.search.clone()
                        };
                        let mut search = config.start_tree(game);
                        search.set_state(&state);
                        search
                    });
                    search.run(
                        &Budget::generous()
                            .with_steps(options.iterations)
                            .stopped_by(stop),
                    );
                    search.settle();
                    let is_drawn = step < options.drawn_moves;
                    let sample = sample(core, search, role, &state, is_drawn, &mut random);
                    let mv = MoveId(core.moves_of(role).start + sample.action);
                    samples.push(sample);
                    mv
                }
            };
            joint_move.push(chosen);
        }
        if joint_move.len() < n_roles || stop.load(Ordering::Relaxed) {
            break;
        }
        for search in searches.iter_mut().flatten() {
            search.advance(&joint_move);
        }
        reasoner.next_state(&joint_move, &mut state);
    }
    Played { samples, goals }
}

/// What a search says about a state, and the action of its role.
fn sample(
    core: &Core,
    search: &mut Search,
    role: usize,
    state: &[u64],
    is_drawn: bool,
    random: &mut Random,
) -> Sample {
    let root = search.root();
    let first = core.moves_of(role).start;
    let weight = |index: usize| {
        let report = &root.moves[index];
        report.probability.unwrap_or(report.visits as f32)
    };
    let total: f32 = (0..root.moves.len()).map(weight).sum();
    let mut policy = vec![0.0; core.max_moves];
    for (index, report) in root.moves.iter().enumerate() {
        let share = match total > 0.0 {
            true => weight(index) / total,
            false => 1.0 / root.moves.len() as f32,
        };
        policy[(report.mv.0 - first) as usize] = share;
    }
    let mut left = (random.bits() >> 40) as f32 / (1u32 << 24) as f32;
    let drawn = policy.iter().position(|share| {
        left -= share;
        left < 0.0
    });
    let best = search
        .best_move()
        .or(root.moves.first().map(|report| report.mv));
    let best = best.map_or(0, |mv| mv.0 - first);
    Sample {
        state: state.to_vec(),
        role,
        value: root.value.unwrap_or(50.0),
        action: drawn
            .filter(|_| is_drawn)
            .map_or(best, |action| action as u32),
        policy,
    }
}
