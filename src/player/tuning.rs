//! Tuning: settings of the search tried out against each other on the game at hand.
//!
//! Two searches play a game in turn on one thread, each with the same short time for a move, then once more with roles changed. The
//! settings that the analysis chose are kept until others have clearly done better: few games say little.
//!
//! Invariants: both sides get the same time; it ends within one move of the budget.
//!
//! Never knows: the match that waits for it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::metagame::{Knowledge, MetagameBudget, with_share};
use crate::analysis::evaluation::Evaluation;
use crate::ids::{Id, MoveId, RoleId};
use crate::machine::{Machine, Reasoner};
use crate::search::{Limit, Search, SearchConfig};

/// What came of one setting tried against the one in force.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trial {
    /// The weight of the evaluation beside playouts.
    pub evaluation_share: f32,
    /// That of the setting in force.
    pub against: f32,
    /// Games played to their end.
    pub games: u32,
    /// Points of the one tried, half a point for equal goals.
    pub points: f32,
}

impl Trial {
    /// For notes.
    pub fn to_json(&self) -> Value {
        json!({
            "evaluation_share": self.evaluation_share,
            "against": self.against,
            "games": self.games,
            "points": self.points,
        })
    }

    /// Whether the one tried has clearly done better: by so many standard deviations of a fair game's.
    fn is_clear(&self) -> bool {
        let half = self.games as f32 / 2.0;
        self.games >= LEAST_GAMES
            && self.points - half >= CLEARLY * half.sqrt() * std::f32::consts::FRAC_1_SQRT_2
    }
}

/// Fewer games decide nothing.
const LEAST_GAMES: u32 = 6;
/// Standard deviations by which a setting has to be ahead.
const CLEARLY: f32 = 1.5;
/// Games that should be played of each trial, if moves can be short enough for it.
const GAMES: f64 = 14.0;
/// A move's time. With less, a search is not itself; more is not needed.
const SHORTEST: Duration = Duration::from_micros(400);
const LONGEST: Duration = Duration::from_millis(20);
/// A game is given up after so many joint moves.
const MOST_MOVES: usize = 1000;
/// What a search of a trial may hold.
const NODES: u32 = 50_000;
const BYTES: usize = 64 << 20;
/// Playouts a request in a trial.
const SAMPLES: u32 = 16;

/// Tries other weights of the evaluation against the one that `knowledge` has, and puts a better one in its place. Games are
/// some `length` joint moves long.
pub(super) fn tune(
    machine: &Arc<dyn Machine>,
    config: &SearchConfig,
    evaluation: &Arc<Evaluation>,
    length: f64,
    budget: &MetagameBudget,
    knowledge: &mut Knowledge,
) {
    if machine.n_roles() != 2 {
        return;
    }
    let chosen = knowledge.evaluation_share;
    // What lies furthest from what was chosen is most worth a look.
    let others: Vec<f32> = match chosen {
        share if share <= 0.0 => vec![0.5, 1.0],
        share if share >= 1.0 => vec![0.5, 0.0],
        _ => vec![1.0, 0.0],
    };
    for (index, &other) in others.iter().enumerate() {
        let left = budget.until.saturating_duration_since(Instant::now());
        let time = left / (others.len() - index) as u32;
        let a_move = time.div_f64(GAMES * length.max(1.0));
        if a_move < SHORTEST {
            return;
        }
        let contest = Contest {
            machine,
            configs: [other, knowledge.evaluation_share].map(|share| SearchConfig {
                rollout_threads: 0,
                max_nodes: NODES,
                max_bytes: BYTES,
                samples_per_request: SAMPLES,
                ..with_share(config, Some(evaluation), share)
            }),
            a_move: a_move.min(LONGEST),
            until: Instant::now() + time,
            budget,
        };
        let trial = contest.run(other, knowledge.evaluation_share);
        knowledge.trials.push(trial);
        if trial.is_clear() {
            knowledge.evaluation_share = other;
            knowledge.evaluation = (other > 0.0).then(|| Arc::clone(evaluation));
        }
    }
}

/// Two settings that play against each other.
struct Contest<'a> {
    machine: &'a Arc<dyn Machine>,
    configs: [SearchConfig; 2],
    a_move: Duration,
    until: Instant,
    budget: &'a MetagameBudget,
}

impl Contest<'_> {
    fn run(&self, evaluation_share: f32, against: f32) -> Trial {
        let mut trial = Trial {
            evaluation_share,
            against,
            games: 0,
            points: 0.0,
        };
        let mut reasoner = Arc::clone(self.machine).reasoner();
        let mut games = 0;
        loop {
            // Both games of a pair are the same but for who plays which role.
            let pair: Option<[f32; 2]> = (|| {
                Some([
                    self.play(&mut *reasoner, false, games)?,
                    self.play(&mut *reasoner, true, games)?,
                ])
            })();
            let Some(points) = pair else {
                return trial;
            };
            games += 1;
            trial.games += 2;
            trial.points += points[0] + points[1];
        }
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until || self.budget.cancelled.load(Ordering::Relaxed)
    }

    /// The points of the first setting in one game; nothing when time ran out or the game came to no end.
    fn play(&self, reasoner: &mut dyn Reasoner, swapped: bool, game: u64) -> Option<f32> {
        let role_of_first = usize::from(swapped);
        let mut searches: Vec<Search> = (0..2)
            .map(|role| {
                let mut config = self.configs[role ^ role_of_first].clone();
                config.seed = config.seed.wrapping_add(2 * game + role as u64);
                Search::new(Arc::clone(self.machine), RoleId::from_index(role), config)
            })
            .collect();
        let mut state = self.machine.initial_state();
        for _ in 0..MOST_MOVES {
            reasoner.set_state(&state);
            if reasoner.is_terminal() {
                let mut goals = [None; 2];
                reasoner.goals(&mut goals);
                let goals = goals.map(|goal| goal.unwrap_or(0));
                return Some(match goals[role_of_first].cmp(&goals[1 - role_of_first]) {
                    std::cmp::Ordering::Greater => 1.0,
                    std::cmp::Ordering::Equal => 0.5,
                    std::cmp::Ordering::Less => 0.0,
                });
            }
            let mut joint_move: Vec<MoveId> = Vec::with_capacity(2);
            for (role, search) in searches.iter_mut().enumerate() {
                let legal = reasoner.legal_moves(RoleId::from_index(role));
                let first = *legal.first()?;
                if legal.len() == 1 {
                    joint_move.push(first);
                    continue;
                }
                if self.is_over() {
                    return None;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_games_and_narrow_leads_decide_nothing() {
        let trial = |games, points| Trial {
            evaluation_share: 1.0,
            against: 0.5,
            games,
            points,
        };
        assert!(!trial(4, 4.0).is_clear());
        assert!(!trial(14, 8.0).is_clear());
        assert!(trial(14, 11.0).is_clear());
        assert!(!trial(14, 3.0).is_clear());
    }
}
