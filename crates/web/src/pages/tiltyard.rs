//! A match in the form of match databases: one JSON object of at most a megabyte, with figures for
//! each move and the packed log.
//!
//! The form follows earlier players: `statistics`, and `compressed_logs`, a bzip2 stream in base64
//! of the match's bundle, which the log viewer opens. A match that is too long is thinned: first
//! the debug log, then the seconds, then the readable log, then the positions. The bundle's notes
//! list what is left out.

use std::collections::BTreeMap;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bzip2::Compression;
use bzip2::write::BzEncoder;
use serde_json::{Map, Value, json};

use panza_telemetry::{Bundle, Entry, Event};

/// Match databases reject larger objects; the rest of the object needs some room too.
const MOST_BYTES: usize = 1_000_000;
/// Limit on the series, in bytes.
const MOST_SERIES: usize = 16 << 20;
/// The coarsest thinning of the series.
const SPARSEST: usize = 256;
/// Attempts to find out how much of the debug log fits.
const DEBUG_TRIES: usize = 4;
/// Limits on the rows of statistics and on the bytes of one.
const MOST_ROWS: usize = 1_000;
const LONGEST_ROW: usize = 800;
/// Columns of the series copied to a move from the last second before it.
const FIGURES: [&str; 4] = ["iterations", "playouts", "nodes", "samples_per_request"];

pub(super) fn object(entry: &Entry, bundle: Bundle) -> Value {
    let statistics = statistics(&bundle);
    let summary = &entry.summary;
    let mut object = json!({
        "version": 1,
        "match_id": summary.match_id,
        "role": summary.role,
        "goals": summary.goals,
        "how": summary.how,
        "statistics": statistics,
    });
    let room = MOST_BYTES.saturating_sub(object.to_string().len() + 200);
    if let Some(packed) = packed_within(bundle, room) {
        object["compressed_logs"] = json!(packed);
    }
    object
}

fn statistics(bundle: &Bundle) -> Vec<Value> {
    let seconds = figures_by_step(&bundle.series);
    bundle
        .events
        .lines()
        // Most events are long and are not moves.
        .filter(|line| Event::kind_of(line).as_deref() == Some("move"))
        .filter_map(|line| {
            let event = Event::read(line)?;
            let mut row: Map<String, Value> = event.data.as_object()?.clone();
            row.insert("at_seconds".into(), event.at_seconds);
            let step = row.get("step")?.as_u64()?;
            for (name, value) in seconds.get(&step).into_iter().flatten() {
                row.insert((*name).to_string(), value.clone());
            }
            Some(Value::Object(row))
        })
        .filter(|row| row.to_string().len() <= LONGEST_ROW)
        .take(MOST_ROWS)
        .collect()
}

fn figures_by_step(series: &str) -> BTreeMap<u64, Vec<(&'static str, Value)>> {
    let mut lines = series.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let place = |name: &str| header.iter().position(|column| *column == name);
    let Some(step_at) = place("step") else {
        return BTreeMap::new();
    };
    let places: Vec<(&'static str, usize)> = FIGURES
        .iter()
        .filter_map(|&name| Some((name, place(name)?)))
        .collect();
    let mut found = BTreeMap::new();
    for line in lines {
        // None of these columns holds texts, and they stand before those that do.
        let cells: Vec<&str> = line.splitn(header.len(), ',').collect();
        let number = |at: usize| cells.get(at)?.parse::<f64>().ok();
        let Some(step) = cells.get(step_at).and_then(|cell| cell.parse().ok()) else {
            continue;
        };
        let row = places
            .iter()
            .filter_map(|&(name, at)| Some((name, json!(number(at)?))))
            .collect();
        found.insert(step, row);
    }
    found
}

/// The bundle, packed into at most `room` bytes; nothing if it does not fit.
fn packed_within(mut bundle: Bundle, room: usize) -> Option<String> {
    let debug = std::mem::take(&mut bundle.debug);
    let text = packed_without_debug(&mut bundle, room)?;
    if debug.is_empty() {
        return Some(text);
    }
    let (notes, spare) = (bundle.notes.clone(), room - text.len());
    let mut kept = debug.len();
    for n_left in (0..DEBUG_TRIES).rev() {
        bundle.debug = ends_of(&debug, kept);
        bundle.notes.clone_from(&notes);
        if kept < debug.len() {
            let note = format!("of debug.log {kept} bytes are kept, its begin and its end");
            bundle.notes.push(note);
        }
        let with = packed(&bundle)?;
        if with.len() <= room {
            return Some(with);
        }
        // A little less than would fit if all of it packed equally well.
        let share = (spare as f64 / (with.len() - text.len()) as f64).min(1.0);
        kept = if n_left > 1 {
            (0.9 * share * kept as f64) as usize
        } else {
            0
        };
    }
    Some(text)
}

/// The text, or where it is longer than `kept` bytes, its first and last lines, which take at most
/// that many together.
fn ends_of(text: &str, kept: usize) -> String {
    if kept >= text.len() {
        return text.to_string();
    }
    let is_end = |byte: &u8| *byte == b'\n';
    let bytes = text.as_bytes();
    let first = bytes[..kept / 2].iter().rposition(is_end);
    let from = text.len() - kept / 2;
    let last = bytes[from..].iter().position(is_end);
    let first = first.map_or("", |end| &text[..=end]);
    let last = last.map_or("", |end| &text[from + end + 1..]);
    [first, last].concat()
}

/// The bundle less what does not fit, packed into at most `room` bytes.
fn packed_without_debug(bundle: &mut Bundle, room: usize) -> Option<String> {
    let series = std::mem::take(&mut bundle.series);
    let notes = bundle.notes.clone();
    // What is larger would not fit however well it is packed, and packing takes long.
    let mut keep_one_in = (series.len() / MOST_SERIES)
        .next_power_of_two()
        .min(SPARSEST);
    loop {
        bundle.series = thinned(&series, keep_one_in);
        bundle.notes = notes.clone();
        if keep_one_in > 1 {
            let note = format!("of the seconds, one in {keep_one_in} is kept");
            bundle.notes.push(note);
        }
        let text = packed(bundle)?;
        if text.len() <= room {
            return Some(text);
        }
        if keep_one_in >= SPARSEST {
            break;
        }
        // As many seconds as would fit if all of it were seconds, but half of them at most.
        let factor = (text.len() / room.max(1)).next_power_of_two().max(2);
        keep_one_in = (keep_one_in * factor).min(SPARSEST);
    }
    bundle.log.clear();
    bundle.notes.push("the readable log is left out".into());
    let text = packed(bundle)?;
    if text.len() <= room {
        return Some(text);
    }
    let is_position = |line: &str| {
        let kind = Event::kind_of(line);
        matches!(kind.as_deref(), Some("state" | "root"))
    };
    let lines = bundle.events.lines();
    let events: Vec<&str> = lines.filter(|line| !is_position(line)).collect();
    bundle.events = events.join("\n") + "\n";
    bundle.notes.push("positions are left out".into());
    packed(bundle).filter(|text| text.len() <= room)
}

/// The first line, every n-th of the others, and the last.
fn thinned(series: &str, keep_one_in: usize) -> String {
    let n_lines = series.lines().count();
    series
        .lines()
        .enumerate()
        .filter(|(at, _)| *at == 0 || (n_lines - 1 - at).is_multiple_of(keep_one_in))
        .flat_map(|(_, line)| [line, "\n"])
        .collect()
}

fn packed(bundle: &Bundle) -> Option<String> {
    let text = serde_json::to_vec(bundle).ok()?;
    let mut encoder = BzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    encoder.write_all(&text).ok()?;
    Some(STANDARD.encode(encoder.finish().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_telemetry::Summary;
    use std::io::Read;

    fn entry() -> Entry {
        Entry {
            folder: "m".into(),
            is_live: false,
            bytes: 0,
            summary: Summary {
                match_id: "m".into(),
                ..Summary::default()
            },
            damaged: None,
        }
    }

    fn unpacked(object: &Value) -> Value {
        let packed = object["compressed_logs"].as_str().unwrap();
        let bytes = STANDARD.decode(packed).unwrap();
        let mut text = String::new();
        bzip2::read::BzDecoder::new(bytes.as_slice())
            .read_to_string(&mut text)
            .unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// A match of so many turns of so many seconds, whose figures are as different as those of a
    /// real one.
    fn long_match(turns: usize, seconds: usize) -> Bundle {
        let mut random = panza_sync::Random::new(1);
        let mut digits = |count: u32| random.below(10u32.pow(count));
        let mut bundle = Bundle {
            version: 1,
            match_id: "m".into(),
            series: "at_seconds,step,iterations,playouts,best_move,root_moves\n".into(),
            ..Bundle::default()
        };
        for turn in 0..turns {
            let facts: Vec<String> = (0..64)
                .map(|cell| {
                    format!(
                        "(cell {} {} {})",
                        cell / 8,
                        cell % 8,
                        ["b", "w", "n"][digits(1) as usize % 3]
                    )
                })
                .collect();
            bundle.events +=
                &json!({"kind": "state", "data": {"step": turn, "facts": facts}}).to_string();
            bundle.events += "\n{\"at_seconds\":1,\"kind\":\"move\",\"data\":{\"step\":";
            bundle.events += &format!(
                "{turn},\"move\":\"(move {})\",\"value\":{}}}}}\n",
                digits(2),
                digits(2)
            );
            for second in 0..seconds {
                let moves: Vec<String> = (0..32)
                    .map(|mv| {
                        format!(
                            "[\"\"(move {mv} {})\"\",{},{}.{}]",
                            digits(1),
                            digits(6),
                            digits(2),
                            digits(6)
                        )
                    })
                    .collect();
                bundle.series += &format!(
                    "{second},{turn},{},{},\"(move)\",\"[{}]\"\n",
                    digits(8),
                    digits(8),
                    moves.join(",")
                );
                bundle.log += &format!("2026-03-01T12:00:00 INFO a line {}\n", digits(6));
            }
        }
        bundle
    }

    #[test]
    fn a_match_of_two_hundred_turns_stays_below_a_megabyte() {
        let bundle = long_match(200, 15);
        let object = object(&entry(), bundle.clone());
        let length = object.to_string().len();
        assert!(length < 1_000_000, "{length}");
        let rows = object["statistics"].as_array().unwrap();
        assert_eq!(rows.len(), 200);
        assert_eq!(rows[7]["step"], 7);
        assert!(rows[7]["iterations"].as_f64().is_some());
        let unpacked = unpacked(&object);
        assert_eq!(unpacked["events"], bundle.events.as_str());
        assert!(
            unpacked["series"]
                .as_str()
                .unwrap()
                .starts_with("at_seconds,step")
        );
    }

    #[test]
    fn what_is_left_out_is_said() {
        let bundle = long_match(20, 5);
        let whole = packed(&bundle).unwrap().len();
        assert_eq!(packed_within(bundle.clone(), whole), packed(&bundle));
        let mut seen = Vec::new();
        for room in [whole - 1, whole / 4, whole / 8, whole / 20, 10] {
            let Some(text) = packed_within(bundle.clone(), room) else {
                seen.push("nothing".to_string());
                continue;
            };
            assert!(text.len() <= room);
            let object = json!({ "compressed_logs": text });
            seen.push(unpacked(&object)["notes"].to_string());
        }
        assert_eq!(seen[0], "[\"of the seconds, one in 2 is kept\"]");
        assert_eq!(seen[4], "nothing");
    }

    #[test]
    fn of_a_long_debug_log_the_begin_and_the_end_are_kept() {
        let mut bundle = long_match(5, 2);
        let without = packed(&bundle).unwrap().len();
        let mut random = panza_sync::Random::new(2);
        for line in 0..20_000 {
            bundle.debug += &format!("line {line}: {}\n", random.below(1 << 31));
        }
        let whole = packed(&bundle).unwrap().len();
        assert_eq!(packed_within(bundle.clone(), whole), packed(&bundle));
        for room in [
            whole - 1,
            (without + whole) / 2,
            without + 5_000,
            without + 400,
        ] {
            let text = packed_within(bundle.clone(), room).unwrap();
            assert!(text.len() <= room);
            let object = unpacked(&json!({ "compressed_logs": text }));
            // Everything else is whole.
            assert_eq!(object["series"], bundle.series.as_str());
            assert_eq!(object["log"], bundle.log.as_str());
            let kept = object["debug"].as_str().unwrap();
            let note = object["notes"][0].as_str().unwrap();
            assert!(note.starts_with("of debug.log "), "{note}");
            if room > without + 4_000 {
                assert!(
                    kept.starts_with("line 0: ") && kept.ends_with('\n'),
                    "{room}"
                );
                assert!(kept.contains("\nline 19999: "), "{room}");
                assert!(text.len() - without > (room - without) / 2, "{room}");
            }
        }
        assert_eq!(ends_of("a\nbb\nccc\nd\n", 8), "a\nd\n");
    }

    #[test]
    fn thinned_series_keep_their_header_and_their_end() {
        assert_eq!(thinned("h\n1\n2\n3\n4\n5\n", 2), "h\n1\n3\n5\n");
        assert_eq!(thinned("h\n1\n2\n3\n4\n5\n", 100), "h\n5\n");
        assert_eq!(thinned("h\n1\n", 1), "h\n1\n");
        assert_eq!(thinned("", 4), "");
    }
}
