//! Tuning: settings of the search tried out against each other on the game at hand.
//!
//! Searches play games on one thread, each with the same short time for a move: where there are two
//! roles, the settings in force against others, in both roles; else with others in the place of one
//! role, beside a game without. The settings that the analysis chose are kept until others have
//! clearly done better: few games say little.
//!
//! Invariants: both sides get the same time; it ends within one move of the budget.
//!
//! Never knows: the match that waits for it.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::metagame::{Knowledge, MetagameBudget, Parameters};
use crate::analysis::evaluation::Evaluation;
use crate::ids::{Id, MoveId, RoleId};
use crate::machine::{Machine, Reasoner};
use crate::search::{Limit, Search, SearchConfig};

/// What came of settings tried against those in force.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trial {
    /// Those tried.
    pub tried: Parameters,
    /// Those in force.
    pub against: Parameters,
    /// Games played to their end.
    pub games: u32,
    /// Points of those tried, half a point for equal goals.
    pub points: f32,
}

impl Trial {
    /// For notes.
    pub fn to_json(&self) -> Value {
        json!({
            "tried": self.tried.to_json(),
            "against": self.against.to_json(),
            "games": self.games,
            "points": self.points,
        })
    }

    /// Whether those tried have clearly done better: by so many standard deviations of as many even
    /// games.
    fn is_clear(&self) -> bool {
        let half = self.games as f32 / 2.0;
        let deviation = (self.games as f32).sqrt() / 2.0;
        self.games >= LEAST_GAMES && self.points - half >= CLEARLY * deviation
    }
}

/// Fewer games decide nothing.
const LEAST_GAMES: u32 = 6;
/// Standard deviations by which settings have to be ahead.
const CLEARLY: f32 = 2.0;
/// Games that should be played in each trial.
const GAMES: f64 = 14.0;
/// A move's time. What wins within a millisecond may lose when there is time: an evaluation that
/// knows little won three of four games of Breakthrough at that pace, and lost eleven of twelve
/// with a tenth of a second. More than the longest is not needed.
const SHORTEST: Duration = Duration::from_millis(2);
const LONGEST: Duration = Duration::from_millis(40);
/// A game is given up after so many joint moves.
const MOST_MOVES: usize = 1000;
/// What a search in a trial may hold.
const NODES: u32 = 50_000;
const BYTES: usize = 64 << 20;
/// Playouts a request in a trial.
const SAMPLES: u32 = 16;

/// Tries other settings against those that `knowledge` has, and puts better ones in their place.
/// Games are some `length` joint moves long. Without time for a single trial nothing is tried.
pub(super) fn tune(
    machine: &Arc<dyn Machine>,
    config: &SearchConfig,
    evaluation: &Arc<Evaluation>,
    length: f64,
    budget: &MetagameBudget,
    knowledge: &mut Knowledge,
) {
    // Moves of all roles together, as if each chose each time.
    let moves = length.max(1.0) * machine.info().n_roles() as f64;
    let mut in_force = knowledge.parameters;
    let mut to_try = candidates(in_force);
    while !to_try.is_empty() {
        let left = budget.until.saturating_duration_since(Instant::now());
        // As many trials as there is time for, the first ones first.
        let affordable = left.as_secs_f64() / (GAMES * moves * SHORTEST.as_secs_f64());
        let n_trials = f64::min(to_try.len() as f64, affordable.floor());
        if n_trials < 1.0 || budget.cancelled.load(atomic::Ordering::Relaxed) {
            return;
        }
        let change = to_try.remove(0);
        let tried = change(in_force);
        let time = left.div_f64(n_trials);
        let against = in_force;
        let contest = Contest {
            machine,
            configs: [tried, against]
                .map(|parameters| alone(parameters.apply(config, Some(evaluation)))),
            a_move: time.div_f64(GAMES * moves).min(LONGEST),
            until: Instant::now() + time,
            budget,
        };
        let (games, points) = contest.run();
        let trial = Trial {
            tried,
            against,
            games,
            points,
        };
        knowledge.trials.push(trial);
        if trial.is_clear() {
            in_force = tried;
            knowledge.parameters = tried;
        }
    }
}

/// Settings for a search of a trial: on the thread that asks, with little memory.
fn alone(config: SearchConfig) -> SearchConfig {
    SearchConfig {
        rollout_threads: 0,
        max_nodes: NODES,
        max_bytes: BYTES,
        samples_per_request: SAMPLES,
        ..config
    }
}

/// What is done to the settings in force to get others.
type Change = fn(Parameters) -> Parameters;

/// The changes to try on settings, those first that matter most.
///
/// Short games favour the evaluation, so that it is tried to do without, and never to have
/// more of it.
fn candidates(in_force: Parameters) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    if in_force.evaluation_share > 0.0 {
        changes.push(|in_force| Parameters {
            evaluation_share: 0.0,
            ..in_force
        });
    }
    changes.push(|in_force| Parameters {
        exploration: in_force.exploration * 0.6,
        ..in_force
    });
    changes.push(|in_force| Parameters {
        exploration: in_force.exploration * 1.7,
        ..in_force
    });
    changes
}

/// Two settings that play against each other.
struct Contest<'a> {
    machine: &'a Arc<dyn Machine>,
    /// Those tried, and those in force.
    configs: [SearchConfig; 2],
    a_move: Duration,
    until: Instant,
    budget: &'a MetagameBudget,
}

impl Contest<'_> {
    /// Games played, and the points of the settings tried.
    fn run(&self) -> (u32, f32) {
        let mut reasoner = Arc::clone(self.machine).reasoner();
        let n_roles = self.machine.info().n_roles();
        let (mut games, mut points) = (0, 0.0);
        for round in 0.. {
            // Games of a round are the same but for who plays which role.
            let seed = 2 * round;
            if n_roles == 2 {
                for role in 0..2 {
                    let Some(goals) = self.play(&mut *reasoner, Some(role), seed) else {
                        return (games, points);
                    };
                    games += 1;
                    points += point(goals[role], goals[1 - role]);
                }
            } else {
                let role = (round % n_roles as u64) as usize;
                let with = self.play(&mut *reasoner, Some(role), seed);
                let Some(with) = with else {
                    return (games, points);
                };
                let Some(without) = self.play(&mut *reasoner, None, seed) else {
                    return (games, points);
                };
                games += 1;
                points += point(with[role], without[role]);
            }
        }
        (games, points)
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until || self.budget.cancelled.load(atomic::Ordering::Relaxed)
    }

    /// The goals of one game in which this role is played with the settings tried; nothing when
    /// time ran out or the game came to no end.
    fn play(
        &self,
        reasoner: &mut dyn Reasoner,
        tried: Option<usize>,
        seed: u64,
    ) -> Option<Vec<u8>> {
        let n_roles = self.machine.info().n_roles();
        let mut searches: Vec<Search> = (0..n_roles)
            .map(|role| {
                let mut config = self.configs[usize::from(tried != Some(role))].clone();
                config.seed = config.seed.wrapping_add(seed + role as u64);
                Search::new(Arc::clone(self.machine), RoleId::from_index(role), config)
            })
            .collect();
        let mut state = self.machine.initial_state();
        for _ in 0..MOST_MOVES {
            // At every move: there are games in which nobody ever chooses.
            if self.is_over() {
                return None;
            }
            reasoner.set_state(&state);
            if reasoner.is_terminal() {
                let mut goals = vec![None; n_roles];
                reasoner.goals(&mut goals);
                return Some(goals.iter().map(|goal| goal.unwrap_or(0)).collect());
            }
            let mut joint_move: Vec<MoveId> = Vec::with_capacity(n_roles);
            for (role, search) in searches.iter_mut().enumerate() {
                let legal = reasoner.legal_moves(RoleId::from_index(role));
                let first = *legal.first()?;
                if legal.len() == 1 {
                    joint_move.push(first);
                    continue;
                }
                let until = Instant::now() + self.a_move;
                search.run(Limit {
                    until: Some(until),
                    ..Limit::default()
                });
                joint_move.push(search.best_move().unwrap_or(first));
            }
            for search in &mut searches {
                search.advance(&joint_move);
            }
            let mut next = Vec::with_capacity(state.len());
            reasoner.next_state(&joint_move, &mut next);
            state = next;
        }
        None
    }
}

/// A point for the greater goal, half a point for an equal one.
fn point(goal: u8, other: u8) -> f32 {
    match goal.cmp(&other) {
        Ordering::Greater => 1.0,
        Ordering::Equal => 0.5,
        Ordering::Less => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_games_and_narrow_leads_decide_nothing() {
        let trial = |games, points| Trial {
            tried: Parameters::default(),
            against: Parameters::default(),
            games,
            points,
        };
        assert!(!trial(4, 4.0).is_clear());
        assert!(!trial(14, 8.0).is_clear());
        assert!(trial(14, 11.5).is_clear());
        assert!(!trial(14, 3.0).is_clear());
    }

    #[test]
    fn what_is_tried_differs_from_what_is_in_force() {
        for evaluation_share in [0.0, 0.4, 1.0] {
            let in_force = Parameters {
                evaluation_share,
                exploration: 1.0,
            };
            let changes = candidates(in_force);
            assert_eq!(changes.len(), if evaluation_share > 0.0 { 3 } else { 2 });
            assert!(changes.iter().all(|change| change(in_force) != in_force));
        }
    }
}
