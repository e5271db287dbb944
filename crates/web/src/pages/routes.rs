//! The table of pages: the path, the method, who may see it, how much work it is, what makes it.
//!
//! To add a page is to add a row.

use std::borrow::Cow;

use tokio::sync::watch;

use super::{
    Method, PageReply, PageRequest, PageStatus, RoutedRequest, matches, metrics, rulesheets,
    tables, training, unpack,
};
use panza_telemetry::{Part, health};

/// A row of the table.
pub(super) struct Route {
    method: Method,
    /// Names and stars, without the first slash. A star is any one part of a path,
    /// two at the end are all that follow.
    pattern: &'static str,
    pub guard: Guard,
    pub weight: Weight,
    pub handler: Handler,
    /// The versions of what the page shows, where a client may wait for the next.
    pub versions: Option<Versions>,
}

type Handler = fn(&RoutedRequest) -> PageReply;
type Versions = fn(&RoutedRequest) -> Option<watch::Receiver<u64>>;

/// How much work an answer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weight {
    /// Some milliseconds, or a wait for another thread.
    Light,
    /// It reads or unpacks a whole match, or plays games.
    Heavy,
}

/// Who may see a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Guard {
    /// Everyone: nothing of any match is in it.
    Everyone,
    /// Clients that see matches: all at the log service, else those that see all.
    Readers,
    /// The same, but what is thought of a live match is not for its opponents. The first star is
    /// the match's folder.
    ReadersOfMatch,
    /// Clients of the log service.
    LogClients,
    /// Clients that may play, at the player's port.
    Players,
    /// Our own log viewer.
    LogViewer,
}

use Guard::{Everyone, LogClients, LogViewer, Players, Readers, ReadersOfMatch};
use Weight::{Heavy, Light};

/// All pages. The first row that fits counts.
#[rustfmt::skip]
static ROUTES: &[Route] = &[
    get("", Readers, Light, |it| it.file("index.html")),
    get("viewer", Readers, Light, |it| PageReply { is_framable: true, ..it.file("match.html") }),
    get("play", Players, Light, |it| it.file("play.html")),
    get("edit", Players, Light, |it| it.file("edit.html")),
    get("study", Players, Light, |it| it.file("study.html")),
    get("play/*", Players, Light, |it| tables::page(it, "play.html")),
    get("study/*", Players, Light, |it| tables::page(it, "study.html")),
    get("gamemaster", Players, Light, |it| it.file("gamemaster.html")),
    get("training", Players, Light, |it| it.file("training.html")),
    get("matches/*", ReadersOfMatch, Light, matches::page),
    get("assets/*", Everyone, Light, |it| it.file(it.part(0))),
    get("favicon.ico", Readers, Light, |_| PageReply::text(PageStatus::NoContent, "")),
    get("metrics", Everyone, Light, |it| metrics::page(&health(), it.pages.is_busy())),
    get("healthz", Everyone, Light, |_| metrics::liveness(&health())),
    get("api/matches", Readers, Light, matches::list),
    get("api/matches/*", ReadersOfMatch, Light, matches::entry),
    get("api/matches/*/log", ReadersOfMatch, Light, |it| matches::slice(it, Part::Log)),
    get("api/matches/*/events", ReadersOfMatch, Light, |it| matches::slice(it, Part::Events)),
    get("api/matches/*/series", ReadersOfMatch, Light, |it| matches::slice(it, Part::Series)),
    get("api/matches/*/debug", ReadersOfMatch, Light, |it| matches::slice(it, Part::Debug)),
    get("api/matches/*/board", ReadersOfMatch, Light, tables::board),
    get("api/matches/*/bundle", ReadersOfMatch, Heavy, matches::bundle),
    get("api/matches/*/tiltyard", ReadersOfMatch, Heavy, matches::for_databases),
    get("api/training", Players, Heavy, training::games),
    get("api/training/*", Players, Light, training::curve_of),
    get("api/gamemaster", Players, Light, |it| it.pages.gamemaster()),
    get("api/games", Players, Light, |_| tables::games()),
    get("api/games/*", Players, Light, |it| rulesheets::text(it.part(0))),
    get("api/games/*/picture", Players, Heavy, |it| {
        rulesheets::picture(it, || it.pages.is_busy())
    }),
    get("api/tables", Players, Light, tables::known_tables),
    get("api/tables/*", Players, Light, tables::show)
        .waiting_for(|it| it.pages.tables.versions(it.part(0))),
    get("api/tables/*/turns", Players, Light, tables::turn),
    get("api/tables/*/lines", Players, Light, tables::lines),
    get("api/tables/*/rules", Players, Light, tables::rules),
    get("api/tables/*/report", Players, Light, tables::report)
        .waiting_for(|it| it.pages.tables.report_versions(it.part(0))),
    get("*", LogClients, Heavy, matches::by_id),
    post("api/unpack", LogViewer, Heavy, |it| it.with_json(unpack::unpack)),
    post("api/check", Players, Light, |it| it.with_json(rulesheets::check)),
    post("api/format", Players, Light, |it| it.with_json(rulesheets::format)),
    post("api/complete", Players, Light, |it| it.with_json(rulesheets::complete)),
    post("api/explain", Players, Light, |it| it.with_json(rulesheets::explain)),
    post("api/preview", Players, Heavy, |it| {
        it.with_json(|sheet| rulesheets::preview(sheet, || it.pages.is_busy()))
    }),
    // It waits for a thread, and the newest stops all others, so few requests wait.
    post("api/trial", Players, Light, |it| {
        it.with_json(|sheet| rulesheets::trial(sheet, || it.pages.is_busy()))
    }),
    post("api/tables", Players, Light, |it| it.with_json(|opening| tables::open(it, opening))),
    post("api/tables/*", Players, Light, |it| it.with_json(|command| tables::tell(it, command))),
    post("api/tables/**", Players, Light, RoutedRequest::nothing),
];

const fn get(pattern: &'static str, guard: Guard, weight: Weight, handler: Handler) -> Route {
    Route {
        method: Method::Get,
        pattern,
        guard,
        weight,
        handler,
        versions: None,
    }
}

const fn post(pattern: &'static str, guard: Guard, weight: Weight, handler: Handler) -> Route {
    Route {
        method: Method::Post,
        ..get(pattern, guard, weight, handler)
    }
}

/// The row of a request with these parts of its path.
pub(super) fn find(request: &PageRequest, segments: &[Cow<'_, str>]) -> Option<&'static Route> {
    // A POST that is no page may be a message, so percent codes are decoded below tables only.
    let is_of_table = request.path.starts_with("/api/tables/");
    if request.method == Method::Post && request.path.contains('%') && !is_of_table {
        return None;
    }
    ROUTES.iter().find(|route| {
        route.method == request.method
            && route.guard.is_at_port(request.client.at_log_service)
            && route.fits(segments)
    })
}

impl Route {
    /// The same, for clients that may wait for another version.
    const fn waiting_for(self, versions: Versions) -> Self {
        Self {
            versions: Some(versions),
            ..self
        }
    }

    fn fits(&self, segments: &[Cow<'_, str>]) -> bool {
        let start = self.pattern.strip_suffix("/**");
        let names = || start.unwrap_or(self.pattern).split('/');
        let fits_length = match start {
            Some(_) => names().count() < segments.len(),
            None => names().count() == segments.len(),
        };
        let mut pairs = names().zip(segments);
        fits_length && pairs.all(|(name, part)| name == "*" || name == part)
    }

    /// The parts at the stars of the pattern.
    pub fn parts(&self, segments: &[Cow<'_, str>]) -> Vec<String> {
        let pairs = self.pattern.split('/').zip(segments);
        let stars = pairs.filter(|(name, _)| *name == "*");
        stars.map(|(_, part)| part.to_string()).collect()
    }
}

impl Guard {
    /// Whether its pages are at the port of the log service, or at that of the player.
    fn is_at_port(self, at_log_service: bool) -> bool {
        match self {
            Self::Players => !at_log_service,
            Self::LogClients => at_log_service,
            _ => true,
        }
    }

    /// Whether the client of a request may see the page.
    pub fn admits(self, it: &RoutedRequest) -> bool {
        let client = it.request.client;
        let is_post = it.request.method == Method::Post;
        let is_reader = client.sees_all || client.at_log_service;
        match self {
            Self::Everyone | Self::LogClients => true,
            Self::Readers => is_reader,
            Self::ReadersOfMatch => {
                let entry = || it.pages.archive.entry(it.part(0));
                client.sees_all || (is_reader && !entry().is_some_and(|entry| entry.is_live))
            }
            Self::Players => client.may_play && (client.is_own_page || !is_post),
            Self::LogViewer => client.is_own_page && is_reader,
        }
    }

    /// The text of the reply to a client that may not send something.
    pub fn refusal(self) -> &'static str {
        match self {
            Self::LogViewer => "logs are unpacked for the player's own log viewer\n",
            _ => "games are for browsers of this machine, or with server.pages_secret\n",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{Client, segments};

    fn route_of(method: Method, path: &str, at_log_service: bool) -> Option<&'static Route> {
        let request = PageRequest {
            method,
            path: path.into(),
            client: Client {
                at_log_service,
                ..Client::default()
            },
            ..PageRequest::default()
        };
        find(&request, &segments(path).unwrap_or_default())
    }

    #[test]
    fn what_takes_all_of_a_match_is_known_however_it_is_written() {
        let is_heavy = |method, path, at_log_service| {
            let route = route_of(method, path, at_log_service);
            route.is_some_and(|route| route.weight == Heavy)
        };
        for path in [
            "/api/matches/m/bundle",
            "/api/matches/m/bund%6ce",
            "/api/matches/m/tiltyard",
        ] {
            assert!(is_heavy(Method::Get, path, false), "{path}");
        }
        for path in ["/api/unpack", "/api/preview"] {
            assert!(is_heavy(Method::Post, path, false), "{path}");
        }
        assert!(is_heavy(Method::Get, "/m", true) && !is_heavy(Method::Get, "/m", false));
        for path in [
            "/",
            "/viewer",
            "/metrics",
            "/healthz",
            "/assets/style.css",
            "/matches/m",
            "/%ff",
        ] {
            assert!(!is_heavy(Method::Get, path, true), "{path}");
        }
    }

    #[test]
    fn what_is_sent_to_other_paths_is_for_no_page() {
        for path in ["/", "/api/other", "/api/ch%65ck", "/api/matches", "/play"] {
            assert!(route_of(Method::Post, path, false).is_none(), "{path}");
        }
        assert!(route_of(Method::Post, "/api/check", false).is_some());
        assert!(route_of(Method::Post, "/api/tables/%61", false).is_some());
        assert!(route_of(Method::Post, "/api/check", true).is_none());
        assert!(route_of(Method::Post, "/api/unpack", true).is_some());
    }

    #[test]
    fn each_row_is_found() {
        for route in ROUTES {
            let path = format!("/{}", route.pattern.replace("**", "x/y").replace('*', "x"));
            let at_log_service = route.guard == LogClients;
            let found = route_of(route.method, &path, at_log_service).expect("it is there");
            assert_eq!(found.pattern, route.pattern);
        }
    }
}
