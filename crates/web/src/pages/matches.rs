//! Matches and their logs: the list, one match, its files, all of it in one piece.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::{PageReply, PageStatus, RoutedRequest, tiltyard};
use panza_sync::{after, is_past};
use panza_telemetry::{COMMIT, Entry, Part, health};

/// Limit on the bytes of a file in one answer.
const MOST_BYTES: usize = 4 << 20;
/// Limit on the matches in one answer, and the default.
const MOST_MATCHES: usize = 1000;
const USUAL_MATCHES: usize = 100;
/// Limit on a search text, in characters.
const LONGEST_SEARCH: usize = 200;
/// How long the log of a match that is over is waited for, and the time between two looks.
const CLOSING_TIME: Duration = Duration::from_secs(3);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// The matches that a request asks for.
pub(super) fn list(it: &RoutedRequest) -> PageReply {
    let (pages, request) = (&it.pages, &it.request);
    let mut entries = match pages.archive.list() {
        Ok(entries) => entries,
        Err(error) => return PageReply::failed(&error),
    };
    entries.retain(|entry| request.client.sees_all || !entry.is_live);
    let offset = request.number("offset").unwrap_or(0);
    let limit = request.number("limit").unwrap_or(USUAL_MATCHES);
    let wanted = request.parameter("search").unwrap_or_default();
    let wanted: String = wanted.chars().take(LONGEST_SEARCH).collect();
    let wanted = wanted.trim().to_lowercase();
    let total = entries.len();
    let found: Vec<&Arc<Entry>> = entries
        .iter()
        .filter(|entry| wanted.is_empty() || is_about(entry, &wanted))
        .collect();
    let health = health();
    let shown = found.iter().skip(offset).take(limit.min(MOST_MATCHES));
    PageReply::json(&json!({
        "total": total,
        "found": found.len(),
        "player": {
            "name": pages.name,
            "status": if pages.is_busy() { "busy" } else { "available" },
            "version": env!("CARGO_PKG_VERSION"),
            "commit": COMMIT,
            "dropped_lines": health.lost_lines,
            "disk": health.problem.as_deref().unwrap_or("ok"),
        },
        "matches": shown.map(|entry| entry.as_ref()).collect::<Vec<&Entry>>(),
    }))
}

/// Whether a match contains this text in lower case.
fn is_about(entry: &Entry, wanted: &str) -> bool {
    let summary = &entry.summary;
    let has = |text: &str| text.to_lowercase().contains(wanted);
    has(&summary.match_id)
        || has(&entry.folder)
        || has(&summary.role)
        || summary.game.as_deref().is_some_and(has)
        || summary.host.as_deref().is_some_and(has)
        || summary.players.iter().flatten().any(|player| has(player))
}

/// The page of a match.
pub(super) fn page(it: &RoutedRequest) -> PageReply {
    match it.pages.archive.entry(it.part(0)) {
        Some(_) => it.file("match.html"),
        None => it.nothing(),
    }
}

/// One match, with the lengths of its files.
pub(super) fn entry(it: &RoutedRequest) -> PageReply {
    let (archive, folder) = (&it.pages.archive, it.part(0));
    let Some(entry) = archive.entry(folder) else {
        return PageReply::no_match();
    };
    let length = |part| {
        let slice = archive.slice(folder, part, u64::MAX, 0);
        slice.map_or(0, |(_, length)| length)
    };
    let mut value = json!(*entry);
    value["files"] = json!({
        "log": length(Part::Log),
        "events": length(Part::Events),
        "series": length(Part::Series),
        "debug": length(Part::Debug),
    });
    PageReply::json(&value)
}

/// A file of a match, from a byte on.
pub(super) fn slice(it: &RoutedRequest, part: Part) -> PageReply {
    let from = it.request.number("from").unwrap_or(0) as u64;
    match it.pages.archive.slice(it.part(0), part, from, MOST_BYTES) {
        Ok((bytes, _)) => PageReply::new(PageStatus::Ok, "text/plain; charset=utf-8", bytes),
        Err(error) => unread(&error),
    }
}

/// All of a match, to be saved.
pub(super) fn bundle(it: &RoutedRequest) -> PageReply {
    let folder = it.part(0);
    match it.pages.archive.bundle(folder) {
        Ok(bundle) => PageReply {
            // The folder's name holds nothing that a header could not.
            download: Some(format!("{folder}.json")),
            ..PageReply::json(&bundle)
        },
        Err(error) => unread(&error),
    }
}

/// All of a match in the form of match databases.
pub(super) fn for_databases(it: &RoutedRequest) -> PageReply {
    match it.pages.archive.entry(it.part(0)) {
        Some(entry) => database_object(it, &entry),
        None => PageReply::no_match(),
    }
}

/// The same of the newest match of a name. Databases ask right after the end of a match, so it
/// waits until the log of one that is over is closed.
pub(super) fn by_id(it: &RoutedRequest) -> PageReply {
    let (name, until) = (it.part(0), after(CLOSING_TIME));
    loop {
        let Some(entry) = it.pages.archive.find(name) else {
            return it.nothing();
        };
        let is_closing = entry.is_live && !it.pages.player.is_playing(name);
        if is_closing && !is_past(until) {
            std::thread::sleep(BETWEEN_LOOKS);
            continue;
        }
        let is_over = !entry.is_live || is_closing && entry.summary.how.is_some();
        return match is_over || it.request.client.sees_all {
            true => database_object(it, &entry),
            false => it.nothing(),
        };
    }
}

fn database_object(it: &RoutedRequest, entry: &Entry) -> PageReply {
    match it.pages.archive.bundle(&entry.folder) {
        Ok(bundle) => PageReply {
            is_public: true,
            ..PageReply::json(&tiltyard::object(entry, bundle))
        },
        Err(error) => PageReply::failed(&error),
    }
}

/// Why a match could not be read.
pub(super) fn unread(error: &io::Error) -> PageReply {
    match error.kind() {
        io::ErrorKind::NotFound => PageReply::no_match(),
        _ => PageReply::failed(error),
    }
}
