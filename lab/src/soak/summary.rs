//! What the matches of a run show together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use panza_referee::FaultKind;
use serde::Serialize;

use super::record::MatchLine;
use crate::page::Table;

/// What a server holds is compared after this number of matches and at the end.
const FIRST: usize = 50;
/// Each of the two is the median of this number of matches.
const WINDOW: usize = 21;
/// Growth of memory that is no leak.
const MAX_GROWTH: f64 = 0.05;
/// The smallest margin of the player by default, in seconds.
const MACHINE_DELAY: f64 = 0.1;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    matches: usize,
    /// Those that ended in a terminal state, or after the number of steps to play.
    whole: usize,
    /// Those that were aborted after the time for a match.
    cut: usize,
    games: usize,
    games_whole: usize,
    steps: u32,
    late: usize,
    /// Of the late answers those that the machine explains: meanwhile the witness woke up more than
    /// [`MACHINE_DELAY`] late.
    late_by_machine: usize,
    illegal: usize,
    /// Of the illegal answers those that were `noop`, the answer where no legal move is known.
    without_move: usize,
    /// Messages without an answer.
    unanswered: usize,
    slowest_start_share: f64,
    slowest_play_share: f64,
    slowest_quiet_seconds: f64,
    /// Matches of which a thread was left.
    not_quiet: usize,
    /// Servers that ended during a match.
    crashes: usize,
    /// Matches in which the legal moves of a state could not be found, so that they were ended.
    not_judged: usize,
    findings: Vec<Finding>,
    servers: Vec<ServerSummary>,
}

/// Something in a match that should not have been.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct Finding {
    game: String,
    match_id: String,
    role: String,
    what: String,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct ServerSummary {
    server: u16,
    matches: usize,
    /// Medians, after [`FIRST`] matches and of the last ones. Nothing for too few matches.
    resident_kib: Option<[u64; 2]>,
    peak_kib: u64,
    /// The fewest and the most after [`FIRST`] matches.
    threads: Option<[usize; 2]>,
    descriptors: Option<[usize; 2]>,
}

impl Summary {
    pub fn of(lines: &[MatchLine]) -> Self {
        let is_whole = |line: &&MatchLine| line.is_whole();
        let greatest =
            |value: &dyn Fn(&MatchLine) -> f64| lines.iter().map(value).fold(0.0, f64::max);
        let games = |lines: &mut dyn Iterator<Item = &MatchLine>| {
            lines.map(|line| &line.game).collect::<BTreeSet<_>>().len()
        };
        let kinds = || {
            lines
                .iter()
                .flat_map(|line| &line.faults)
                .map(|fault| fault.kind)
        };
        let illegal = kinds().filter(|&kind| kind == FaultKind::Illegal).count();
        let late = || lines.iter().flat_map(|line| &line.answers.late);
        let by_machine = late().filter(|late| late.witness_seconds > MACHINE_DELAY);
        let without_move = lines.iter().flat_map(|line| &line.faults);
        let without_move = without_move.filter(|fault| fault.detail == "`noop`");
        let mut servers: BTreeMap<u16, Vec<&MatchLine>> = BTreeMap::new();
        for line in lines {
            servers.entry(line.server).or_default().push(line);
        }
        Self {
            matches: lines.len(),
            whole: lines.iter().filter(is_whole).count(),
            cut: lines.iter().filter(|line| line.ending == "cut").count(),
            games: games(&mut lines.iter()),
            games_whole: games(&mut lines.iter().filter(is_whole)),
            steps: lines.iter().map(|line| line.answers.plays).sum(),
            late: late().count(),
            late_by_machine: by_machine.count(),
            illegal,
            without_move: without_move.count(),
            unanswered: kinds().count() - illegal,
            slowest_start_share: greatest(&|line| {
                line.answers.start_seconds / f64::from(line.start_clock)
            }),
            slowest_play_share: greatest(&|line| {
                line.answers.slowest_seconds / f64::from(line.play_clock)
            }),
            slowest_quiet_seconds: greatest(&|line| line.held.quiet_seconds),
            not_quiet: lines
                .iter()
                .filter(|line| !line.held.left.is_empty())
                .count(),
            crashes: lines.iter().filter(|line| line.crash.is_some()).count(),
            not_judged: lines
                .iter()
                .filter(|line| line.ending.starts_with("referee"))
                .count(),
            findings: lines.iter().flat_map(findings).collect(),
            servers: servers
                .into_values()
                .map(|lines| ServerSummary::of(&lines))
                .collect(),
        }
    }

    /// Whether every answer was legal and in time, and no server holds more than before.
    pub fn holds(&self) -> bool {
        self.late + self.illegal + self.unanswered + self.not_quiet + self.crashes == 0
            && self.servers.iter().all(ServerSummary::holds)
    }
}

fn findings(line: &MatchLine) -> Vec<Finding> {
    let finding = |what| Finding {
        game: line.game.clone(),
        match_id: line.match_id.clone(),
        role: line.role.clone(),
        what,
    };
    line.findings().into_iter().map(finding).collect()
}

impl ServerSummary {
    fn of(lines: &[&MatchLine]) -> Self {
        let half = WINDOW / 2;
        let is_long = lines.len() >= FIRST + half + WINDOW;
        let median = |lines: &[&MatchLine]| {
            let mut figures: Vec<u64> = lines.iter().map(|line| line.held.resident_kib).collect();
            figures.sort_unstable();
            figures[figures.len() / 2]
        };
        let range = |figure: &dyn Fn(&MatchLine) -> usize| {
            let figures = || lines.iter().skip(FIRST).map(|line| figure(line));
            Some([figures().min()?, figures().max()?])
        };
        Self {
            server: lines[0].server,
            matches: lines.len(),
            resident_kib: is_long.then(|| {
                let first = &lines[FIRST - half - 1..FIRST + half];
                [median(first), median(&lines[lines.len() - WINDOW..])]
            }),
            peak_kib: lines
                .iter()
                .map(|line| line.held.peak_kib)
                .max()
                .unwrap_or(0),
            threads: range(&|line| line.held.threads),
            descriptors: range(&|line| line.held.descriptors),
        }
    }

    fn growth(&self) -> Option<f64> {
        self.resident_kib
            .map(|[first, last]| last as f64 / first as f64 - 1.0)
    }

    fn holds(&self) -> bool {
        self.growth().is_none_or(|growth| growth <= MAX_GROWTH)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| format!("{:.0} % of its clock", 100.0 * share);
        let mut table = Table::new(["", "result"]);
        for (what, value) in [
            ("matches", self.matches.to_string()),
            ("played as long as they should be", self.whole.to_string()),
            ("aborted after the time for a match", self.cut.to_string()),
            ("games", self.games.to_string()),
            ("games played so", self.games_whole.to_string()),
            ("answers to PLAY", self.steps.to_string()),
            ("late answers", self.late.to_string()),
            (
                "while the machine let a thread wait for 0.1 s",
                self.late_by_machine.to_string(),
            ),
            ("illegal answers", self.illegal.to_string()),
            (
                "that were noop, as no legal move was known",
                self.without_move.to_string(),
            ),
            ("messages without an answer", self.unanswered.to_string()),
            ("slowest READY", percent(self.slowest_start_share)),
            ("slowest answer to PLAY", percent(self.slowest_play_share)),
            (
                "longest from the end of a match to the end of its threads",
                format!("{:.1} s", self.slowest_quiet_seconds),
            ),
            ("matches that left a thread", self.not_quiet.to_string()),
            (
                "servers that ended during a match",
                self.crashes.to_string(),
            ),
            (
                "matches with a state whose legal moves could not be found",
                self.not_judged.to_string(),
            ),
        ] {
            table.push(vec![what.to_string(), value]);
        }
        writeln!(out, "{table}")?;
        if !self.findings.is_empty() {
            let mut table = Table::new(["game", "role", "finding"]).with_text_columns(&[0, 1, 2]);
            for found in &self.findings {
                let cells = [&found.game, &found.role, &found.what];
                table.push(cells.map(String::clone).into());
            }
            writeln!(out, "{table}")?;
        }
        let mut table = Table::new([
            "server",
            "matches",
            "resident, MB, after 50",
            "at the end",
            "growth, %",
            "most, MB",
            "threads",
            "descriptors",
        ]);
        let megabytes = |kib: u64| format!("{:.1}", kib as f64 * 1024.0 / 1e6);
        let range = |range: Option<[usize; 2]>| {
            range.map_or("-".to_string(), |[least, most]| {
                format!("{least} to {most}")
            })
        };
        for server in &self.servers {
            let resident = |index: usize| {
                let figures = server.resident_kib;
                figures.map_or("-".to_string(), |figures| megabytes(figures[index]))
            };
            let growth = server.growth();
            table.push(vec![
                server.server.to_string(),
                server.matches.to_string(),
                resident(0),
                resident(1),
                growth.map_or("-".to_string(), |growth| format!("{:+.1}", 100.0 * growth)),
                megabytes(server.peak_kib),
                range(server.threads),
                range(server.descriptors),
            ]);
        }
        write!(out, "{table}")
    }
}

#[cfg(test)]
pub mod tests {
    use std::time::Duration;

    use panza_referee::{Fault, Request};

    use super::*;
    use crate::soak::process::ServerUsage;
    use crate::soak::record::Answers;

    fn line(number: usize, resident_kib: u64) -> MatchLine {
        MatchLine {
            server: 0,
            number,
            at_seconds: 0.0,
            game: format!("game{}", number % 7),
            match_id: "m".into(),
            role: "x".into(),
            n_roles: 2,
            start_clock: 3,
            play_clock: 1,
            ending: "terminal".into(),
            goal: Some(100),
            seconds: 9.0,
            answers: Answers::default(),
            faults: Vec::new(),
            held: ServerUsage {
                resident_kib,
                threads: 5,
                descriptors: 12,
                ..ServerUsage::default()
            },
            crash: None,
        }
    }

    /// A match of a game without faults.
    pub fn line_of(game: &str) -> MatchLine {
        MatchLine {
            game: game.to_string(),
            ..line(1, 10)
        }
    }

    #[test]
    fn games_with_findings_are_named() {
        let mut lines = vec![line_of("fine"), line_of("late"), line_of("cut")];
        lines[0].ending = "steps".into();
        lines[1]
            .answers
            .start(Duration::from_secs(4), 3, Duration::ZERO);
        lines[1].faults = vec![Fault {
            role: 0,
            request: Request::Play,
            step: 2,
            kind: FaultKind::Illegal,
            detail: "`noop`".into(),
        }];
        lines[2].ending = "referee: too much work".into();
        let summary = Summary::of(&lines);
        let found = summary.findings.iter();
        let found: Vec<_> = found
            .map(|found| (found.game.as_str(), found.what.as_str()))
            .collect();
        let expected = [
            ("late", "READY after 4.00 s"),
            ("late", "`noop` in step 3 is not legal"),
            ("cut", "ended after 0 steps: referee: too much work"),
        ];
        assert_eq!(found, expected);
        assert_eq!((summary.whole, summary.not_judged), (2, 1));
        assert!(
            summary
                .to_string()
                .contains("| late | x | READY after 4.00 s |")
        );
        let mut crashed = line_of("crashed");
        assert!(Summary::of(&[crashed.clone()]).holds());
        crashed.crash = Some("signal: 6".into());
        assert!(!Summary::of(&[crashed]).holds());
    }

    #[test]
    fn growth_is_that_since_the_fiftieth_match() {
        let lines: Vec<_> = (1..=200)
            .map(|n| line(n, if n < 40 { 10 } else { 1000 }))
            .collect();
        let summary = Summary::of(&lines);
        assert!(summary.holds());
        assert_eq!((summary.whole, summary.games_whole), (200, 7));
        assert_eq!(summary.servers[0].resident_kib, Some([1000, 1000]));
        let lines: Vec<_> = (1..=200).map(|n| line(n, 1000 + n as u64)).collect();
        assert!(!Summary::of(&lines).holds());
        assert_eq!(Summary::of(&lines[..60]).servers[0].growth(), None);
    }

    #[test]
    fn a_late_answer_is_counted() {
        let mut late = line(1, 10);
        late.answers
            .play(1, Duration::from_millis(999), 1, Duration::ZERO);
        assert!(Summary::of(&[late.clone()]).holds());
        late.answers
            .play(2, Duration::from_millis(1001), 1, Duration::ZERO);
        let summary = Summary::of(&[late]);
        assert_eq!((summary.late, summary.late_by_machine), (1, 0));
        assert!(!summary.holds());
    }
}
