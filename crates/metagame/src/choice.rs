//! Choice between alpha-beta and the tree: games of both, beside what the game at hand suggests.
//!
//! A game that the end of the time cuts off counts as a part of one, by random playouts from its
//! last position. Games of earlier matches count too, up to [`EARLIER_GAMES`]. What they leave
//! open is decided by a prior from features of the game.
//!
//! Never uses: the training of evaluations.

use std::time::Duration;

use serde_json::Value;

use super::contest::{Contest, random_opening};
use panza_learning::validation::Validation;
use panza_sync::Random;

/// The time for a move.
pub(super) const CONTEST_TIME: Duration = Duration::from_millis(4);
/// The share of the time left for such games. The rest is for playouts from the last one.
pub(super) const CONTEST_SHARE: f64 = 0.95;
/// The most pairs of games, and random moves before one.
const MAX_PAIRS: u64 = 50;
const MAX_OPENING: u32 = 6;
/// The games that the prior counts as.
const PRIOR_GAMES: f32 = 6.0;
/// The share of alpha-beta in long training, where games decide.
pub(super) const USUAL_SHARE: f32 = 0.6;
/// What a game that is cut off counts as.
const CUT_OFF_WEIGHT: f32 = 0.3;
/// The lead in points at which a contest ends. Where the stronger search wins 70 % of games that
/// are not drawn, the probability that the weaker one gets there first is below 1 %.
const DECISIVE_LEAD: f32 = 6.0;
/// The most games of earlier matches or generations that count: evaluations get better.
const EARLIER_GAMES: f32 = 10.0;
/// Games above which a note is no note of games.
const MOST_GAMES: f32 = 1e6;

/// The logit of alpha-beta's expected share of points: it grows with the correlation of the
/// evaluation with results less that of playouts, since alpha-beta plays by the one and the tree by
/// the other. It is less where moves leave lasting facts, since AMAF values then lead the tree, and
/// where a position has many moves, by the logarithm of their number over `FEW_MOVES`. The
/// difference was -0.3 in hex and amazons, -0.1 in connectFour, 0 in breakthrough, reversi,
/// checkers and gomoku, 0.2 in knightThrough.
const USUAL_LOGIT: f64 = 0.8;
const CORRELATION_SLOPE: f64 = 6.0;
const AMAF_LOGIT: f64 = 1.0;
const FEW_MOVES: f64 = 30.0;
/// The positions that a difference of 0 counts as beside the measured one.
const USUAL_POSITIONS: f64 = 100.0;

/// Games of alpha-beta against the tree. Those that were cut off are parts of games.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct AgainstTree {
    /// The number of games.
    pub games: f32,
    /// Alpha-beta's points in them.
    pub points: f32,
}

impl AgainstTree {
    /// Adds games.
    pub(super) fn add(&mut self, games: f32, points: f32) {
        self.games += games;
        self.points += points;
    }

    /// The same as games of earlier matches or generations, of which at most [`EARLIER_GAMES`]
    /// count. The share of points remains.
    pub(super) fn as_earlier(self) -> Self {
        if self.games <= EARLIER_GAMES {
            return self;
        }
        Self {
            games: EARLIER_GAMES,
            points: self.points * EARLIER_GAMES / self.games,
        }
    }

    /// Whether one of both leads so far that more games would hardly change who is ahead.
    fn is_decided(&self) -> bool {
        (2.0 * self.points - self.games).abs() >= DECISIVE_LEAD
    }

    /// Whether alpha-beta is the stronger search, where its expected share before any game is
    /// `prior`.
    pub(super) fn is_stronger(&self, prior: f32) -> bool {
        self.points + prior * PRIOR_GAMES >= 0.5 * (self.games + PRIOR_GAMES)
    }

    /// The games in a note of parameters. `None` where it is damaged or has none.
    pub(super) fn from_note(note: &Value) -> Option<Self> {
        let number = |key: &str| note["alpha_beta"][key].as_f64().map(|it| it as f32);
        let games = number("games_against_tree").filter(|it| (0.0..=MOST_GAMES).contains(it))?;
        let points = number("points_against_tree").filter(|it| (0.0..=games).contains(it))?;
        Some(Self { games, points })
    }
}

/// What says which search suits a game.
#[derive(Clone, Copy)]
pub(super) struct Features {
    /// How well the tree's evaluation and playouts predict results.
    pub validation: Validation,
    /// The mean number of moves where there is a choice.
    pub branching: f64,
    /// Whether moves leave lasting facts, which AMAF values need.
    pub has_amaf: bool,
}

impl Features {
    /// The expected share of alpha-beta in games against the tree.
    pub(super) fn prior(&self) -> f32 {
        let positions = self.validation.positions as f64;
        let measured = self.validation.evaluation - self.validation.playouts;
        let difference = measured * positions / (positions + USUAL_POSITIONS);
        let of_amaf = if self.has_amaf { AMAF_LOGIT } else { 0.0 };
        let of_width = (self.branching / FEW_MOVES).max(1.0).ln();
        let logit = USUAL_LOGIT + CORRELATION_SLOPE * difference - of_amaf - of_width;
        (1.0 / (1.0 + (-logit).exp())) as f32
    }
}

/// Plays games of alpha-beta, the first settings, against the tree until the contest is decided or
/// its budget is over.
pub(super) fn play(contest: &Contest<'_>, seed: u64) -> AgainstTree {
    let mut played = AgainstTree::default();
    for number in 0..2 * MAX_PAIRS {
        let pair = number / 2;
        let mut random = Random::new(seed.wrapping_add(pair));
        let length = random.below(MAX_OPENING + 1) as usize;
        let opening = random_opening(contest.machine, length, &mut random);
        if contest.budget.is_over() || played.is_decided() {
            break;
        }
        let (points, is_cut_off) = contest.game_or_part(&opening, (number % 2) as usize, pair);
        let games = if is_cut_off { CUT_OFF_WEIGHT } else { 1.0 };
        played.add(games, games * points);
        tracing::debug!(
            is_cut_off,
            "alpha-beta has {points} points in a game against the tree after {length} random moves"
        );
    }
    played
}

#[cfg(test)]
mod tests {
    use super::*;

    use serde_json::json;

    use panza_search::SearchConfig;
    use panza_sync::Budget;

    fn tally(games: f32, points: f32) -> AgainstTree {
        AgainstTree { games, points }
    }

    #[test]
    fn few_games_leave_what_is_expected() {
        assert!(tally(0.0, 0.0).is_stronger(USUAL_SHARE));
        assert!(!tally(0.0, 0.0).is_stronger(0.4));
        assert!(tally(2.0, 0.5).is_stronger(USUAL_SHARE));
        assert!(!tally(4.0, 0.0).is_stronger(USUAL_SHARE));
        assert!(tally(20.0, 10.0).is_stronger(USUAL_SHARE));
        assert!(!tally(20.0, 9.0).is_stronger(USUAL_SHARE));
    }

    #[test]
    fn a_contest_is_decided_by_a_lead_of_six() {
        assert!(tally(6.0, 6.0).is_decided() && tally(6.0, 0.0).is_decided());
        assert!(tally(20.0, 13.0).is_decided());
        assert!(!tally(5.0, 5.0).is_decided() && !tally(20.0, 12.5).is_decided());
    }

    #[test]
    fn earlier_games_count_up_to_a_bound() {
        assert_eq!(tally(4.3, 1.0).as_earlier(), tally(4.3, 1.0));
        let mut all = tally(100.0, 80.0).as_earlier();
        assert_eq!(all, tally(10.0, 8.0));
        // As many new ones outweigh them.
        all.add(10.0, 1.0);
        assert!(!all.is_stronger(0.5));
    }

    #[test]
    fn games_come_back_from_notes() {
        let read = |games: Value, points: Value| {
            let games = json!({ "games_against_tree": games, "points_against_tree": points });
            AgainstTree::from_note(&json!({ "alpha_beta": games }))
        };
        assert_eq!(read(json!(6), json!(3.5)), Some(tally(6.0, 3.5)));
        assert_eq!(read(json!(1.5), json!(0.25)), Some(tally(1.5, 0.25)));
        for (games, points) in [
            (json!(null), json!(null)),
            (json!(-1), json!(0)),
            (json!(2), json!(3)),
        ] {
            assert_eq!(read(games, points), None);
        }
        assert_eq!(AgainstTree::from_note(&json!({ "alpha_beta": null })), None);
    }

    #[test]
    fn a_game_like_hex_is_expected_to_be_the_trees() {
        let stronger = |positions, [evaluation, playouts]: [f64; 2], branching, has_amaf| {
            let features = Features {
                validation: Validation {
                    positions,
                    evaluation,
                    playouts,
                    ..Validation::default()
                },
                branching,
                has_amaf,
            };
            tally(0.0, 0.0).is_stronger(features.prior())
        };
        assert!(!stronger(100, [0.16, 0.47], 55.0, true), "hex");
        assert!(
            !stronger(1000, [0.40, 0.47], 55.0, true),
            "hex, better trained"
        );
        assert!(!stronger(1000, [0.19, 0.49], 17.0, true), "amazons");
        assert!(
            !stronger(0, [0.0; 2], 73.0, false),
            "hex with a swap, not validated"
        );
        assert!(stronger(0, [0.0; 2], 0.0, false), "an unknown game");
        assert!(stronger(2000, [0.29, 0.30], 26.0, false), "breakthrough");
        assert!(stronger(2000, [0.49, 0.51], 8.6, false), "reversi");
        assert!(stronger(2000, [0.51, 0.64], 7.1, false), "connectFour");
    }

    #[test]
    fn a_game_that_is_cut_off_counts_by_playouts() {
        let game = panza_testing::game_of(panza_testing::rulesheet("ticTacToe"));
        let config = SearchConfig::deterministic(1);
        let contest = Contest {
            machine: &game.machine,
            configs: [config.clone(), config],
            of_move: || Budget::of_steps(1),
            budget: Budget::lasting(Duration::ZERO),
        };
        let (points, is_cut_off) = contest.game_or_part(&game.machine.initial_state(), 0, 1);
        assert!(is_cut_off && points > 0.5 && points < 0.75, "{points}");
        let (points, is_cut_off) = contest.game_or_part(&game.machine.initial_state(), 1, 1);
        assert!(is_cut_off && points > 0.25 && points < 0.5, "{points}");
        // There is no time to begin a game.
        assert_eq!(play(&contest, 1), AgainstTree::default());
    }

    #[test]
    fn a_contest_ends_once_it_is_decided() {
        let game = panza_testing::game_of(panza_testing::rulesheet("ticTacToe"));
        let config = SearchConfig::deterministic(1);
        // It visits all moves alike.
        let weak = SearchConfig {
            exploration: 1000.0,
            ..config.clone()
        };
        let contest = Contest {
            machine: &game.machine,
            configs: [config, weak],
            of_move: || Budget::of_steps(200),
            budget: Budget::generous(),
        };
        let played = play(&contest, 1);
        assert!(played.is_decided() && played.is_stronger(0.0), "{played:?}");
        assert!(played.games < 2.0 * MAX_PAIRS as f32, "{played:?}");
    }
}
