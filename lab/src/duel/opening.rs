//! Openings: random first moves after which a reference search calls the game open.
//!
//! The reference is the current build, unstudied, with fixed settings, so that openings do not
//! depend on the engines. With a limit in iterations alone they depend on the seed only.

use std::sync::Arc;
use std::time::Duration;

use panza_config::Settings;
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::Machine;
use panza_player::search_config;
use panza_search::{Search, SearchConfig, StopReason};
use panza_sync::{Budget, Random};

use super::engine::ThinkingClock;
use super::referee::Referee;

/// Joint moves of an opening.
const MIN_PLIES: u32 = 2;
const MAX_PLIES: u32 = 8;
/// Openings tried; if none is balanced, the one closest to 50 is played.
const TRIES: u32 = 60;
/// Values of the first role at which an opening is balanced.
const LEAST_VALUE: f64 = 35.0;
const GREATEST_VALUE: f64 = 65.0;
/// Iterations of the reference search between two looks at the time.
const SLICE: u64 = 500;
/// Settings of the reference search.
const SAMPLES_PER_REQUEST: u32 = 4;
const MAX_NODES: u32 = 100_000;
const MAX_BYTES: usize = 128 << 20;

/// Limits of the reference search of a position.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReferenceLimit {
    pub iterations: u64,
    pub time: Option<Duration>,
}

pub(super) struct Opening {
    /// Joint moves.
    pub moves: Vec<Vec<MoveId>>,
    /// The first role's value.
    pub value: f64,
}

impl Opening {
    /// The distance of the value from an even game.
    fn distance(&self) -> f64 {
        (self.value - 50.0).abs()
    }
}

pub(super) fn is_balanced(value: f64) -> bool {
    (LEAST_VALUE..=GREATEST_VALUE).contains(&value)
}

/// Finds an opening. Where all random games end at once, it is empty.
pub(super) fn find(
    referee: &mut Referee,
    limit: ReferenceLimit,
    random: &mut Random,
) -> anyhow::Result<Opening> {
    let settings = Settings::load(None, &[])?;
    let config = SearchConfig {
        rollout_threads: 0,
        samples_per_request: SAMPLES_PER_REQUEST,
        max_nodes: MAX_NODES,
        max_bytes: MAX_BYTES,
        ..search_config(&settings.search, 1)
    };
    let mut closest = Opening {
        moves: Vec::new(),
        value: f64::INFINITY,
    };
    for _ in 0..TRIES {
        let Some(moves) = random_line(referee, random) else {
            continue;
        };
        let value = value(&referee.machine, referee.state(), &config, limit);
        let opening = Opening { moves, value };
        if is_balanced(value) {
            return Ok(opening);
        }
        if opening.distance() < closest.distance() {
            closest = opening;
        }
    }
    if closest.moves.is_empty() {
        referee.restart();
        closest.value = value(&referee.machine, referee.state(), &config, limit);
    }
    Ok(closest)
}

/// Random joint moves from the initial state, after which a role has a choice.
fn random_line(referee: &mut Referee, random: &mut Random) -> Option<Vec<Vec<MoveId>>> {
    let plies = MIN_PLIES + random.below(MAX_PLIES - MIN_PLIES + 1);
    referee.restart();
    let mut moves = Vec::new();
    for _ in 0..plies {
        let joint_move = referee.legal().into_iter().map(|legal| {
            let n = u32::try_from(legal.len()).ok().filter(|&n| n > 0)?;
            Some(legal[random.below(n) as usize])
        });
        let joint_move: Vec<MoveId> = joint_move.collect::<Option<_>>()?;
        referee.play(&joint_move);
        moves.push(joint_move);
        if referee.is_over() {
            return None;
        }
    }
    let has_choice = referee.legal().iter().any(|legal| legal.len() > 1);
    has_choice.then_some(moves)
}

/// The first role's expected goal in a state.
fn value(
    machine: &Arc<dyn Machine>,
    state: &[u64],
    config: &SearchConfig,
    limit: ReferenceLimit,
) -> f64 {
    let first = RoleId::from_index(0);
    let mut search = Search::new(Arc::clone(machine), first, config.clone());
    search.set_state(state);
    let clock = ThinkingClock::cpu();
    let is_late = || limit.time.is_some_and(|time| clock.elapsed() >= time);
    let mut left = limit.iterations;
    while left > 0 && !is_late() {
        let slice = left.min(SLICE);
        if search.run(Budget::of_steps(slice)) == StopReason::Proven {
            break;
        }
        left -= slice;
    }
    search.root().value.map_or(50.0, f64::from)
}
