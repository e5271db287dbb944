//! Statistics of random games: lengths, branching, turns and goals.
//!
//! *Walks* are games of uniformly random moves, many in parallel where the machine expands many
//! positions at once; each of their states is counted. *Playouts* are the machine's own, as many as
//! there is time for; only lengths and goals of these are counted. They may take wins and avoid
//! losses.
//!
//! Invariants: without a time limit, the same machine, seed and numbers of games give the same
//! statistics. Games are played in generations, each counted only when its last game has ended, so
//! that a time limit does not favour short games. Only if the very first generation is cut short,
//! its states count, and [`Sampled::unfinished`] is not 0. A property of all sampled games is no
//! proof; [`Sampled::ends_seen`] says over how many games it was seen.

mod counts;
mod playouts;
mod walks;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub(crate) use counts::Counts;
pub use counts::{GoalSpread, Spread};
use panza_gdl::{Id, RoleId};
use panza_machine::Machine;
use panza_sync::{Budget, Random};
use walks::Walks;

/// The share of the time for walks beside playouts.
const WALK_SHARE: f64 = 0.6;

/// How many games are sampled, at most.
#[derive(Clone, Copy, Debug)]
pub struct SampleSize {
    /// The number of walks.
    pub games: u32,
    /// The number of playouts, for machines that run many at once.
    pub playouts: u64,
    /// The joint moves after which a game is cut off.
    pub max_length: u32,
}

impl Default for SampleSize {
    /// A sample for a precision of about 1 %.
    fn default() -> Self {
        Self {
            games: 10_000,
            playouts: 10_000_000,
            max_length: 10_000,
        }
    }
}

/// The turn order of a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Turns {
    /// No role ever has a choice.
    Nobody,
    /// Only one role ever has a choice: a puzzle.
    One,
    /// At most one role has a choice at a time, in a fixed order.
    Alternating,
    /// At most one role has a choice at a time, in no fixed order.
    Varying,
    /// In some states several roles have a choice.
    Simultaneous,
}

/// Statistics of one role.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SampledRole {
    /// The role's name.
    pub name: String,
    /// The share of the states in which it has a choice.
    pub chooses: f64,
    /// Its number of legal moves where it has a choice; `None` if it never has.
    pub moves: Option<Spread>,
    /// Its goals at the end of games.
    pub goals: GoalSpread,
}

/// Statistics of random games. Shares are between 0 and 1; lengths are in joint moves.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sampled {
    /// Walks that came to an end: a terminal state, or one in which some role has no legal move.
    pub games: u32,
    /// Walks that were cut off after [`SampleSize::max_length`].
    pub cut_off: u32,
    /// Walks that the time limit ended; not 0 only if `games` and `cut_off` are 0.
    pub unfinished: u32,
    /// The states of walks in which moves were made.
    pub states: u64,
    /// Statistics of each role, in role order.
    pub roles: Vec<SampledRole>,
    /// The turn order; `None` if no move was made.
    pub turns: Option<Turns>,
    /// The share of the states in which several roles have a choice.
    pub several_choose: Option<f64>,
    /// The number of legal joint moves of a state.
    pub branching: Option<Spread>,
    /// The lengths of walks, with the range of playouts included; `None` if no game ended.
    pub length: Option<Spread>,
    /// The length of all games, playouts included, if it was always the same.
    pub fixed_length: Option<u32>,
    /// The sum of all roles' goals, playouts included, if it was always the same and all were
    /// defined; `None` for a single role.
    pub fixed_sum: Option<u32>,
    /// The number of games, playouts included, over which the last two hold.
    pub ends_seen: u64,
    /// The share of walks in which all roles had equal goals; `None` for a single role.
    pub draws: Option<f64>,
    /// Playouts that came to an end; 0 for machines that run one at a time.
    pub playouts: u64,
}

/// Samples as many games as the budget has time for.
pub fn sample(machine: &Arc<dyn Machine>, size: SampleSize, seed: u64, budget: &Budget) -> Sampled {
    // A game that is stuck at the start, where some role has no move, is none.
    let mut reasoner = Arc::clone(machine).reasoner();
    reasoner.set_state(&machine.initial_state());
    let mut roles = (0..machine.info().n_roles()).map(RoleId::from_index);
    let is_game = reasoner.is_terminal() || roles.all(|it| !reasoner.legal_moves(it).is_empty());
    let (games, playouts) = if is_game {
        (size.games, size.playouts)
    } else {
        (0, 0)
    };
    let size = SampleSize {
        games,
        playouts,
        ..size
    };
    let parallel = Arc::clone(machine).playouts(&mut Random::new(seed), size.max_length);
    let share = if parallel.is_some() { WALK_SHARE } else { 1.0 };
    let walks = Walks::new(machine, size, seed, budget.share(share)).run();
    let playouts = parallel.map(|it| playouts::run(it, machine, size.playouts, budget));
    let playouts = playouts.unwrap_or_default();

    let n_roles = machine.info().n_roles();
    let (mut lengths, mut sums) = (walks.lengths.clone(), walks.sums.clone());
    lengths.add(&playouts.lengths);
    sums.add(&playouts.sums);
    let n_cut_off = u64::from(walks.cut_off + walks.unfinished) + playouts.cut_off;
    let all_lengths = lengths.spread();
    let (least, greatest) = all_lengths.map_or((u64::MAX, 0), |all| (all.least, all.greatest));
    let share = |count: u64, of: u64| (of > 0).then(|| count as f64 / of as f64);
    let roles = (0..n_roles).map(RoleId::from_index).map(|role| {
        let of_role = &walks.roles[role.index()];
        SampledRole {
            name: machine.info().role_name(role).to_string(),
            chooses: share(of_role.moves.count(), walks.states).unwrap_or(0.0),
            moves: of_role.moves.spread(),
            goals: of_role.goals.spread(),
        }
    });
    Sampled {
        games: walks.games,
        cut_off: walks.cut_off,
        unfinished: walks.unfinished,
        states: walks.states,
        roles: roles.collect(),
        turns: walks.turns(),
        several_choose: share(walks.n_several, walks.states),
        branching: walks.branching.spread(),
        length: walks.lengths.spread().map(|length| Spread {
            least: length.least.min(least),
            greatest: length.greatest.max(greatest),
            ..length
        }),
        fixed_length: lengths.only().filter(|_| n_cut_off == 0),
        fixed_sum: sums.only().filter(|_| walks.undefined == 0 && n_roles > 1),
        ends_seen: lengths.count(),
        draws: share(walks.draws, u64::from(walks.games)).filter(|_| n_roles > 1),
        playouts: playouts.lengths.count(),
    }
}
