//! Games gone through once more: what lies one move ahead of their states, and what goals said on
//! the way.
//!
//! Never knows: how the games were made.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::SampleBudget;
use super::walks::Kept;
use crate::ids::{Id, MoveId, RoleId};
use crate::machine::{Expander, Machine, Positions, Step};

/// Moves of one role that are tried in a state; of more, so many at equal distances.
const MAX_TRIED: usize = 256;
/// The same where several roles have a choice.
const MAX_TRIED_EACH: usize = 32;
/// Children looked at together, about.
const BATCH: usize = 256;
/// Moments of a game at which goals are looked at.
const MOMENTS: usize = 10;

/// How near the end is in random games.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Ends {
    /// States whose moves were tried.
    pub states: u64,
    /// Moves tried there.
    pub moves: u64,
    /// The share of the moves that end the game.
    pub ending: f64,
    /// The share of the states with such a move.
    pub near: f64,
}

/// Wins in one move (a goal of 100, for the one role that has a choice) in random games: what
/// players that see them would change.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Wins {
    /// Games gone through.
    pub games: u32,
    /// The share of the games in which somebody could win at once.
    pub offered: f64,
    /// The share of the games in which somebody could and did something else.
    pub passed_over: f64,
    /// The share of the games that such a win would have ended otherwise: who could win first did
    /// not get 100 in the end.
    pub changed: f64,
}

/// What goals evaluated on the way say about those at the end, a tenth of the game after the other
/// from its start on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stability {
    /// Games gone through.
    pub games: u32,
    /// The share of the games in which all roles' goals are already what they are at the end.
    pub equal: [f64; MOMENTS],
    /// How the goals correlate with those at the end, over games and within each role; nothing
    /// where one of them is always the same. An undefined goal counts as 0.
    pub correlation: [Option<f64>; MOMENTS],
}

/// What a look ahead brought.
#[derive(Clone, Debug, Default)]
pub(super) struct Looked {
    pub(super) ends: Option<Ends>,
    pub(super) wins: Option<Wins>,
    pub(super) pseudo_simultaneous: Option<bool>,
}

/// A move that is tried: in which state of the game, by whom, and the joint move's place.
struct Trial {
    state: usize,
    role: RoleId,
    joint: usize,
}

/// What trials in one state showed.
#[derive(Clone, Default)]
struct AtState {
    n_trials: u64,
    n_ending: u64,
    /// The one role that has a choice.
    chooser: Option<RoleId>,
    can_win: bool,
    wins: bool,
    /// Per role that has a choice where several do: the first state led to, and whether another led
    /// elsewhere.
    matters: Vec<(RoleId, Vec<u64>, bool)>,
}

/// Counts over games.
#[derive(Default)]
struct Counted {
    states: u64,
    moves: u64,
    ending: u64,
    near: u64,
    games: u32,
    offered: u32,
    passed_over: u32,
    changed: u32,
    /// States in which several choose, and those in which what several choose matters.
    several: u64,
    several_matter: u64,
}

/// Tries the moves in the states of the games, as long as there is time.
pub(super) fn look(machine: &Arc<dyn Machine>, games: &[Kept], budget: SampleBudget) -> Looked {
    let mut ahead = Ahead {
        n_roles: machine.info().n_roles(),
        n_words: machine.initial_state().len(),
        expander: Arc::clone(machine).expander(),
        positions: Positions::default(),
        budget,
    };
    let mut counted = Counted::default();
    for game in games {
        let (states, is_whole) = ahead.game(game);
        counted.add(&states, game, is_whole);
        if !is_whole {
            break;
        }
    }
    counted.looked()
}

impl Counted {
    fn add(&mut self, states: &[AtState], game: &Kept, is_whole: bool) {
        for state in states.iter().filter(|state| state.n_trials > 0) {
            self.states += 1;
            self.moves += state.n_trials;
            self.ending += state.n_ending;
            self.near += u64::from(state.n_ending > 0);
            if state.matters.len() > 1 {
                let matter = state.matters.iter().filter(|(.., matters)| *matters);
                self.several += 1;
                self.several_matter += u64::from(matter.count() > 1);
            }
        }
        let Some(goals) = game.goals.as_ref().filter(|_| is_whole) else {
            return;
        };
        self.games += 1;
        self.offered += u32::from(states.iter().any(|state| state.can_win));
        let passed_over = states.iter().find(|state| state.can_win && !state.wins);
        self.passed_over += u32::from(passed_over.is_some());
        let chooser = passed_over.and_then(|state| state.chooser);
        self.changed += u32::from(chooser.is_some_and(|role| goals[role.index()] != Some(100)));
    }

    fn looked(&self) -> Looked {
        let of_states = |count: u64| count as f64 / self.states as f64;
        let of_games = |count: u32| f64::from(count) / f64::from(self.games);
        Looked {
            ends: (self.states > 0).then(|| Ends {
                states: self.states,
                moves: self.moves,
                ending: self.ending as f64 / self.moves as f64,
                near: of_states(self.near),
            }),
            wins: (self.games > 0).then(|| Wins {
                games: self.games,
                offered: of_games(self.offered),
                passed_over: of_games(self.passed_over),
                changed: of_games(self.changed),
            }),
            pseudo_simultaneous: (self.several > 0).then_some(self.several_matter == 0),
        }
    }
}

/// Goes through games with an expander.
struct Ahead {
    n_roles: usize,
    n_words: usize,
    expander: Box<dyn Expander>,
    positions: Positions,
    budget: SampleBudget,
}

impl Ahead {
    /// What is ahead of each state of a game, and whether all of it was gone through.
    fn game(&mut self, game: &Kept) -> (Vec<AtState>, bool) {
        let states: Vec<&[u64]> = game.states.chunks(self.n_words).collect();
        let mut found = vec![AtState::default(); states.len()];
        let mut trials: Vec<Trial> = Vec::new();
        let mut joints: Vec<MoveId> = Vec::new();
        for (chunk, first) in states.chunks(BATCH).zip((0..).step_by(BATCH)) {
            let steps = chunk.iter().map(|&state| Step {
                state,
                joint_move: None,
            });
            let mut positions = std::mem::take(&mut self.positions);
            let steps: Vec<Step<'_>> = steps.collect();
            self.expander.expand(&steps, true, &mut positions);
            for index in 0..chunk.len() {
                let state = first + index;
                let made = &game.moves[state * self.n_roles..][..self.n_roles];
                self.list(&positions, index, state, made, &mut trials, &mut joints);
                let is_last = state + 1 == states.len();
                if trials.len() >= BATCH || is_last {
                    if self.budget.is_over() {
                        return (found, false);
                    }
                    self.judge(&states, game, &trials, &joints, &mut found);
                    trials.clear();
                    joints.clear();
                }
            }
            self.positions = positions;
        }
        (found, true)
    }

    /// Lists what is to be tried in a state, whose moves the position with this index tells.
    fn list(
        &self,
        positions: &Positions,
        index: usize,
        state: usize,
        made: &[MoveId],
        trials: &mut Vec<Trial>,
        joints: &mut Vec<MoveId>,
    ) {
        let roles = (0..self.n_roles).map(RoleId::from_index);
        let choosers: Vec<RoleId> = roles
            .filter(|&role| positions.legal(index, role).len() > 1)
            .collect();
        // Where nobody has a choice the one joint move is looked at.
        let tried: &[RoleId] = match choosers.as_slice() {
            [] => &[RoleId(0)],
            choosers => choosers,
        };
        let most = match tried {
            [_] => MAX_TRIED,
            _ => MAX_TRIED_EACH,
        };
        for &role in tried {
            let legal = positions.legal(index, role);
            for number in 0..legal.len().min(most) {
                let mv = legal[number * legal.len() / legal.len().min(most)];
                trials.push(Trial {
                    state,
                    role,
                    joint: joints.len(),
                });
                joints.extend_from_slice(made);
                let place = joints.len() - self.n_roles + role.index();
                joints[place] = mv;
            }
        }
    }

    /// Tries moves and notes what comes of them.
    fn judge(
        &mut self,
        states: &[&[u64]],
        game: &Kept,
        trials: &[Trial],
        joints: &[MoveId],
        found: &mut [AtState],
    ) {
        let joint_of = |trial: &Trial| &joints[trial.joint..][..self.n_roles];
        let steps: Vec<Step<'_>> = trials
            .iter()
            .map(|trial| Step {
                state: states[trial.state],
                joint_move: Some(joint_of(trial)),
            })
            .collect();
        let mut after = Positions::default();
        self.expander.expand(&steps, false, &mut after);
        for of_state in trials.chunk_by(|one, other| one.state == other.state) {
            let is_one_role = of_state.iter().all(|trial| trial.role == of_state[0].role);
            let state = of_state[0].state;
            let at = &mut found[state];
            at.n_trials = of_state.len() as u64;
            at.chooser = Some(of_state[0].role).filter(|_| is_one_role);
        }
        for (index, trial) in trials.iter().enumerate() {
            let at = &mut found[trial.state];
            let is_terminal = after.terminal[index];
            at.n_ending += u64::from(is_terminal);
            let Some(chooser) = at.chooser else {
                let led_to = after.state(index);
                match at.matters.iter_mut().find(|(role, ..)| *role == trial.role) {
                    Some((_, first, matters)) => *matters |= first.as_slice() != led_to,
                    None => at.matters.push((trial.role, led_to.to_vec(), false)),
                }
                continue;
            };
            if is_terminal && after.goals(index)[chooser.index()] == Some(100) {
                let made = &game.moves[trial.state * self.n_roles..][..self.n_roles];
                at.can_win = true;
                at.wins |= made == joint_of(trial);
            }
        }
    }
}

/// Looks at goals on the way, as long as there is time.
pub(super) fn stability(
    machine: &Arc<dyn Machine>,
    games: &[Kept],
    budget: SampleBudget,
) -> Option<Stability> {
    let (n_roles, n_words) = (machine.info().n_roles(), machine.initial_state().len());
    let mut reasoner = Arc::clone(machine).reasoner();
    let mut n_equal = [0u32; MOMENTS];
    // Per moment, role by role, what it takes to correlate.
    let mut sums = vec![vec![Sums::default(); n_roles]; MOMENTS];
    let mut n_games = 0;
    let mut goals = vec![None; n_roles];
    let whole = games
        .iter()
        .filter_map(|game| Some((game, game.goals.as_ref()?)));
    for (game, at_end) in whole {
        if budget.is_over() {
            break;
        }
        let n_states = game.states.len() / n_words;
        for moment in 0..MOMENTS {
            let state = moment * n_states / MOMENTS;
            reasoner.set_state(&game.states[state * n_words..][..n_words]);
            reasoner.goals(&mut goals);
            n_equal[moment] += u32::from(goals == *at_end);
            for ((sums, now), then) in sums[moment].iter_mut().zip(&goals).zip(at_end) {
                sums.note(f64::from(now.unwrap_or(0)), f64::from(then.unwrap_or(0)));
            }
        }
        n_games += 1;
    }
    (n_games > 0).then(|| Stability {
        games: n_games,
        equal: n_equal.map(|count| f64::from(count) / f64::from(n_games)),
        correlation: std::array::from_fn(|moment| Sums::correlation(&sums[moment])),
    })
}

/// Sums of pairs of numbers.
#[derive(Clone, Copy, Default)]
struct Sums {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

impl Sums {
    fn note(&mut self, x: f64, y: f64) {
        self.n += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.yy += y * y;
        self.xy += x * y;
    }

    /// Pearson's correlation of pairs from several groups, each about its own mean.
    fn correlation(groups: &[Sums]) -> Option<f64> {
        let about_means = |of: fn(&Sums) -> f64| groups.iter().map(of).sum::<f64>();
        let xx = about_means(|sums| sums.xx - sums.x * sums.x / sums.n);
        let yy = about_means(|sums| sums.yy - sums.y * sums.y / sums.n);
        let xy = about_means(|sums| sums.xy - sums.x * sums.y / sums.n);
        // What rounding leaves of numbers that are all the same.
        let is_spread = xx > 1e-6 && yy > 1e-6;
        is_spread.then(|| (xy / (xx * yy).sqrt()).clamp(-1.0, 1.0))
    }
}
