//! What random games show: how long they are, how much there is to choose and for whom, what they
//! end with.
//!
//! Three looks at a game, from the closest to the fastest. *Walks* go through whole games of
//! uniformly random moves, hundreds abreast where the machine looks at many positions at once, and
//! count what each state is like. A few of the games walked through are gone through once more:
//! what lies one move ahead of each state, and what the goals said on the way. *Playouts* are those
//! that the machine plays with, as many as there is time for, and say how games end.
//!
//! Invariants: without a time limit, the same machine, seed and numbers of games give the same
//! figures. Games are played in generations, each counted when its last game has ended, so that a
//! time limit does not favour short games; only when it ends the very first one, games that it cut
//! short are counted for the states they met, and [`Sampled::unfinished`] tells. What was so in
//! each game seen need not be so in all: next to each such finding stands over how many games it
//! was seen.
//!
//! Never knows: trees, clocks beyond the time limit it is handed.

mod ahead;
mod playouts;
mod spread;
mod walks;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::ids::{Id, RoleId};
use crate::machine::Machine;
pub use ahead::{Ends, Stability, Wins};
pub use spread::{GoalSpread, Spread};
use walks::Walks;

/// How much may be played.
#[derive(Clone, Copy, Debug)]
pub struct SampleBudget {
    /// Games to walk through.
    pub games: u32,
    /// Playouts beside them, where the machine makes many at once.
    pub playouts: u64,
    /// A game is cut off after this many joint moves.
    pub max_steps: u32,
    /// Fixes the games.
    pub seed: u64,
    /// All ends by then.
    pub until: Option<Instant>,
}

impl SampleBudget {
    /// Enough for figures of one part in a hundred, ended by the time limit if there is one.
    pub fn until(until: Option<Instant>) -> Self {
        Self {
            games: 10_000,
            playouts: 10_000_000,
            max_steps: 10_000,
            seed: 1,
            until,
        }
    }

    /// Whether the time is up.
    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// What is left of the time.
    fn left(&self) -> Duration {
        self.until.map_or(Duration::MAX, |until| {
            until.saturating_duration_since(Instant::now())
        })
    }

    /// The same with a share of the time that is left.
    fn share(&self, part: f64) -> Self {
        let until = self.until.map(|until| {
            let now = Instant::now();
            now + until.saturating_duration_since(now).mul_f64(part)
        });
        Self { until, ..*self }
    }
}

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Turns {
    /// Nobody ever has a choice.
    Nobody,
    /// One role alone ever has a choice: a puzzle, whatever other roles there are.
    One,
    /// Never more than one chooses, and it goes round: the n-th state is always the same role's.
    Alternating,
    /// Never more than one chooses, in no fixed round.
    Varying,
    /// In some states several roles have a choice.
    Simultaneous,
}

/// What random games showed of one role.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SampledRole {
    /// The role's name.
    pub name: String,
    /// The share of the states in which it has a choice.
    pub chooses: f64,
    /// Its legal moves where it has a choice; nothing for a filler, which never has.
    pub moves: Option<Spread>,
    /// Its goals where the game ended.
    pub goals: GoalSpread,
}

/// What playouts of the machine showed, which may take wins and shun losses, unlike the games
/// walked through.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlayedOut {
    /// Playouts that came to their end.
    pub playouts: u64,
    /// Playouts that were cut off.
    pub cut_off: u64,
    /// Their joint moves; nothing when none came to its end.
    pub length: Option<Spread>,
    /// Each role's goals, in role order.
    pub goals: Vec<GoalSpread>,
    /// The share in which all roles got the same.
    pub draws: Option<f64>,
}

/// What random games showed. Shares are between 0 and 1; lengths are in joint moves.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sampled {
    /// Games walked through to their end.
    pub games: u32,
    /// Games beside them that had no end within the steps allowed.
    pub cut_off: u32,
    /// Among `games`, those in which a role had no legal move although the game was not over.
    pub stuck: u32,
    /// Games beside them that the time limit ended; other than 0 only where `games` and `cut_off`
    /// are 0.
    pub unfinished: u32,
    /// States in which moves were made.
    pub states: u64,
    /// What was seen of each role, in role order.
    pub roles: Vec<SampledRole>,
    /// Whose turn it is; nothing when no move was seen.
    pub turns: Option<Turns>,
    /// The share of the states in which several roles have a choice.
    pub several_choose: Option<f64>,
    /// Whether, where several roles have a choice, what at most one of them chooses makes a
    /// difference to the next state; nothing where there are no such states.
    pub pseudo_simultaneous: Option<bool>,
    /// Joint moves that are legal in a state.
    pub branching: Option<Spread>,
    /// Joint moves of the games walked through, the least and greatest those of playouts too;
    /// nothing when no game came to its end.
    pub length: Option<Spread>,
    /// The joint moves of every game, if all were equally long, playouts included.
    pub fixed_length: Option<u32>,
    /// What the goals of all roles add up to at every end, if it was always the same and all were
    /// defined, playouts included; nothing for a single role.
    pub fixed_sum: Option<u32>,
    /// Ends over which the last two were seen.
    pub ends_seen: u64,
    /// The share of the games in which all roles got the same; nothing for a single role.
    pub draws: Option<f64>,
    /// The share of moves seen, each counted once, that led to a state to which another had led
    /// from elsewhere. Many games show more of this than few.
    pub transpositions: Option<f64>,
    /// The share of the games in which a state came again.
    pub cycles: Option<f64>,
    /// How near the end is.
    pub ends: Option<Ends>,
    /// Wins that random players passed over.
    pub wins: Option<Wins>,
    /// What goals on the way say about the goals at the end.
    pub stability: Option<Stability>,
    /// The machine's own playouts; nothing where it makes one at a time.
    pub played_out: Option<PlayedOut>,
}

/// Plays as much as the budget allows.
pub fn sample(machine: &Arc<dyn Machine>, budget: SampleBudget) -> Sampled {
    let abreast = playouts::abreast(machine, budget);
    // Without playouts abreast, walks are all there is.
    let share = if abreast.is_some() { 0.4 } else { 0.7 };
    let mut walks = Walks::new(machine, budget.share(share));
    walks.run();
    let looked = ahead::look(machine, &walks.kept, budget.share(share));
    let stability = ahead::stability(machine, &walks.kept, budget.share(share));
    let played = abreast.and_then(|abreast| playouts::play(abreast, machine, budget));
    let (seen, n_roles) = (&walks.seen, machine.info().n_roles());

    let mut lengths = seen.lengths.clone();
    let mut sums = seen.sums.clone();
    let mut n_ends = u64::from(seen.games);
    let mut cut_off = u64::from(seen.cut_off + seen.unfinished);
    if let Some(played) = &played {
        lengths.add(&played.lengths);
        sums.add(&played.sums);
        n_ends += played.lengths.count();
        cut_off += played.cut_off;
    }
    let all_lengths = lengths.spread();
    let (least, greatest) = all_lengths.map_or((u64::MAX, 0), |all| (all.least, all.greatest));
    let states = seen.states;
    let share = |count: u64, of: u64| (of > 0).then(|| count as f64 / of as f64);
    let roles = (0..n_roles).map(RoleId::from_index).map(|role| {
        let of_role = &seen.roles[role.index()];
        SampledRole {
            name: machine.info().role_name(role).to_string(),
            chooses: share(of_role.moves.count(), states).unwrap_or(0.0),
            moves: of_role.moves.spread(),
            goals: of_role.goals.spread(),
        }
    });
    Sampled {
        games: seen.games,
        cut_off: seen.cut_off,
        stuck: seen.stuck,
        unfinished: seen.unfinished,
        states,
        roles: roles.collect(),
        turns: seen.turns(),
        several_choose: share(seen.n_several, states),
        pseudo_simultaneous: looked.pseudo_simultaneous,
        branching: seen.branching.spread(),
        length: seen.lengths.spread().map(|length| Spread {
            least: length.least.min(least),
            greatest: length.greatest.max(greatest),
            ..length
        }),
        fixed_length: lengths.only().filter(|_| cut_off == 0),
        // A goal that is undefined adds up with nothing.
        fixed_sum: sums.only().filter(|_| seen.undefined == 0 && n_roles > 1),
        ends_seen: n_ends,
        draws: share(seen.draws, u64::from(seen.games)).filter(|_| n_roles > 1),
        transpositions: walks.transpositions(),
        cycles: share(
            u64::from(seen.returned),
            u64::from(seen.games + seen.cut_off),
        ),
        ends: looked.ends,
        wins: looked.wins,
        stability,
        played_out: played.map(|played| played.summary(n_roles)),
    }
}
