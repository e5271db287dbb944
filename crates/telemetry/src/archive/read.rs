//! Reads the summary of a match, or rebuilds it from the first and last events.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::Value;

use super::{Event, Part};
use crate::sink::SUMMARY;
use crate::summary::Summary;

/// Limit on a summary.
const LONGEST_SUMMARY: u64 = 1 << 20;
/// Bytes read from the start and from the end of the events.
const BEGINNING: u64 = 1 << 20;
const END: u64 = 1 << 16;

/// The summary of the match in a folder, and what is wrong with it; nothing where the folder holds
/// no match.
pub(super) fn summary(folder: &Path) -> Option<(Summary, Option<String>)> {
    let path = folder.join(SUMMARY);
    let written = File::open(&path).and_then(|file| {
        let mut text = String::new();
        file.take(LONGEST_SUMMARY).read_to_string(&mut text)?;
        Ok(text)
    });
    let fault = match written.map(|text| serde_json::from_str::<Summary>(&text)) {
        Ok(Ok(summary)) => return Some((summary, None)),
        Ok(Err(error)) => format!("{SUMMARY} is damaged: {error}"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => format!("{SUMMARY} is missing"),
        Err(error) => format!("{SUMMARY} cannot be read: {error}"),
    };
    let events = folder.join(Part::Events.file_name());
    match of_events(&events) {
        Ok(summary) => Some((summary, Some(fault))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let is_match = Part::ALL
                .iter()
                .any(|part| folder.join(part.file_name()).exists());
            let summary = Summary {
                match_id: name_of(Some(folder)),
                ..Summary::default()
            };
            is_match.then(|| (summary, Some(format!("{fault}, and there are no events"))))
        }
        Err(error) => Some((
            Summary::default(),
            Some(format!("{fault}, and the events cannot be read: {error}")),
        )),
    }
}

fn name_of(folder: Option<&Path>) -> String {
    let name = folder.and_then(Path::file_name).unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// A summary from the first and the last events.
fn of_events(path: &Path) -> io::Result<Summary> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    (&mut file).take(BEGINNING).read_to_end(&mut bytes)?;
    let mut summary = Summary::default();
    for line in String::from_utf8_lossy(&bytes).lines() {
        take_in(&mut summary, line);
    }
    if length > BEGINNING {
        file.seek(SeekFrom::Start(length.saturating_sub(END).max(BEGINNING)))?;
        let mut bytes = Vec::new();
        file.take(END).read_to_end(&mut bytes)?;
        for line in String::from_utf8_lossy(&bytes).lines() {
            take_in(&mut summary, line);
        }
    }
    if summary.match_id.is_empty() {
        summary.match_id = name_of(path.parent());
    }
    Ok(summary)
}

/// Applies one event; a line that is none is skipped.
fn take_in(summary: &mut Summary, line: &str) {
    let Some(event) = Event::read(line) else {
        return;
    };
    let data = &event.data;
    let text = |value: &Value| value.as_str().map(str::to_string);
    let texts = |value: &Value| -> Option<Vec<String>> {
        let items = value.as_array()?;
        Some(items.iter().filter_map(text).collect())
    };
    if let Some(seconds) = event.at_seconds.as_f64() {
        summary.seconds = Some(seconds);
    }
    match &*event.kind {
        "log" => {
            summary.match_id = text(&data["match_id"]).unwrap_or_default();
            summary.started = text(&event.time).unwrap_or_default();
        }
        "start" => {
            summary.role = text(&data["role"]).unwrap_or_default();
            summary.roles = texts(&data["roles"]).unwrap_or_default();
            summary.players = texts(&data["players"]);
            summary.host = text(&data["host"]);
            summary.game = text(&data["game"]);
            summary.start_clock = data["start_clock"].as_f64().unwrap_or_default();
            summary.play_clock = data["play_clock"].as_f64().unwrap_or_default();
        }
        "played" => {
            let step = data["step"].as_u64().map(|step| step.saturating_add(1));
            let steps = step.and_then(|steps| usize::try_from(steps).ok());
            summary.steps = steps.unwrap_or(summary.steps);
        }
        "move" => summary.value = data["value"].as_f64(),
        "error" | "warning" => summary.errors += 1,
        "lost_lines" => {
            let lost = data["count"].as_u64().unwrap_or_default();
            summary.lost_lines = usize::try_from(lost).unwrap_or(usize::MAX);
        }
        "end" => {
            summary.how = text(&data["how"]);
            let goal = |(role, goal): (&String, &Value)| {
                let goal = goal.as_u64().and_then(|goal| u8::try_from(goal).ok());
                (role.clone(), goal)
            };
            let goals: Option<BTreeMap<String, Option<u8>>> = data["goals"]
                .as_object()
                .map(|goals| goals.iter().map(goal).collect());
            summary.goals = goals.filter(|goals| !goals.is_empty());
        }
        _ => {}
    }
}

pub(super) fn bytes(folder: &Path) -> u64 {
    Part::file_names()
        .chain([SUMMARY])
        .filter_map(|name| fs::metadata(folder.join(name)).ok())
        .map(|data| data.len())
        .sum()
}
