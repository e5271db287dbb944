//! The table of pages: the path, the method, who may see it, how much work it is, what makes it.
//!
//! To add a page is to add a row.

use std::borrow::Cow;

use serde_json::json;
use tokio::sync::watch;

use super::{
    Method, PageReply, PageRequest, PageStatus, RoutedRequest, assets, matches, metrics,
    rulesheets, tables, training, unpack,
};
use panza_telemetry::{Part, health};

/// A row of the table.
pub(super) struct Route {
    method: Method,
    /// Names and stars, without the first slash. A star is any one part of a path.
    pattern: &'static str,
    pub guard: Guard,
    pub weight: Weight,
    pub handler: fn(&RoutedRequest) -> PageReply,
    /// The versions of what the page shows, where a client may wait for the next.
    pub versions: Option<Versions>,
}

type Versions = fn(&RoutedRequest) -> Option<watch::Receiver<u64>>;

/// How much work an answer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weight {
    /// Some milliseconds.
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
static ROUTES: &[Route] = &[
    get("", Readers, Light, |it| {
        assets::page("index.html", &it.request)
    }),
    get("viewer", Readers, Light, |it| PageReply {
        is_framable: true,
        ..assets::page("match.html", &it.request)
    }),
    get("play", Players, Light, |it| {
        assets::page("play.html", &it.request)
    }),
    get("edit", Players, Light, |it| {
        assets::page("edit.html", &it.request)
    }),
    get("study", Players, Light, |it| {
        assets::page("study.html", &it.request)
    }),
    get("gamemaster", Players, Light, |it| {
        assets::page("gamemaster.html", &it.request)
    }),
    get("training", Players, Light, |it| {
        assets::page("training.html", &it.request)
    }),
    get("matches/*", ReadersOfMatch, Light, |it| {
        match it.pages.archive.entry(it.part(0)) {
            Some(_) => assets::page("match.html", &it.request),
            None => it.nothing(),
        }
    }),
    get("assets/*", Everyone, Light, |it| {
        assets::asset(it.part(0), &it.request).unwrap_or_else(|| it.nothing())
    }),
    get("favicon.ico", Readers, Light, |it| {
        let icon = assets::asset("favicon.svg", &it.request);
        icon.unwrap_or_else(|| PageReply::text(PageStatus::NoContent, ""))
    }),
    get("metrics", Everyone, Light, |it| {
        metrics::page(&health(), it.pages.is_busy())
    }),
    get("healthz", Everyone, Light, |_| metrics::liveness(&health())),
    get("api/matches", Readers, Light, |it| {
        matches::list(&it.pages, &it.request)
    }),
    get("api/matches/*", ReadersOfMatch, Light, |it| {
        matches::entry(&it.pages.archive, it.part(0))
    }),
    get("api/matches/*/log", ReadersOfMatch, Light, |it| {
        slice(it, Part::Log)
    }),
    get("api/matches/*/events", ReadersOfMatch, Light, |it| {
        slice(it, Part::Events)
    }),
    get("api/matches/*/series", ReadersOfMatch, Light, |it| {
        slice(it, Part::Series)
    }),
    get("api/matches/*/board", ReadersOfMatch, Light, |it| {
        tables::board(&it.pages.archive, it.part(0))
    }),
    get("api/matches/*/bundle", ReadersOfMatch, Heavy, |it| {
        matches::bundle(&it.pages.archive, it.part(0))
    }),
    get(
        "api/matches/*/tiltyard",
        ReadersOfMatch,
        Heavy,
        |it| match it.pages.archive.entry(it.part(0)) {
            Some(entry) => matches::database_object(&it.pages.archive, &entry),
            None => PageReply::no_match(),
        },
    ),
    get("api/training", Players, Heavy, |it| {
        training::games(&it.pages.memory)
    }),
    get("api/training/*", Players, Light, |it| {
        training::curve_of(&it.pages.memory, it.part(0)).unwrap_or_else(|| it.nothing())
    }),
    get("api/gamemaster", Players, Light, |it| {
        let (key, origins) = (&it.pages.gamemaster_key, &it.pages.gamemaster_origins);
        PageReply::json(&json!({ "key": key, "origins": origins }))
    }),
    get("api/games", Players, Light, |_| tables::games()),
    get("api/games/*", Players, Light, |it| {
        rulesheets::text(it.part(0))
    }),
    get("api/tables/*", Players, Light, |it| {
        tables::show(&it.pages.tables, it.part(0))
    })
    .waiting_for(|it| it.pages.tables.versions(it.part(0))),
    get("api/tables/*/turns", Players, Light, |it| {
        tables::turn(&it.pages.tables, it.part(0), &it.request)
    }),
    get("api/tables/*/report", Players, Light, |it| {
        tables::report(&it.pages.tables, it.part(0))
    })
    .waiting_for(|it| it.pages.tables.report_versions(it.part(0))),
    get("*", LogClients, Heavy, |it| {
        let found = it.pages.archive.find(it.part(0));
        match found.filter(|entry| it.request.client.sees_all || !entry.is_live) {
            Some(entry) => matches::database_object(&it.pages.archive, &entry),
            None => it.nothing(),
        }
    }),
    post("api/unpack", LogViewer, Heavy, |it| {
        PageReply::to_json(&it.request.body, unpack::unpack)
    }),
    post("api/check", Players, Light, |it| {
        PageReply::to_json(&it.request.body, rulesheets::check)
    }),
    post("api/format", Players, Light, |it| {
        PageReply::to_json(&it.request.body, rulesheets::format)
    }),
    post("api/complete", Players, Light, |it| {
        PageReply::to_json(&it.request.body, rulesheets::complete)
    }),
    post("api/explain", Players, Light, |it| {
        PageReply::to_json(&it.request.body, rulesheets::explain)
    }),
    post("api/preview", Players, Heavy, |it| {
        let preview = |sheet| rulesheets::preview(sheet, || it.pages.is_busy());
        PageReply::to_json(&it.request.body, preview)
    }),
    post("api/tables", Players, Light, |it| {
        let open = |opening| tables::open(&it.pages.tables, &it.pages.archive, opening);
        PageReply::to_json(&it.request.body, open)
    }),
    post("api/tables/*", Players, Light, |it| {
        let tell = |command| tables::tell(&it.pages.tables, it.part(0), command);
        PageReply::to_json(&it.request.body, tell)
    }),
];

type Handler = fn(&RoutedRequest) -> PageReply;

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

/// A part of a file of a match.
fn slice(it: &RoutedRequest, part: Part) -> PageReply {
    let from = it.request.number("from").unwrap_or(0) as u64;
    matches::slice(&it.pages.archive, it.part(0), part, from)
}

/// The row of a request with these parts of its path.
pub(super) fn find(request: &PageRequest, segments: &[Cow<'_, str>]) -> Option<&'static Route> {
    // A POST that is no page may be a message, so that its path is taken in one spelling only.
    if request.method == Method::Post && request.path.contains('%') {
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
        let names = || self.pattern.split('/');
        let mut pairs = names().zip(segments);
        names().count() == segments.len() && pairs.all(|(name, part)| name == "*" || name == part)
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

    /// What a client is told that may not send something.
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
        assert!(route_of(Method::Post, "/api/check", true).is_none());
        assert!(route_of(Method::Post, "/api/unpack", true).is_some());
    }

    #[test]
    fn each_row_is_found() {
        for route in ROUTES {
            let path = format!("/{}", route.pattern.replace('*', "x"));
            let at_log_service = route.guard == LogClients;
            let found = route_of(route.method, &path, at_log_service).expect("it is there");
            assert_eq!(found.pattern, route.pattern);
        }
    }
}
