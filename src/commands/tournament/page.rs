//! The tables of a tournament: for a terminal, as a page of Markdown, and as an object for scripts.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde::Serialize;

use super::results::MatchResult;
use super::tally::{Faults, Pair, PairTally, Points, Tally};
use crate::commands::performance::page::{NOTES, NOTES_END};

const HEADS: [&str; 10] = [
    "game",
    "clocks",
    "matches",
    "points",
    "share",
    "95 % interval",
    "W D L",
    "steps",
    "seconds",
    "faults",
];
/// Columns of text; all others are figures.
const TEXT_COLUMNS: [usize; 2] = [0, 9];

/// What scripts read: pairs, and for each pair and game, and each pair as a whole, scores and
/// intervals.
#[derive(Serialize, Debug)]
pub struct Report<'a> {
    pairs: Vec<&'a Pair>,
    scores: Vec<Score<'a>>,
    intervals: Vec<Interval<'a>>,
}

#[derive(Serialize, Debug)]
struct Score<'a> {
    /// By position in `pairs`.
    pair: usize,
    /// Nothing for all games.
    game: Option<&'a str>,
    start_clock: Option<u32>,
    play_clock: Option<u32>,
    matches: u32,
    a_matches: u32,
    a_points: f64,
    a_share: Option<f64>,
    b_matches: u32,
    b_points: f64,
    b_share: Option<f64>,
    wins: u32,
    draws: u32,
    losses: u32,
    mean_steps: Option<f64>,
    mean_seconds: Option<f64>,
    a_faults: Faults,
    b_faults: Faults,
    endless: u32,
}

#[derive(Serialize, Debug)]
struct Interval<'a> {
    pair: usize,
    game: Option<&'a str>,
    start_clock: Option<u32>,
    play_clock: Option<u32>,
    method: &'static str,
    level: f64,
    low: Option<f64>,
    high: Option<f64>,
}

/// The object for scripts.
pub fn report(tallies: &[PairTally]) -> Report<'_> {
    let rows = || {
        tallies.iter().enumerate().flat_map(|(pair, tallies)| {
            let rows = tallies.games.iter().chain([&tallies.total]);
            rows.map(move |tally| (pair, tally))
        })
    };
    let game = |tally: &Tally| tally.clocks.is_some();
    Report {
        pairs: tallies.iter().map(|tallies| &tallies.pair).collect(),
        scores: rows()
            .map(|(pair, tally)| Score {
                pair,
                game: game(tally).then_some(&tally.game),
                start_clock: tally.clocks.map(|(start, _)| start),
                play_clock: tally.clocks.map(|(_, play)| play),
                matches: tally.matches,
                a_matches: tally.a.matches,
                a_points: tally.a.points,
                a_share: tally.a.share(),
                b_matches: tally.b.matches,
                b_points: tally.b.points,
                b_share: tally.b.share(),
                wins: tally.outcomes[0],
                draws: tally.outcomes[1],
                losses: tally.outcomes[2],
                mean_steps: tally.mean_steps(),
                mean_seconds: tally.mean_seconds(),
                a_faults: tally.a.faults,
                b_faults: tally.b.faults,
                endless: tally.endless,
            })
            .collect(),
        intervals: rows()
            .map(|(pair, tally)| {
                let interval = tally.a.interval();
                Interval {
                    pair,
                    game: game(tally).then_some(&tally.game),
                    start_clock: tally.clocks.map(|(start, _)| start),
                    play_clock: tally.clocks.map(|(_, play)| play),
                    method: "wilson",
                    level: 0.95,
                    low: interval.map(|(low, _)| low),
                    high: interval.map(|(_, high)| high),
                }
            })
            .collect(),
    }
}

/// The tables for a terminal.
pub fn text(tallies: &[PairTally]) -> String {
    let mut out = String::new();
    for tallies in tallies {
        let _ = writeln!(out, "{}", title(&tallies.pair));
        let rows = rows(tallies);
        let heads = HEADS.map(str::to_string);
        let widths: Vec<usize> = (0..HEADS.len())
            .map(|column| {
                let cells = rows.iter().chain([&heads]).map(|row| &row[column]);
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        for row in [&heads].into_iter().chain(&rows) {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                let gap = if column == 0 { "" } else { "  " };
                let _ = match TEXT_COLUMNS.contains(&column) {
                    true => write!(line, "{gap}{cell:<width$}"),
                    false => write!(line, "{gap}{cell:>width$}"),
                };
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out.push('\n');
    }
    if tallies.is_empty() {
        out.push_str("no matches yet\n");
        return out;
    }
    out.push_str(
        "Points are goals / 100, of the first player : of the second; share, interval (Wilson) and W D L are the first's.\n",
    );
    out
}

/// The page of Markdown; `command` made it, `notes` stood in it before.
pub fn markdown(
    tallies: &[PairTally],
    results: &[MatchResult],
    command: &str,
    notes: Option<&str>,
) -> String {
    let mut out = String::from(
        "# Strength\n\n\
        Matches between players, over HTTP as in any competition, both sides of each game as often. `panza tournament`\n\
        writes this page; the notes at its end are written by hand and stay.\n\n",
    );
    let _ = writeln!(out, "- command: `{}`", command.replace('`', "'"));
    let dates: BTreeSet<&str> = results.iter().map(|result| result.date.as_str()).collect();
    match (dates.first(), dates.last()) {
        (Some(first), Some(last)) if first != last => {
            let _ = writeln!(out, "- played: {first} to {last}");
        }
        (Some(first), _) => {
            let _ = writeln!(out, "- played: {first}");
        }
        _ => {}
    }
    let processors: BTreeSet<&str> = results
        .iter()
        .filter_map(|result| result.processor.as_deref())
        .collect();
    if !processors.is_empty() {
        let names: Vec<&str> = processors.into_iter().collect();
        let _ = writeln!(out, "- processor: {}", names.join("; "));
    }
    out.push_str(
        "- points: goals / 100, of the first player : of the second; share, interval and W D L (won, drawn, lost) are the\n  \
        first player's. The interval is Wilson's for 95 %, with points in the place of wins: sound at the edges, a little\n  \
        too wide where goals lie between 0 and 100. The lowest share comes first.\n\
        - clocks: start clock / play clock in seconds. Steps are joint moves and seconds the time of a match, both means.\n\
        - faults: answers that came late, not at all, or were no legal move; a random legal move was played instead.\n",
    );
    for tallies in tallies {
        let _ = writeln!(out, "\n## {}\n", title(&tallies.pair));
        let _ = writeln!(out, "{}\n", cores_line(&tallies.pair, results));
        let _ = writeln!(out, "| {} |", HEADS.join(" | "));
        for column in 0..HEADS.len() {
            out.push_str(match TEXT_COLUMNS.contains(&column) {
                true => "|---",
                false => "|---:",
            });
        }
        out.push_str("|\n");
        for row in rows(tallies) {
            let cells = row.map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
    }
    let notes = notes.unwrap_or("\n");
    let _ = write!(out, "\n## Notes\n\n{NOTES}{notes}{NOTES_END}\n");
    out
}

fn title(pair: &Pair) -> String {
    let player = |name: &str, version: &str| match version {
        "" => name.to_string(),
        _ => format!("{name} ({version})"),
    };
    let title = format!(
        "{} against {}",
        player(&pair.a, &pair.a_version),
        player(&pair.b, &pair.b_version)
    );
    // A version is free text.
    title.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether the players had a core each.
fn cores_line(pair: &Pair, results: &[MatchResult]) -> String {
    let is_of_pair = |result: &&MatchResult| {
        let key = &result.key;
        (&key.a, &key.a_version, &key.b, &key.b_version)
            == (&pair.a, &pair.a_version, &pair.b, &pair.b_version)
    };
    let mut confined = BTreeSet::new();
    let mut free = BTreeSet::new();
    for result in results.iter().filter(is_of_pair) {
        for (player, core) in result.players.iter().zip(&result.cores) {
            match core {
                Some(_) => confined.insert(player.as_str()),
                None => free.insert(player.as_str()),
            };
        }
    }
    let names = |players: BTreeSet<&str>| players.into_iter().collect::<Vec<_>>().join(" and ");
    match (confined.is_empty(), free.is_empty()) {
        (false, true) => "Each player was confined to a core of its own.".to_string(),
        (false, false) => format!(
            "Confined to a core of its own: {}; not confined: {}.",
            names(confined),
            names(free)
        ),
        _ => "The players were not confined to cores.".to_string(),
    }
}

/// One row per game, and the last for all together.
fn rows(tallies: &PairTally) -> Vec<[String; HEADS.len()]> {
    let all = (tallies.games.len() != 1).then_some(&tallies.total);
    let tallied = tallies.games.iter().chain(all);
    tallied.map(|tally| row(tally, &tallies.pair)).collect()
}

fn row(tally: &Tally, pair: &Pair) -> [String; HEADS.len()] {
    let percent =
        |share: Option<f64>| share.map_or("-".to_string(), |s| format!("{:.1} %", s * 100.0));
    let clocks = tally.clocks;
    let game = match clocks {
        Some(_) => tally.game.clone(),
        None => "all".to_string(),
    };
    let number = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.1}"));
    let interval = tally.a.interval().map_or("-".to_string(), |(low, high)| {
        format!("{:.1} - {:.1} %", low * 100.0, high * 100.0)
    });
    let [wins, draws, losses] = tally.outcomes;
    [
        game,
        clocks.map_or("-".to_string(), |(start, play)| format!("{start}/{play}")),
        tally.matches.to_string(),
        format!("{} : {}", points(&tally.a), points(&tally.b)),
        percent(tally.a.share()),
        interval,
        format!("{wins} {draws} {losses}"),
        number(tally.mean_steps()),
        number(tally.mean_seconds()),
        faults(tally, pair),
    ]
}

/// As many digits as say something.
fn points(points: &Points) -> String {
    let text = format!("{:.2}", points.points);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn faults(tally: &Tally, pair: &Pair) -> String {
    let players = [(&pair.a, tally.a.faults), (&pair.b, tally.b.faults)];
    let mut parts: Vec<String> = players
        .iter()
        .map(|(name, faults)| (name, faults.words()))
        .filter(|(_, words)| !words.is_empty())
        .map(|(name, words)| format!("{name}: {words}"))
        .collect();
    if tally.endless > 0 {
        parts.push(format!("{} without an end", tally.endless));
    }
    match parts.is_empty() {
        true => "-".to_string(),
        false => parts.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::tournament::results::PlayerFault;
    use crate::commands::tournament::results::tests::result;
    use crate::commands::tournament::tally::tally;

    fn results() -> Vec<MatchResult> {
        let mut late = result("hex", 0, 1, [0, 100]);
        late.date = "2026-01-05".into();
        late.faults.push(PlayerFault {
            role: 0,
            request: "PLAY".into(),
            step: 3,
            kind: "timeout".into(),
            detail: String::new(),
        });
        vec![
            result("hex", 0, 0, [100, 0]),
            late,
            result("breakthrough", 0, 0, [0, 100]),
            result("breakthrough", 0, 1, [50, 50]),
        ]
    }

    #[test]
    fn a_table_for_people() {
        let expected = "\
ada (2) against bob
game          clocks  matches     points    share   95 % interval  W D L  steps  seconds  faults
breakthrough    10/1        2  0.5 : 1.5   25.0 %    2.7 - 80.2 %  0 1 1   30.0     20.5  -
hex             10/1        2      2 : 0  100.0 %  34.2 - 100.0 %  2 0 0   30.0     20.5  bob: 1 timeout
all                -        4  2.5 : 1.5   62.5 %   21.9 - 90.8 %  2 1 1   30.0     20.5  bob: 1 timeout

";
        let found = text(&tally(&results()));
        assert!(found.starts_with(expected), "\n{found}");
        assert_eq!(text(&[]), "no matches yet\n");
    }

    #[test]
    fn a_page_says_what_was_measured_and_keeps_its_notes() {
        let results = results();
        let page = markdown(
            &tally(&results),
            &results,
            "panza tournament --show x.toml",
            Some("\nkept\n"),
        );
        for part in [
            "- command: `panza tournament --show x.toml`\n",
            "- played: 2026-01-02 to 2026-01-05\n",
            "- processor: Some Processor\n",
            "\n## ada (2) against bob\n\n",
            "| breakthrough | 10/1 | 2 | 0.5 : 1.5 | 25.0 % | ",
            "| hex | 10/1 | 2 | 2 : 0 | 100.0 % | 34.2 - 100.0 % | 2 0 0 | 30.0 | 20.5 | bob: 1 timeout |\n",
            "<!-- notes -->\nkept\n<!-- /notes -->\n",
        ] {
            assert!(page.contains(part), "no {part:?} in\n{page}");
        }
    }

    #[test]
    fn it_is_said_who_had_a_core() {
        let pair = |results: &[MatchResult]| cores_line(&tally(results)[0].pair, results);
        let mut one = result("hex", 0, 0, [100, 0]);
        assert_eq!(
            pair(&[one.clone()]),
            "Confined to a core of its own: ada; not confined: bob."
        );
        one.cores = vec![Some(0), Some(1)];
        assert_eq!(
            pair(&[one.clone()]),
            "Each player was confined to a core of its own."
        );
        one.cores = vec![None, None];
        assert_eq!(pair(&[one]), "The players were not confined to cores.");
    }

    #[test]
    fn scripts_find_scores_and_intervals_row_by_row() {
        let tallies = tally(&results());
        let report = serde_json::to_value(report(&tallies)).unwrap();
        assert_eq!(report["pairs"][0]["b"], "bob");
        let (scores, intervals) = (&report["scores"], &report["intervals"]);
        assert_eq!(scores.as_array().unwrap().len(), 3);
        assert_eq!(intervals.as_array().unwrap().len(), 3);
        assert_eq!(
            (&scores[0]["game"], &scores[0]["losses"]),
            (&"breakthrough".into(), &1.into())
        );
        assert_eq!(
            (&scores[1]["a_share"], &scores[1]["b_faults"]["timeouts"]),
            (&1.0.into(), &1.into())
        );
        assert!(scores[2]["game"].is_null() && scores[2]["matches"] == 4);
        assert!(intervals[2]["low"].as_f64() < scores[2]["a_share"].as_f64());
        assert!(intervals[2]["high"].as_f64() > scores[2]["a_share"].as_f64());
    }
}
