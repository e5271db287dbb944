//! The lines on standard error while a tournament is played: each match, the running score of its
//! pair without void matches, and an estimate of the time left.
//!
//! The estimate adds up the matches that wait, each with the mean time of its game so far, or of
//! all games where there is none, and divides by the number of matches at once.

use std::collections::BTreeMap;
use std::time::Duration;

use super::plan::{Fixture, Schedule};
use super::results::MatchResult;
use super::tally::{VoidMatch, mean, outcome, points};
use panza_cli::output::counted;

#[derive(Debug)]
pub struct Progress<'a> {
    plan: &'a Schedule,
    total: usize,
    done: usize,
    /// Matches that wait or are played, by event.
    waiting: Vec<u32>,
    /// Matches that are over and their time, by event.
    times: Vec<(u32, Duration)>,
    /// Matches of A and its wins, a draw counting half, by pair. A match alone, which has no
    /// winner, counts by points.
    scores: BTreeMap<usize, (u32, f64)>,
}

impl<'a> Progress<'a> {
    /// Before the first match; `known` are earlier results.
    pub fn new(plan: &'a Schedule, fixtures: &[Fixture], known: &[MatchResult]) -> Self {
        let mut progress = Self {
            plan,
            total: fixtures.len(),
            done: 0,
            waiting: vec![0; plan.events.len()],
            times: vec![(0, Duration::ZERO); plan.events.len()],
            scores: BTreeMap::new(),
        };
        for fixture in fixtures {
            progress.waiting[fixture.event] += 1;
        }
        let by_key: BTreeMap<_, _> = known.iter().map(|result| (&result.key, result)).collect();
        for fixture in plan.fixtures() {
            if let Some(result) = by_key.get(&plan.key(&fixture)) {
                let seconds = Duration::try_from_secs_f64(result.seconds).unwrap_or_default();
                progress.add(&fixture, result, seconds);
            }
        }
        progress
    }

    fn add(&mut self, fixture: &Fixture, result: &MatchResult, time: Duration) {
        let (matches, sum) = &mut self.times[fixture.event];
        *matches += 1;
        *sum += time;
        if VoidMatch::of(result).is_none()
            && let (Some(own), other) = points(result)
        {
            let (matches, sum) = self.scores.entry(fixture.pair).or_default();
            *matches += 1;
            *sum += other.map_or(own, |other| 1.0 - outcome(own, other) as f64 / 2.0);
        }
    }

    fn take(&mut self, fixture: &Fixture) {
        self.done += 1;
        let waiting = &mut self.waiting[fixture.event];
        *waiting = waiting.saturating_sub(1);
    }

    /// Adds a match with a result and gives its line; `time` is from the start of its players to
    /// their end.
    pub fn finished(&mut self, fixture: &Fixture, result: &MatchResult, time: Duration) -> String {
        self.take(fixture);
        self.add(fixture, result, time);
        let shown = |goal: &Option<u8>| goal.map_or("-".to_string(), |goal| goal.to_string());
        let goals: Vec<String> = result.goals.iter().map(shown).collect();
        let faults = match result.faults.len() {
            0 => String::new(),
            count => format!(", {}", counted(count as u64, "fault")),
        };
        let (a, _) = self.plan.pairs[fixture.pair];
        let name = &self.plan.players[a].name;
        let (matches, wins) = self.scores.get(&fixture.pair).copied().unwrap_or_default();
        let share = 100.0 * mean(wins, matches).unwrap_or(0.0);
        format!(
            "{}: {} in {}, {:.0} s{faults}; {name} has {wins:.1} of {matches} ({share:.0} %); {}",
            self.head(fixture),
            goals.join(" : "),
            counted(result.steps as u64, "step"),
            result.seconds,
            self.left()
        )
    }

    /// Adds a match that could not be played and gives its line.
    pub fn failed(&mut self, fixture: &Fixture, why: &str) -> String {
        self.take(fixture);
        format!("{}: not played: {why}", self.head(fixture))
    }

    pub fn left_out(&mut self, fixture: &Fixture) {
        self.take(fixture);
    }

    fn head(&self, fixture: &Fixture) -> String {
        let title = self.plan.title(fixture);
        format!("{} of {}: {title}", self.done, self.total)
    }

    fn left(&self) -> String {
        let matches: u32 = self.times.iter().map(|(matches, _)| matches).sum();
        let sum: Duration = self.times.iter().map(|(_, time)| time).sum();
        let mean = sum / matches.max(1);
        let by_event = self.waiting.iter().zip(&self.times);
        let left = by_event.map(|(&waiting, &(matches, sum))| match matches {
            0 => mean * waiting,
            _ => sum / matches * waiting,
        });
        let left: Duration = left.sum();
        let at_once = self.plan.parallel.min(1024) as u32;
        match self.waiting.iter().all(|&waiting| waiting == 0) {
            true => "none left".to_string(),
            false => format!("about {} left", in_words(left / at_once.max(1))),
        }
    }
}

/// A time in its two largest units.
fn in_words(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tournament::results::tests::result;

    #[test]
    fn times_have_the_units_that_say_most() {
        let shown = [5, 65, 3_600, 7_500].map(|seconds| in_words(Duration::from_secs(seconds)));
        assert_eq!(shown, ["5 s", "1 min 5 s", "1 h 0 min", "2 h 5 min"]);
    }

    #[test]
    fn the_score_runs_on_from_results_of_before_and_the_time_left_follows_the_games() {
        let plan = Schedule::parse(
            "games = ['ticTacToe', 'hex']\nstart_clock = 10\nplay_clock = 1\ngames_a_side = 2\n\
             [[players]]\nname = 'ada'\nbuiltin = 'legal'\nversion = '2'\n\
             [[players]]\nname = 'bob'\nbuiltin = 'random'\nversion = ''\n",
            "t.toml",
        )
        .unwrap();
        let mut fixtures = plan.fixtures();
        assert_eq!(fixtures.len(), 8);
        // The first match of ticTacToe and the first two of hex are over.
        let known = [
            result("ticTacToe", 0, 0, [100, 0]),
            result("hex", 0, 0, [0, 100]),
            result("hex", 0, 1, [0, 100]),
        ];
        fixtures.retain(|fixture| !known.iter().any(|known| known.key == plan.key(fixture)));
        let mut progress = Progress::new(&plan, &fixtures, &known);
        let finished = result("ticTacToe", 0, 1, [50, 50]);
        let told = progress.finished(&fixtures[0], &finished, Duration::from_secs(60));
        // Two more matches of ticTacToe at (20.5 + 60) / 2 s, two more of hex at 20.5 s.
        assert_eq!(
            told,
            "1 of 5: ticTacToe, bob - ada: 50 : 50 in 30 steps, 20 s; \
             ada has 2.5 of 4 (62 %); about 2 min 1 s left"
        );
        let told = progress.failed(&fixtures[1], "bob: no program");
        assert_eq!(
            told,
            "2 of 5: ticTacToe, ada - bob: not played: bob: no program"
        );
    }
}
