//! Pages for browsers and log readers: the log viewer, its data, matches by id, playing, metrics.
//!
//! - `/`: the list of matches; `/matches/FOLDER`: one match
//! - `/viewer`: a page that opens a log from a file, or takes one by `postMessage`
//! - `/assets/NAME`: scripts and styles of these pages
//! - `/api/matches?offset&limit&search`: the list as JSON
//! - `/api/matches/FOLDER`: a match as in the list, with the length of its files
//! - `/api/matches/FOLDER/log`, `/events`, `/series`, each `?from=BYTE`: the files, in whole lines
//! - `/api/matches/FOLDER/board`: how its game wants to be drawn, where it is one of the program
//! - `/api/matches/FOLDER/bundle`: all of a match as one JSON object
//! - `/api/matches/FOLDER/tiltyard`: the same in the form of match databases
//! - `/play`, `/study`, `/edit`: pages to play on, to study games on and to write rulesheets; what
//!   they ask is in `tables` and `sheets`
//! - `/training`: the learning curves of trained games; what it asks is in `trained`
//! - `/gamemaster`, `/api/gamemaster`: the page that plays in Gamemaster; see `relay`
//! - `/api/unpack`, by POST: unpacks the log in an object of a match database, for `/viewer`
//! - `/metrics`, `/healthz`: figures for Prometheus, liveness
//! - `/MATCH-ID`, on the log service's port: as `/tiltyard`
//!
//! Pages read the disk and may wait for it, so they are made on blocking threads. On the player's
//! port everything but metrics and assets is for this machine, and so are live matches on both
//! ports, unless `server.pages_for` says otherwise or the client shows the secret. Under an unknown
//! host name there are no matches but `/MATCH-ID`, which databases fetch under any name and whose
//! answer every page may read.
//!
//! Invariants: only logs and embedded files are served, whatever is requested; texts from outside
//! are data in JSON, never parts of a page.
//!
//! Never uses: connections, the GGP protocol, the state of a match.

mod asked;
mod assets;
mod metrics;
mod sheets;
mod tables;
mod tiltyard;
mod trained;
mod unpack;

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use hyper::StatusCode;
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::access::{Access, PARAMETER, Shown, UNKNOWN_HOST};
use super::request::parameter;
use panza_config::{MemorySettings, PagesFor, Settings};
use panza_hrf::Dialect;
use panza_player::{GameBuilders, Player, Status};
use panza_telemetry::{Archive, COMMIT, Entry, Part, health};
use panza_web::table::Tables;

pub(super) use asked::Asked;

/// Limit on the bytes of a file in one answer.
const MOST_BYTES: usize = 4 << 20;
/// Limit on the matches in one answer, and the default.
const MOST_MATCHES: usize = 1000;
const USUAL_MATCHES: usize = 100;
/// Limit on a search text, in characters.
const LONGEST_SEARCH: usize = 200;
/// Where packed logs are sent, in the only spelling that is taken.
const UNPACK: &str = "/api/unpack";
/// Where rulesheets that are being written are sent, likewise.
const SHEETS: [&str; 5] = [
    "/api/check",
    "/api/complete",
    "/api/explain",
    "/api/format",
    "/api/preview",
];

/// Pages load nothing from other servers; what may show them in a frame follows.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; \
     style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors ";

/// The content policy of pages that no other page may show in a frame.
pub(super) fn unframed() -> String {
    format!("{CONTENT_POLICY}'none'")
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Page {
    pub status: StatusCode,
    pub content_type: &'static str,
    pub body: Bytes,
    pub is_gzip: bool,
    /// The entity tag.
    pub tag: Option<String>,
    /// The file name for a download.
    pub download: Option<String>,
    /// Whether pages of other origins may read it.
    pub is_for_all: bool,
    /// Where to go instead.
    pub location: Option<String>,
    /// A cookie for the browser.
    pub cookie: Option<String>,
    /// The content policy, if it is another than [`unframed`].
    pub policy: Option<String>,
}

impl Page {
    fn new(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            content_type,
            body: body.into(),
            is_gzip: false,
            tag: None,
            download: None,
            is_for_all: false,
            location: None,
            cookie: None,
            policy: None,
        }
    }

    pub fn json(value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(bytes) => Self::new(StatusCode::OK, "application/json", bytes),
            Err(error) => Self::failed(&error),
        }
    }

    fn text(status: StatusCode, text: impl Into<String>) -> Self {
        Self::new(status, "text/plain; charset=utf-8", text.into())
    }

    fn failed(error: &dyn std::fmt::Display) -> Self {
        tracing::warn!("a page could not be made: {error}");
        let text = format!("this could not be read: {error}\n");
        Self::text(StatusCode::INTERNAL_SERVER_ERROR, text)
    }
}

#[derive(Clone)]
pub(super) struct Pages {
    archive: Arc<Archive>,
    player: Player,
    tables: Tables,
    name: Arc<str>,
    pages_for: PagesFor,
    access: Access,
    memory: MemorySettings,
}

impl Pages {
    pub fn new(player: Player, settings: &Settings, access: Access) -> Self {
        let tables = Tables::new(settings, GameBuilders::standard(), player.clone());
        Self {
            archive: player.archive(),
            player,
            tables,
            name: settings.server.name.as_str().into(),
            pages_for: settings.server.pages_for,
            access,
            memory: settings.memory.clone(),
        }
    }

    /// Reads the list once, so that the first request is fast.
    pub fn warm(&self) {
        if let Err(error) = self.archive.list() {
            let root = self.archive.root().display();
            tracing::warn!("the logs in {root} cannot be listed: {error}");
        }
    }

    /// The answer; waits for the disk.
    pub fn answer(&self, asked: &Asked) -> Page {
        let Some(segments) = segments(&asked.path) else {
            return self.nothing(asked);
        };
        let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
        match asked.secret {
            Shown::Wrong => {
                let text = "this is not the secret of server.pages_secret\n";
                return Page::text(StatusCode::FORBIDDEN, text);
            }
            Shown::InAddress => return self.without_secret(asked),
            Shown::InHeader | Shown::Nothing => {}
        }
        let has_secret = asked.secret == Shown::InHeader;
        let shows_matches = matches!(segments.as_slice(), ["" | "matches" | "api", ..]);
        if shows_matches && asked.names_unknown_host && !has_secret {
            return Page::text(StatusCode::FORBIDDEN, format!("{UNKNOWN_HOST}\n"));
        }
        let sees_all = self.sees_all(asked);
        // Nothing of any match is in these.
        let is_for_everyone =
            matches!(segments.as_slice(), ["metrics" | "healthz"] | ["assets", _]);
        if !sees_all && !asked.at_log_service && !is_for_everyone {
            return self.nothing(asked);
        }
        // What is thought of a live match is not for its opponents.
        if !sees_all
            && let ["matches", folder, ..] | ["api", "matches", folder, ..] = segments.as_slice()
            && self
                .archive
                .entry(folder)
                .is_some_and(|entry| entry.is_live)
        {
            return self.nothing(asked);
        }
        match segments.as_slice() {
            [""] => assets::page("index.html", asked),
            ["viewer"] => Page {
                policy: Some(self.viewer_policy()),
                ..assets::page("match.html", asked)
            },
            ["play"] if self.may_play(asked) => assets::page("play.html", asked),
            ["edit"] if self.may_play(asked) => assets::page("edit.html", asked),
            ["study"] if self.may_play(asked) => assets::page("study.html", asked),
            ["gamemaster"] if self.may_play(asked) => assets::page("gamemaster.html", asked),
            ["training"] if self.may_play(asked) => assets::page("training.html", asked),
            ["api", "training"] if self.may_play(asked) => trained::games(&self.memory),
            ["api", "training", file] if self.may_play(asked) => {
                let page = trained::curve_of(&self.memory, file);
                page.unwrap_or_else(|| self.nothing(asked))
            }
            ["api", "gamemaster"] if self.may_play(asked) => {
                let door = self.access.door();
                let origins: Vec<&str> = door.origins().collect();
                Page::json(&json!({ "key": door.key(), "origins": origins }))
            }
            ["api", "games"] if self.may_play(asked) => tables::games(),
            ["api", "games", name] if self.may_play(asked) => sheets::text(name),
            ["api", "tables", table] if self.may_play(asked) => tables::show(&self.tables, table),
            ["api", "tables", table, "turns"] if self.may_play(asked) => {
                tables::turn(&self.tables, table, &asked.query)
            }
            ["api", "tables", table, "report"] if self.may_play(asked) => {
                tables::report(&self.tables, table)
            }
            ["matches", folder] => match self.archive.entry(folder) {
                Some(_) => assets::page("match.html", asked),
                None => self.nothing(asked),
            },
            ["assets", name] => assets::asset(name, asked).unwrap_or_else(|| self.nothing(asked)),
            ["favicon.ico"] => assets::asset("favicon.svg", asked)
                .unwrap_or_else(|| Page::text(StatusCode::NO_CONTENT, "")),
            ["api", "matches"] => self.list(&asked.query, sees_all),
            ["api", "matches", folder] => self.entry(folder),
            ["api", "matches", folder, "log"] => self.slice(folder, Part::Log, &asked.query),
            ["api", "matches", folder, "events"] => self.slice(folder, Part::Events, &asked.query),
            ["api", "matches", folder, "series"] => self.slice(folder, Part::Series, &asked.query),
            ["api", "matches", folder, "board"] => tables::board(&self.archive, folder),
            ["api", "matches", folder, "bundle"] => self.bundle(folder),
            ["api", "matches", folder, "tiltyard"] => match self.archive.entry(folder) {
                Some(entry) => self.fetched(&entry),
                None => no_match(),
            },
            ["metrics"] => Page::new(
                StatusCode::OK,
                "text/plain; version=0.0.4; charset=utf-8",
                metrics::text(&health(), self.is_busy()),
            ),
            ["healthz"] => {
                let text = match health().problem {
                    Some(problem) => format!("ok, but logs cannot be written: {problem}\n"),
                    None => "ok\n".to_string(),
                };
                Page::text(StatusCode::OK, text)
            }
            [match_id] if asked.at_log_service => match self.archive.find(match_id) {
                Some(entry) if sees_all || !entry.is_live => self.fetched(&entry),
                _ => self.nothing(asked),
            },
            _ => self.nothing(asked),
        }
    }

    /// The viewer takes a log from the page that shows it in a frame, so that page is one that the
    /// settings name.
    fn viewer_policy(&self) -> String {
        let origins = self.access.origins().iter();
        let origins: String = origins.flat_map(|origin| [" ", origin]).collect();
        format!("{CONTENT_POLICY}'self'{origins}")
    }

    /// Whether the client sees everything, live matches too.
    fn sees_all(&self, asked: &Asked) -> bool {
        let has_secret = asked.secret == Shown::InHeader;
        self.trusts(asked) || self.pages_for == PagesFor::All || has_secret
    }

    /// Whether the client may play here.
    fn may_play(&self, asked: &Asked) -> bool {
        !asked.at_log_service && (self.trusts(asked) || asked.secret == Shown::InHeader)
    }

    /// Whether the client is on this machine and that is enough.
    fn trusts(&self, asked: &Asked) -> bool {
        let is_here = asked.is_from_here && !asked.names_unknown_host;
        is_here && self.pages_for != PagesFor::Secret
    }

    /// Whether a POST with this path is for the pages, not a message.
    pub fn takes_posts(asked: &Asked) -> bool {
        let is_own = asked.path.starts_with("/api/tables") || SHEETS.contains(&&*asked.path);
        asked.path == UNPACK || (!asked.at_log_service && is_own)
    }

    /// The answer to a POST.
    pub fn answer_post(&self, asked: &Asked, body: &[u8]) -> Page {
        if asked.path == UNPACK {
            // For clients that may open the log viewer.
            if asked.is_own_page && (asked.at_log_service || self.sees_all(asked)) {
                return unpack::unpack(body);
            }
            let text = "logs are unpacked for the player's own log viewer\n";
            return Page::text(StatusCode::FORBIDDEN, text);
        }
        if !self.may_play(asked) || !asked.is_own_page {
            let text = "games are for browsers of this machine, or with server.pages_secret\n";
            return Page::text(StatusCode::FORBIDDEN, text);
        }
        let segments = segments(&asked.path).unwrap_or_default();
        let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
        match segments.as_slice() {
            ["api", "tables"] => tables::open(&self.tables, &self.archive, body),
            ["api", "tables", table] => tables::tell(&self.tables, table, body),
            ["api", what] => {
                let answer = sheets::ask(what, body, || self.is_busy());
                answer.unwrap_or_else(|| self.nothing(asked))
            }
            _ => self.nothing(asked),
        }
    }

    /// Waits for what the request asks to wait for.
    pub async fn wait(&self, asked: &Asked) {
        let segments = segments(&asked.path).unwrap_or_default();
        let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
        if !self.may_play(asked) {
            return;
        }
        match segments.as_slice() {
            ["api", "tables", table] => {
                tables::wait(self.tables.versions(table), &asked.query).await;
            }
            ["api", "tables", table, "report"] => {
                tables::wait(self.tables.report_versions(table), &asked.query).await;
            }
            _ => {}
        }
    }

    /// Whether the answer reads or unpacks a whole match, or plays games.
    pub fn is_heavy(asked: &Asked) -> bool {
        let segments = segments(&asked.path).unwrap_or_default();
        let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
        match segments.as_slice() {
            ["api", "matches", _, "bundle" | "tiltyard"]
            | ["api", "unpack" | "preview" | "training"] => true,
            ["" | "viewer" | "metrics" | "healthz" | "favicon.ico"] => false,
            [_] => asked.at_log_service,
            _ => false,
        }
    }

    fn is_busy(&self) -> bool {
        self.player.info() == Status::Busy
    }

    fn nothing(&self, asked: &Asked) -> Page {
        if asked.accepts_html {
            let page = assets::page("unknown.html", asked);
            return Page {
                status: StatusCode::NOT_FOUND,
                tag: None,
                ..page
            };
        }
        let text = if asked.at_log_service {
            "nothing is here, expected GET /MATCH-ID of a match that this player has logged"
        } else {
            "nothing is here, expected GET /( INFO ) or a message by POST, or / in a browser"
        };
        Page::text(StatusCode::NOT_FOUND, text)
    }

    /// Sends a browser that has shown the secret to the same address without it, with a cookie.
    fn without_secret(&self, asked: &Asked) -> Page {
        // A path that began with two slashes would name another host.
        let path = asked.path.trim_start_matches(['/', '\\']);
        let pairs = form_urlencoded::parse(asked.query.as_bytes());
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(pairs.filter(|(name, _)| name != PARAMETER))
            .finish();
        let location = match query.as_str() {
            "" => format!("/{path}"),
            query => format!("/{path}?{query}"),
        };
        Page {
            location: Some(location),
            cookie: self.access.cookie(),
            ..Page::text(StatusCode::SEE_OTHER, "")
        }
    }

    fn list(&self, query: &str, with_live: bool) -> Page {
        let mut entries = match self.archive.list() {
            Ok(entries) => entries,
            Err(error) => return Page::failed(&error),
        };
        entries.retain(|entry| with_live || !entry.is_live);
        let offset = number(query, "offset").unwrap_or(0);
        let limit = number(query, "limit").unwrap_or(USUAL_MATCHES);
        let wanted = parameter(query, "search").unwrap_or_default();
        let wanted: String = wanted.chars().take(LONGEST_SEARCH).collect();
        let wanted = wanted.trim().to_lowercase();
        let total = entries.len();
        let found: Vec<&Arc<Entry>> = entries
            .iter()
            .filter(|entry| wanted.is_empty() || is_about(entry, &wanted))
            .collect();
        let health = health();
        let shown = found.iter().skip(offset).take(limit.min(MOST_MATCHES));
        Page::json(&json!({
            "total": total,
            "found": found.len(),
            "player": {
                "name": &*self.name,
                "status": if self.is_busy() { "busy" } else { "available" },
                "version": env!("CARGO_PKG_VERSION"),
                "commit": COMMIT,
                "dropped_lines": health.lost_lines,
                "disk": health.problem.as_deref().unwrap_or("ok"),
            },
            "matches": shown.map(|entry| entry.as_ref()).collect::<Vec<&Entry>>(),
        }))
    }

    fn entry(&self, folder: &str) -> Page {
        let Some(entry) = self.archive.entry(folder) else {
            return no_match();
        };
        let length = |part| {
            let slice = self.archive.slice(folder, part, u64::MAX, 0);
            slice.map_or(0, |(_, length)| length)
        };
        let mut value = json!(*entry);
        value["files"] = json!({
            "log": length(Part::Log),
            "events": length(Part::Events),
            "series": length(Part::Series),
        });
        Page::json(&value)
    }

    fn slice(&self, folder: &str, part: Part, query: &str) -> Page {
        let from = number(query, "from").unwrap_or(0);
        match self.archive.slice(folder, part, from as u64, MOST_BYTES) {
            Ok((bytes, _)) => Page::new(StatusCode::OK, "text/plain; charset=utf-8", bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => no_match(),
            Err(error) => Page::failed(&error),
        }
    }

    fn bundle(&self, folder: &str) -> Page {
        match self.archive.bundle(folder) {
            Ok(bundle) => Page {
                // The folder's name holds nothing that a header could not.
                download: Some(format!("{folder}.json")),
                ..Page::json(&bundle)
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => no_match(),
            Err(error) => Page::failed(&error),
        }
    }

    fn fetched(&self, entry: &Entry) -> Page {
        match self.archive.bundle(&entry.folder) {
            Ok(bundle) => Page {
                is_for_all: true,
                ..Page::json(&tiltyard::object(entry, bundle))
            },
            Err(error) => Page::failed(&error),
        }
    }
}

/// The decoded parts of a path; nothing if one is not UTF-8.
fn segments(path: &str) -> Option<Vec<Cow<'_, str>>> {
    path.strip_prefix('/')
        .unwrap_or(path)
        .split('/')
        .map(|segment| percent_decode_str(segment).decode_utf8().ok())
        .collect()
}

/// The name of a dialect, as pages send it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Named {
    Kif,
    Hrf,
}

/// The dialect of a text: the one that is named, or else that of a file of this name with it.
fn dialect(named: Option<Named>, file: Option<&str>, text: &str) -> Dialect {
    match named {
        Some(Named::Kif) => Dialect::Kif,
        Some(Named::Hrf) => Dialect::Hrf,
        None => Dialect::of(file.unwrap_or_default(), text),
    }
}

fn unreadable(fault: &serde_json::Error) -> Page {
    Page::text(
        StatusCode::BAD_REQUEST,
        format!("not understood: {fault}\n"),
    )
}

fn no_match() -> Page {
    Page::text(StatusCode::NOT_FOUND, "there is no match of this name\n")
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

fn number(query: &str, name: &str) -> Option<usize> {
    parameter(query, name)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_config::Settings;
    use panza_player::GameBuilders;
    use panza_telemetry::MatchLog;

    #[test]
    fn others_see_only_what_has_ended_and_only_at_the_log_service() {
        let root = tempfile::tempdir().unwrap();
        let folder = format!("logs.folder={}", root.path().display());
        let items = [folder, "memory.enabled=false".into()];
        let mut settings = Settings::load(None, &items).unwrap();
        let player = Player::new(&settings, GameBuilders::standard()).unwrap();
        let live = MatchLog::create(root.path(), "live").unwrap();
        drop(MatchLog::create(root.path(), "ended").unwrap());
        let status = |pages: &Pages, path: &str, at_log_service, is_from_here| {
            let asked = Asked {
                path: path.into(),
                at_log_service,
                is_from_here,
                ..Asked::default()
            };
            pages.answer(&asked).status.as_u16()
        };
        let pages = Pages::new(player.clone(), &settings, Access::new(&settings.server));
        for path in ["/", "/matches/live", "/api/matches/ended/log", "/metrics"] {
            let seen = if path == "/metrics" { 200 } else { 404 };
            assert_eq!(status(&pages, path, false, true), 200, "{path}");
            assert_eq!(status(&pages, path, false, false), seen, "{path}");
        }
        for path in [
            "/matches/live",
            "/api/matches/live",
            "/api/matches/live/series",
            "/live",
        ] {
            assert_eq!(status(&pages, path, true, true), 200, "{path}");
            assert_eq!(status(&pages, path, true, false), 404, "{path}");
        }
        for path in ["/", "/matches/ended", "/api/matches/ended/log", "/ended"] {
            assert_eq!(status(&pages, path, true, false), 200, "{path}");
        }
        let listed = pages.list("", false).body;
        let listed = String::from_utf8_lossy(&listed);
        assert!(listed.contains("\"folder\":\"ended\""), "{listed}");
        assert!(!listed.contains("\"folder\":\"live\""), "{listed}");
        for (secret, code) in [(Shown::InHeader, 200), (Shown::Nothing, 404)] {
            for at_log_service in [false, true] {
                let asked = Asked {
                    path: "/api/matches/live/series".into(),
                    at_log_service,
                    secret,
                    ..Asked::default()
                };
                assert_eq!(pages.answer(&asked).status.as_u16(), code, "{asked:?}");
            }
        }
        settings.server.pages_for = PagesFor::All;
        let pages = Pages::new(player, &settings, Access::new(&settings.server));
        assert_eq!(status(&pages, "/matches/live", false, false), 200);
        drop(live);
    }

    #[test]
    fn what_takes_all_of_a_match_is_known_however_it_is_written() {
        let is_heavy = |path: &str, at_log_service| {
            Pages::is_heavy(&Asked {
                path: path.into(),
                at_log_service,
                ..Asked::default()
            })
        };
        for path in [
            "/api/matches/m/bundle",
            "/api/matches/m/bund%6ce",
            "/api/matches/m/tiltyard",
            "/api/unpack",
            "/api/preview",
        ] {
            assert!(is_heavy(path, false), "{path}");
        }
        assert!(is_heavy("/m", true) && !is_heavy("/m", false));
        for path in [
            "/",
            "/viewer",
            "/metrics",
            "/healthz",
            "/assets/style.css",
            "/matches/m",
            "/%ff",
        ] {
            assert!(!is_heavy(path, true), "{path}");
        }
    }

    #[test]
    fn parameters_are_decoded_and_the_first_counts() {
        let query = "search=a+b%26c&from=12&from=13&limit=-1&offset=99999999999999999999999";
        assert_eq!(parameter(query, "search").as_deref(), Some("a b&c"));
        assert_eq!(number(query, "from"), Some(12));
        assert_eq!(number(query, "limit"), None);
        assert_eq!(number(query, "offset"), None);
        assert_eq!(parameter("", "search"), None);
    }
}
