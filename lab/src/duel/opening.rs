//! Openings: random first moves after which searches call the game open.
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
use panza_sync::{Budget, Random, Stopwatch};

use super::referee::Referee;

/// Joint moves of an opening.
const MIN_PLIES: u32 = 2;
const MAX_PLIES: u32 = 8;
/// Openings tried; if none is balanced, the one closest to 50 is played.
const TRIES: u32 = 60;
/// Points between the values of the roles up to which an opening is balanced: in a zero-sum game of
/// two roles the first one's value is then 35 to 65.
const MAX_SPREAD: f64 = 30.0;
/// Iterations of the reference search between two looks at the time.
const SLICE: u64 = 500;
/// Settings of the reference search.
const SAMPLES_PER_REQUEST: u32 = 4;
const MAX_NODES: u32 = 100_000;
const MAX_BYTES: usize = 128 << 20;

pub(crate) struct Opening {
    /// Joint moves.
    pub moves: Vec<Vec<MoveId>>,
    /// The roles' expected goals.
    pub values: Vec<f64>,
}

/// What a search says of a position.
pub(crate) struct Valued {
    /// The roles' expected goals.
    pub values: Vec<f64>,
    /// Whether the goal of a role is proven.
    pub is_proven: bool,
}

/// The points between the least and the greatest value.
pub(crate) fn spread(values: &[f64]) -> f64 {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most - least
}

pub(super) fn is_balanced(values: &[f64]) -> bool {
    spread(values) <= MAX_SPREAD
}

/// The settings of searches that value openings.
pub(crate) fn reference_config() -> anyhow::Result<SearchConfig> {
    let settings = Settings::load(None, &[])?;
    Ok(SearchConfig {
        rollout_threads: 0,
        samples_per_request: SAMPLES_PER_REQUEST,
        max_nodes: MAX_NODES,
        max_bytes: MAX_BYTES,
        ..search_config(&settings.search, 1)
    })
}

/// Finds an opening. Where all random games end at once, it is empty. `limits` are those of
/// [`value`].
pub(super) fn find(
    referee: &mut Referee,
    limits: (u64, Option<Duration>),
    random: &mut Random,
) -> anyhow::Result<Opening> {
    let config = reference_config()?;
    let mut closest: Option<Opening> = None;
    for _ in 0..TRIES {
        let Some(moves) = random_line(referee, random) else {
            continue;
        };
        let values = value(&referee.machine, referee.state(), &config, limits).values;
        let opening = Opening { moves, values };
        if is_balanced(&opening.values) {
            return Ok(opening);
        }
        let is_closer = |known: &Opening| spread(&opening.values) < spread(&known.values);
        if closest.as_ref().is_none_or(is_closer) {
            closest = Some(opening);
        }
    }
    Ok(closest.unwrap_or_else(|| {
        referee.restart();
        Opening {
            moves: Vec::new(),
            values: value(&referee.machine, referee.state(), &config, limits).values,
        }
    }))
}

/// Random joint moves from the initial state, after which a role has a choice.
pub(crate) fn random_line(referee: &mut Referee, random: &mut Random) -> Option<Vec<Vec<MoveId>>> {
    let plies = MIN_PLIES + random.below(MAX_PLIES - MIN_PLIES + 1);
    referee.restart();
    let mut moves = Vec::new();
    for _ in 0..plies {
        let joint_move = referee.random_joint_move(random)?;
        referee.play(&joint_move);
        moves.push(joint_move);
        if referee.is_over() {
            return None;
        }
    }
    let has_choice = referee.legal().iter().any(|legal| legal.len() > 1);
    has_choice.then_some(moves)
}

/// What searches of each role say of a state. They share these iterations and this processor time.
pub(crate) fn value(
    machine: &Arc<dyn Machine>,
    state: &[u64],
    config: &SearchConfig,
    (iterations, time): (u64, Option<Duration>),
) -> Valued {
    let n_roles = machine.info().n_roles().max(1);
    let (iterations, time) = (
        iterations / n_roles as u64,
        time.map(|time| time / n_roles as u32),
    );
    let mut valued = Valued {
        values: Vec::with_capacity(n_roles),
        is_proven: false,
    };
    for role in (0..n_roles).map(RoleId::from_index) {
        let mut search = Search::new(Arc::clone(machine), role, config.clone());
        search.set_state(state);
        let clock = Stopwatch::start();
        let is_late = || time.is_some_and(|time| clock.elapsed() >= time);
        let mut left = iterations;
        while left > 0 && !is_late() {
            let slice = left.min(SLICE);
            if search.run(&Budget::of_steps(slice)) == StopReason::Proven {
                break;
            }
            left -= slice;
        }
        let root = search.root();
        valued.values.push(root.value.map_or(50.0, f64::from));
        valued.is_proven |= root.proven.is_some();
    }
    valued
}
