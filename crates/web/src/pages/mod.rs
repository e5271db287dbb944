//! Pages for browsers and log readers: the log viewer, its data, matches by id, playing, metrics.
//!
//! - `/`: the list of matches; `/matches/FOLDER`: one match
//! - `/viewer`: a page that opens a log from a file, or takes one by `postMessage`
//! - `/assets/NAME`: scripts and styles of these pages
//! - `/api/matches?offset&limit&search`: the list as JSON
//! - `/api/matches/FOLDER`: a match as in the list, with the length of its files
//! - `/api/matches/FOLDER/log`, `/events`, `/series`, `/debug`, each `?from=BYTE`: the files, in
//!   whole lines
//! - `/api/matches/FOLDER/board`: how its game wants to be drawn, where it is one of the program
//! - `/api/matches/FOLDER/bundle`: all of a match as one JSON object
//! - `/api/matches/FOLDER/tiltyard`: the same in the form of match databases
//! - `/play`, `/study`, `/edit`: pages to play on, to study games on and to write rulesheets; what
//!   they ask is in `tables` and `rulesheets`. `/play/TABLE` and `/study/TABLE` are addresses of a
//!   table
//! - `/training`: the learning curves of trained games; what it asks is in `training`
//! - `/gamemaster`, `/api/gamemaster`: the page that plays in Gamemaster, and what it needs
//! - `/api/unpack`, by POST: unpacks the log in an object of a match database, for `/viewer`
//! - `/metrics`, `/healthz`: figures for Prometheus, liveness
//! - `/MATCH-ID`, at the log service: as `/tiltyard`
//!
//! The table in `routes` has a row for each of them. [`Pages::route`] finds the row of a request,
//! and [`RoutedRequest::answer`] makes the page.
//!
//! Pages read the disk and may wait for it. At the player's port everything but metrics and assets
//! is for clients that see all, and so are live matches at both ports. Under an unknown host name
//! there are no matches but `/MATCH-ID`, which databases fetch under any name and whose answer
//! every page may read. Who sees all is decided by the host of the pages.
//!
//! Invariants: only logs and embedded files are served, whatever is requested; texts from outside
//! are data in JSON, never parts of a page.
//!
//! Never uses: HTTP, connections, the GGP protocol, the state of a match.

mod assets;
mod matches;
mod metrics;
mod reply;
mod request;
mod routes;
mod rulesheets;
mod tables;
mod tiltyard;
mod training;
mod unpack;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::watch;

use crate::table::{Storage, Tables};
use panza_config::{MemorySettings, Settings};
use panza_hrf::Dialect;
use panza_player::{GameBuilders, Player, Status};
use panza_telemetry::Archive;

pub use reply::{PageReply, PageStatus};
pub use request::{Client, Method, PageRequest, parameter};
use routes::Route;
pub use routes::Weight;

/// Said to a request that names an unknown host.
pub const UNKNOWN_HOST: &str =
    "this host name is not known: use the IP address, or name the host in server.host_names";

/// What the pages of a player show.
pub struct Pages {
    archive: Arc<Archive>,
    player: Player,
    tables: Tables,
    name: String,
    memory: MemorySettings,
    /// What the page for Gamemaster needs: the key that its messages show, and the origins.
    gamemaster_key: Option<String>,
    gamemaster_origins: Vec<String>,
}

/// A request with its row of the table.
pub struct RoutedRequest {
    /// What is asked for.
    pub request: PageRequest,
    pages: Arc<Pages>,
    /// None where nothing has this path.
    route: Option<&'static Route>,
    /// The decoded parts of the path where the pattern has stars.
    parts: Vec<String>,
    /// Whether the path is of those under which matches are.
    is_below_matches: bool,
}

/// Changes that a client waits for.
#[derive(Debug)]
pub struct Changes {
    versions: watch::Receiver<u64>,
    /// The version that the client has.
    known: u64,
}

impl Changes {
    /// Waits until there is another version, or nothing changes any more.
    pub async fn next(mut self) {
        // What is there is shown in any case, also when the table has ended.
        let _ = self
            .versions
            .wait_for(|&version| version != self.known)
            .await;
    }

    /// Whether there is another version, or nothing changes any more.
    pub fn is_there(&self) -> bool {
        *self.versions.borrow() != self.known || self.versions.has_changed().is_err()
    }
}

impl Pages {
    /// The pages of a player. Messages of Gamemaster's pages show `gamemaster_key`.
    pub fn new(player: Player, settings: &Settings, gamemaster_key: Option<String>) -> Self {
        let tables = Tables::new(settings, GameBuilders::standard(), player.clone());
        Self::with(player, settings, gamemaster_key, tables)
    }

    /// Pages that have no threads: the host calls [`Pages::work`]. `storage` keeps the tables.
    pub fn without_threads(settings: &Settings, player: Player, storage: Box<dyn Storage>) -> Self {
        let builders = GameBuilders::standard();
        let tables = Tables::without_threads(settings, builders, player.clone(), storage);
        Self::with(player, settings, None, tables)
    }

    fn with(
        player: Player,
        settings: &Settings,
        gamemaster_key: Option<String>,
        tables: Tables,
    ) -> Self {
        let origins = settings.server.gamemaster_origins.iter();
        Self {
            archive: player.archive(),
            tables,
            player,
            name: settings.server.name.clone(),
            memory: settings.memory.clone(),
            gamemaster_key,
            gamemaster_origins: origins.map(str::to_string).collect(),
        }
    }

    /// Reads the list of matches once, so that the first request is fast.
    pub fn read_list(&self) {
        if let Err(error) = self.archive.list() {
            let root = self.archive.root().display();
            tracing::warn!("the logs in {root} cannot be listed: {error}");
        }
    }

    /// Does the work of tables that have no threads, for about this time. Returns how long nothing
    /// is to be done then, unless there is a request.
    pub fn work(&self, time: Duration) -> Duration {
        self.tables.work(time)
    }

    /// Finds what a request is for.
    pub fn route(self: &Arc<Self>, request: PageRequest) -> RoutedRequest {
        let segments = segments(&request.path).unwrap_or_default();
        let first = segments.first().map(AsRef::as_ref);
        let route = routes::find(&request, &segments);
        let parts = route.map(|route| route.parts(&segments));
        RoutedRequest {
            pages: Arc::clone(self),
            route,
            parts: parts.unwrap_or_default(),
            is_below_matches: matches!(first, Some("" | "matches" | "api")),
            request,
        }
    }

    /// What the page that plays in Gamemaster needs.
    fn gamemaster(&self) -> PageReply {
        let (key, origins) = (&self.gamemaster_key, &self.gamemaster_origins);
        PageReply::json(&json!({ "key": key, "origins": origins }))
    }

    fn is_busy(&self) -> bool {
        self.player.info() == Status::Busy
    }
}

impl RoutedRequest {
    /// Whether there is a row for it.
    pub fn is_found(&self) -> bool {
        self.route.is_some()
    }

    /// How much work the answer is.
    pub fn weight(&self) -> Weight {
        self.route.map_or(Weight::Light, |route| route.weight)
    }

    /// What the answer waits for, if the client asks to wait.
    pub fn changes(&self) -> Option<Changes> {
        let route = self.route.filter(|route| route.guard.admits(self))?;
        // A version has more digits than a place in memory may have.
        let known = self.request.parameter("after")?.parse().ok()?;
        let versions = (route.versions?)(self)?;
        Some(Changes { versions, known })
    }

    /// Makes the page; waits for the disk.
    pub fn answer(&self) -> PageReply {
        let is_get = self.request.method == Method::Get;
        if is_get && self.is_below_matches && self.request.client.names_unknown_host {
            return PageReply::text(PageStatus::Forbidden, format!("{UNKNOWN_HOST}\n"));
        }
        match self.route {
            Some(route) if route.guard.admits(self) => (route.handler)(self),
            Some(route) if !is_get => PageReply::text(PageStatus::Forbidden, route.guard.refusal()),
            _ => self.nothing(),
        }
    }

    /// The decoded part of the path at the star of this index.
    fn part(&self, index: usize) -> &str {
        self.parts.get(index).map_or("", String::as_str)
    }

    /// The embedded file of this name.
    fn file(&self, name: &str) -> PageReply {
        assets::file(name, &self.request).unwrap_or_else(|| self.nothing())
    }

    /// The answer to a body in JSON.
    fn with_json<T: DeserializeOwned>(&self, answer: impl FnOnce(T) -> PageReply) -> PageReply {
        PageReply::to_json(&self.request.body, answer)
    }

    /// Nothing has this path, or nothing that the client may see.
    fn nothing(&self) -> PageReply {
        let page = || assets::file("unknown.html", &self.request);
        if let Some(page) = self.request.accepts_html.then(page).flatten() {
            return PageReply {
                status: PageStatus::NotFound,
                tag: None,
                ..page
            };
        }
        let text = match self.request.client.at_log_service {
            true => {
                "nothing is here, expected GET /MATCH-ID of a match that this player has logged"
            }
            false => {
                "nothing is here, expected GET /( INFO ) or a message by POST, or / in a browser"
            }
        };
        PageReply::text(PageStatus::NotFound, text)
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
enum DialectName {
    Kif,
    Hrf,
}

/// The dialect of a text: the one that is named, or else that of a file of this name with it.
fn dialect(named: Option<DialectName>, file: Option<&str>, text: &str) -> Dialect {
    match named {
        Some(DialectName::Kif) => Dialect::Kif,
        Some(DialectName::Hrf) => Dialect::Hrf,
        None => Dialect::of(file.unwrap_or_default(), text),
    }
}

#[cfg(test)]
mod tests;
