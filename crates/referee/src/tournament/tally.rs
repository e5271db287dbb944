//! Points, wins, intervals and faults of each pair in each game.
//!
//! A player's points in a match are the mean goal of its roles divided by 100. The player with more
//! points wins the match; equal points are a draw. This holds for two roles, a role each, and for
//! more, where the players have every other role. In games with one role each player plays the same
//! rounds alone, and the higher goal wins a round. The share of a player is that of wins, a draw
//! counting half, with Wilson's score interval for 95 % (Wilson, 1927). Shares of points stand
//! beside it: in games whose goals do not add up to 100 they say little about strength.
//!
//! A match in which a player did not answer START, could not be reached or failed later, or was not
//! fit, says nothing about strength. It is void: it is listed apart and counts nowhere.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;

use super::plan::is_role_of_a;
use super::results::MatchResult;
use crate::game_manager::{Ending, Fault, FaultKind, Request};

/// The 97.5 % point of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// A pair of players, each by name and version.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Pair {
    /// The player whose points the shares are of.
    pub a: String,
    /// Its version.
    pub a_version: String,
    /// The other player.
    pub b: String,
    /// Its version.
    pub b_version: String,
}

/// All matches of a pair.
#[derive(Clone, PartialEq, Debug)]
pub struct PairTally {
    /// The two players.
    pub pair: Pair,
    /// Each game with its clocks, the lowest share of A first.
    pub(super) games: Vec<Tally>,
    pub(super) total: Tally,
    /// The void matches.
    pub(super) void: Vec<VoidMatch>,
}

/// A match that does not count, and why.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct VoidMatch {
    pub game: String,
    pub start_clock: u32,
    pub play_clock: u32,
    pub round: u32,
    pub side: u32,
    /// Who spoiled it.
    pub player: String,
    /// The request without an answer, the joint moves before it, and the kind of fault.
    pub request: Request,
    pub step: u32,
    pub fault: FaultKind,
}

impl VoidMatch {
    /// Why a match is void; `None` where it counts.
    pub fn of(result: &MatchResult) -> Option<Self> {
        let spoils = |fault: &&Fault| match fault.request {
            Request::Start => true,
            Request::Play => matches!(fault.kind, FaultKind::Connection | FaultKind::Failed),
            // The match is over.
            Request::Stop => false,
        };
        let fault = result.faults.iter().find(spoils)?;
        let key = &result.key;
        let player = match is_role_of_a(fault.role, key.side) {
            true => &key.a,
            false => &key.b,
        };
        Some(Self {
            game: key.game.clone(),
            start_clock: key.start_clock,
            play_clock: key.play_clock,
            round: key.round,
            side: key.side,
            player: player.clone(),
            request: fault.request,
            step: fault.step,
            fault: fault.kind,
        })
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Tally {
    /// The game's name; empty for all of them.
    pub game: String,
    /// Start clock and play clock in seconds; none for all games.
    pub clocks: Option<(u32, u32)>,
    pub matches: u32,
    /// Matches in which A had a role, and its points.
    pub a: Points,
    pub b: Points,
    /// Wins, draws and losses of A.
    pub outcomes: [u32; 3],
    pub steps: u64,
    pub seconds: f64,
    /// Matches without a proper end.
    pub endless: u32,
}

#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Points {
    pub matches: u32,
    pub points: f64,
    pub faults: Faults,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub(super) struct Faults {
    pub timeouts: u32,
    pub connection: u32,
    pub illegal: u32,
    pub failed: u32,
    pub unfit: u32,
}

impl Faults {
    fn add(&mut self, kind: FaultKind) {
        match kind {
            FaultKind::Timeout => self.timeouts += 1,
            FaultKind::Connection => self.connection += 1,
            FaultKind::Illegal => self.illegal += 1,
            FaultKind::Failed => self.failed += 1,
            FaultKind::Unfit => self.unfit += 1,
        }
    }

    /// The counts with their names; empty where there are none.
    pub fn words(&self) -> String {
        let kinds = [
            (self.timeouts, "timeout"),
            (self.connection, "connection"),
            (self.illegal, "illegal"),
            (self.failed, "failed"),
            (self.unfit, "unfit"),
        ];
        let kinds = kinds.iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = kinds
            .map(|(count, kind)| format!("{count} {kind}"))
            .collect();
        words.join(", ")
    }
}

impl Points {
    pub fn share(&self) -> Option<f64> {
        mean(self.points, self.matches)
    }

    pub fn interval(&self) -> Option<(f64, f64)> {
        self.share().map(|share| wilson(share, self.matches))
    }
}

/// The mean of some values with this sum; `None` where there are none.
pub(super) fn mean(sum: f64, count: u32) -> Option<f64> {
    (count > 0).then(|| sum / f64::from(count))
}

/// Wilson's score interval for 95 % about a share of successes in some trials, of which there is at
/// least one.
pub fn wilson(share: f64, trials: u32) -> (f64, f64) {
    let n = f64::from(trials);
    let z2 = Z * Z;
    let middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

/// Wins, draws and losses as a share of 1, a draw counting half.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Wdl {
    pub wins: u32,
    pub draws: u32,
    pub losses: u32,
    /// `None` where nothing was compared.
    pub share: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Tally {
    /// The share of A by wins, draws and losses.
    pub fn wdl(&self) -> Wdl {
        let [wins, draws, losses] = self.outcomes;
        let compared = wins + draws + losses;
        let share = mean(f64::from(wins) + f64::from(draws) / 2.0, compared);
        let (low, high) = share.map(|share| wilson(share, compared)).unzip();
        Wdl {
            wins,
            draws,
            losses,
            share,
            low,
            high,
        }
    }

    pub fn mean_steps(&self) -> Option<f64> {
        mean(self.steps as f64, self.matches)
    }

    pub fn mean_seconds(&self) -> Option<f64> {
        mean(self.seconds, self.matches)
    }

    /// Adds a match; [`compare_alone`] counts the wins of games with one role.
    fn add(&mut self, result: &MatchResult) {
        self.matches += 1;
        self.steps += result.steps as u64;
        self.seconds += result.seconds;
        self.endless += u32::from(result.ending != Ending::Terminal);
        let side = result.key.side;
        let (a, b) = points(result);
        for (player, points) in [(&mut self.a, a), (&mut self.b, b)] {
            player.matches += u32::from(points.is_some());
            player.points += points.unwrap_or(0.0);
        }
        if let (Some(a), Some(b)) = (a, b) {
            self.compare(a, b);
        }
        for fault in &result.faults {
            let player = match is_role_of_a(fault.role, side) {
                true => &mut self.a,
                false => &mut self.b,
            };
            player.faults.add(fault.kind);
        }
    }

    fn compare(&mut self, a: f64, b: f64) {
        self.outcomes[outcome(a, b)] += 1;
    }
}

/// The outcome for a player with points `own`: 0 for a win, 1 for a draw, 2 for a loss.
pub(super) fn outcome(own: f64, other: f64) -> usize {
    match own.total_cmp(&other) {
        Ordering::Greater => 0,
        Ordering::Equal => 1,
        Ordering::Less => 2,
    }
}

/// The points of A and of B, where they have a role. A role without a goal counts as 0.
pub(super) fn points(result: &MatchResult) -> (Option<f64>, Option<f64>) {
    let mean = |of_a: bool| {
        let own = result.goals.iter().enumerate();
        let own: Vec<f64> = own
            .filter(|(role, _)| is_role_of_a(*role, result.key.side) == of_a)
            .map(|(_, goal)| f64::from(goal.unwrap_or(0)) / 100.0)
            .collect();
        (!own.is_empty()).then(|| own.iter().sum::<f64>() / own.len() as f64)
    };
    (mean(true), mean(false))
}

/// Tallies matches by pair and game, pairs in the order of their first matches. A match that
/// appears twice counts once.
pub fn tally(results: &[MatchResult]) -> Vec<PairTally> {
    let mut order: Vec<Pair> = Vec::new();
    let mut by_pair: BTreeMap<Pair, BTreeMap<_, BTreeMap<_, &MatchResult>>> = BTreeMap::new();
    for result in results {
        let key = &result.key;
        let pair = Pair {
            a: key.a.clone(),
            a_version: key.a_version.clone(),
            b: key.b.clone(),
            b_version: key.b_version.clone(),
        };
        if !by_pair.contains_key(&pair) {
            order.push(pair.clone());
        }
        let games = by_pair.entry(pair).or_default();
        let event = (&key.game, key.start_clock, key.play_clock);
        let matches = games.entry(event).or_default();
        matches.entry((key.round, key.side)).or_insert(result);
    }
    let mut tallies = Vec::new();
    for pair in order {
        let (mut games, mut total, mut void) = (Vec::new(), Tally::default(), Vec::new());
        for ((game, start, play), mut matches) in by_pair.remove(&pair).unwrap_or_default() {
            matches.retain(|_, result| {
                let spoiled = VoidMatch::of(result);
                let counts = spoiled.is_none();
                void.extend(spoiled);
                counts
            });
            let mut tally = Tally {
                game: game.clone(),
                clocks: Some((start, play)),
                ..Tally::default()
            };
            for tally in [&mut tally, &mut total] {
                matches.values().for_each(|result| tally.add(result));
                compare_alone(tally, &matches);
            }
            games.push(tally);
        }
        let share = |tally: &Tally| tally.wdl().share.unwrap_or(1.0);
        games.sort_by(|x, y| share(x).total_cmp(&share(y)));
        tallies.push(PairTally {
            pair,
            games,
            total,
            void,
        });
    }
    tallies
}

/// Compares the rounds of a game with one role that both players have played.
fn compare_alone(tally: &mut Tally, matches: &BTreeMap<(u32, u32), &MatchResult>) {
    for (&(round, side), of_a) in matches {
        let of_b = (side == 0).then(|| matches.get(&(round, 1))).flatten();
        if of_a.roles.len() == 1
            && let Some(of_b) = of_b
            && let (Some(a), Some(b)) = (points(of_a).0, points(of_b).1)
        {
            tally.compare(a, b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tournament::results::tests::{fault, result};

    fn close(found: (f64, f64), expected: (f64, f64)) {
        let is_close = |x: f64, y: f64| (x - y).abs() < 5e-5;
        assert!(
            is_close(found.0, expected.0) && is_close(found.1, expected.1),
            "{found:?} is not {expected:?}"
        );
    }

    #[test]
    fn intervals_are_those_of_the_textbook() {
        // Known values of Wilson's interval without continuity correction.
        close(wilson(0.5, 10), (0.2366, 0.7634));
        close(wilson(0.8, 10), (0.4902, 0.9433));
        close(wilson(0.0, 20), (0.0, 0.1611));
        close(wilson(1.0, 20), (0.8389, 1.0));
        close(wilson(81.0 / 263.0, 263), (0.2553, 0.3662));
        assert_eq!(Points::default().interval(), None);
    }

    #[test]
    fn a_draw_is_half_a_win_whatever_its_goals() {
        // Both roles get 90 for a draw; by points the first player would have 92 %.
        let drawn = |round| result("torus", round, 0, [90, 90]);
        let mut results: Vec<_> = (0..4).map(drawn).collect();
        results.push(result("torus", 4, 0, [100, 0]));
        let [pair] = tally(&results).try_into().expect("one pair");
        let wdl = pair.total.wdl();
        assert_eq!((wdl.wins, wdl.draws, wdl.losses), (1, 4, 0));
        assert_eq!(wdl.share, Some(0.6));
        assert!((pair.total.a.share().unwrap() - 0.92).abs() < 1e-9);
        close((wdl.low.unwrap(), wdl.high.unwrap()), wilson(0.6, 5));
        assert_eq!(Tally::default().wdl().share, None);
    }

    #[test]
    fn points_follow_the_players_through_the_sides() {
        let mut late = result("hex", 1, 1, [100, 0]);
        use FaultKind::{Illegal, Timeout};
        let faults = [(0, Timeout), (0, Illegal), (1, Timeout)];
        late.faults = faults.map(|(role, kind)| fault(role, kind)).to_vec();
        late.steps = 10;
        late.ending = Ending::Endless;
        let results = [
            result("hex", 0, 0, [100, 0]),
            result("hex", 0, 1, [30, 70]),
            result("hex", 1, 0, [50, 50]),
            late.clone(),
            // The same match again does not count.
            late,
            result("chess", 0, 0, [0, 100]),
        ];
        let [pair] = tally(&results).try_into().expect("one pair");
        assert_eq!((pair.pair.a.as_str(), pair.pair.b.as_str()), ("ada", "bob"));
        let games: Vec<&str> = pair.games.iter().map(|tally| tally.game.as_str()).collect();
        assert_eq!(games, ["chess", "hex"], "lost games come first");
        let hex = &pair.games[1];
        assert_eq!((hex.matches, hex.outcomes), (4, [2, 1, 1]));
        assert!((hex.a.points - 2.2).abs() < 1e-9, "{hex:?}");
        assert!((hex.b.points - 1.8).abs() < 1e-9, "{hex:?}");
        assert_eq!(hex.a.faults.words(), "1 timeout");
        assert_eq!(hex.b.faults.words(), "1 timeout, 1 illegal");
        assert_eq!((hex.mean_steps(), hex.endless), (Some(25.0), 1));
        assert_eq!((pair.total.matches, pair.total.outcomes), (5, [2, 1, 2]));
        assert_eq!(pair.total.wdl().share, Some(0.5));
        assert!((pair.total.a.points - 2.2).abs() < 1e-9);
    }

    #[test]
    fn matches_that_a_player_spoiled_do_not_count() {
        let spoiled = |round, request, kind| {
            let mut result = result("hex", round, 1, [100, 0]);
            let fault = fault(0, kind);
            result.faults.push(Fault { request, ..fault });
            result
        };
        use FaultKind::{Connection, Failed, Illegal, Timeout};
        let [pair] = tally(&[
            result("hex", 0, 0, [100, 0]),
            spoiled(1, Request::Start, Timeout),
            spoiled(2, Request::Play, Connection),
            spoiled(3, Request::Play, Illegal),
            spoiled(4, Request::Stop, Connection),
            spoiled(5, Request::Start, Failed),
            spoiled(6, Request::Play, Failed),
        ])
        .try_into()
        .expect("one pair");
        assert_eq!((pair.total.matches, pair.games[0].matches), (3, 3));
        let void: Vec<_> = pair
            .void
            .iter()
            .map(|it| (it.round, it.player.as_str(), it.request))
            .collect();
        let expected = [
            (1, "bob", Request::Start),
            (2, "bob", Request::Play),
            (5, "bob", Request::Start),
            (6, "bob", Request::Play),
        ];
        assert_eq!(void, expected);
    }

    #[test]
    fn other_versions_and_clocks_stand_apart() {
        let mut newer = result("hex", 0, 0, [100, 0]);
        newer.key.a_version = "3".into();
        let mut slower = result("hex", 0, 0, [0, 100]);
        slower.key.play_clock = 9;
        let tallies = tally(&[newer, result("hex", 0, 0, [100, 0]), slower]);
        let versions: Vec<&str> = tallies.iter().map(|t| t.pair.a_version.as_str()).collect();
        assert_eq!(versions, ["3", "2"], "in the order of the results");
        let clocks: Vec<_> = tallies[1].games.iter().map(|tally| tally.clocks).collect();
        assert_eq!(clocks, [Some((10, 9)), Some((10, 1))]);
    }

    #[test]
    fn who_plays_alone_is_compared_by_round() {
        let alone = |round, side, goal| {
            let mut result = result("puzzle", round, side, [goal, 0]);
            result.roles.pop();
            result.goals.pop();
            result.players.pop();
            result
        };
        let results = [
            alone(0, 0, 100),
            alone(0, 1, 40),
            alone(1, 0, 40),
            alone(1, 1, 40),
            // B has not played this round yet.
            alone(2, 0, 100),
        ];
        let tallies = tally(&results);
        let total = &tallies[0].total;
        assert_eq!((total.matches, total.outcomes), (5, [1, 1, 0]));
        assert_eq!((total.a.matches, total.b.matches), (3, 2));
        assert!((total.a.points - 2.4).abs() < 1e-9 && (total.b.points - 0.8).abs() < 1e-9);
    }

    #[test]
    fn of_three_roles_the_first_player_has_two() {
        let mut three = result("trio", 0, 0, [100, 0]);
        three.roles.push("red".into());
        three.goals.push(None);
        three.players.push("ada".into());
        assert_eq!(points(&three), (Some(0.5), Some(0.0)));
        three.key.side = 1;
        assert_eq!(points(&three), (Some(0.0), Some(0.5)));
    }
}
