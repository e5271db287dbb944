//! Tuning: search settings play against each other on the game at hand.
//!
//! Searches play games on one thread, each with the same short time per move. With two roles the
//! current settings play against others, in both roles. Otherwise one role plays with other
//! settings, and the same game is played without them for comparison. The chance role draws its
//! moves and does not count. The current settings stay until others are clearly better.
//!
//! Invariants: both sides get the same time; tuning ends within one move of its deadline.
//!
//! Never uses: matches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::contest::{Contest, MAX_MOVES, MoveBudget, random_joint_move};
use super::parameters::Parameters;
use panza_gdl::{Id, RoleId};
use panza_learning::Evaluation;
use panza_machine::Machine;
use panza_search::SearchConfig;
use panza_sync::Random;

/// The result of settings played against the current ones.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Trial {
    /// The other settings.
    pub tried: Parameters,
    /// The current settings.
    pub against: Parameters,
    /// Games played to their end.
    pub games: u32,
    /// Points of the other settings, half a point for equal goals.
    pub points: f32,
}

impl Trial {
    /// The lead of the other settings, in standard deviations of as many even games.
    fn lead(games: u32, points: f32) -> f32 {
        (2.0 * points - games as f32) / (games.max(1) as f32).sqrt()
    }

    /// Whether the games suffice for a change, and the lead of the other settings too.
    fn is_won(&self, change: &Change) -> bool {
        self.games >= change.min_games
            && Self::lead(self.games, self.points) >= change.min_deviations
    }
}

/// Games that a trial must have to change anything.
const MIN_GAMES: u32 = 4;
/// Lead that other settings need, in standard deviations. Few games prove little.
const MIN_DEVIATIONS: f32 = 2.0;
/// The same where priors are tried against none: which are better, nothing tells beforehand.
const MIN_DEVIATIONS_OF_PRIORS: f32 = 1.0;
/// The same for best-first minimax, which must also play more of its games: in Breakthrough it
/// takes 60 to 70 % of the points at a few milliseconds a move, and none at a hundred.
const MIN_DEVIATIONS_OF_BEST_FIRST: f32 = 2.1;
const MIN_GAMES_OF_BEST_FIRST: u32 = 6;
/// Games of a trial.
const GAMES: u32 = 14;
/// The same for best-first minimax: fewer with more time for each move.
const GAMES_OF_BEST_FIRST: u32 = 8;
/// The most that a trial may take of the time planned for it. Where other programs use the
/// processor, games take longer than planned, and it is better to leave out the last trials than to
/// end all of them too early: with four games each, priors stayed out of Reversi, which lost every
/// game.
const MOST_OF_PLAN: f64 = 3.0;
/// After [`GAMES_THAT_END`] games a trial ends early with this lead or deficit, in standard
/// deviations: time is short, and most changes lose clearly.
const LEAD_THAT_ENDS: f32 = 2.8;
const DEFICIT_THAT_ENDS: f32 = 1.2;
const GAMES_THAT_END: u32 = 6;
/// Random games that tell how many choices a game has.
const SAMPLED_GAMES: usize = 4;
/// Time per move. What wins within a millisecond may lose with more time: an evaluation with little
/// training won three of four games of Breakthrough at that pace, and lost eleven of twelve with a
/// tenth of a second.
const MIN_MOVE_TIME: Duration = Duration::from_millis(2);
const MAX_MOVE_TIME: Duration = Duration::from_millis(40);
/// Memory limits of a search in a trial.
const MAX_NODES: u32 = 50_000;
const MAX_BYTES: usize = 64 << 20;
/// Playouts per request in a trial.
const SAMPLES_PER_REQUEST: u32 = 16;

/// Trials of search settings.
pub(super) struct Tuner<'a> {
    pub machine: &'a Arc<dyn Machine>,
    /// The settings without an evaluation.
    pub config: SearchConfig,
    pub evaluation: Option<&'a Arc<Evaluation>>,
    /// The mean number of joint moves of a game.
    pub length: f64,
    /// The mean number of roles that have a choice in a joint move.
    pub choosers: f64,
    /// What the evaluation is good enough for.
    pub may: MayTry,
    pub until: Instant,
    pub cancelled: &'a AtomicBool,
}

impl Tuner<'_> {
    /// Tries other settings against `current`, replaces them by better ones, and returns the
    /// trials. Without time for a single trial nothing is tried.
    pub fn run(&self, current: &mut Parameters) -> Vec<Trial> {
        let moves = self.length.max(1.0) * self.choosers;
        let mut trials = Vec::new();
        let mut to_try = changes(*current, self.may);
        while !to_try.is_empty() {
            let left = self.until.saturating_duration_since(Instant::now());
            // As many trials as there is time for, the first ones first.
            let affordable =
                left.as_secs_f64() / (f64::from(GAMES) * moves * MIN_MOVE_TIME.as_secs_f64());
            let n_trials = f64::min(to_try.len() as f64, affordable.floor());
            if n_trials < 1.0 || self.cancelled.load(Ordering::Relaxed) {
                break;
            }
            let change = to_try.remove(0);
            let (tried, against) = ((change.of)(*current), *current);
            let time = left.div_f64(n_trials);
            let longest = time.mul_f64(MOST_OF_PLAN).min(left);
            let move_time = time.div_f64(f64::from(change.games) * moves);
            let contest = Contest {
                machine: self.machine,
                configs: [tried, against].map(|parameters| {
                    trial_config(parameters.apply(&self.config, self.evaluation))
                }),
                move_budget: MoveBudget::Time(move_time.min(MAX_MOVE_TIME)),
                until: Instant::now() + longest,
                cancelled: self.cancelled,
            };
            let (games, points) = run(&contest, change.games);
            let trial = Trial {
                tried,
                against,
                games,
                points,
            };
            trials.push(trial);
            if trial.is_won(&change) {
                *current = tried;
            }
        }
        trials
    }
}

/// Plays at most `most` games from the initial position. The games played, and the points of the
/// other settings.
fn run(contest: &Contest<'_>, most: u32) -> (u32, f32) {
    let initial = contest.machine.initial_state();
    let (mut games, mut points) = (0, 0.0);
    for round in 0.. {
        let lead = Trial::lead(games, points);
        let is_clear = lead >= LEAD_THAT_ENDS || lead <= -DEFICIT_THAT_ENDS;
        if games >= most || games >= GAMES_THAT_END && is_clear {
            break;
        }
        let Some(found) = contest.round(&initial, round) else {
            break;
        };
        games += found.games;
        points += found.points;
    }
    (games, points)
}

/// Counts in a few random games.
#[derive(Default)]
pub(super) struct RandomGames {
    /// Joint moves, and the roles that had a choice in them.
    n_moves: u32,
    n_choices: u32,
    /// Games that came to an end.
    n_ended: u32,
}

impl RandomGames {
    /// Plays until the time is over or the study is not wanted any more.
    pub fn play(
        machine: &Arc<dyn Machine>,
        seed: u64,
        until: Instant,
        cancelled: &AtomicBool,
    ) -> Self {
        let mut random = Random::new(seed);
        let mut reasoner = Arc::clone(machine).reasoner();
        let n_roles = machine.info().n_roles();
        let mut played = Self::default();
        for _ in 0..SAMPLED_GAMES {
            let mut state = machine.initial_state();
            for _ in 0..MAX_MOVES {
                if Instant::now() >= until || cancelled.load(Ordering::Relaxed) {
                    return played;
                }
                reasoner.set_state(&state);
                if reasoner.is_terminal() {
                    played.n_ended += 1;
                    break;
                }
                let roles = (0..n_roles).map(RoleId::from_index);
                let choosing = roles.filter(|&role| reasoner.legal_moves(role).len() > 1);
                let n_choosing = choosing.count() as u32;
                let Some(joint_move) = random_joint_move(&mut *reasoner, n_roles, &mut random)
                else {
                    break;
                };
                played.n_choices += n_choosing;
                played.n_moves += 1;
                let mut next = Vec::with_capacity(state.len());
                reasoner.next_state(&joint_move, &mut next);
                state = next;
            }
        }
        played
    }

    /// The mean number of joint moves of a game; `None` where no game ended.
    pub fn mean_length(&self) -> Option<f64> {
        (self.n_ended > 0).then(|| f64::from(self.n_moves) / SAMPLED_GAMES as f64)
    }

    /// The mean number of roles that have a choice in a joint move, at least one.
    pub fn choosers(&self) -> f64 {
        (f64::from(self.n_choices) / f64::from(self.n_moves.max(1))).max(1.0)
    }
}

/// Search settings of a trial: one thread, little memory.
pub(super) fn trial_config(config: SearchConfig) -> SearchConfig {
    SearchConfig {
        rollout_threads: 0,
        max_nodes: MAX_NODES,
        max_bytes: MAX_BYTES,
        samples_per_request: SAMPLES_PER_REQUEST,
        ..config
    }
}

/// A change of the current settings.
struct Change {
    of: fn(Parameters) -> Parameters,
    /// Games of its trial, at most.
    games: u32,
    /// Games that it needs.
    min_games: u32,
    /// The lead that it needs, in standard deviations.
    min_deviations: f32,
}

impl Change {
    fn new(of: fn(Parameters) -> Parameters) -> Self {
        Self {
            of,
            games: GAMES,
            min_games: MIN_GAMES,
            min_deviations: MIN_DEVIATIONS,
        }
    }
}

/// What an evaluation is good enough for, so that trials decide.
#[derive(Clone, Copy, Default)]
pub(super) struct MayTry {
    /// Whether it orders moves well enough for priors.
    pub prior: bool,
    /// Whether it predicts well enough for best-first minimax.
    pub best_first: bool,
}

/// The changes to try, the most important first.
///
/// A good order of moves does not make a good prior: in Connect Four, where it is best, priors lost
/// 26 of 36 games, and in Reversi they won all 14. Best-first minimax takes 92 % of the points in
/// three kinds of Reversi, and 3 % in Breakthrough, Checkers and Amazons. Short times per move
/// favour the evaluation, so a search without it is tried too.
fn changes(current: Parameters, may: MayTry) -> Vec<Change> {
    let mut changes = Vec::new();
    if may.prior {
        let of: fn(Parameters) -> Parameters = |current| Parameters {
            prior: !current.prior,
            ..current
        };
        changes.push(Change {
            min_deviations: MIN_DEVIATIONS_OF_PRIORS,
            ..Change::new(of)
        });
    }
    if may.best_first {
        changes.push(Change {
            of: Parameters::best_first,
            games: GAMES_OF_BEST_FIRST,
            min_games: MIN_GAMES_OF_BEST_FIRST,
            min_deviations: MIN_DEVIATIONS_OF_BEST_FIRST,
        });
    }
    if current.evaluation_share > 0.0 {
        changes.push(Change::new(|current| Parameters {
            evaluation_share: 0.0,
            ..current
        }));
    }
    changes.push(Change::new(|current| Parameters {
        exploration: current.exploration * 0.6,
        ..current
    }));
    changes.push(Change::new(|current| Parameters {
        exploration: current.exploration * 1.7,
        ..current
    }));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_games_and_narrow_leads_are_not_clear() {
        let trial = |games, points| Trial {
            tried: Parameters::default(),
            against: Parameters::default(),
            games,
            points,
        };
        let may = MayTry {
            prior: true,
            best_first: true,
        };
        let changes = changes(Parameters::default(), may);
        let (priors, best_first, other) = (&changes[0], &changes[1], &changes[2]);
        for (change, games, points, is_won) in [
            (priors, 2, 2.0, false),
            (priors, 4, 3.0, true),
            (priors, 14, 8.5, false),
            (priors, 14, 9.0, true),
            (best_first, 4, 4.0, false),
            (best_first, 6, 5.0, false),
            (best_first, 6, 6.0, true),
            (best_first, 8, 7.0, true),
            (other, 4, 3.5, false),
            (other, 4, 4.0, true),
            (other, 14, 8.0, false),
            (other, 14, 11.5, true),
            (other, 14, 3.0, false),
        ] {
            assert_eq!(
                trial(games, points).is_won(change),
                is_won,
                "{points} of {games}"
            );
        }
    }

    #[test]
    fn every_change_changes_the_settings() {
        let cases = [
            (0.0, false, false, 2),
            (0.4, false, false, 3),
            (0.4, true, true, 5),
            (0.0, true, true, 4),
        ];
        for (evaluation_share, prior, best_first, count) in cases {
            let current = Parameters {
                evaluation_share,
                prior: true,
                ..Parameters::default()
            };
            let changes = changes(current, MayTry { prior, best_first });
            assert_eq!(changes.len(), count);
            assert!(changes.iter().all(|change| (change.of)(current) != current));
        }
    }
}
