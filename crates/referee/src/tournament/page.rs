//! The tables of a tournament: for a terminal, and as an object for scripts.

use std::fmt::Write;

use serde_json::{Value, json};

use super::tally::{Pair, PairTally, Points, Tally, VoidMatch};
use crate::game_manager::Request;
use panza_cli::output::{Column, table};

/// The heads of a table.
pub const HEADS: [&str; 10] = [
    "game",
    "clocks",
    "matches",
    "points",
    "W D L",
    "share",
    "95 % interval",
    "steps",
    "seconds",
    "faults",
];
/// Columns of text; all others are figures.
pub const TEXT_COLUMNS: [usize; 2] = [0, 9];

/// The object for scripts: pairs, and scores and intervals for each game of a pair and for each
/// pair as a whole, where the game is null; and void matches.
pub fn report(tallies: &[PairTally]) -> Value {
    let (mut scores, mut intervals, mut void) = (Vec::new(), Vec::new(), Vec::new());
    for (pair, tallies) in tallies.iter().enumerate() {
        for it in &tallies.void {
            let mut object = json!(it);
            object["pair"] = pair.into();
            void.push(object);
        }
        for tally in tallies.games.iter().chain([&tallies.total]) {
            let game = tally.clocks.map(|_| &tally.game);
            let (start_clock, play_clock) = tally.clocks.unzip();
            scores.push(json!({
                "pair": pair,
                "game": game,
                "start_clock": start_clock,
                "play_clock": play_clock,
                "matches": tally.matches,
                "a_matches": tally.a.matches,
                "a_points": tally.a.points,
                "a_share": tally.a.share(),
                "b_matches": tally.b.matches,
                "b_points": tally.b.points,
                "b_share": tally.b.share(),
                "wins": tally.outcomes[0],
                "draws": tally.outcomes[1],
                "losses": tally.outcomes[2],
                "wdl": tally.wdl(),
                "mean_steps": tally.mean_steps(),
                "mean_seconds": tally.mean_seconds(),
                "a_faults": tally.a.faults,
                "b_faults": tally.b.faults,
                "endless": tally.endless,
            }));
            let (low, high) = tally.a.interval().unzip();
            intervals.push(json!({
                "pair": pair,
                "game": game,
                "start_clock": start_clock,
                "play_clock": play_clock,
                "method": "wilson",
                "level": 0.95,
                "low": low,
                "high": high,
            }));
        }
    }
    let pairs: Vec<&Pair> = tallies.iter().map(|tallies| &tallies.pair).collect();
    json!({ "pairs": pairs, "scores": scores, "intervals": intervals, "void": void })
}

/// The tables for a terminal.
pub(super) fn text(tallies: &[PairTally]) -> String {
    let columns: Vec<Column> = (0..HEADS.len())
        .map(|column| match TEXT_COLUMNS.contains(&column) {
            true => Column::text(HEADS[column]),
            false => Column::figure(HEADS[column]),
        })
        .collect();
    let mut out = String::new();
    for tallies in tallies {
        let rows: Vec<Vec<String>> = rows(tallies).into_iter().map(Vec::from).collect();
        let _ = writeln!(
            out,
            "{}\n{}\n",
            title(&tallies.pair),
            table(&columns, &rows)
        );
        if !tallies.void.is_empty() {
            let lines = void_lines(tallies).join("\n  ");
            let _ = writeln!(out, "Void, not counted:\n  {lines}\n");
        }
    }
    if tallies.is_empty() {
        out.push_str("no matches yet\n");
        return out;
    }
    out.push_str(
        "Points are goals / 100, of the first player : of the second. W D L are the first's; its share counts a draw as half a win, with Wilson's interval.\n",
    );
    out
}

/// A line for each void match of a pair: which it is, who spoiled it, and how.
pub fn void_lines(tallies: &PairTally) -> Vec<String> {
    tallies.void.iter().map(void_line).collect()
}

fn void_line(it: &VoidMatch) -> String {
    let when = match it.request {
        Request::Start => "at START".to_string(),
        Request::Play | Request::Stop => format!("at step {}", it.step + 1),
    };
    format!(
        "{} {}/{}, round {}, side {}: {}, {} {when}",
        it.game,
        it.start_clock,
        it.play_clock,
        it.round + 1,
        it.side + 1,
        it.player,
        it.fault.as_str()
    )
}

/// The players and their versions.
pub fn title(pair: &Pair) -> String {
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

/// One row per game, and the last for all together.
pub fn rows(tallies: &PairTally) -> Vec<[String; HEADS.len()]> {
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
    let wdl = tally.wdl();
    let interval = match wdl.low.zip(wdl.high) {
        Some((low, high)) => format!("{:.1} - {:.1} %", low * 100.0, high * 100.0),
        None => "-".to_string(),
    };
    [
        game,
        clocks.map_or("-".to_string(), |(start, play)| format!("{start}/{play}")),
        tally.matches.to_string(),
        format!("{} : {}", points(&tally.a), points(&tally.b)),
        format!("{} {} {}", wdl.wins, wdl.draws, wdl.losses),
        percent(wdl.share),
        interval,
        number(tally.mean_steps()),
        number(tally.mean_seconds()),
        faults(tally, pair),
    ]
}

/// At most two decimals, without trailing zeros.
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
    use crate::game_manager::FaultKind;
    use crate::tournament::results::MatchResult;
    use crate::tournament::results::tests::{fault, result};
    use crate::tournament::tally::tally;

    fn results() -> Vec<MatchResult> {
        let mut late = result("hex", 0, 1, [0, 100]);
        late.date = "2026-01-05".into();
        late.faults.push(fault(0, FaultKind::Timeout));
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
game          clocks  matches     points  W D L    share   95 % interval  steps  seconds  faults
breakthrough    10/1        2  0.5 : 1.5  0 1 1   25.0 %    2.7 - 80.2 %   30.0     20.5  -
hex             10/1        2      2 : 0  2 0 0  100.0 %  34.2 - 100.0 %   30.0     20.5  bob: 1 timeout
all                -        4  2.5 : 1.5  2 1 1   62.5 %   21.9 - 90.8 %   30.0     20.5  bob: 1 timeout

";
        let found = text(&tally(&results()));
        assert!(found.starts_with(expected), "\n{found}");
        assert_eq!(text(&[]), "no matches yet\n");
    }

    #[test]
    fn void_matches_stand_apart() {
        let mut results = results();
        let mut lost = result("hex", 1, 1, [0, 100]);
        lost.faults.push(fault(0, FaultKind::Connection));
        results.push(lost);
        let tallies = tally(&results);
        let text = text(&tallies);
        let line = "Void, not counted:\n  hex 10/1, round 2, side 2: bob, connection at step 4\n";
        assert!(text.contains(line), "{text}");
        let report = report(&tallies);
        assert_eq!(report["scores"][2]["matches"], 4);
        let void = &report["void"][0];
        assert_eq!((&void["player"], &void["pair"]), (&"bob".into(), &0.into()));
    }

    #[test]
    fn scripts_find_scores_and_intervals_row_by_row() {
        let tallies = tally(&results());
        let report = report(&tallies);
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
        assert_eq!(scores[2]["wdl"]["share"], 0.625);
        assert!(scores[2]["game"].is_null() && scores[2]["matches"] == 4);
        assert!(intervals[2]["low"].as_f64() < scores[2]["a_share"].as_f64());
        assert!(intervals[2]["high"].as_f64() > scores[2]["a_share"].as_f64());
    }
}
